"""From what is wanted and what is to what is to be done; touches nothing."""

from __future__ import annotations

import uuid
from typing import TYPE_CHECKING

from deploy.placement import Room, choose, shortage
from deploy.supervisor.crawl_round import CrawlRound
from deploy.supervisor.decision import Decision
from deploy.supervisor.judge import Beat, beat_of
from deploy.supervisor.records import Placed

if TYPE_CHECKING:
    import random
    from collections.abc import Callable

    from deploy.supervisor.limits import Limits
    from deploy.supervisor.observe import World


def decide(
    world: World,
    limits: Limits,
    *,
    version: Callable[[], str],
    rng: random.Random | None = None,
    new_id: Callable[[], str] = lambda: uuid.uuid4().hex,
) -> Decision:
    """One round.

    Args:
        world: How everything stands.
        limits: How patient to be.
        version: Names the released version; called when a crawl without one of its own needs it.
        rng: For placement by chance.
        new_id: Makes job ids.
    """
    decision = Decision()
    names = sorted({*world.wanted, *(job.crawl for job in world.placed.values())})
    crawls = {name: CrawlRound(name, world, limits, decision) for name in names}
    for crawl in crawls.values():
        crawl.settle()
    rooms = _rooms(world, crawls, limits)
    queue = sorted(
        ((crawl, vacancy) for crawl in crawls.values() for vacancy in crawl.seen.vacancies if vacancy.due <= world.now),
        key=lambda pair: (-pair[0].up.spec.priority, pair[0].up.started_at, pair[0].name, pair[1].due),
    )
    short: dict[str, int] = {}
    for crawl, vacancy in queue:
        spec, turns = crawl.up.spec, crawl.seen.turns
        room = choose(crawl.name, spec, rooms, turns=turns, avoid=vacancy.avoid, rng=rng)
        if room is None:
            short[crawl.name] = short.get(crawl.name, 0) + 1
            continue
        egg = crawl.up.version or version()
        if not egg:
            crawl.seen.problems.append("no version is on any node that answers: `python -m deploy push` first")
            continue
        room.take(crawl.name)
        turns[room.name] = turns.get(room.name, 0) + 1
        crawl.seen.vacancies.remove(vacancy)
        job = Placed(
            id=new_id(),
            crawl=crawl.name,
            run=crawl.up.run,
            node=room.name,
            spider=spec.spider,
            version=egg,
            at=world.now,
            attempt=vacancy.attempt,
            avoid=vacancy.avoid,
        )
        decision.placed[job.id] = job
        decision.starts.append((job, crawl.up))
        decision.events.append(f"{crawl.name}: starting {spec.spider} on {room.name}: job {job.id}")
    for name, count in short.items():
        spec = crawls[name].up.spec
        crawls[name].seen.problems.append(
            f"{count} of {spec.workers} workers wait for room: {shortage(name, spec, rooms)}"
        )
    for crawl in crawls.values():
        crawl.remember()
    return decision


def _rooms(world: World, crawls: dict[str, CrawlRound], limits: Limits) -> list[Room]:
    """The nodes with what they have to do, jobs that they were given and do not list yet among it."""
    rooms = {
        node.name: Room(
            node.name,
            capacity=node.spec.capacity if node.limit is None else min(node.limit, node.spec.capacity),
            busy=node.count("pending") + node.count("running"),
            weight=node.spec.weight,
            labels=node.spec.labels,
            open=node.answers and not node.drained,
        )
        for node in world.nodes.values()
    }
    for crawl in crawls.values():
        for job, _ in crawl.live:
            if room := rooms.get(job.node):
                room.mine[crawl.name] = room.mine.get(crawl.name, 0) + 1
    for job in world.placed.values():
        node = world.nodes.get(job.node)
        if node is None or job.id in node.jobs:
            continue
        fresh = world.now - job.at <= limits.appear
        if fresh or beat_of(job, world) is Beat.ALIVE:
            rooms[job.node].busy += 1
    return list(rooms.values())
