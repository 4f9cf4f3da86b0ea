"""What the spiders store: one class a file.

Three class variables tell the storage what to do with an item; none of them is written to the database.

``collection``
    The name of the collection.
``key_fields``
    The fields that say which document it is: the same key again is the same document.
``volatile_fields``
    The fields that differ from visit to visit and are no change of the document.
"""

from spiders_project.items.feed_entry import FeedEntry
from spiders_project.items.page import Page
from spiders_project.items.product import Availability, Product

__all__ = ["Availability", "FeedEntry", "Page", "Product"]
