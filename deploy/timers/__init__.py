"""Timers: when each fires (``times``), what is remembered of it (``state``), a supervisor's round (``tick``)."""
