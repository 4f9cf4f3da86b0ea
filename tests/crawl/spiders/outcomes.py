import os
import signal

from scrapy import Request
from scrapy.exceptions import CloseSpider, DropItem, IgnoreRequest

from spiders_project.spider_bases import SharedSpider


class OutcomesSpider(SharedSpider):
    """One request for each row of the table of outcomes, sent by the page ``/rows``."""

    name = "outcomes"
    allowed_domains = ("127.0.0.1", "127.0.0.2", "nowhere.invalid")

    def parse(self, response):
        """``/rows`` is lines of ``row url``; each row names its callback, and its errback where it has one."""
        for line in response.text.splitlines():
            row, url = line.split()
            callback = getattr(self, f"on_{row}", self.on_ok)
            yield Request(url, callback, errback=getattr(self, f"failed_{row}", None), cb_kwargs={"row": row})

    def on_ok(self, response, row):
        yield {"url": response.url, "row": row}

    def on_raises(self, response, row):
        yield {"url": response.url, "row": row}
        yield Request(response.urljoin("/ok?from=raises"), self.on_ok, cb_kwargs={"row": "child-of-raises"})
        raise ValueError("the page is odd")

    def on_pipeline_raises(self, response, row):
        yield {"url": response.url, "row": row, "pipeline": "raise"}

    on_replaced = on_raises
    on_replaced_item = on_downloaded_item = on_pipeline_raises

    def on_closes(self, response, row):
        yield {"url": response.url, "row": row}
        raise CloseSpider("enough")

    def on_dropped(self, response, row):
        yield {"url": response.url, "row": row, "pipeline": "drop"}

    def failed_closes_late(self, failure):
        raise CloseSpider("enough")

    def failed_handled(self, failure):
        yield {"url": failure.request.url, "row": "handled"}
        yield Request(
            f"http://127.0.0.1:{self.port}/ok?from=errback", self.on_ok, cb_kwargs={"row": "child-of-errback"}
        )

    async def failed_handled_async(self, failure):
        yield {"url": failure.request.url, "row": "handled_async"}

    def failed_handled_status(self, failure):
        return {"url": failure.request.url, "row": "handled_status"}

    def failed_reraises(self, failure):
        raise RuntimeError("the errback is odd too")

    def failed_returns_failure(self, failure):
        return failure

    def failed_retried_errback(self, failure):
        yield {"url": failure.request.url, "row": "retried_errback"}

    def on_kills(self, response, row):
        os.kill(os.getpid(), signal.SIGKILL)


class OddPipeline:
    def process_item(self, item):
        match item.pop("pipeline", ""):
            case "raise":
                raise OSError("the pipeline is odd")
            case "drop":
                raise DropItem("not wanted")
        return item


class IgnoringMiddleware:
    def process_request(self, request):
        if "ignored" in request.url:
            raise IgnoreRequest("not wanted")


class AnsweringMiddleware:
    """Its responses are of other requests than the engine asked for."""

    def __init__(self, crawler):
        self._crawler = crawler

    @classmethod
    def from_crawler(cls, crawler):
        return cls(crawler)

    async def process_request(self, request):
        if "downloaded" in request.url and "again" not in request.url:
            return await self._crawler.engine.download_async(request.replace(url=request.url + "?again"))
        return None

    def process_response(self, request, response):
        if "replaced" in request.url:
            return response.replace(request=request.replace(url=request.url + "#replaced"))
        return response
