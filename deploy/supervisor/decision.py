"""What one round decides, before anything is done."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from deploy.crawls import Wanted
    from deploy.supervisor.records import Placed, Seen


@dataclass
class Decision:
    """What is to be done, in this order.

    Attributes:
        placed: Records of jobs that change; None: it is forgotten.
        seen: What is to be remembered of each crawl.
        signals: Jobs to be signalled, and how.
        told: Jobs that hear no signal and are to end by a word in Redis, and why; empty: the word is taken back.
        starts: Jobs to be scheduled; their records are in ``placed`` too.
        ends: Crawls whose run has ended: how, and in words.
        events: What is new, for people.
        died: Jobs that ended without a word, or are believed dead, and why.
        limits: Nodes that start less than they should, and how many jobs they were seen to run.
    """

    placed: dict[str, Placed | None] = field(default_factory=dict)
    seen: dict[str, Seen] = field(default_factory=dict)
    signals: list[tuple[Placed, str]] = field(default_factory=list)
    told: dict[str, str] = field(default_factory=dict)
    starts: list[tuple[Placed, Wanted]] = field(default_factory=list)
    ends: dict[str, tuple[str, str]] = field(default_factory=dict)
    events: list[str] = field(default_factory=list)
    died: list[tuple[Placed, str]] = field(default_factory=list)
    limits: dict[str, int] = field(default_factory=dict)
