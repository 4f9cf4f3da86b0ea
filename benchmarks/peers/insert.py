"""The MongoDB pipeline of https://docs.scrapy.org/en/latest/topics/item-pipeline.html."""

from __future__ import annotations

import os
from typing import Any

from itemadapter import ItemAdapter
from pymongo import MongoClient


class MongoPipeline:
    """Inserts each item, and waits."""

    def open_spider(self) -> None:
        """Connect."""
        self.client: MongoClient[dict[str, Any]] = MongoClient(os.environ["MONGO_URI"])
        self.db = self.client[os.environ["MONGO_DATABASE"]]

    def close_spider(self) -> None:
        """Disconnect."""
        self.client.close()

    def process_item(self, item: Any) -> Any:
        """Store the item."""
        self.db["items"].insert_one(ItemAdapter(item).asdict())
        return item
