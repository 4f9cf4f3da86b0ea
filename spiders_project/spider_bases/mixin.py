"""What both base classes share: seeds come from the scheduler, arguments are checked, no server is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy_redis.spiders import RedisMixin

from spiders_project.errors import ConfigError
from spiders_project.spider_bases.arguments import CrawlArguments, parse_arguments

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Container

    from pydantic import BaseModel
    from scrapy import Spider
    from scrapy.crawler import Crawler
else:
    Spider = object


class SharedMixin(Spider):
    """Turns a scrapy-redis spider into one of the shared frontier.

    The scheduler reads the seeds in the background and puts a spider's own ``start_urls`` once for a run, so
    building a spider connects to nothing and the same class runs under Scrapy's in-memory scheduler.

    Attributes:
        arguments: The model that checks the spider's arguments.
        redis_key: The key of the seeds; may contain ``%(name)s``; None for ``<namespace>:start_urls``.
        redis_encoding: The encoding of the seeds.
        max_pages: How many pages the whole crawl may fetch; None for no limit.
        known_links: URLs that the frontier is known to have seen. The scheduler may put a memory here; a
            spider that yields many links asks it before it builds a request.
    """

    arguments: ClassVar[type[BaseModel]] = CrawlArguments
    redis_key: str | None
    redis_encoding: str | None
    max_pages: int | None = None
    known_links: Container[str] = ()

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        """Check the arguments; unknown ones become attributes, as in Scrapy.

        Raises:
            ConfigError: An argument has a value that does not fit, or the class defines ``start_requests``.
        """
        if type(self).start_requests is not RedisMixin.start_requests:  # type: ignore[attr-defined]  # RedisMixin's
            raise ConfigError(
                f"{type(self).__name__} defines start_requests(), which Scrapy no longer calls: "
                "write `async def start(self)` and yield the requests there"
            )
        super().__init__(*args, **parse_arguments(self.arguments, kwargs))

    def setup_redis(self, crawler: Crawler | None = None) -> None:
        """Settle the names that scrapy-redis settles here, and connect to nothing: the scheduler reads seeds.

        Raises:
            ConfigError: ``redis_key`` is empty.
        """
        settings = (crawler or self.crawler).settings
        if self.redis_key is not None:
            self.redis_key = self.redis_key % {"name": self.name}
            if not self.redis_key.strip():
                raise ConfigError(f"redis_key of spider {self.name} is empty: name a key, or leave it out")
        if self.redis_encoding is None:
            self.redis_encoding = settings.get("REDIS_ENCODING", "utf-8")

    @property
    def reads_own_seeds(self) -> bool:
        """Whether the class overrides ``make_request_from_data``, so that the scheduler has to call it."""
        return type(self).make_request_from_data is not RedisMixin.make_request_from_data  # type: ignore[attr-defined]  # RedisMixin's

    async def start(self) -> AsyncIterator[Any]:
        """Nothing: the scheduler puts ``start_urls`` and seeds. An override may yield, as in Scrapy."""
        requests: tuple[Any, ...] = ()  # the loop makes this an async generator
        for request in requests:
            yield request
