from __future__ import annotations

import json

from deploy.keys import CRAWLS as KEY
from deploy.pinned import pinned_versions
from deploy.versions import delete
from tests.deploy.fake_node import fake_node


def test_the_version_of_a_crawl_that_is_up_stays_though_no_job_runs_from_it(redis_client):
    for name, state, version in (("a", "up", "v1"), ("b", "idle", "v2"), ("c", "up", "")):
        redis_client.hset(KEY, name, json.dumps({"name": name, "state": state, "version": version}))
    redis_client.hset(KEY, "odd", "[]")
    pinned = pinned_versions(redis_client)
    assert pinned == {"v1": "crawl a is to run it"}
    with fake_node((200, {"status": "ok"})) as fake:
        outcome = delete([fake.node("n1")], "v1", pinned=pinned)
        assert fake.asked == []
    assert outcome.done["n1"].kept == {"v1": "n1: version v1 stays: crawl a is to run it"}


def test_without_redis_nothing_is_known():
    assert pinned_versions(None) == {}
