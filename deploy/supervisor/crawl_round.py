"""One crawl in one round: its jobs judged, its places kept, its end noticed; touches nothing."""

from __future__ import annotations

from typing import TYPE_CHECKING

from deploy.supervisor.judge import State, Verdict, judge, next_signal
from deploy.supervisor.records import Failure, Placed, Seen, Vacancy

if TYPE_CHECKING:
    from deploy.crawls import Wanted
    from deploy.supervisor.decision import Decision
    from deploy.supervisor.limits import Limits
    from deploy.supervisor.observe import World

_FAILURES_KEPT = 10
#: The outcome of a run that found neither seed nor request.
_NOTHING = "nothing to do"
#: How what is said of a crawl begins whose workers fail one after the other.
CRASH_LOOPING = "crash-looping"
#: The failures in a row from which on a crawl is called crash-looping.
_LOOP = 2


class CrawlRound:
    """One crawl in one round."""

    def __init__(self, name: str, world: World, limits: Limits, decision: Decision) -> None:
        self.name = name
        self._world = world
        self._limits = limits
        self._decision = decision
        wanted = world.wanted.get(name)
        self._wanted = wanted if wanted and wanted.state == "up" else None
        known = world.seen.get(name)
        self._patience = wanted.patience if wanted and wanted.state == "down" else None
        run = wanted.run if wanted else 0
        self.seen = known.model_copy(deep=True) if known and known.run == run else Seen(run=run)
        self.seen.problems = []
        self.live: list[tuple[Placed, Verdict]] = []
        self._stopping = 0
        self._older = 0
        self._orphans: list[Placed] = []

    @property
    def up(self) -> Wanted:
        """What is wanted of it; only vacancies ask, and only a crawl that is up has any."""
        assert self._wanted is not None
        return self._wanted

    def _over(self, wanted: Wanted) -> str:
        """Why its run has nothing left to do, as its frontier says; empty: it has, or nobody knows."""
        status = self._world.statuses.get(self.name)
        if status is None:
            return ""
        if status.state == "finished" and (status.ended_at or 0) >= wanted.started_at:
            return status.finish_reason or "finished"
        # Workers that close when there is nothing to do have found nothing: no run was opened.
        return "" if status.state == "open" or status.open or status.seeds or not closes(wanted) else _NOTHING

    def settle(self) -> None:
        """Judge its jobs, and see that neither too few nor too many are meant to run."""
        for job in sorted(self._world.placed.values(), key=lambda job: job.at):
            if job.crawl == self.name:
                self._job(job)
        if self._wanted is None:
            self._wind_up()
        else:
            self._keep_up(self._wanted)

    def remember(self) -> None:
        """Hand over what the next round is to know."""
        self.seen.at = self._world.now
        if self._world.wanted.get(self.name):
            self._decision.seen[self.name] = self.seen

    # ------------------------------------------------------------------ one job

    def _job(self, job: Placed) -> None:
        verdict = judge(job, self._world, self._limits)
        job = self._noted(job, verdict)
        if job.stop_at is not None:
            self._stop_on(job, verdict)
        elif job.lost:
            self._returned(job, verdict)
        elif not verdict.live:
            self._vacate(job, verdict)
        elif self._moves(job, verdict):
            self._vacate(job, Verdict(verdict.state, f"{job.node} is drained", blameless=True))
        else:
            self.live.append((job, verdict))
            if verdict.state in {State.ORPHAN, State.UNREACHABLE}:
                self.seen.problems.append(self._remote(job, verdict))

    def _moves(self, job: Placed, verdict: Verdict) -> bool:
        """Whether it has to leave its node, which can be told so."""
        node = self._world.nodes.get(job.node)
        told = verdict.state in {State.STARTING, State.RUNNING}
        return bool(self._wanted and node and node.answers and node.drained and told)

    def _remote(self, job: Placed, verdict: Verdict) -> str:
        """What is wrong with one that nobody can tell anything."""
        worker = self._world.worker(job)
        pid = f" (pid {worker.pid})" if worker and worker.pid else ""
        return f"job {job.id} on {job.node}{pid}: {verdict.why}"

    def _noted(self, job: Placed, verdict: Verdict) -> Placed:
        """The job with what was seen of it for the first time."""
        node = self._world.nodes.get(job.node)
        listed = node.jobs.get(job.id) if node and node.answers else None
        if job.running_at is None and listed and listed.state == "running":
            job = self._put(job.but(running_at=self._world.now))
        if job.left_at is None and verdict.state is State.CLOSING:
            job = self._put(job.but(left_at=self._world.now))
        return job

    def _put(self, job: Placed) -> Placed:
        self._decision.placed[job.id] = job
        return job

    def _drop(self, job: Placed) -> None:
        self._decision.placed[job.id] = None
        if job.stop_at is not None:
            self._decision.told[job.id] = ""

    def _returned(self, job: Placed, verdict: Verdict) -> None:
        """Its place was given away when its node fell silent."""
        if verdict.live:
            self._say(f"{job.node} is back, and with it job {job.id}")
            self.live.insert(0, (self._put(job.but(lost=False)), verdict))
        elif verdict.state is State.ENDED:
            if job.running_at or self._world.now - job.at > self._limits.start:
                self._drop(job)
        elif verdict.state is not State.LOST:
            self._stop(job, verdict.why, hard=True)

    def _stop_on(self, job: Placed, verdict: Verdict) -> None:
        """It was told to end: has it, and what comes next?"""
        node = self._world.nodes.get(job.node)
        if verdict.state is State.ENDED:
            self._say(f"job {job.id} on {job.node} has ended")
            self._drop(job)
            return
        if verdict.state is State.LOST:
            if not job.lost:
                self._put(job.but(lost=True))
            return
        self._stopping += 1
        self._older += self._wanted is not None and job.run != self._wanted.run
        listed = node.jobs.get(job.id) if node and node.answers else None
        if listed is None:
            self._decision.told[job.id] = job.why or "it is to end"
            self.seen.problems.append(f"it is told to end through Redis: {self._remote(job, verdict)}")
        elif step := next_signal(job, listed, self._world.now, self._limits, self._patience):
            signal, job = step
            self._decision.signals.append((self._put(job), signal))

    def _stop(self, job: Placed, why: str, *, hard: bool = False) -> None:
        self._say(f"ending job {job.id} on {job.node}: {why}")
        stopping = job.but(stop_at=self._world.now, why=why, hard=hard, lost=False)
        self._put(stopping)
        self._stop_on(stopping, judge(stopping, self._world, self._limits))

    def _vacate(self, job: Placed, verdict: Verdict) -> None:
        """It does not hold its place any more."""
        wanted = self._wanted
        never_heard = verdict.blameless and job.running_at is None
        if verdict.state is State.LOST or (verdict.state is State.ENDED and never_heard):
            self._put(job.but(lost=True))  # it may turn up yet
        elif verdict.state is State.ENDED:
            self._drop(job)
        else:
            self._stop(job, verdict.why, hard=verdict.state is State.HUNG)
        if verdict.state in {State.ENDED, State.LOST, State.HUNG} and not verdict.clean and job.running_at:
            self._decision.died.append((job, verdict.why))
        if verdict.state is State.STUCK:
            node = self._world.nodes[job.node]
            self._decision.limits[job.node] = node.count("running")
        if wanted is None or job.run != wanted.run:
            return
        over = self._over(wanted)
        if over and (verdict.clean or (closes(wanted) and over != _NOTHING)):
            self.seen.finished = True
            return
        self._say(f"job {job.id} on {job.node} is lost to the crawl: {verdict.why}")
        self._open_place(job, verdict, wanted)

    def _open_place(self, job: Placed, verdict: Verdict, wanted: Wanted) -> None:
        now, limits = self._world.now, self._limits
        attempt = job.attempt
        if not verdict.blameless:
            failure = Failure(job=job.id, node=job.node, why=verdict.why, at=now)
            self.seen.failures = [*self.seen.failures, failure][-_FAILURES_KEPT:]
            at_once = job.running_at is None or now - job.running_at < limits.stable
            in_a_row = at_once or verdict.state is State.OVERDUE  # else a long timeout would be tried for ever
            attempt = attempt + 1 if in_a_row else 1
        if attempt > wanted.spec.retries:
            self.seen.given_up += 1
            return
        pause = (
            0.0
            if verdict.blameless or attempt < _LOOP
            else min(limits.most_back_off, limits.back_off * 2 ** (attempt - _LOOP))
        )
        avoid = [job.node] if attempt == 1 else [*(node for node in job.avoid if node != job.node), job.node]
        self.seen.vacancies.append(Vacancy(attempt=attempt, due=now + pause, avoid=avoid))

    def _say(self, text: str) -> None:
        self._decision.events.append(f"{self.name}: {text}")

    # ------------------------------------------------------------------ the crawl

    def _wind_up(self) -> None:
        """It is not to run."""
        self.seen.vacancies = []
        wanted = self._world.wanted.get(self.name)
        for job, _ in self.live:
            self._stop(job, wanted.reason if wanted and wanted.reason else "the crawl is stopped")
        if wanted and wanted.state == "down" and not self._stopping:
            self._decision.ends[self.name] = "stopped", wanted.reason or "stopped"

    def _keep_up(self, wanted: Wanted) -> None:
        for job, verdict in [pair for pair in self.live if pair[0].run != wanted.run]:
            self.live.remove((job, verdict))
            self._stop(job, "the crawl was restarted")
        over = self._over(wanted)
        if over and (self.seen.finished or (closes(wanted) and over != _NOTHING)):
            self.seen.vacancies, self.seen.finished = [], True
            if not self.live and not self._stopping:
                self._decision.ends[self.name] = "done", over
            return
        self.seen.finished = False
        self._balance(wanted)
        looping = max((vacancy.attempt for vacancy in self.seen.vacancies), default=0)
        looping = max(looping, max((job.attempt for job, _ in self.live), default=0))
        if self.seen.given_up or looping >= _LOOP:
            last = self.seen.failures[-1].why if self.seen.failures else ""
            self.seen.problems.append(f"{CRASH_LOOPING}: workers fail in a row, the last because {last}")
        if self.seen.given_up >= max(1, wanted.spec.workers) and not self.live and not self._stopping:
            reason = f"{CRASH_LOOPING}: every worker failed {wanted.spec.retries + 1} times in a row"
            self._decision.ends[self.name] = "failed", reason

    def _balance(self, wanted: Wanted) -> None:
        """As many places as workers are wanted."""
        seen = self.seen
        missing = wanted.spec.workers - len(self.live) - len(seen.vacancies) - seen.given_up - self._older
        seen.vacancies += [Vacancy() for _ in range(missing)]
        for _ in range(-missing):
            if seen.vacancies:
                seen.vacancies.pop()
            elif seen.given_up:
                seen.given_up -= 1
            elif self.live:
                job, verdict = self._surplus()
                self.live.remove((job, verdict))
                self._stop(job, "there are more workers than wanted")

    def _surplus(self) -> tuple[Placed, Verdict]:
        """The worker that is missed least: one that was lost and came back, else on the node with the most of them."""
        on: dict[str, int] = {}
        for job, _ in self.live:
            on[job.node] = on.get(job.node, 0) + 1
        stoppable = [pair for pair in self.live if pair[1].state not in {State.ORPHAN, State.UNREACHABLE}] or self.live
        returned = [pair for pair in stoppable if (held := self._world.placed.get(pair[0].id)) and held.lost]
        return (returned or sorted(stoppable, key=lambda pair: (-on[pair[0].node], -pair[0].at)))[0]


def closes(wanted: Wanted) -> bool:
    """Whether its workers are told to close at the crawl's end; else they wait for seeds for ever."""
    try:
        return float(wanted.spec.settings.get("MAX_IDLE_TIME_BEFORE_CLOSE", 0)) > 0
    except ValueError:
        return False
