"""How patient the supervisor is, in seconds; tests are less so."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Limits:
    """Attributes.

    poll: Between two rounds.
    connect: For a node to take a connection.
    answer: For a node to answer.
    silence: A node that has not answered for so long, and a worker there without heartbeat, are believed gone.
    begin: A job on a silent node that has sent no heartbeat yet is believed gone only so long after it was placed:
        Scrapyd answers nobody while it lists the spiders of a version for the first time.
    pending: A job that has been pending so long on a node with free slots, while none started there, is taken away.
    appear: For a job to be listed after it was scheduled.
    start: For a running job to send its first heartbeat.
    close: For a worker's process to end once it has left the frontier.
    stop: For a worker that is told to stop to finish its pages.
    drop: For one that is told to drop its pages; then it is killed.
    stable: A worker that ran so long has not failed at once: its place's count of failures begins anew.
    back_off: Before the second replacement in a row; doubled each time.
    most_back_off: At most so long.
    distrust: A node that refused a job, or did not start one, gets less work for so long.
    redis: Heartbeats are believed missing only when Redis has answered for so long without a gap.
    """

    poll: float = 1.0
    connect: float = 2.0
    answer: float = 4.0
    silence: float = 8.0
    begin: float = 15.0
    pending: float = 7.0
    appear: float = 5.0
    start: float = 30.0
    close: float = 60.0
    stop: float = 60.0
    drop: float = 10.0
    stable: float = 60.0
    back_off: float = 2.0
    most_back_off: float = 60.0
    distrust: float = 60.0
    redis: float = 10.0
