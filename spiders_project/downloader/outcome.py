"""Sees which responses are left when all other middlewares are through with them, and tells the frontier."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scrapy.utils.response import response_status_message

if TYPE_CHECKING:
    from scrapy import Request
    from scrapy.crawler import Crawler
    from scrapy.http import Response


class OutcomeMiddleware:
    """Makes a dead letter of a request whose retries have all ended in a status such as 500.

    It stands nearest to the engine: what is retried or redirected never comes here. Downloads that raise are the
    downloader's own matter (``gated``).
    """

    def __init__(self, crawler: Crawler) -> None:
        settings = crawler.settings
        self._crawler = crawler
        self._retried = (
            {int(status) for status in settings.getlist("RETRY_HTTP_CODES")}
            if settings.getbool("RETRY_ENABLED")
            else set()
        )
        self._allows_all = settings.getbool("HTTPERROR_ALLOW_ALL")
        self._allowed = {int(status) for status in settings.getlist("HTTPERROR_ALLOWED_CODES")}

    @classmethod
    def from_crawler(cls, crawler: Crawler) -> OutcomeMiddleware:
        """Build it."""
        return cls(crawler)

    @property
    def _tracker(self) -> Any:
        return getattr(self._crawler.engine.scheduler, "tracker", None)

    def process_response(self, request: Request, response: Response) -> Response:
        """A status that is retried and still came through has no tries left."""
        if response.status in self._retried and not self._is_handled(request, response.status):
            tracker = self._tracker
            if tracker is not None:
                tracker.gave_up(request, "status", response_status_message(response.status))
        return response

    def _is_handled(self, request: Request, status: int) -> bool:
        """Whether the callback gets such a response: what Scrapy's HttpErrorMiddleware looks at."""
        meta = request.meta
        if self._allows_all or meta.get("handle_httpstatus_all") or meta.get("dont_retry"):
            return True
        spider = self._crawler.spider
        listed = meta.get("handle_httpstatus_list", getattr(spider, "handle_httpstatus_list", ()))
        return status in self._allowed or status in (listed or ())
