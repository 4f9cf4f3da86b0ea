"""Seeds land where the workers read them, in the type that they read."""

from __future__ import annotations

import pytest

from deploy import seed as seed_module
from deploy.errors import ConnectError, DeployError, UsageError
from deploy.seed import push_seeds


def test_seeds_are_appended_to_a_list_in_their_order(redis_client):
    report = push_seeds(redis_client, "s:start_urls", ["http://a.example/", b"http://b.example/", "nonsense"])
    assert (report.pushed, report.refused_count) == (2, 1)
    assert redis_client.lrange("s:start_urls", 0, -1) == [b"http://a.example/", b"http://b.example/"]


def test_the_type_that_the_key_has_is_kept(redis_client):
    redis_client.sadd("s:start_urls", "http://a.example/")
    push_seeds(redis_client, "s:start_urls", ["http://b.example/"])
    assert redis_client.smembers("s:start_urls") == {b"http://a.example/", b"http://b.example/"}


def test_a_type_can_be_asked_for(redis_client):
    push_seeds(redis_client, "s:start_urls", ['{"url": "http://a.example/", "priority": 7}'], "zset")
    assert [score for _, score in redis_client.zrange("s:start_urls", 0, -1, withscores=True)] == [7]


def test_a_key_of_another_type_is_refused_and_said(redis_client):
    redis_client.set("s:start_urls", "x")
    with pytest.raises(DeployError, match="did not take the seeds: WRONGTYPE"):
        push_seeds(redis_client, "s:start_urls", ["http://a.example/"])


def test_a_redis_that_cannot_be_had_is_named_without_its_password():
    with pytest.raises(ConnectError, match=r"Redis at redis://127\.0\.0\.1:9/0 does not answer") as caught:
        seed_module.redis_client("redis://:hunter2@127.0.0.1:9/0")
    assert "hunter2" not in str(caught.value)


def test_a_url_of_something_else_is_wrong_use():
    with pytest.raises(UsageError, match="REDIS_URL is no address of a Redis"):
        seed_module.redis_client("http://127.0.0.1:9/")


def test_a_wrong_password_is_said(redis_url):
    with pytest.raises(ConnectError, match="invalid username-password pair"):
        seed_module.redis_client(redis_url.replace("@", "x@"))
