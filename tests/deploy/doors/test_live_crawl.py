"""The doors on a crawl that runs: seeds by redis-cli, workers by curl and ScrapydAPI, items in MongoDB."""

from __future__ import annotations

import json

import pytest
import redis
from pymongo import MongoClient
from scrapyd_api import ScrapydAPI

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from deploy.sample_site import expected_pages, serve
from deploy.verbs.crawl import SAMPLE_SETTINGS
from spiders_project.frontier.inspect import crawl_status
from spiders_project.frontier.purge import purge_crawl
from tests.deploy.conftest import eventually
from tests.deploy.doors.conftest import PROJECT, run

pytestmark = pytest.mark.slow
#: Of the jobs alone: the sample site is the test's own.
SETTINGS = {**SAMPLE_SETTINGS, "MAX_IDLE_TIME_BEFORE_CLOSE": "5"}


def test_two_workers_crawl_what_redis_cli_seeds_while_a_release_goes_on(at_the_door, stack):
    one, two = stack_nodes(stack)
    assert run("scrapyd-deploy", "-a", cwd=at_the_door).returncode == 0
    with (
        redis.Redis.from_url(stack.redis_url) as client,
        MongoClient(stack.mongo_uri) as mongo,
        serve() as site,
    ):
        purge_crawl(client, "site")
        by_curl = run(
            *("curl", "-sS", "-u", f"{one.username}:{one.password}", f"{one.url}schedule.json"),
            *("-d", f"project={PROJECT}", "-d", "spider=site"),
            *(part for name, value in SETTINGS.items() for part in ("-d", f"setting={name}={value}")),
        )
        assert '"status": "ok"' in by_curl.stdout
        api = ScrapydAPI(two.url, auth=(two.username, two.password))
        jobs = {one: json.loads(by_curl.stdout)["jobid"], two: api.schedule(PROJECT, "site", settings=SETTINGS)}
        eventually(lambda: sum(worker.alive for worker in crawl_status(client, "site").workers) == 2)

        pushed = run(
            *("redis-cli", "-u", stack.redis_url, "--no-auth-warning"),
            *("lpush", "site:start_urls", site.url, '{"url": "nonsense"}'),
        )
        assert pushed.stdout.strip() == "2", pushed.stderr
        eventually(lambda: crawl_status(client, "site").pages > 0)
        assert run("scrapyd-deploy", "-a", "-v", "9999999999", cwd=at_the_door).returncode == 0, "a live release"

        eventually(lambda: crawl_status(client, "site").state == "finished", seconds=60)
        eventually(lambda: api.job_status(PROJECT, jobs[two]) == "finished", seconds=60)
        status = crawl_status(client, "site")
        stored = mongo["spiders_project"]["pages"].find({"url": {"$regex": f"^{site.url}"}}, {"url": True})
        assert sorted(page["url"] for page in stored) == sorted(expected_pages(site.url))
    assert status.rejected == 1
    assert {worker.node for worker in status.workers} == {"node1", "node2"}
    for node in (one, two):
        client_ = NodeClient(node)
        eventually(lambda: client_.list_jobs(PROJECT)["running"] == [])  # noqa: B023 - called before the next turn
        (entry,) = [entry for entry in client_.list_jobs(PROJECT)["finished"] if entry["id"] == jobs[node]]
        assert f"/{node.name}/eggs/{PROJECT}/" in client_.job_log(entry, tail_bytes=10**6), "the code is the egg's"
