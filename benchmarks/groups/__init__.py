"""The groups, in the order in which they run; each is a module with ``run(bench)`` that adds rows.

Those of ``ON_DEMAND`` run when they are named: they explain more than they compare, and take long.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from benchmarks.groups import (
    commands,
    deploy,
    flat,
    growth,
    latency,
    levers,
    loss,
    memory,
    politeness,
    startup,
    storage,
    throughput,
)

if TYPE_CHECKING:
    from types import ModuleType

GROUPS: dict[str, ModuleType] = {
    "throughput": throughput,
    "latency": latency,
    "commands": commands,
    "memory": memory,
    "growth": growth,
    "storage": storage,
    "politeness": politeness,
    "loss": loss,
    "startup": startup,
    "deploy": deploy,
    "levers": levers,
    "flat": flat,
}
ON_DEMAND = ("levers", "flat")
