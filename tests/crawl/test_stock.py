"""What scrapy-redis 0.9.1 does where this project does otherwise: proof that the tests beside this one can fail."""

import signal

import pytest

pytestmark = pytest.mark.slow

STOCK = {
    "SCHEDULER": "scrapy_redis.scheduler.Scheduler",
    "DUPEFILTER_CLASS": "scrapy_redis.dupefilter.RFPDupeFilter",
    "SCHEDULER_PERSIST": False,  # its default
    "ITEM_PROCESSOR": "scrapy.pipelines.ItemPipelineManager",
    "MAX_IDLE_TIME_BEFORE_CLOSE": 1,
}


@pytest.fixture
def stock(crawl):
    return crawl(spider="stock", settings=STOCK)


def test_stock_loses_requests_when_a_worker_is_killed(site, stock):
    """F1; ours: test_kill."""
    tree = site(120, hosts=4, latency=0.2)
    stock.settings = {**stock.settings, "SCHEDULER_PERSIST": True}
    stock.seed(tree.url(0))
    (victim,) = stock.start()
    stock.wait_stored(20)
    victim.kill()
    stock.start()
    stock.finish()
    assert set(stock.stored) < tree.expected


def test_stock_deletes_the_queue_of_the_others_when_one_worker_closes(site, stock):
    """F2, F3; ours: test_end."""
    tree = site(300, latency=0.5)
    stock.seed(tree.url(0))
    first, second = stock.start(2)
    stock.wait_stored(40)
    second.send(signal.SIGTERM)
    assert second.wait() == 0
    assert first.wait() == 0
    # The queue went, and the seen set with it: what others find anew they crawl anew, and the rest is lost.
    assert set(stock.stored) < tree.expected or max(tree.fetched.values()) > 1
