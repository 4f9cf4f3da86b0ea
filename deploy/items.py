"""What a crawl has stored: documents in MongoDB, by collection."""

from __future__ import annotations

import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from pymongo import MongoClient
from pymongo.errors import PyMongoError

from deploy.errors import ConnectError

if TYPE_CHECKING:
    from datetime import datetime

DEFAULT_DATABASE = "spiders_project"
_TIMEOUT_MS = 10_000


@dataclass(frozen=True)
class Stored:
    """One collection: documents that were written since the crawl began, and all that it holds."""

    collection: str
    written: int
    total: int


def count_items(mongo_uri: str, since: datetime, database: str | None = None) -> list[Stored]:
    """The collections of items that hold anything; ``since`` is an aware time.

    Raises:
        ConnectError: MongoDB does not answer, or refuses the password.
    """
    name = database or os.environ.get("MONGO_DATABASE") or DEFAULT_DATABASE
    client: MongoClient[dict[str, Any]] = MongoClient(mongo_uri, serverSelectionTimeoutMS=_TIMEOUT_MS)
    try:
        with client:
            items = client[name]
            # `_rejected` and its like hold what is no item.
            collections = sorted(c for c in items.list_collection_names() if not c.startswith(("_", "system.")))
            return [
                Stored(
                    collection,
                    items[collection].count_documents({"last_seen": {"$gte": since}}),
                    items[collection].estimated_document_count(),
                )
                for collection in collections
            ]
    except PyMongoError as error:
        raise ConnectError(f"MongoDB does not answer, so nobody knows what was stored: {error}") from error
