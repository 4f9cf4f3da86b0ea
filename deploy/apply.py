"""From fleet.toml and what is wanted now to what is to change; and the change."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from deploy.crawls import Wanted
from deploy.fleet import CrawlSpec

if TYPE_CHECKING:
    from collections.abc import Mapping

    from deploy.crawls import Crawls
    from deploy.fleet import Fleet

Action = Literal["start", "restart", "change", "register", "stop", "forget", "keep"]
#: What its workers are told when they start: another value needs other workers.
_TOLD = ("spider", "arguments", "settings")


@dataclass(frozen=True)
class Step:
    """What becomes of one crawl, and why."""

    crawl: str
    action: Action
    why: str
    spec: CrawlSpec | None = None


def plan(fleet: Fleet, wanted: Mapping[str, Wanted]) -> list[Step]:
    """What must change for the crawls of fleet.toml to be wanted, and no other declared ones; those that stay too.

    A crawl that a timer or another crawl's end starts is only registered. One whose run is done is not begun again.
    """
    timed = {timer.crawl for timer in fleet.timers.values()}
    steps = [
        _step(name, spec, wanted.get(name), waits=spec.after is not None or name in timed)
        for name, spec in fleet.crawls.items()
    ]
    for name, held in wanted.items():
        if held.declared and name not in fleet.crawls:
            up = held.state == "up"
            steps.append(Step(name, "stop" if up else "forget", "fleet.toml has it no more"))
    return steps


def _step(name: str, spec: CrawlSpec, held: Wanted | None, *, waits: bool) -> Step:
    if held is None or not (held.run or held.declared):
        return Step(name, "register", _starter(spec), spec) if waits else Step(name, "start", "new", spec)
    changed = [key for key in type(spec).model_fields if getattr(spec, key) != getattr(held.spec, key)]
    what = ", ".join(f"{key}: {_shown(held.spec, key)} → {_shown(spec, key)}" for key in changed)
    if held.state == "up" and set(changed) & set(_TOLD):
        return Step(name, "restart", what, spec)
    if held.state != "up" and not waits and held.outcome != "done":
        return Step(name, "start", held.reason or "it does not run", spec)
    if changed or not held.declared:
        return Step(name, "change" if held.state == "up" else "register", what or "it was started by hand", spec)
    rests = "its run is done; `start` begins another" if held.outcome == "done" else _starter(spec)
    if held.held and spec.after:
        rests = "it was stopped by hand: `start` lets it come after the other one again"
    return Step(name, "keep", "runs as declared" if held.state == "up" else rests)


def _starter(spec: CrawlSpec) -> str:
    return f"it starts after {spec.after.crawl} ({spec.after.state})" if spec.after else "a timer starts it"


def _shown(spec: CrawlSpec, key: str) -> str:
    value = getattr(spec, key)
    if key in {"arguments", "settings"}:
        return "changed" if value else "none"  # a value may be a password
    return ", ".join(sorted(value)) or "none" if isinstance(value, frozenset) else str(value)


def apply(steps: list[Step], crawls: Crawls) -> None:
    """Write what is wanted; supervisors make it so."""
    now, others = crawls.now(), crawls.all()

    def change(step: Step, held: Wanted | None) -> Wanted | None:
        if step.action == "forget":
            return None
        if step.action == "stop":
            down = {"state": "down", "reason": "fleet.toml has it no more", "declared": False, "waiting": 0}
            return held and held.model_copy(update=down)
        spec = step.spec
        assert spec is not None
        known = held or Wanted(name=step.crawl, spec=CrawlSpec(spider=spec.spider))
        declared = known.specified(spec, others).model_copy(update={"declared": True})
        if step.action == "restart":
            return declared.started(now, seeded=declared.run + 1)
        return declared.started(now) if step.action == "start" else declared

    for step in steps:
        if step.action != "keep":
            crawls.change(step.crawl, lambda held, step=step: change(step, held))  # type: ignore[misc] # mypy and a default
