"""Who acts: a lease in Redis, and with it a fencing token that every write of the supervisor shows."""

from __future__ import annotations

import os
import socket
from typing import TYPE_CHECKING, Any

from deploy import keys
from deploy.errors import LeaseLost
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    import redis

#: Seconds without a renewal after which another supervisor takes over.
LEASE_SECONDS = 10.0

_TAKE = """
if redis.call('EXISTS', KEYS[1]) == 1 then return 0 end
local token = redis.call('INCR', KEYS[2])
redis.call('SET', KEYS[1], token .. ' ' .. ARGV[1], 'PX', ARGV[2])
return token
"""
#: KEYS: lease, then the hashes; ARGV: token, ms, then (number of the hash, field, value; an empty value deletes).
_WRITE = """
local lease = redis.call('GET', KEYS[1])
if not lease or string.match(lease, '^%d+') ~= ARGV[1] then return 0 end
redis.call('PEXPIRE', KEYS[1], ARGV[2])
for i = 3, #ARGV, 3 do
  local key = KEYS[tonumber(ARGV[i])]
  if ARGV[i + 2] == '' then redis.call('HDEL', key, ARGV[i + 1]) else
    redis.call('HSET', key, ARGV[i + 1], ARGV[i + 2])
  end
end
return 1
"""
_GIVE_BACK = """
local lease = redis.call('GET', KEYS[1])
if lease and string.match(lease, '^%d+') == ARGV[1] then return redis.call('DEL', KEYS[1]) end
return 0
"""


class Lease:
    """The right to act, held or not.

    Args:
        client: With ``decode_responses`` off.
        seconds: How long it lasts without a renewal.
    """

    def __init__(self, client: redis.Redis, seconds: float = LEASE_SECONDS) -> None:
        self._client = client
        self._ms = round(seconds * 1000)
        self._take = client.register_script(_TAKE)
        self._write = client.register_script(_WRITE)
        self._give_back = client.register_script(_GIVE_BACK)
        self.token = ""

    def take(self) -> bool:
        """Get it, or keep it; False while another supervisor has it."""
        if self.token:
            try:
                self.write({})
            except LeaseLost:
                self.token = ""
            else:
                return True
        with spoken():
            given: Any = self._take(keys=[keys.LEASE, keys.TOKEN], args=[_whoami(), self._ms])
        self.token = str(given) if given else ""
        return bool(given)

    def write(self, changes: dict[tuple[str, str], str]) -> None:
        """Set ``(hash, field)`` to each value, all at once, and renew; an empty value deletes the field.

        Raises:
            LeaseLost: Another supervisor has the lease by now, and nothing was written.
        """
        hashes = sorted({key for key, _ in changes})
        number = {key: index for index, key in enumerate(hashes, 2)}
        arguments = [part for (key, name), value in changes.items() for part in (number[key], name, value)]
        with spoken():
            written: Any = self._write(keys=[keys.LEASE, *hashes], args=[self.token or "-", self._ms, *arguments])
        if not written:
            raise LeaseLost("another supervisor acts now")

    def give_back(self) -> None:
        """Let another take over at once."""
        if self.token:
            with spoken():
                self._give_back(keys=[keys.LEASE], args=[self.token])
            self.token = ""

    def holder(self) -> str:
        """Who has it, as ``host:pid``; empty: nobody."""
        with spoken():
            value: Any = self._client.get(keys.LEASE)
        return value.decode().partition(" ")[2] if value else ""


def _whoami() -> str:
    return f"{socket.gethostname()}:{os.getpid()}"
