"""The add-on that Scrapy runs before each crawl, once all settings are known."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from scrapy import signals

from spiders_project import egg
from spiders_project.checks import check, uses_frontier

if TYPE_CHECKING:
    from scrapy import Request, Spider
    from scrapy.crawler import Crawler
    from scrapy.settings import BaseSettings
    from typing_extensions import Self

logger = logging.getLogger(__name__)

_COMPONENTS = ("SPIDER_MIDDLEWARES", "DOWNLOADER_MIDDLEWARES", "EXTENSIONS")
_NEED_FRONTIER = ("spiders_project.frontier.", "spiders_project.extensions.")
#: What does its work for any job, whatever its scheduler, and nothing where there is no job.
_FOR_ANY_JOB = ("spiders_project.extensions.job_record.",)
_LOOPBACK = ("localhost", "::1")


class ProjectAddon:
    """Refuses wrong settings, names the contact in the user agent, drops what only a frontier has use for.

    The commands of this project have checked the settings already, to fail in one line; this check also
    reaches scripts that run a crawl through ``CrawlerProcess``, and what another add-on has changed.
    """

    def __init__(self, crawler: Crawler) -> None:
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> Self:
        return cls(crawler)

    def update_settings(self, settings: BaseSettings) -> None:
        """Called by Scrapy.

        Raises:
            ConfigError: A setting is wrong.
        """
        if version := egg.version():
            # Scrapyd lists no version of a running job; whoever is about to delete one reads it in the job's log.
            logger.info("This job runs version %(version)s", {"version": version})
        contact = check(settings, spider=self._crawler.spidercls.name).contact
        if contact:
            name_contact(settings, contact)
        else:
            self._crawler.signals.connect(self._warn_once, signals.request_reached_downloader)
        if not uses_frontier(settings):
            drop_frontier_components(settings)

    def _warn_once(self, request: Request, spider: Spider) -> None:
        host = urlsplit(request.url).hostname or ""
        if host in _LOOPBACK or host.startswith("127.") or host.endswith(".localhost"):
            return
        self._crawler.signals.disconnect(self._warn_once, signals.request_reached_downloader)
        logger.warning(
            "Crawling %(host)s without a contact: set CONTACT to a web page or mail address, "
            "so that its operator can reach you before blocking you",
            {"host": host},
            extra={"spider": spider},
        )


def name_contact(settings: BaseSettings, contact: str) -> None:
    """Put the contact into the project's own user agent; one that somebody chose stays."""
    from spiders_project.settings import USER_AGENT  # noqa: PLC0415 - settings.py names this module

    if settings["USER_AGENT"] == USER_AGENT:
        settings.set("USER_AGENT", f"{USER_AGENT} (+{contact})", settings.getpriority("USER_AGENT") or 0)


def drop_frontier_components(settings: BaseSettings) -> None:
    """Take out components that talk to Redis; they are named by path in settings.py."""
    for name in _COMPONENTS:
        kept: dict[Any, Any] = {
            path: order
            for path, order in settings.getdict(name).items()
            if not isinstance(path, str) or path.startswith(_FOR_ANY_JOB) or not path.startswith(_NEED_FRONTIER)
        }
        settings.set(name, kept, settings.getpriority(name) or 0)
