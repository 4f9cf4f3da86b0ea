"""What becomes of a request, one row each: DESIGN's table, read from one crawl."""

import signal

import msgpack
import pytest

from spiders_project.frontier import codec
from tests.crawl.crawl import crawling
from tests.crawl.site import Reply, Site
from tests.crawl.waiting import wait_for

RETRY_TIMES = 2
#: Seconds; with full jitter the chance that a retry comes within a test's time is 1 in a hundred thousand.
WAIT = 1_000_000
SETTINGS = {
    "RETRY_TIMES": RETRY_TIMES,
    "DOWNLOAD_MAXSIZE": 50_000,
    "DOWNLOAD_WARNSIZE": 0,
    "ROBOTSTXT_OBEY": True,
    "ITEM_PIPELINES": {"tests.crawl.spiders.outcomes.OddPipeline": 1, "tests.crawl.worker_side.JsonLines": 2},
    "DOWNLOADER_MIDDLEWARES": {
        "spiders_project.downloader.outcome.OutcomeMiddleware": 1,
        "tests.crawl.spiders.outcomes.IgnoringMiddleware": 600,
        "tests.crawl.spiders.outcomes.AnsweringMiddleware": 610,
    },
}


def lines_of(rows):
    return "\n".join(f"{row} {url}" for row, url in rows.items()).encode()


@pytest.fixture(scope="module")
def done(tmp_path_factory, redis_url, servers_root):
    """The crawl, when it is over; ``done.tree`` is its site."""
    directory = servers_root / "outcomes"
    directory.mkdir()
    with (
        Site(1, hosts=2).serving() as tree,
        crawling(directory, redis_url, spider="outcomes", settings=SETTINGS) as run,
    ):
        run.redis.flushall()
        flaky = iter([500, 502])

        def flaky_reply(_):
            return Reply(next(flaky, 200), b"at last")

        tree.at = {
            "/ok": Reply(body=b"fine"),
            "/ok?from=raises": Reply(body=b"fine"),
            "/ok?from=errback": Reply(body=b"fine"),
            "/raises": Reply(body=b"odd"),
            "/pipeline": Reply(body=b"fine"),
            "/drop": Reply(body=b"fine"),
            **{f"/replaced/{name}": Reply(body=b"fine") for name in ("raises", "item")},
            "/downloaded": Reply(body=b"fine"),
            "/downloaded?again": Reply(body=b"fine"),
            "/500": Reply(500),
            "/500-errback": Reply(500),
            "/flaky": flaky_reply,
            "/reset": Reply(0),
            "/reset-errback": Reply(0),
            "/large": Reply(body=b"x" * 60_000),
            "/gzip": Reply(body=b"no gzip", headers={"Content-Encoding": "gzip"}),
            "/nowhere": Reply(302, headers={"Location": "http://[::nowhere/"}),
            **{f"/round?{i}": Reply(302, headers={"Location": f"/round?{i + 1}"}) for i in range(20)},
            "/private": Reply(body=b"secret"),
            "127.0.0.2/robots.txt": Reply(
                body=b"User-agent: *\nDisallow: /private\n", headers={"Content-Type": "text/plain"}
            ),
        }
        rows = {
            "ok": tree.url("/ok"),
            "raises": tree.url("/raises"),
            "pipeline_raises": tree.url("/pipeline"),
            "dropped": tree.url("/drop"),
            "replaced": tree.url("/replaced/raises"),
            "replaced_item": tree.url("/replaced/item"),
            "downloaded_item": tree.url("/downloaded"),
            "handled": "http://nowhere.invalid/handled",
            "handled_async": tree.url("/reset-errback"),
            "handled_status": tree.url("/no-such-page-but-an-errback"),
            "reraises": "http://nowhere.invalid/reraises",
            "returns_failure": "http://nowhere.invalid/returns",
            "retried": tree.url("/flaky"),
            "gave_up": tree.url("/500"),
            "retried_errback": tree.url("/500-errback"),
            "reset": tree.url("/reset"),
            "dns": "http://nowhere.invalid/dns",
            "tls": tree.url("/tls").replace("http:", "https:"),
            "large": tree.url("/large"),
            "gzip": tree.url("/gzip"),
            "redirect_to_no_url": tree.url("/nowhere"),
            "redirect_loop": tree.url("/round?0"),
            "missing": tree.url("/no-such-page"),
            "robots": tree.url("/private", host=1),
            "offsite": "http://127.0.0.9:1/",
            "ignored": tree.url("/ignored"),
        }
        tree.at["/rows"] = Reply(body=lines_of(rows), headers={"Content-Type": "text/plain"})
        run.seed(tree.url("/rows"))
        run.start(arguments={"port": str(tree.port)})
        run.finish()
        run.tree, run.rows = tree, rows
        run.letters = {letter["url"]: letter for letter in run.dead}
        run.by_row = {item["row"]: item for item in run.items}
        yield run


pytestmark = pytest.mark.slow


def test_the_crawl_ends_and_leaves_nothing_behind(done):
    assert done.workers[0].said["reason"] == "finished"
    assert done.redis.hlen(done.keys.requests) == 0
    assert done.leases == 0
    assert done.redis.hgetall(done.keys.active) == {}
    assert len(done.items) == len(done.by_row), "nothing twice"


def test_a_page_whose_callback_ended_is_done(done):
    assert "ok" in done.by_row
    assert done.rows["ok"] not in done.letters


def test_a_callback_that_raises_makes_a_dead_letter_and_what_it_yielded_before_counts(done):
    letter = done.letters[done.rows["raises"]]
    assert letter["reason"] == "callback"
    assert "ValueError: the page is odd" in letter["error"]
    assert {"raises", "child-of-raises"} <= done.by_row.keys()


def test_a_dead_letter_keeps_the_whole_request_so_that_it_can_be_replayed(done):
    for value in done.redis.hgetall(done.keys.dead).values():
        _, payload, at = msgpack.unpackb(value, raw=True)
        fields = codec.decode(payload)
        assert fields["url"] in done.letters
        assert fields["callback"].startswith("on_")
        assert int(at) > 0


def test_a_pipeline_that_raises_makes_a_dead_letter(done):
    letter = done.letters[done.rows["pipeline_raises"]]
    assert letter["reason"] == "item"
    assert "OSError: the pipeline is odd" in letter["error"]


@pytest.mark.parametrize("row", ["replaced_item", "downloaded_item"])
def test_an_item_counts_for_its_page_when_a_middleware_answered_with_another_response(done, row):
    assert done.letters[done.rows[row]]["reason"] == "item"


def test_a_callback_counts_for_its_page_when_a_middleware_answered_with_another_response(done):
    assert done.letters[done.rows["replaced"]]["reason"] == "callback"


def test_a_dropped_item_is_no_failure(done):
    assert done.rows["dropped"] not in done.letters
    assert "dropped" not in done.by_row


@pytest.mark.parametrize("row", ["handled", "handled_async", "handled_status", "retried_errback"])
def test_an_errback_that_handles_the_failure_counts_as_a_callback(done, row):
    assert done.rows[row] not in done.letters
    assert row in done.by_row


def test_requests_of_an_errback_are_crawled(done):
    assert "child-of-errback" in done.by_row


def test_an_errback_that_raises_makes_a_dead_letter(done):
    assert done.letters[done.rows["reraises"]]["reason"] in ("download", "callback")
    assert done.letters[done.rows["returns_failure"]]["reason"] == "download"


def test_a_retryable_status_is_tried_again(done):
    assert "retried" in done.by_row
    assert len(done.tree.seen("/flaky")) == 3
    assert done.rows["retried"] not in done.letters


def test_a_retryable_status_without_tries_left_makes_a_dead_letter(done):
    letter = done.letters[done.rows["gave_up"]]
    assert (letter["reason"], letter["attempts"]) == ("status", RETRY_TIMES + 1)
    assert "500" in letter["error"]
    assert len([one for one in done.tree.seen("/500") if one.path == "/500"]) == RETRY_TIMES + 1


def test_a_connection_that_is_always_reset_makes_a_dead_letter(done):
    letter = done.letters[done.rows["reset"]]
    assert (letter["reason"], letter["attempts"]) == ("download", RETRY_TIMES + 1)


@pytest.mark.parametrize("row", ["dns", "tls", "large", "gzip", "redirect_to_no_url"])
def test_a_download_that_cannot_work_makes_a_dead_letter(done, row):
    assert done.letters[done.rows[row]]["reason"] == "download"


def test_a_page_that_is_too_large_is_fetched_once(done):
    assert len(done.tree.seen("/large")) == 1


@pytest.mark.parametrize("row", ["missing", "robots", "offsite", "ignored", "redirect_loop"])
def test_what_is_not_to_be_crawled_is_done_without_a_dead_letter(done, row):
    assert done.rows[row] not in done.letters
    assert row not in done.by_row


def test_a_redirect_loop_is_counted_and_logged_with_its_url(done):
    assert done.workers[0].said["stats"]["redirect/max_reached"] == 1
    assert f"redirected too often, from {done.rows['redirect_loop']} on" in done.workers[0].log


def test_nothing_else_became_a_dead_letter(done):
    rows = ["replaced", "replaced_item", "downloaded_item"]
    rows += ["raises", "pipeline_raises", "reraises", "returns_failure", "gave_up", "reset", "dns", "tls", "large"]
    rows += ["gzip", "redirect_to_no_url"]
    assert done.letters.keys() == {done.rows[row] for row in rows}


@pytest.mark.parametrize(("row", "page"), [("closes", "/ok"), ("closes_late", "/no-such-page")])
def test_a_callback_that_closes_the_spider_has_not_ended_so_its_page_is_kept(site, crawl, row, page):
    tree = site(1)
    tree.at = {"/rows": Reply(body=f"{row} {tree.url(page)}\n".encode()), "/ok": Reply(body=b"fine")}
    run = crawl(spider="outcomes")
    run.seed(tree.url("/rows"))
    (worker,) = run.start()
    assert worker.wait() == 0
    assert worker.said["reason"] == "enough"
    (letter,) = run.dead
    assert (letter["url"], letter["error"]) == (tree.url(page), "CloseSpider: enough")
    assert [item["row"] for item in run.items] == [row] * (row == "closes")


def test_a_request_that_kills_its_worker_becomes_a_dead_letter(site, crawl):
    tree = site(1)
    tree.at = {"/rows": Reply(body=f"kills {tree.url('/ok')}\n".encode()), "/ok": Reply(body=b"fine")}
    run = crawl(spider="outcomes", settings={"FRONTIER_MAX_DELIVERIES": 1})
    run.seed(tree.url("/rows"))
    (killed,) = run.start()
    assert killed.wait() == -signal.SIGKILL
    run.start()
    run.finish()
    # The page with the link may have died with it, where its ack had not gone out.
    assert {(letter["reason"], letter["attempts"]) for letter in run.dead} == {("deliveries", 1)}
    assert len(tree.seen("/ok")) == 1


def test_a_retry_waits_in_the_frontier_and_not_in_a_download_slot(site, crawl):
    tree = site(12)
    tree.at["/p/1"] = lambda _: Reply(500 if len(tree.seen("/p/1")) <= 1 else 200, tree._page(1))
    run = crawl(settings={"RETRY_BACKOFF_SECONDS": WAIT, "RETRY_BACKOFF_MAX_SECONDS": WAIT})
    run.seed(tree.url(0))
    (worker,) = run.start(CONCURRENT_REQUESTS=1)
    # Page 1 waits, and the only slot is free for the others.
    run.wait_stored(tree.pages - 1 - len(tree.children(1)))
    wait_for(lambda: run.leases == 0)
    assert run.redis.zcard(run.keys.delayed) == 1
    assert 0 < run.redis.zrange(run.keys.delayed, 0, 0, withscores=True)[0][1] / 1000 - run.redis.time()[0] <= WAIT
    assert worker.running, "a request that waits is work: the crawl is not finished"
    run.redis.zadd(run.keys.delayed, dict.fromkeys(run.redis.zrange(run.keys.delayed, 0, -1), 1))
    run.finish()
    assert set(run.stored) == tree.expected
