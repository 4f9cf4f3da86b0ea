"""The fleet's own keys in Redis, built here and nowhere else (``docs/redis-keys.md`` has a row for each)."""

from __future__ import annotations

from spiders_project.keys import FLEET_ENDING

#: Hash crawl → JSON ``Wanted``: what ought to run.
CRAWLS = "fleet:crawls"
#: Hash job id → JSON ``Placed``: the jobs that the supervisor gave to nodes.
PLACED = "fleet:placed"
#: Hash crawl → JSON ``Seen``: what the supervisor makes of each crawl.
SEEN = "fleet:seen"
#: String ``<token> <holder>`` with an expiry: who acts.
LEASE = "fleet:lease"
#: The last fencing token given out.
TOKEN = "fleet:token"  # noqa: S105 - a counter, no secret
#: Stream of what the supervisor did, the newest thousand.
EVENTS = "fleet:events"

#: Hash job id → why: jobs that are to end and hear no signal; their workers read it.
ENDING = FLEET_ENDING
#: Hash timer → JSON ``TimerState``.
TIMERS = "fleet:timers"
#: Hash node and version → JSON: withdrawals that could not be made yet.
WITHDRAWALS = "fleet:withdrawals"
#: Hash node → since when no new work goes there.
DRAINED = "fleet:drained"
#: Hash node → when it last answered.
HEARD = "fleet:heard"
#: All that have one name.
ALL = (CRAWLS, PLACED, SEEN, LEASE, TOKEN, ENDING, EVENTS, TIMERS, WITHDRAWALS, DRAINED, HEARD)


def releasing(project: str, version: str) -> str:
    """String ``<host:pid> <token>`` with an expiry: who releases this version at the moment."""
    return f"fleet:releasing:{project}:{version}"
