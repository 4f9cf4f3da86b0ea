"""What a job leaves behind, however it ends: Scrapyd calls all of these "finished" (D7)."""

import os
import signal

import pytest

from spiders_project.jobs import store
from tests.crawl.waiting import wait_for

pytestmark = pytest.mark.slow


def job(name, **arguments):
    return {"_job": name, "_version": "v1", **arguments}


def test_a_job_says_how_it_stands_and_how_it_ended(site, crawl, redis_client):
    tree = site(30, hosts=2, latency=0.1)
    run = crawl()
    (worker,) = run.start(arguments=job("one"), NODE_NAME="berlin", CONCURRENT_REQUESTS=2, MAX_IDLE_TIME_BEFORE_CLOSE=2)
    wait_for(lambda: (record := store.get(redis_client, "one")) and record.worker)
    record = store.get(redis_client, "one")
    assert (record.state, record.alive, record.reason, record.ended_at) == ("running", True, "", None)
    assert (record.node, record.spider, record.namespace) == ("berlin", "tree", "tree")
    assert (record.version, record.pid) == ("v1", worker.pid)
    assert record.worker.startswith("berlin:one:")
    assert record.memory > 2**24
    assert record.load is not None
    assert abs(record.clock_off) < 1

    run.seed(tree.url(0))
    run.finish()
    record = store.get(redis_client, "one")
    assert (record.state, record.alive, record.reason, record.failed) == ("finished", False, "finished", False)
    assert record.stats == {"pages": 30, "items": 30, "errors": 0, "dead": 0, "retries": 0}
    assert record.started_at < record.ended_at == record.seen_at
    assert record.error == ""
    assert [one.id for one in store.newest(redis_client)] == ["one"]


def test_what_fails_leaves_its_traceback_also_before_the_spider_is_open(site, crawl, redis_client, redis_url):
    """Each in its own process, side by side: one worker a row."""
    run = crawl(spider="failing")
    run.seed(site(1).url(0))
    rows = {
        "import": ({}, {"SPIDER_MODULES": "no_such_module"}, "not_opened", "No module named 'no_such_module'"),
        "init": ({"where": "init"}, {}, "not_opened", "no login at redis://user:***@example.org"),
        "open": ({"where": "open"}, {}, "not_opened", "PermissionError: not in this room"),
        "setting": ({}, {"FRONTIER_LEASE_SECOND": 5}, "refused", "did you mean FRONTIER_LEASE_SECONDS?"),
        "argument": ({"max_pages": "all"}, {}, "refused", "max_pages='all' is refused"),
    }
    for name, (arguments, settings, _, _) in rows.items():
        run.start(arguments=job(name, **arguments), NODE_NAME="berlin", **settings)
    run.start(arguments=job("raises"))
    *failing, raising = run.workers
    for worker in failing:
        assert worker.wait(30) in {1, 2}, worker.log
    password = redis_url.split(":")[2].split("@")[0]
    for name, (_, _, reason, error) in rows.items():
        record = store.get(redis_client, name)
        assert record is not None, name
        assert (record.state, record.reason, record.failed) == ("failed", reason, True), name
        assert (record.node, record.spider, record.version) == ("berlin", "failing", "v1"), name
        assert error in record.error, name
        assert "hunter2" not in record.error
        assert password not in record.error
        assert record.started_at < record.ended_at

    assert raising.wait() == 0
    record = store.get(redis_client, "raises")
    assert (record.state, record.reason) == ("finished", "finished")
    assert (record.stats["errors"], record.stats["dead"], record.stats["pages"]) == (1, 1, 0)
    assert "Spider error processing" in record.error
    assert "LookupError: nothing in http://" in record.error


def test_a_job_whose_user_may_write_no_record_crawls_on_and_says_so_once(site, crawl, redis_client, redis_url):
    redis_client.acl_setuser(
        "crawler", enabled=True, passwords=["+few-rights"], keys=["tree:*"],
        categories=["+@read", "+@write", "+@scripting", "+@connection", "-@dangerous", "-@admin"],
        commands=["+time"],
    )  # fmt: skip
    try:
        tree = site(20, latency=0.2)
        run = crawl()
        run.seed(tree.url(0))
        (worker,) = run.start(
            redis_url=f"redis://crawler:few-rights@{redis_url.partition('@')[2]}",
            arguments=job("narrow"), CONCURRENT_REQUESTS=4,
        )  # fmt: skip
        run.finish()
    finally:
        redis_client.acl_deluser("crawler")
    assert set(run.stored) == tree.expected
    assert worker.log.count("No record of this job: Redis refuses this user") == 1
    assert "Traceback" not in worker.log
    assert store.get(redis_client, "narrow") is None


def test_a_plain_crawl_leaves_no_record_and_a_job_without_our_extension_leaves_one_at_its_end(
    site, crawl, redis_client
):
    run = crawl()
    run.seed(site(2).url(0))
    run.start()
    run.start(arguments=job("bare"), EXTENSIONS={})
    run.finish()
    record = store.get(redis_client, "bare")
    assert (record.state, record.reason, record.error) == ("finished", "finished", "")
    assert sorted(redis_client.keys("fleet:*")) == [b"fleet:job:bare", b"fleet:jobs"]


def test_a_killed_job_is_silent_and_one_that_is_stopped_twice_says_so(crawl, redis_client):
    run = crawl()
    killed, forced = (run.start(arguments=job(name), MAX_IDLE_TIME_BEFORE_CLOSE=0)[0] for name in ("killed", "forced"))
    for name in ("killed", "forced"):
        wait_for(lambda name=name: (record := store.get(redis_client, name)) and record.worker)
    os.kill(killed.pid, signal.SIGKILL)
    killed.process.wait()
    forced.wait_log("Spider opened")
    forced.send(signal.SIGTERM)
    forced.send(signal.SIGTERM)
    forced.wait(20)
    wait_for(lambda: not store.get(redis_client, "killed").alive, 10)
    record = store.get(redis_client, "killed")
    assert (record.state, record.failed, record.ended_at) == ("running", True, None)
    assert store.get(redis_client, "forced").state != "running"


def test_the_record_goes_on_after_an_outage_and_costs_the_crawl_nothing(site, crawl, relay, redis_url, redis_client):
    tree = site(10)
    run = crawl(redis_url=relay.url, admin_url=redis_url)
    relay.refuse()
    (worker,) = run.start(arguments=job("patient"))
    worker.wait_log("The worker waits and tries again")
    assert store.get(redis_client, "patient") is None
    relay.accept()
    wait_for(lambda: store.get(redis_client, "patient"))
    redis_client.flushall()  # as a fail-over to an empty replica
    wait_for(lambda: [(one.id, one.node != "", one.alive) for one in store.newest(redis_client)], 10)
    assert [(one.id, one.node != "", one.alive) for one in store.newest(redis_client)] == [("patient", True, True)]
    run.seed(tree.url(0))
    run.finish()
    assert store.get(redis_client, "patient").reason == "finished"
