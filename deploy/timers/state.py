"""What is remembered of each timer: JSON in one hash of Redis, changed only by who has read what stands there.

APScheduler's own job store would pickle its jobs, and nothing from Redis is ever unpickled. The declarations stay in
``fleet.toml``; Redis holds what a file cannot: when each fires next, what was claimed, and what came of it.
"""

from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from deploy import keys
from deploy.errors import LeaseLost
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    import redis

    from deploy.fleet import TimerSpec


#: Replaces what was read, and nothing else; a supervisor only while its lease lasts.
_SWAP = """
if ARGV[1] ~= '' then
  local lease = redis.call('GET', KEYS[2])
  if not lease or string.match(lease, '^%d+') ~= ARGV[1] then return -1 end
end
if (redis.call('HGET', KEYS[1], ARGV[2]) or '') ~= ARGV[3] then return 0 end
if ARGV[4] == '' then redis.call('HDEL', KEYS[1], ARGV[2]) else redis.call('HSET', KEYS[1], ARGV[2], ARGV[4]) end
return 1
"""


class Firing(BaseModel):
    """A time at which a timer fires, claimed before its crawl is started.

    Attributes:
        due: The time by its declaration, in unix seconds by Redis's clock, as all times here.
        accepted: How many starts of its crawl had been accepted before: whether this one was is known by it.
        by_hand: Somebody asked for it.
    """

    model_config = ConfigDict(frozen=True)

    due: float
    accepted: int
    by_hand: bool = False


class Last(BaseModel):
    """What came of the last firing: ``started``, ``skipped`` or ``failed``, and why."""

    model_config = ConfigDict(frozen=True)

    due: float
    at: float
    result: Literal["started", "skipped", "failed"]
    why: str = ""


class TimerState(BaseModel):
    """One timer.

    Attributes:
        spec: The digest of the declaration that ``base`` and ``next`` come from.
        anchor: From when on an interval is counted.
        base: The next time by the declaration; None: never again.
        next: The same with jitter.
        paused: It does not fire.
        claimed: A firing whose crawl may not have been started yet.
        asked: Somebody wants it to fire now, and asked at this time.
        runs: The runs of its crawl that it started and that may go on, as numbers of accepted starts.
        last: What came of the last firing.
    """

    model_config = ConfigDict(frozen=True)

    spec: str
    anchor: float
    base: float | None
    next: float | None
    paused: bool = False
    claimed: Firing | None = None
    asked: float | None = None
    runs: list[int] = Field(default_factory=list)
    last: Last | None = None

    def but(self, **changes: Any) -> TimerState:
        """The same with ``changes``."""
        return self.model_copy(update=changes)


class Entry:
    """A timer's state as it was read, and how to replace just that."""

    def __init__(self, store: TimerStore, name: str, raw: bytes) -> None:
        self._store = store
        self.name = name
        self._raw = raw
        self.state = _parsed(raw)

    def swap(self, state: TimerState | None) -> bool:
        """Put ``state`` in its place (None: forget it); False when somebody else was quicker.

        Raises:
            LeaseLost: The supervisor's lease is over.
            ConnectError: Redis does not answer.
        """
        raw = state.model_dump_json().encode() if state else b""
        if not self._store.swap(self.name, self._raw, raw):
            return False
        self._raw, self.state = raw, state
        return True


class TimerStore:
    """All timers in Redis; every method raises ConnectError when it does not answer.

    Args:
        client: With ``decode_responses`` off.
        token: The fencing token of a supervisor; empty for a person's command.
    """

    def __init__(self, client: redis.Redis, token: str = "") -> None:
        self._client = client
        self._token = token
        self._swap = client.register_script(_SWAP)

    def read(self) -> dict[str, Entry]:
        """Every timer that Redis knows, by name."""
        with spoken():
            held: Any = self._client.hgetall(keys.TIMERS)
        return {name: Entry(self, name, raw) for name, raw in ((key.decode(), raw) for key, raw in held.items())}

    def entry(self, name: str) -> Entry:
        """One timer, known or not."""
        with spoken():
            raw: Any = self._client.hget(keys.TIMERS, name)
        return Entry(self, name, raw or b"")

    def new(self, name: str) -> Entry:
        """A timer that Redis does not know yet."""
        return Entry(self, name, b"")

    def swap(self, name: str, before: bytes, after: bytes) -> bool:
        """See ``Entry.swap``."""
        with spoken():
            done: Any = self._swap(keys=[keys.TIMERS, keys.LEASE], args=[self._token, name, before, after])
        if done == -1:
            raise LeaseLost("another supervisor acts now")
        return bool(done)

    def supervised(self) -> bool:
        """Whether a supervisor acts."""
        with spoken():
            return bool(self._client.exists(keys.LEASE))

    def now(self) -> float:
        """Redis's clock, in unix seconds."""
        with spoken():
            answer: Any = self._client.time()
        return float(answer[0]) + float(answer[1]) / 1e6


def digest(spec: TimerSpec) -> str:
    """What tells a declaration from a changed one, as far as it says when the timer fires."""
    when = spec.model_dump_json(include={"cron", "interval", "date", "timezone", "jitter"})
    return hashlib.sha256(when.encode()).hexdigest()[:16]


def _parsed(raw: bytes) -> TimerState | None:
    """None for a timer that is not known, and for one whose state is damaged: it begins anew."""
    try:
        return TimerState.model_validate_json(raw) if raw else None
    except ValidationError:
        return None
