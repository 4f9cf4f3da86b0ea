import inspect

import pytest
from scrapy_redis.dupefilter import RFPDupeFilter
from scrapy_redis.scheduler import Scheduler as StockScheduler

from spiders_project.errors import FrontierError
from spiders_project.frontier.dupefilter import DupeFilter
from spiders_project.frontier.scheduler import Scheduler


def test_both_are_subclasses_of_scrapy_rediss():
    assert issubclass(Scheduler, StockScheduler)
    assert issubclass(DupeFilter, RFPDupeFilter)


@pytest.mark.parametrize("method", [Scheduler.open, Scheduler.close])
def test_what_scrapy_does_not_await_is_no_coroutine(method):
    """F27: Scrapy never awaits an ``async def open`` or ``close`` of a scheduler; it waits for a Deferred."""
    assert not inspect.iscoroutinefunction(method)
    assert inspect.signature(method).return_annotation == "Deferred[None]"


def test_flushing_is_refused():
    """F2: the first worker that closed deleted the queue and the seen set of all."""
    with pytest.raises(FrontierError, match="scrapy frontier purge"):
        Scheduler.flush(None)
