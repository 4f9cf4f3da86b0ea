"""Scrapy's side of the storage: opens it with the spider, hands it the items, closes it."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from scrapy.exceptions import CloseSpider, DropItem
from scrapy.utils.asyncio import is_asyncio_available

from spiders_project.delivery import current_origin
from spiders_project.errors import StorageError
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.startup import interruptible
from spiders_project.pipelines.storage import storage_of

if TYPE_CHECKING:
    from scrapy.crawler import Crawler
    from typing_extensions import Self

logger = logging.getLogger(__name__)

#: The finish reason of a crawl whose storage could not be used.
FINISH_REASON = "storage_error"


class MongoPipeline:
    """Stores every item in MongoDB; the last of the pipelines."""

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler
        self._storage = storage_of(crawler)

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        """Take the settings from the crawler.

        Raises:
            ConfigError: One is malformed.
        """
        return cls(crawler)

    async def open_spider(self) -> None:
        """Wait for MongoDB.

        Raises:
            CloseSpider: It cannot be used; the log says why.
        """
        try:
            await self._open()
        except StorageError as error:
            logger.critical("The crawl cannot begin: %s", error)
            raise CloseSpider(FINISH_REASON) from error

    async def _open(self) -> None:
        if not is_asyncio_available():
            raise StorageError(
                "Items are stored through asyncio: set TWISTED_REACTOR ="
                " 'twisted.internet.asyncioreactor.AsyncioSelectorReactor' (Scrapy's default)."
            )
        await interruptible(self._crawler, self._storage.open())

    async def process_item(self, item: Any) -> Any:
        """Buffer an item, and give it on as it came.

        Raises:
            DropItem: It cannot be stored, and is set aside.
        """
        origin = current_origin.get()
        try:
            await self._storage.put(item, origin)
        except Rejection as rejection:
            await self._storage.reject(item, origin, rejection)
            raise DropItem(rejection.reason, log_level="DEBUG") from None  # the storage has logged it
        return item

    async def close_spider(self) -> None:
        """Store what is left."""
        lost = await self._storage.close()
        if lost:
            logger.critical(
                "MongoDB did not come back within MONGO_CLOSE_SECONDS (%(seconds)d s): %(lost)d items were"
                " NOT stored. Their requests stay in the shared frontier and are crawled again.",
                {"seconds": self._storage.options.close_timeout, "lost": lost},
            )
