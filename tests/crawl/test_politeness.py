"""I5: a host's limits hold for the whole cluster, as the server's log of arrivals tells."""

import signal
import time
from itertools import pairwise

import pytest

from tests.crawl.site import Reply
from tests.crawl.waiting import wait_for

#: Seconds by which two arrivals may seem nearer than they were allowed: the server's thread shares this process, and on
#: a machine with more work than cores a worker may lose its core between its gate and its socket.
MEASURED = 0.05

pytestmark = pytest.mark.slow


def assert_spaced(tree, delay):
    """No two arrivals at a host, whatever they wanted, are nearer than ``delay``."""
    nearest = {host: min(gaps) for host, gaps in tree.spacings().items() if gaps}
    assert all(gap >= delay - MEASURED for gap in nearest.values()), nearest


def busy(tree):
    """Give the pages of ``tree`` what the busy spider asks for; files are larger than pages."""
    for number in range(tree.pages):
        host = tree.hosts[tree._host_of(number)]
        tree.at[f"{host}/api/{number}"] = Reply(body=b"more", latency=tree.latency)
        tree.at[f"{host}/f/{number}"] = Reply(body=b"%d" % number * 1000, latency=tree.latency)
    return tree


BUSY = {
    "ITEM_PIPELINES": {"scrapy.pipelines.files.FilesPipeline": 1, "tests.crawl.worker_side.JsonLines": 2},
    "FILES_STORE": "files",
}


def assert_all_of(run, tree):
    assert set(run.stored) == tree.expected, run.describe()
    assert all(item["api"] == "more" and len(item["files"]) == 1 for item in run.items), run.items
    assert run.dead == [], run.describe()
    assert run.leases == 0
    assert run.redis.hgetall(run.keys.active) == {}


def test_three_workers_together_keep_a_hosts_delay_and_use_it_up(site, crawl):
    delay = 0.5
    tree = site(17)
    run = crawl(settings={"DOWNLOAD_DELAY": delay})
    run.seed(tree.url(0))
    run.start(3)
    run.finish()
    assert set(run.stored) == tree.expected
    assert_spaced(tree, delay)
    # Once there are links enough, the host is visited as often as it allows.
    arrivals = [one.at for one in tree.seen()][1:]
    rate = (len(arrivals) - 1) / (arrivals[-1] - arrivals[0])
    assert rate * delay >= 0.95
    assert all(worker.stats["frontier/claimed"] for worker in run.workers), "each had its share"


def test_a_jittered_delay_is_never_shorter_than_the_jitter_allows(site, crawl):
    tree = site(16)
    run = crawl(settings={"DOWNLOAD_DELAY": 0.2, "DOWNLOAD_DELAY_JITTER": 0.5})
    run.seed(tree.url(0))
    run.start(2)
    run.finish()
    assert_spaced(tree, 0.2 * 0.5)
    gaps = tree.spacings()[tree.hosts[0]][1:]
    assert max(gaps) - min(gaps) > 0.05, "it is jittered"


def test_what_never_passes_the_scheduler_keeps_the_delay_too(site, crawl):
    """A slow robots.txt (F26), downloads in callbacks, files, and redirects to other hosts (F25)."""
    delay = 0.2
    tree = busy(site(12, hosts=3, fan=4))
    tree.at["/robots.txt"] = Reply(body=b"User-agent: *\nDisallow: /private\n", latency=1.0)
    for number in range(1, 4):
        # Page n lives on host n % 3; these links to it are on another host.
        tree.at[f"/r/{number}"] = Reply(302, headers={"Location": tree.url(number)})
    links = "".join(f'<a href="{tree.url(f"/r/{n}", host=(n + 1) % 3)}">x</a>' for n in range(1, 4))
    tree.at["/p/0"] = Reply(body=links.encode() + b'<a href="%b">4</a>' % tree.url(4).encode())
    run = crawl(spider="busy", settings={**BUSY, "DOWNLOAD_DELAY": delay, "ROBOTSTXT_OBEY": True})
    run.seed(tree.url(0))
    run.start(2)
    run.finish()
    assert set(run.stored) == tree.expected, run.describe()
    assert run.dead == []
    assert len(tree.seen("/robots.txt")) >= 3
    assert len(tree.seen("/f/")) == tree.pages
    assert_spaced(tree, delay)


def test_the_limit_of_connections_is_one_for_all_workers_and_all_ways_to_download(site, crawl):
    """F19; and at a limit of one nothing waits for itself."""
    tree = busy(site(40, hosts=2, fan=8, latency=0.03))
    one, three = tree.hosts
    run = crawl(
        spider="busy",
        settings={**BUSY, "ROBOTSTXT_OBEY": True, "CONCURRENT_REQUESTS_PER_DOMAIN": 3,
                  "DOWNLOAD_SLOTS": {one: {"concurrency": 1}}},
    )  # fmt: skip
    run.seed(tree.url(0))
    run.start(2)
    run.finish(25)
    assert_all_of(run, tree)
    assert tree.most_at_once(one) == 1
    assert tree.most_at_once(three) == 3


def test_a_stop_finishes_the_downloads_of_a_page_that_has_begun(site, crawl):
    tree = busy(site(10))
    run = crawl(spider="busy", settings={**BUSY, "DOWNLOAD_DELAY": 1})
    run.seed(tree.url(0))
    (worker,) = run.start()
    wait_for(tree.seen)
    worker.send(signal.SIGTERM)
    assert worker.wait() == 0
    assert run.stored == [tree.url(0)]
    assert len(run.items[0]["files"]) == 1
    assert run.dead == []
    assert run.leases == 0
    assert_spaced(tree, 1)


def test_retry_after_pauses_the_host_for_all_workers(site, crawl):
    tree = site(30, hosts=2, latency=0.02)
    busy_host = tree.hosts[1]
    pause = 2
    refusals = []

    def tired(_):
        if len(tree.seen("/p/7")) > 1:
            return Reply(body=tree._page(7))
        refusals.append(time.monotonic())
        return Reply(429, headers={"Retry-After": str(pause)})

    tree.at["/p/7"] = tired
    run = crawl(settings={"DOWNLOAD_SLOTS": {busy_host: {"concurrency": 1}}})
    run.seed(tree.url(0))
    run.start(2)
    run.finish()
    assert set(run.stored) == tree.expected
    (refused,) = refusals
    after = [one.at - refused for one in tree.arrivals if one.host == busy_host and one.at > refused]
    assert min(after) >= pause - MEASURED
    others = [one.at - refused for one in tree.arrivals if one.host != busy_host]
    assert any(0 < at < pause for at in others) or max(others) < 0


def test_a_host_with_many_urls_does_not_hold_up_hosts_with_few(site, crawl):
    """F20: all of one host's URLs are queued before the others' first."""
    few = 12
    tree = site(160 + 5 * few, hosts=1 + few, latency=0.05, host_of=lambda n: 0 if n < 160 else 1 + n % few)
    run = crawl(settings={"CONCURRENT_REQUESTS": 8})
    run.seed(*(tree.url(n) for n in range(tree.pages)))
    run.start()
    run.finish()
    assert set(run.stored) == tree.expected
    order = [one.host for one in tree.seen()]
    last_of_few = max(index for index, host in enumerate(order) if host != tree.hosts[0])
    assert order[:last_of_few].count(tree.hosts[0]) < 120, "the others are done while the large host goes on"


def test_hosts_that_hang_do_not_delay_the_others(site, crawl):
    tree = site(12 + 60, hosts=3 + 10, host_of=lambda n: n % 3 if n < 12 else 3 + n % 10)
    for number in range(12):
        tree.at[f"/p/{number}"] = Reply(body=b"late", latency=8)
    run = crawl(settings={"CONCURRENT_REQUESTS": 16, "FRONTIER_HOST_SHARE": 0.25, "DOWNLOAD_TIMEOUT": 30})
    run.seed(*(tree.url(n) for n in range(tree.pages)))
    run.start()
    quick = {tree.url(n) for n in range(12, tree.pages)}
    wait_for(lambda: quick <= set(run.stored), 30, run.describe)
    assert not [one for one in tree.arrivals if one.host in tree.hosts[:3] and one.end], "the slow are not done yet"


def robots(text, latency=0.0):
    return Reply(body=text.encode(), headers={"Content-Type": "text/plain"}, latency=latency)


def test_a_crawl_delay_of_robots_txt_holds_for_all_workers_and_is_known_to_those_that_come_later(site, crawl):
    tree = site(13)
    tree.at["/robots.txt"] = robots("User-agent: *\nCrawl-delay: 0.5\n")
    run = crawl(settings={"ROBOTSTXT_OBEY": True})
    run.seed(tree.url(0))
    run.start(2)
    wait_for(lambda: len(tree.seen()) >= 5)
    run.start(1)
    run.finish()
    assert set(run.stored) == tree.expected
    pages = [one.at for one in tree.seen()]
    assert_gaps(pages, 0.5)
    assert run.redis.hgetall(run.keys.delays) == {b"127.0.0.1": b"500"}
    assert "asks for 0.5 s between two requests" in run.workers[0].log


def test_a_slow_robots_txt_counts_as_a_visit_for_workers_that_do_not_know_its_crawl_delay_yet(site, crawl):
    tree = site(9)
    tree.at["/robots.txt"] = robots("User-agent: *\nCrawl-delay: 1\n", latency=0.5)
    run = crawl(settings={"ROBOTSTXT_OBEY": True})
    run.seed(tree.url(0))
    run.start(1)
    wait_for(lambda: len(tree.seen()) >= 2)
    known = time.monotonic()
    run.start(2)
    run.finish()
    assert set(run.stored) == tree.expected
    assert_gaps([one.at for one in tree.seen("/") if one.at > known], 1)
    assert len(tree.seen("/robots.txt")) >= 2, "who had a page read it first"


def assert_gaps(arrivals, delay):
    gaps = [later - earlier for earlier, later in pairwise(arrivals)]
    assert min(gaps) >= delay - MEASURED, gaps


def test_the_first_page_of_a_host_waits_one_delay_behind_its_robots_txt(site, crawl):
    tree = site(1)
    tree.at["/robots.txt"] = robots("User-agent: *\n")
    run = crawl(settings={"ROBOTSTXT_OBEY": True, "DOWNLOAD_DELAY": 1})
    run.seed(tree.url(0))
    run.start()
    run.finish()
    (asked,), (page,) = tree.seen("/robots.txt"), tree.seen()
    assert 1 - MEASURED <= page.at - asked.at < 1.8


def test_autothrottle_slows_the_whole_cluster_down(site, crawl):
    tree = site(30, latency=0.4)
    settings = {"AUTOTHROTTLE_ENABLED": True, "AUTOTHROTTLE_START_DELAY": 0.6, "AUTOTHROTTLE_TARGET_CONCURRENCY": 1.0}
    run = crawl(settings=settings)
    run.seed(tree.url(0))
    run.start(3)
    run.finish()
    assert set(run.stored) == tree.expected
    # From its start delay it comes down to the latency, and never below; three workers by themselves made 0.13.
    assert_gaps([one.at for one in tree.seen()], 0.4)


def test_a_pause_that_one_worker_hears_of_holds_claims_that_the_others_have_in_their_buffers(site, crawl):
    tree = site(60, latency=0.3)
    told = []

    def too_much(_):
        if not told:
            told.append(time.monotonic())
            return Reply(429, headers={"Retry-After": "3"})
        return Reply(200, tree._page(7))

    tree.at["/p/7"] = too_much
    run = crawl(settings={"CONCURRENT_REQUESTS_PER_DOMAIN": 4, "FRONTIER_PREFETCH": 16})
    run.seed(tree.url(0))
    run.start(3)
    run.finish()
    assert set(run.stored) == tree.expected
    (paused,) = told
    # Those under way come in, and what was on its way to the server.
    during = [one for one in tree.seen() if paused + 0.5 < one.at < paused + 3 - MEASURED]
    assert during == [], run.describe()


def test_hosts_that_are_paused_for_long_hold_no_download_slot(site, crawl):
    tree = site(80, hosts=4, latency=0.05)
    # Of each of three hosts the first page asks to be left alone, while the worker's buffer is full of them.
    busy = [tree.url(f"/busy/{number}", host) for host in (1, 2, 3) for number in range(20)]
    tree.at |= {f"/busy/{number}": Reply(429, headers={"Retry-After": "600"}) for number in range(20)}
    settings = {"CONCURRENT_REQUESTS": 6, "CONCURRENT_REQUESTS_PER_DOMAIN": 2, "RETRY_BACKOFF_MAX_SECONDS": 600}
    run = crawl(settings=settings)
    run.seed(*busy)
    (worker,) = run.start()
    wait_for(lambda: all(f"127.0.0.{number} answers 429" in worker.log for number in (2, 3, 4)))
    run.seed(*(tree.url(f"/quick/{number}") for number in range(5)))
    tree.at |= {f"/quick/{number}": Reply(body=b"quick") for number in range(5)}
    run.wait_stored(5, 15)
    wait_for(lambda: run.leases == 0, 15, run.describe)
    assert run.redis.hlen(run.keys.requests) == len(busy), "what was in the buffer is back in the queue"
