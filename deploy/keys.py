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
#: Those that crawls and their supervisor write.
ALL = (CRAWLS, PLACED, SEEN, LEASE, TOKEN, ENDING, EVENTS)


def releasing(project: str, version: str) -> str:
    """String ``<host:pid> <token>`` with an expiry: who releases this version at the moment."""
    return f"fleet:releasing:{project}:{version}"
