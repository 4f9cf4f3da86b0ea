"""The right to release a version: two pushes under one name would overwrite each other, as Scrapyd has no lock."""

from __future__ import annotations

import os
import socket
import uuid
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING

import redis

from deploy import keys
from deploy.errors import DeployError
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    from collections.abc import Iterator

#: A push that was killed holds its name for so long, in seconds; longer than building and sending take.
CLAIM_SECONDS = 600

_GIVE_BACK = "if redis.call('GET', KEYS[1]) == ARGV[1] then redis.call('DEL', KEYS[1]) end"


@contextmanager
def claimed(client: redis.Redis | None, project: str, version: str) -> Iterator[None]:
    """Have the name of a version for oneself while it is released.

    Args:
        client: The frontier's Redis; None where it does not answer, and nothing is claimed.
        project: On the nodes.
        version: Its name.

    Raises:
        DeployError: Somebody else is releasing it at this moment; says who.
        ConnectError: Redis went away.
    """
    if client is None:
        yield
        return
    key, mine = keys.releasing(project, version), f"{socket.gethostname()}:{os.getpid()} {uuid.uuid4().hex}"
    with spoken():
        taken = client.set(key, mine, nx=True, ex=CLAIM_SECONDS)
        holder = b"" if taken else client.get(key) or b""
    if not taken:
        who = str(holder, "utf-8", "replace").partition(" ")[0] or "somebody else"  # type: ignore[arg-type] # not async
        raise DeployError(
            f"version {version} is being released by {who} at this moment, and nothing was sent: wait for its end, or "
            f"choose another --version (a push that was killed holds its name for {CLAIM_SECONDS // 60} minutes)"
        )
    try:
        yield
    finally:
        with suppress(redis.RedisError):  # it ends by itself
            client.eval(_GIVE_BACK, 1, key, mine)
