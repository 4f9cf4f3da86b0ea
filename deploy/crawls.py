"""What ought to run: one record for each crawl, in Redis, written by the verbs and by the acting supervisor.

Whoever writes read the record before and says which revision that was, so that nobody overwrites what he has not seen.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from deploy import keys
from deploy.errors import DeployError, LeaseLost, UsageError
from deploy.fleet import CrawlSpec
from deploy.redis_errors import spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    import redis

    from deploy.fleet import Overlap

State = Literal["idle", "up", "down"]

#: Sets a record if its revision is the one that was read; a supervisor only while its lease lasts.
_WRITE = """
if ARGV[1] ~= '' then
  local lease = redis.call('GET', KEYS[2])
  if not lease or string.match(lease, '^%d+') ~= ARGV[1] then return -1 end
end
local held = redis.call('HGET', KEYS[1], ARGV[2])
local revision = held and cjson.decode(held).revision or 0
if revision ~= tonumber(ARGV[3]) then return 0 end
if ARGV[4] == '' then redis.call('HDEL', KEYS[1], ARGV[2]) else redis.call('HSET', KEYS[1], ARGV[2], ARGV[4]) end
return 1
"""
_TRIES = 20


class Wanted(BaseModel):
    """One crawl as it ought to be.

    Attributes:
        name: Of the crawl: ``[crawls.NAME]``, or the spider's where fleet.toml has none.
        spec: How it is to run.
        declared: It stands in fleet.toml.
        state: ``idle`` (declared, and not started or at its end), ``up``, or ``down`` (being stopped).
        version: The version that its jobs run; empty: the newest released one when each is placed.
        run: The number of its last start.
        started_at: Of that start, in unix seconds by Redis's clock.
        ended_at: When that run ended; None while it goes on.
        outcome: How: ``done``, ``failed`` or ``stopped``; empty before the first end.
        reason: In words.
        waiting: Starts that wait for the end of this run (overlap = "queue").
        followed: The run of the crawl that it comes ``after`` to which it was started last.
        held: It was stopped by hand: until it is started, the end of the crawl that it comes ``after`` does not.
        seeded: The run for which its file of seeds was pushed last.
        patience: How long its workers are given to finish their pages when it is stopped, in seconds.
        revision: Grows with each write.
    """

    model_config = ConfigDict(frozen=True)

    name: str
    spec: CrawlSpec
    declared: bool = False
    state: State = "idle"
    version: str = ""
    run: int = 0
    started_at: float = 0.0
    ended_at: float | None = None
    outcome: Literal["", "done", "failed", "stopped"] = ""
    reason: str = ""
    waiting: int = 0
    followed: int = 0
    held: bool = False
    seeded: int = 0
    patience: float | None = None
    revision: int = 0

    def started(self, now: float, **changes: Any) -> Wanted:
        """A new run of it."""
        ends = {"ended_at": None, "outcome": "", "reason": "", "held": False}
        run = {"state": "up", "run": self.run + 1, "started_at": now, **ends}
        return self.model_copy(update={**run, **changes})

    def stopped(self, patience: float) -> Wanted:
        """The same, to end if it runs, and held: neither a start that waits nor another crawl's end begins it again."""
        held = self.model_copy(update={"held": True, "waiting": 0})
        down = {"state": "down", "reason": "stopped", "patience": patience}
        return held.model_copy(update=down) if self.state == "up" else held

    def specified(self, spec: CrawlSpec, others: Mapping[str, Wanted]) -> Wanted:
        """The same, to run as ``spec`` says; what ended before it was to wait for it, or while it was held, is over."""
        before = others.get(spec.after.crawl) if spec.after else None
        ended = before.run if before and before.ended_at else 0
        waits = spec.after and self.spec.after and spec.after.crawl == self.spec.after.crawl
        followed = (max(self.followed, ended) if self.held else self.followed) if waits else ended
        return self.model_copy(update={"spec": spec, "followed": followed})

    def scaled(self, workers: int) -> Wanted:
        """The same with so many workers."""
        return self.model_copy(update={"spec": self.spec.model_copy(update={"workers": workers})})

    def due_after(self, others: Mapping[str, Wanted]) -> bool:
        """Whether a run of the crawl that it comes after has ended as it should, since it was last started for one."""
        after = self.spec.after
        before = others.get(after.crawl) if after else None
        if self.held or after is None or before is None or before.ended_at is None or before.run <= self.followed:
            return False
        return before.outcome == after.state or (after.state == "any" and before.outcome in {"done", "failed"})

    def ended(self, now: float, outcome: str, reason: str) -> Wanted:
        """Its run has ended."""
        return self.model_copy(update={"state": "idle", "ended_at": now, "outcome": outcome, "reason": reason})


class Crawls:
    """The records in Redis.

    Args:
        client: With ``decode_responses`` off.
        token: The fencing token of a supervisor; empty for a person's command.
    """

    def __init__(self, client: redis.Redis, token: str = "") -> None:
        self._client = client
        self._token = token
        self._write = client.register_script(_WRITE)

    def now(self) -> float:
        """Redis's clock, in unix seconds."""
        with spoken():
            seconds, micros = self._client.time()
        return float(seconds) + float(micros) / 1e6

    def all(self) -> dict[str, Wanted]:
        """Every crawl, by name."""
        with spoken():
            held: Any = self._client.hgetall(keys.CRAWLS)
        return {name.decode(): _parsed(name, text) for name, text in sorted(held.items())}

    def get(self, name: str) -> Wanted | None:
        """One crawl."""
        with spoken():
            text: Any = self._client.hget(keys.CRAWLS, name)
        return _parsed(name.encode(), text) if text else None

    def change(self, name: str, change: Callable[[Wanted | None], Wanted | None]) -> Wanted | None:
        """Replace a record by what ``change`` makes of it (None: no record), however often somebody else was quicker.

        Raises:
            LeaseLost: A supervisor's lease is over.
            ConnectError: Redis does not answer.
        """
        for _ in range(_TRIES):
            held = self.get(name)
            new = change(held)
            if new == held:
                return held
            revision = held.revision if held else 0
            new = new and new.model_copy(update={"revision": revision + 1})
            text = new.model_dump_json() if new else ""
            with spoken():
                written: Any = self._write(
                    keys=[keys.CRAWLS, keys.LEASE], args=[self._token, name, revision, text], client=self._client
                )
            if written == -1:
                raise LeaseLost("another supervisor acts now")
            if written == 1:
                return new
        raise DeployError(f"{name} is changed by others all the time; try again")

    def start(
        self, name: str, spec: CrawlSpec, *, version: str = "", declared: bool = False, overlap: Overlap | None = None
    ) -> tuple[Wanted, bool]:
        """Start it, or what its ``overlap`` says when it runs already: the record, and whether a run has begun."""
        now = self.now()
        others = self.all() if spec.after else {}
        begun = False

        def change(held: Wanted | None) -> Wanted:
            nonlocal begun
            begun = False
            if held and held.state == "up":
                how = overlap or spec.overlap
                if how == "skip":
                    return held
                if how == "queue":
                    return held.model_copy(update={"waiting": held.waiting + 1})
            begun = True
            base = (held or Wanted(name=name, spec=CrawlSpec(spider=spec.spider))).specified(spec, others)
            return base.started(now, version=version, declared=declared or base.declared)

        wanted = self.change(name, change)
        assert wanted is not None
        return wanted, begun

    def follow(self, name: str, others: Mapping[str, Wanted]) -> None:
        """Start it because the crawl that it comes after has ended, once for each of that one's runs."""
        now = self.now()

        def change(held: Wanted) -> Wanted:
            if not held.due_after(others) or held.spec.after is None:
                return held
            followed = {"followed": others[held.spec.after.crawl].run}
            if held.state == "up" and held.spec.overlap != "replace":
                queued = held.spec.overlap == "queue"
                return held.model_copy(update={**followed, "waiting": held.waiting + queued})
            return held.started(now, **followed)

        self.update(name, change)

    def update(self, name: str, change: Callable[[Wanted], Wanted]) -> Wanted:
        """Change a crawl that there is.

        Raises:
            UsageError: There is none.
        """

        def known(held: Wanted | None) -> Wanted:
            if held is None:
                raise UsageError(never_started(name))
            return change(held)

        wanted = self.change(name, known)
        assert wanted is not None
        return wanted


def never_started(name: str) -> str:
    """What is said of a crawl that has no record."""
    return f"no crawl {name!r} was ever started or applied here: `python -m deploy status` shows those that were"


def _parsed(name: bytes, text: bytes) -> Wanted:
    try:
        return Wanted.model_validate_json(text)
    except ValidationError as error:
        raise DeployError(
            f"{keys.CRAWLS} holds a record of {name.decode(errors='replace')} that this program does not understand "
            f"(another version of it wrote it?): {error}"
        ) from error
