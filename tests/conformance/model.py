"""The contract as plain dicts and lists: what the frontier on Redis is compared with, step by step.

It is written to be read, not to be fast. All workers of a crawl share one ``Store``, and a clock that tests move.
"""

from __future__ import annotations

import json
import math
from bisect import insort
from collections import Counter
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from spiders_project.frontier.contract import (
    MAX_PRIORITY,
    Ack,
    Answer,
    Ask,
    Batch,
    Bury,
    Claim,
    GiveBack,
    Grant,
    HostLimits,
    Left,
    Operation,
    Pause,
    Put,
    Refuse,
    SeedVerdict,
    Slow,
    Terms,
)

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

HUNGRY_MS, REFUSED_MS, SLACK_MS, SOON_MS = 1500, 1000, 20, 5000
RETRY_MS, PAUSED_MS, YOUNG_MS, OPERATOR_MS = 50, 1000, 12_000, 60_000


@dataclass
class Lease:
    score: int
    host: str
    downloading: bool = True


@dataclass
class Run:
    id: str
    open: bool = True
    reason: str = ""
    max_pages: int = 0
    pages: int = 0
    done: int = 0
    errors: int = 0
    started: bool = False


@dataclass
class Store:
    """What all workers share."""

    now: int = 1_700_000_000_000
    requests: dict[str, bytes] = field(default_factory=dict)
    queues: dict[str, list[tuple[int, str]]] = field(default_factory=dict)
    turns: dict[str, int] = field(default_factory=dict)  # of the hosts that are ready
    waiting: dict[str, float] = field(default_factory=dict)
    delays: dict[str, int] = field(default_factory=dict)
    active: Counter[str] = field(default_factory=Counter)
    delayed: dict[str, tuple[int, int, str]] = field(default_factory=dict)
    leases: dict[str, dict[str, Lease]] = field(default_factory=dict)
    deliveries: Counter[str] = field(default_factory=Counter)
    refused: dict[str, set[str]] = field(default_factory=dict)  # by which versions
    beats: dict[str, int] = field(default_factory=dict)
    reports: dict[str, bytes] = field(default_factory=dict)
    replies: dict[str, tuple[int, Answer]] = field(default_factory=dict)
    local: dict[str, int] = field(default_factory=dict)
    hungry: dict[str, int] = field(default_factory=dict)
    dead: dict[str, bytes] = field(default_factory=dict)
    seen: set[bytes] = field(default_factory=set)
    seen_before: set[bytes] = field(default_factory=set)  # the older generation, where fingerprints expire
    seen_since: int | None = None
    seeds: list[bytes] = field(default_factory=list)
    rejected: list[bytes] = field(default_factory=list)
    run: Run | None = None
    runs: int = 0
    ended: int = 0
    idle_since: int | None = None
    sequence: int = 0
    turn: int = 0

    @property
    def leased(self) -> int:
        return sum(not id_.startswith("!") for leases in self.leases.values() for id_ in leases)


class ModelFrontier:
    """The contract's ``Frontier`` for one worker, on a ``Store``; without jitter."""

    def __init__(self, store: Store, worker: str, terms: Terms) -> None:
        self.store = store
        self.worker = worker
        self.terms = terms
        self.report = b"{}"

    # ------------------------------------------------------------------ hosts

    def _limits(self, host: str) -> HostLimits:
        limits = self.terms.host_limits.get(host, self.terms.limits)
        return replace(limits, delay_ms=max(limits.delay_ms, self.store.delays.get(host, 0)))

    def _at_limit(self, host: str) -> bool:
        limit = self._limits(host).concurrency
        return bool(limit) and self.store.active[host] >= limit

    def _offer(self, host: str) -> None:
        store = self.store
        store.turns.pop(host, None)
        if store.queues.get(host) and host not in store.waiting and not self._at_limit(host):
            store.turn += 1
            store.turns[host] = store.turn

    def _enqueue(self, id_: str, score: int, host: str) -> None:
        insort(self.store.queues.setdefault(host, []), (score, id_))
        if host not in self.store.turns:
            self._offer(host)

    def _hold(self, host: str, until: float) -> None:
        self.store.waiting[host] = max(until, self.store.waiting.get(host, 0))
        self.store.turns.pop(host, None)

    def _wake(self) -> None:
        """What is due joins its queue, who may be visited again is offered."""
        store = self.store
        for id_ in sorted((one for one in store.delayed if store.delayed[one][0] <= store.now), key=self._due)[:200]:
            _, score, host = store.delayed.pop(id_)
            self._enqueue(id_, score, host)
        for host in sorted((one for one in store.waiting if store.waiting[one] <= store.now), key=self._free_at):
            del store.waiting[host]
            self._offer(host)

    def _due(self, id_: str) -> tuple[int, str]:
        return self.store.delayed[id_][0], id_

    def _free_at(self, host: str) -> tuple[float, str]:
        return self.store.waiting[host], host

    # ------------------------------------------------------------------ requests

    def _put(self, put: Put) -> bool:
        store = self.store
        if put.fingerprint and not self._mark(put.fingerprint, anew=put.force) and not put.force:
            return False
        if store.run is None or not store.run.open:
            store.runs += 1
            store.run = Run(f"run-{store.runs}")
        store.sequence += 1
        id_ = f"{store.sequence:010x}"
        store.requests[id_] = put.payload
        score = -max(-MAX_PRIORITY, min(MAX_PRIORITY, put.priority))
        if put.delay_ms:
            store.delayed[id_] = (store.now + put.delay_ms, score, put.host)
        else:
            self._enqueue(id_, score, put.host)
        store.idle_since = None
        return True

    def _mark(self, fingerprint: bytes, *, anew: bool) -> bool:
        """Mark a fingerprint; False when it was marked before."""
        store = self.store
        self._age()
        if fingerprint in store.seen or (fingerprint in store.seen_before and not anew):
            return False
        store.seen.add(fingerprint)
        return True

    def _age(self) -> None:
        """Whoever looks at the seen set begins a new generation when it is time."""
        store, expire = self.store, self.terms.expire_ms
        if expire and store.seen_since is None:
            store.seen_since = store.now
        elif expire and (age := store.now - (store.seen_since or 0)) >= expire:
            store.seen_before = store.seen if age < 2 * expire else set()
            store.seen, store.seen_since = set(), store.now

    def _end_lease(self, worker: str, id_: str) -> Lease | None:
        lease = self.store.leases.get(worker, {}).pop(id_, None)
        if lease is not None and lease.downloading:
            self._free_slot(lease.host)
        return lease

    def _free_slot(self, host: str) -> None:
        self.store.active[host] -= 1
        if host not in self.store.turns:
            self._offer(host)

    def _give_back(self, worker: str, id_: str) -> bool:
        lease = self._end_lease(worker, id_)
        if lease is None or id_.startswith("!"):
            return False
        self._enqueue(id_, lease.score, lease.host)
        return True

    def _finish(self, worker: str, id_: str) -> bytes | None:
        if self._end_lease(worker, id_) is None:
            return None
        self.store.deliveries.pop(id_, None)
        self.store.refused.pop(id_, None)
        self._counts.done += 1
        return self.store.requests.pop(id_)

    def _bury(self, worker: str, id_: str, letter: bytes) -> None:
        if self._finish(worker, id_) is not None:
            self.store.dead[id_] = letter
            self._counts.errors += 1

    # ------------------------------------------------------------------ the page limit

    @property
    def _counts(self) -> Run:
        assert self.store.run is not None
        return self.store.run

    def _page_limit(self) -> int:
        return max(self.terms.max_pages, self.store.run.max_pages if self.store.run else 0)

    def _limit_reached(self) -> bool:
        run = self.store.run
        return run is not None and run.open and 0 < self._page_limit() <= run.pages

    def _room(self) -> float:
        """How many requests may still be claimed in this run: each may become a page."""
        run, limit = self.store.run, self._page_limit()
        return max(0, limit - (run.pages if run else 0) - self.store.leased) if limit else math.inf

    @property
    def _is_open(self) -> bool:
        return bool(self.store.run and self.store.run.open)

    # ------------------------------------------------------------------ the contract

    async def ping(self) -> None:
        pass

    async def exchange(self, batch: Batch) -> Answer:
        store = self.store
        said, answer = store.replies.get(self.worker, (0, Answer()))
        if said == batch.sequence:
            held = store.leases.get(self.worker, {})
            claims = [claim for claim in answer.claims if claim.request_id in held]
            answer = replace(answer, claims=claims)
        elif said != batch.sequence - 1:
            answer = Answer(claims=[], dropped=[], lost=True)
        else:
            answer = self._carry_out(batch)
        answer = self._with_news(answer, batch.held)
        store.replies[self.worker] = batch.sequence, answer
        return answer

    def _carry_out(self, batch: Batch) -> Answer:
        store = self.store
        dropped = [index for index, one in enumerate(batch.operations) if not self._do(one)]
        store.local[self.worker] = batch.local
        if batch.sequence == 1:
            store.idle_since = None
        want = int(min(batch.want, self._room()))
        if want > 0 and self._is_open:
            self._wake()
        claims = self._claim(want, Counter(batch.held), batch.share) if want > 0 else []
        self._look_for_the_end()
        return Answer(claims=claims, dropped=dropped)

    def _with_news(self, answer: Answer, held: Mapping[str, int]) -> Answer:
        store = self.store
        due = [*store.waiting.values(), *(due for due, _, _ in store.delayed.values())]
        first = min(due, default=math.inf)
        return replace(
            answer,
            seeds=0 if self._limit_reached() else len(store.seeds),
            open=len(store.requests) if self._is_open else 0,
            next_ms=-1
            if first == math.inf or not self._is_open or not self._room()
            else math.ceil(max(0, first - store.now)),
            run=store.run.id if store.run else "",
            ended=store.ended,
            paused=self._paused({*held, *(claim.host for claim in answer.claims)}),
        )

    def _paused(self, hosts: set[str]) -> dict[str, int]:
        left = {host: self.store.waiting.get(host, 0) - self.store.now for host in hosts}
        return {
            host: int(min(ms, OPERATOR_MS)) for host, ms in left.items() if ms > 0 and not self._limits(host).delay_ms
        }

    def _do(self, operation: Operation) -> bool:
        """Carry out one operation; False for a put that was dropped."""
        match operation:
            case Put():
                return self._put(operation)
            case Ack(id_, pages):
                if self._finish(self.worker, id_) is not None:
                    self._counts.pages += pages
            case Bury(id_, letter):
                self._bury(self.worker, id_, letter)
            case Left(id_):
                self._left(id_)
            case GiveBack(id_):
                self._give_back(self.worker, id_)
            case Refuse(id_, letter, version):
                self._refuse(id_, letter, version)
            case Pause(host, pause_ms):
                self._hold(host, self.store.now + pause_ms)
            case Slow(host, delay_ms, first):
                self._slow(host, delay_ms, first)
        return True

    def _slow(self, host: str, delay_ms: int, first: bool = False) -> None:
        delays, before = self.store.delays, self._limits(host).delay_ms
        if not delay_ms:
            delays.pop(host, None)
        elif not first or host not in delays:
            delays[host] = delay_ms
        if not before:
            self._hold(host, self.store.now + self._limits(host).delay_ms)

    def _left(self, id_: str) -> None:
        lease = self.store.leases.get(self.worker, {}).get(id_)
        if id_.startswith("!"):
            self._end_lease(self.worker, id_)
        elif lease is not None and lease.downloading:
            lease.downloading = False
            self._free_slot(lease.host)

    def _refuse(self, id_: str, letter: bytes, version: str) -> None:
        versions = {json.loads(self.store.reports.get(one, b"{}")).get("version") for one in self.store.beats}
        refused_by = {version, *self.store.refused.get(id_, ())}
        if not versions - refused_by - {None}:
            self._bury(self.worker, id_, letter)
        elif lease := self._end_lease(self.worker, id_):
            self.store.refused[id_] = refused_by
            self.store.delayed[id_] = (self.store.now + REFUSED_MS, lease.score, lease.host)

    def _claim(self, want: int, held: Counter[str], share: int) -> list[Claim]:
        store = self.store
        store.hungry.pop(self.worker, None)
        others = sum(store.now - since < HUNGRY_MS for since in store.hungry.values())

        def owes_others(host: str) -> bool:
            limit = self._limits(host).concurrency
            return bool(others and limit) and held[host] >= math.ceil(limit / (others + 1))

        def best(hosts: list[str]) -> str:
            return min(hosts, key=lambda host: (store.queues[host][0][0], store.turns[host]))

        claims: list[Claim] = []
        for keeps_share in (True, False) if self._is_open else ():
            soon = [*store.turns, *(host for host, until in store.waiting.items() if until <= store.now + SOON_MS)]
            if not keeps_share and any(not share or held[host] < share for host in soon):
                break
            while len(claims) < want:
                hosts = [host for host in store.turns if not owes_others(host)]
                if keeps_share and share:
                    hosts = [host for host in hosts if held[host] < share]
                if not hosts:
                    break
                host = best(hosts)
                held[host] += 1
                claims.append(self._claim_from(host))
        if len(claims) < want:
            store.hungry[self.worker] = store.now
        return claims

    def _claim_from(self, host: str) -> Claim:
        store = self.store
        queue = store.queues[host]
        place = queue[0]
        if self.terms.order == "lifo":
            place = max(one for one in queue if one[0] == place[0])
        queue.remove(place)
        score, id_ = place
        store.leases.setdefault(self.worker, {})[id_] = Lease(score, host)
        store.beats.setdefault(self.worker, store.now)
        store.active[host] += 1
        booking = 0
        if delay := self._limits(host).delay_ms:
            booking = math.floor(store.now + delay + SLACK_MS)
            self._hold(host, booking)
        self._offer(host)
        return Claim(id_, store.requests[id_], host, booking, store.deliveries[id_])

    def _look_for_the_end(self) -> None:
        store = self.store
        is_empty = not (self._is_open and store.requests) and not store.seeds
        has_its_pages = self._limit_reached() and not store.leased
        if not (is_empty or has_its_pages) or any(store.local.values()):
            store.idle_since = None
        elif store.idle_since is None:
            store.idle_since = store.now
        elif store.now - store.idle_since >= self.terms.max_idle_ms:
            if store.run and store.run.open:
                store.run.reason = "max_pages" if self._limit_reached() else "finished"
                store.run.open = False
            store.ended += 1
            store.idle_since = store.now

    async def start(self, puts: Sequence[Put]) -> bool:
        store = self.store
        if store.run and store.run.open and store.run.started:
            return False
        for put in puts:
            self._put(put)
        if store.run:
            store.run.started = True
        return True

    async def peek_seeds(self, count: int) -> Sequence[bytes]:
        return self.store.seeds[:count]

    async def take_seeds(self, verdicts: Sequence[SeedVerdict]) -> int:
        store = self.store
        queued = 0
        if any(put.fingerprint for verdict in verdicts for put in verdict.puts):
            self._age()
        for verdict in verdicts:
            if verdict.entry not in store.seeds:
                continue
            store.seeds.remove(verdict.entry)
            queued += sum(self._put(put) for put in verdict.puts)
            if verdict.rejected:
                store.rejected.append(verdict.rejected)
            if store.run:
                store.run.max_pages = max(store.run.max_pages, verdict.max_pages)
            store.idle_since = None
        return queued

    async def book(self, asks: Sequence[Ask]) -> Sequence[Grant]:
        return [self._book(ask) for ask in asks]

    def _book(self, ask: Ask) -> Grant:
        store, host, slot_id = self.store, ask.host, f"!{ask.name}"
        if ask.delay_ms and host not in store.delays:
            self._slow(host, ask.delay_ms)
        leases = store.leases.setdefault(self.worker, {})
        if ask.slot and slot_id in leases:
            return Grant(max(0, leases[slot_id].score - store.now), granted=True, slot_id=slot_id)
        free_at = store.waiting.get(host, 0)
        if free_at == math.inf:
            return Grant(PAUSED_MS, granted=False)
        if ask.slot and self._at_limit(host):
            return Grant(RETRY_MS, granted=False)
        if ask.patience_ms and free_at - store.now > ask.patience_ms and free_at != ask.booking:
            return Grant(math.ceil(free_at - store.now), granted=False)
        booking = 0
        start: float = store.now
        if ask.booking and free_at == ask.booking:
            del store.waiting[host]
        elif free_at > store.now:
            start = free_at
        if ask.slot:
            leases[slot_id] = Lease(int(start), host)
            store.beats.setdefault(self.worker, store.now)
            store.active[host] += 1
        if delay := self._limits(host).delay_ms:
            booking = math.floor(start + delay + SLACK_MS)
            self._hold(host, booking)
        self._offer(host)
        slot_id = slot_id if ask.slot else ""
        return Grant(math.ceil(start - store.now), granted=True, slot_id=slot_id, booking=booking)

    async def reconcile(self, held: Sequence[str]) -> Sequence[str]:
        leases = self.store.leases.get(self.worker, {})
        missing = [id_ for id_ in held if id_ not in leases]
        for id_ in list(leases):
            if id_ not in held and not self._is_young(id_):
                self._give_back(self.worker, id_)
        return missing

    def _is_young(self, id_: str) -> bool:
        """Whether this is a slot whose grant may still be on its way."""
        return id_.startswith("!") and self.store.now - self.store.leases[self.worker][id_].score < YOUNG_MS

    async def leave(self) -> None:
        for id_ in list(self.store.leases.get(self.worker, {})):
            self._give_back(self.worker, id_)
        self._forget(self.worker)
        self.store.reports[self.worker] = self.report

    async def close(self) -> None:
        pass

    # ------------------------------------------------------------------ the heartbeat

    def _forget(self, worker: str) -> None:
        for table in (self.store.beats, self.store.local, self.store.replies):
            table.pop(worker, None)

    def beat(self, patience: int, max_deliveries: int) -> tuple[int, int, int]:
        """Say that the worker lives, and give back what those held who were silent for ``patience`` ms."""
        store = self.store
        if store.now - store.beats.get(self.worker, 0) > patience * 3 / 4:
            patience = 0
        store.beats[self.worker] = store.now
        store.reports[self.worker] = self.report
        returned = buried = 0
        gone = [one for one in store.beats if patience and store.now - store.beats[one] >= patience]
        for dead in sorted(gone, key=lambda one: (store.beats[one], one)):
            for id_ in list(store.leases.get(dead, {})):
                store.deliveries[id_] += not id_.startswith("!")
                if store.deliveries[id_] >= max_deliveries:
                    self._bury(dead, id_, b"its workers died")
                    buried += 1
                else:
                    self._give_back(dead, id_)
                    returned += 1
            self._forget(dead)
        return returned, buried, len(gone)
