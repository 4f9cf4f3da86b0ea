from __future__ import annotations

from deploy.drains import drained, is_draining, set_draining


def test_a_node_is_drained_until_it_is_let_go(redis_client):
    set_draining(redis_client, "n1", draining=True)
    since = drained(redis_client)
    assert list(since) == ["n1"]
    set_draining(redis_client, "n1", draining=True)
    assert drained(redis_client) == since, "the first drain's time stays"
    assert is_draining(redis_client, "n1")
    assert not is_draining(redis_client, "n2")
    set_draining(redis_client, "n1", draining=False)
    assert drained(redis_client) == {}
