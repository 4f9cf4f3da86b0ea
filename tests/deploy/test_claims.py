"""A version's name belongs to one push at a time."""

from __future__ import annotations

import pytest

from deploy import keys
from deploy.claims import CLAIM_SECONDS, claimed
from deploy.errors import DeployError


def test_one_has_it_and_others_are_told_who_until_it_ends(redis_client):
    with claimed(redis_client, "p", "v1"):
        assert 0 < redis_client.ttl(keys.releasing("p", "v1")) <= CLAIM_SECONDS
        with (
            pytest.raises(DeployError, match=r"version v1 is being released by \S+:\d+ at this moment"),
            claimed(redis_client, "p", "v1"),
        ):
            pytest.fail("two have it")
        with claimed(redis_client, "p", "v2"), claimed(redis_client, "q", "v1"):
            pass
    with claimed(redis_client, "p", "v1"):
        pass
    assert redis_client.keys("fleet:releasing:*") == []


def test_a_failed_release_gives_the_name_back_and_a_foreign_claim_is_left(redis_client):
    with pytest.raises(ZeroDivisionError), claimed(redis_client, "p", "v1"):
        raise ZeroDivisionError
    with claimed(redis_client, "p", "v1"):
        redis_client.set(keys.releasing("p", "v1"), "another:1 x")  # ours had run out
    assert redis_client.get(keys.releasing("p", "v1")) == b"another:1 x"


def test_without_redis_nothing_is_claimed():
    with claimed(None, "p", "v1"), claimed(None, "p", "v1"):
        pass
