"""Seeds: what an entry may hold (``schema``), pushing many (``writer``), the request of one (``request``)."""
