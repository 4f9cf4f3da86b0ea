"""What both base classes share: seeds come from the scheduler, arguments are checked, no server is needed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

from scrapy import Request
from scrapy_redis.spiders import RedisMixin

from spiders_project.errors import ConfigError
from spiders_project.spider_bases.arguments import (
    CrawlArguments,
    FollowOptions,
    follow_options,
    parse_arguments,
)
from spiders_project.spider_bases.document import Document
from spiders_project.spider_bases.links import MAX_SERIES, is_binary, is_endless, shape
from spiders_project.spider_bases.scope import Scope

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Container, Iterator

    from pydantic import BaseModel
    from scrapy import Spider
    from scrapy.crawler import Crawler
    from scrapy.http import Response
    from scrapy.http.request import CallbackT
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
        own = {name: getattr(self, name) for name in FollowOptions.model_fields if hasattr(self, name)}
        self._follow_options = follow_options(own)

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

    def follow_links(self, page: Response | Document, callback: CallbackT | None = None) -> Iterator[Request]:
        """A request for each link of a page that is worth one; none for a response that is no HTML.

        Followed are http(s) links within ``allowed_domains``, or else within the seed's hosts, that robots
        may follow, that ``allow``, ``deny`` and ``max_depth`` admit (of the spider, or of the seed's meta),
        and that lead neither to files without text nor for ever on. Session ids are taken out first.

        Args:
            page: The response, or the document made of it, whose parts are then not read twice.
            callback: What to call with each response; ``parse`` by default.

        Raises:
            ConfigError: The seed's meta has an option with a value that does not fit.
        """
        document = page if isinstance(page, Document) else Document.of(page)
        if document is None or "nofollow" in document.robots:
            return
        response, meta = document.response, document.response.meta
        options = follow_options(meta, self._follow_options)
        if options.max_depth is not None and meta.get("depth", 0) >= options.max_depth:
            return
        scope = Scope(response, getattr(self, "allowed_domains", None))
        carried = {name: meta[name] for name in FollowOptions.model_fields if name in meta}
        here, series = shape(response.url), meta.get("series", 0)
        for url, nofollow in document.links:
            if nofollow or url in self.known_links or url not in scope or is_binary(url) or not options.admits(url):
                continue
            hops = series + 1 if shape(url) == here else 0
            if hops > MAX_SERIES or is_endless(url):
                self.count("links/endless")
                continue
            own_meta = {**carried, **scope.meta_for(url)}
            if hops:
                own_meta["series"] = hops
            yield Request(url, callback, meta=own_meta)

    def count(self, stat: str) -> None:
        """Add one to a stat of this worker."""
        assert self.crawler.stats is not None
        self.crawler.stats.inc_value(stat)
