"""What Scrapy's settings and helpers promise holds on the shared frontier."""

import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from itertools import pairwise
from socket import AF_INET6

import pytest

from tests.crawl.site import Reply
from tests.crawl.waiting import wait_for

pytestmark = pytest.mark.slow


def test_a_crawl_may_go_deep_first(site, crawl):
    tree = site(40, fan=3)
    run = crawl(settings={"FRONTIER_ORDER": "lifo", "CONCURRENT_REQUESTS_PER_DOMAIN": 1, "CONCURRENT_REQUESTS": 1})
    run.seed(tree.url(0))
    run.start(FRONTIER_PREFETCH=1)
    run.finish()
    assert sorted(run.stored) == sorted(tree.expected)
    first = [int(url.rsplit("/", 1)[1]) for url in run.stored[:6]]
    assert max(first) >= 13, f"{first}: four levels down after a few pages, where fifo has seen three levels"


class SixHandler(BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.send_header("Content-Length", "2")
        self.end_headers()
        self.wfile.write(b"v6")

    def log_message(self, *args):
        pass


class SixServer(ThreadingHTTPServer):
    address_family = AF_INET6


@pytest.fixture
def six():
    with SixServer(("::1", 0), SixHandler) as server:
        thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05})
        thread.start()
        yield f"http://[::1]:{server.server_port}/"
        server.shutdown()
        thread.join()


def test_hosts_in_all_spellings_are_crawled(site, crawl, six):
    tree = site(1)
    port = tree.port
    urls = [
        f"http://LOCALHOST:{port}/p/0?upper",
        f"http://localhost:{port}/p/0?lower",
        f"http://user:pass@127.0.0.1:{port}/p/0?user",
        six,
    ]
    for path in ("upper", "lower"):
        tree.at[f"/p/0?{path}"] = Reply(body=b"x")
    tree.at["/list"] = Reply(body="\n".join(urls).encode())
    run = crawl(spider="list")
    run.seed(tree.url("/list"))
    # Scrapy's default resolver knows IPv4 only.
    (worker,) = run.start(DNS_RESOLVER="scrapy.resolver.CachingHostnameResolver")
    run.finish()
    assert {item["slot"] for item in run.items} == {"localhost", "::1"}, worker.log
    assert len(run.items) == 3
    # Scrapy's own handler takes no user in a URL: told, kept, and nobody else's matter.
    assert [letter["url"] for letter in run.dead] == [urls[2].replace("pass", "***")], "a password is for nobody's eyes"
    assert "invalid hostname" in run.dead[0]["error"]
    assert "user:pass" not in "".join(line for line in worker.log.splitlines() if "dead letter" in line)
    assert run.redis.hlen(run.keys.active) == 0


def test_a_callback_that_asks_again_backs_off_in_the_frontier(site, crawl):
    tree = site(1)
    tree.at["/p/0"] = lambda _: Reply(body=b"empty" if len(tree.seen()) < 3 else b"full")
    run = crawl(spider="again", settings={"RETRY_BACKOFF_SECONDS": 0.5})
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.finish()
    assert [item["times"] for item in run.items] == [2]
    assert worker.stats["frontier/delayed"] == 2
    assert worker.stats["retry/reason_count/empty"] == 2


def test_a_retry_of_a_request_that_only_its_worker_has_backs_off_too(site, crawl):
    """It came again at once, as often as it had tries; and while it waits the crawl does not end."""
    tree = site(1)
    tree.at["/flaky"] = lambda _: Reply(500 if len(tree.seen("/flaky")) < 4 else 200)
    run = crawl(spider="stubborn", settings={"RETRY_BACKOFF_SECONDS": 2, "MAX_IDLE_TIME_BEFORE_CLOSE": 1})
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.finish()
    assert tree.url("/flaky") in run.stored, run.describe()
    assert worker.stats["frontier/delayed"] == 3
    times = [arrival.at for arrival in tree.seen("/flaky")]
    assert sum(after - before for before, after in pairwise(times)) > 0.5, "14 s at most, evenly spread for each"


def test_pages_from_scrapys_http_cache_are_crawled_without_a_download(site, crawl, tmp_path):
    tree = site(12, hosts=2)
    settings = {"HTTPCACHE_ENABLED": True, "HTTPCACHE_DIR": str(tmp_path)}
    run = crawl(settings=settings)
    run.seed(tree.url(0))
    run.start()
    run.finish()
    assert sorted(run.stored) == sorted(tree.expected)
    arrivals = len(tree.arrivals)
    again = crawl(settings={**settings, "FRONTIER_NAMESPACE": "again", "CONCURRENT_REQUESTS_PER_DOMAIN": 1})
    again.redis.rpush("again:start_urls", tree.url(0))
    (worker,) = again.start()
    again.finish()
    assert len(tree.arrivals) == arrivals
    assert worker.stats["httpcache/hit"] == 12
    assert sorted(run.stored) == sorted([*tree.expected] * 2)
    assert again.redis.hlen("again:active") == 0, "a cached page leaves its host's slot"


def test_every_dropped_request_is_logged_where_that_is_asked_for(site, crawl):
    tree = site(6)
    run = crawl(settings={"DUPEFILTER_DEBUG": True, "LOG_LEVEL": "DEBUG"})
    run.seed(tree.url(0))
    (worker,) = run.start()
    run.finish()
    told = worker.log.count("Filtered duplicate request")
    assert told == worker.stats["dupefilter/filtered"] >= 6


def test_two_crawls_of_one_spider_share_a_redis_and_nothing_else(site, crawl):
    tree, other = site(20), site(30)
    run = crawl()
    run.redis.rpush("{one}:start_urls", tree.url(0))
    run.redis.rpush("two:start_urls", other.url(0))
    run.start(FRONTIER_NAMESPACE="{one}")
    run.start(FRONTIER_NAMESPACE="two")
    run.finish()
    assert sorted(run.stored) == sorted([*tree.expected, *other.expected])
    assert run.redis.hget("{one}:seen", "count") == b"20"
    assert run.redis.hget("two:seen", "count") == b"30"
    assert list(run.redis.scan_iter("tree:*")) == []


def test_a_seed_is_crawled_as_often_as_it_is_pushed(site, crawl):
    tree = site(1)
    run = crawl()
    entry = b'{"url": "%s", "dont_filter": true}' % tree.url(0).encode()
    run.seed(entry, entry, entry)
    run.start(2)
    run.finish()
    assert run.stored == [tree.url(0)] * 3


def test_a_host_without_limit_is_crawled(site, crawl):
    tree = site(30, latency=0.2)
    run = crawl(settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 0, "CONCURRENT_REQUESTS": 12, "FRONTIER_HOST_SHARE": 1})
    run.seed(tree.url(0))
    run.start()
    run.finish()
    assert set(run.stored) == tree.expected
    assert tree.most_at_once(tree.hosts[0]) > 8


def test_a_run_that_has_its_pages_leaves_the_rest_to_the_next(site, crawl):
    """It threw the rest away and kept the marks: no run ever visited those pages."""
    tree = site(40)
    run = crawl(spider="limited")
    run.seed(tree.url(0))
    (worker,) = run.start(arguments={"max_pages": "10"})
    run.finish()
    assert len(run.stored) == 10
    assert worker.said["reason"] == "finished"
    assert run.redis.hget(run.keys.run, "reason") == b"max_pages"
    left = run.redis.hlen(run.keys.requests)
    assert left > 0

    (waiting,) = run.start(MAX_IDLE_TIME_BEFORE_CLOSE=0)
    waiting.wait_log("joins the crawl")
    used = waiting.cpu
    wait_for(lambda: run.redis.hlen(run.keys.replies))
    assert run.redis.hlen(run.keys.requests) == left, "no run is open"
    run.seed(tree.url(0))
    run.wait_stored(41)
    assert waiting.cpu - used < 20
    waiting.kill()
    assert set(run.stored) == tree.expected
    assert len(run.stored) == 41, "and the seed once more"


def test_a_callback_may_fill_one_dict_again_and_again(site, crawl):
    tree = site(1)
    tree.at["/gone"] = Reply(410)
    run = crawl(spider="reuse")
    run.seed(tree.url(0))
    run.start()
    run.finish()
    for url in (tree.url(0), tree.url("/gone")):
        assert sorted(item["n"] for item in run.items if item["url"] == url) == list(range(50))
