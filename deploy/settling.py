"""Withdrawals that are made by the way, while a supervisor runs: now and then, and never in its way."""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING

from deploy.errors import DeployError
from deploy.withdrawals import settle

if TYPE_CHECKING:
    from collections.abc import Sequence

    from deploy.targets import Node
    from deploy.withdrawals import Withdrawals

logger = logging.getLogger(__name__)


class Settling:
    """Call it as often as you like; at most every ``every`` seconds it settles in a thread of its own.

    A node that does not answer takes a connection's timeout, which a supervisor's round has not.
    """

    def __init__(self, nodes: Sequence[Node], withdrawals: Withdrawals, every: float = 30.0) -> None:
        self._nodes = nodes
        self._withdrawals = withdrawals
        self._every = every
        self._due = 0.0
        self._thread: threading.Thread | None = None

    def __call__(self, _token: str = "") -> None:
        """Begin, if it is time; returns at once."""
        if time.monotonic() < self._due or (self._thread and self._thread.is_alive()):
            return
        self._due = time.monotonic() + self._every
        self._thread = threading.Thread(target=self._settle, name="withdrawals", daemon=True)
        self._thread.start()

    def join(self, seconds: float | None = None) -> None:
        """Wait for what is under way."""
        if self._thread:
            self._thread.join(seconds)

    def _settle(self) -> None:
        try:
            settled = settle(self._nodes, self._withdrawals)
        except DeployError as error:
            logger.warning("Withdrawals: %s", error)
            return
        for name, versions in settled.done.items():
            if versions:
                logger.info("%s: withdrew %s", name, ", ".join(versions))
