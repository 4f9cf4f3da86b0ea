"""What in ``fleet.toml`` names something that there is not, or goes round in a circle."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from spiders_project.keys import NAMESPACE, NAMESPACE_EXPECTED

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from deploy.fleet import Fleet


def contradictions(fleet: Fleet, nodes: set[str] | None) -> Iterator[tuple[list[str], str]]:
    """(key, complaint) of each; ``nodes`` are the names that scrapy.cfg has, None where they are not known."""
    known = fleet.nodes.keys() if nodes is None else nodes
    for name in fleet.nodes.keys() - known:
        yield ["nodes", name], f"scrapy.cfg has no [deploy:{name}]: it has {', '.join(sorted(known)) or 'none'}"
    labels = {label for node in fleet.nodes.values() for label in node.labels}
    namespaces: dict[str, str] = {}
    for name, crawl in fleet.crawls.items():
        for label in sorted(crawl.labels - labels):
            yield ["crawls", name, "labels"], f"no node has the label {label!r}: there are {_listed(labels)}"
        if not re.fullmatch(NAMESPACE, crawl.namespace):
            complaint = f"{crawl.namespace!r} is no namespace: it should be {NAMESPACE_EXPECTED}"
            yield ["crawls", name, "settings", "FRONTIER_NAMESPACE"], complaint
        other = namespaces.setdefault(crawl.namespace, name)
        if other != name:
            shared = f"it would share the frontier {crawl.namespace!r} with {other!r}"
            yield ["crawls", name], f"{shared}: give one of them settings.FRONTIER_NAMESPACE"
        if crawl.after and crawl.after.crawl not in fleet.crawls:
            yield (
                ["crawls", name, "after"],
                f"there is no crawl {crawl.after.crawl!r}: there are {_listed(fleet.crawls)}",
            )
    for cycle in _cycles(fleet):
        yield ["crawls", cycle[0], "after"], f"a cycle: {' after '.join((*cycle, cycle[0]))}"
    for name, timer in fleet.timers.items():
        if timer.crawl and timer.crawl not in fleet.crawls:
            yield ["timers", name, "crawl"], f"there is no crawl {timer.crawl!r}: there are {_listed(fleet.crawls)}"


def _listed(names: Iterable[str]) -> str:
    return ", ".join(sorted(names)) or "none"


def _cycles(fleet: Fleet) -> Iterator[tuple[str, ...]]:
    """Each ring of crawls that wait for one another, once."""
    after = {name: crawl.after.crawl for name, crawl in fleet.crawls.items() if crawl.after}
    settled: set[str] = set()
    for start in after:
        way: list[str] = []
        name = start
        while name in after and name not in settled and name not in way:
            way.append(name)
            name = after[name]
        if name in way:
            yield tuple(way[way.index(name) :])
        settled.update(way)
