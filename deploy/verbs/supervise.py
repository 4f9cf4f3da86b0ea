"""``supervise``: keep crawls as they are wanted."""

from __future__ import annotations

import signal
import threading
import time
from dataclasses import replace

import click

from deploy.control import Control
from deploy.output import say
from deploy.records import local_time
from deploy.supervisor.limits import Limits


@click.command("supervise")
@click.option("--poll", type=click.FloatRange(0.05), default=1.0, show_default=True, metavar="SECONDS")
def supervise_command(poll: float) -> None:
    """Keep the crawls as they are wanted, until interrupted; a second supervisor stands by.

    Dead workers are replaced, on another node where there is one; jobs that others started are left alone. Its own
    end ends no crawl.

    \b
    Example:
      python -m deploy supervise
    """
    control = Control.open()
    stopped = threading.Event()
    for number in (signal.SIGINT, signal.SIGTERM):
        signal.signal(number, lambda *_: stopped.set())
    supervisor = control.supervisor(_note, replace(Limits(), poll=poll), control.tasks(_note))
    _note(f"supervising {', '.join(node.name for node in control.nodes)}")
    try:
        supervisor.run(stopped)
    finally:
        supervisor.close()
    _note("ended; the crawls go on")


def _note(text: str) -> None:
    say(f"{local_time(time.time())}  {text}")
