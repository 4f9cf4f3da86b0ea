"""The worker's one heartbeat, from its own thread: a callback that computes for 20 s is not dead.

Times follow ``FRONTIER_LEASE_SECONDS`` (L): a beat every L/6, and who was silent for 2L/3 is dead, so the leases of
a dead worker are back in the queue within L.
"""

from __future__ import annotations

import logging
import threading
import time
from typing import TYPE_CHECKING, Any

from spiders_project.errors import FrontierError
from spiders_project.frontier import scripts
from spiders_project.frontier.connection import translated
from spiders_project.frontier.redis_frontier import packed_terms
from spiders_project.keys import FLEET_ENDING

if TYPE_CHECKING:
    from collections.abc import Callable

    import redis

    from spiders_project.frontier.contract import Terms
    from spiders_project.keys import Keys

logger = logging.getLogger(__name__)

BEATS_PER_LEASE = 6
PATIENCE = 2 / 3


class Heartbeat:
    """Says that this worker lives, and gives back what dead workers held.

    After an outage nobody is judged: a worker judges others only when its own beats came without a gap for one
    whole lease period, because whoever could not beat, the others could not either.
    """

    def __init__(
        self,
        client: redis.Redis,
        keys: Keys,
        worker: str,
        terms: Terms,
        *,
        lease_seconds: float,
        max_deliveries: int,
        report: Callable[[], bytes],
        on_reaped: Callable[[int, int, int], None],
        job: str = "",
        on_told_to_end: Callable[[], object] = lambda: None,
    ) -> None:
        """``report``, ``on_reaped`` and ``on_told_to_end`` are called in the heartbeat's thread and must not block.

        Args:
            client: A blocking client that only this thread uses.
            keys: The crawl's keys.
            worker: This worker's id.
            terms: Limits of the crawl; leases that come back are queued by them.
            lease_seconds: The lease period, in seconds.
            max_deliveries: Claims by workers that died, after which a request becomes a dead letter.
            report: Gives the JSON report that tools read.
            on_reaped: Gets (requests given back, dead letters, workers declared dead).
            job: Scrapyd's job id, by which the worker is told to end; empty: nobody tells it so.
            on_told_to_end: Called once, when it is.
        """
        self._client = client
        self._keys = keys
        self._worker = worker
        self._terms = terms
        self._lease = lease_seconds
        self._max_deliveries = max_deliveries
        self._report = report
        self._on_reaped = on_reaped
        self._job = job
        self._on_told_to_end = on_told_to_end
        self._stopped = threading.Event()
        self._thread = threading.Thread(target=self._loop, name="frontier-heartbeat", daemon=True)
        self._unbroken_since: float | None = None
        self._last = 0.0
        self._silent = False

    def start(self) -> None:
        """Begin; the first beat goes out at once."""
        self._thread.start()

    def stop(self, patience: float) -> None:
        """End, and wait up to ``patience`` seconds for a beat under way; may be called again."""
        self._stopped.set()
        if self._thread.ident is not None:
            self._thread.join(patience)

    def _loop(self) -> None:
        while not self._stopped.is_set():
            started = time.monotonic()
            try:
                self._beat(started)
            except FrontierError as error:
                self._unbroken_since = None
                # One line for each outage: the exchange goes on to report it.
                logger.log(logging.DEBUG if self._silent else logging.WARNING, "No heartbeat: %s", error)
                self._silent = True
            except Exception:
                # The thread must outlive any surprise: without it a live worker loses its leases.
                self._unbroken_since = None
                logger.exception("No heartbeat")
            self._stopped.wait(max(0.0, self._lease / BEATS_PER_LEASE - (time.monotonic() - started)))
        self._client.close()

    def _beat(self, started: float) -> None:
        if self._unbroken_since is None or started - self._last > self._lease * PATIENCE:
            self._unbroken_since = started
        judges = started - self._unbroken_since >= self._lease
        arguments: tuple[Any, ...] = (
            self._keys.namespace,
            self._worker,
            packed_terms(self._terms),
            self._report(),
            round(self._lease * PATIENCE * 1000) if judges else 0,
            self._max_deliveries,
        )
        with translated():
            counts: Any = scripts.run_blocking(self._client, "heartbeat", self._keys.requests, arguments)
        self._last = started
        self._silent = False
        returned, buried, gone = counts
        if gone or returned or buried:
            self._on_reaped(returned, buried, gone)
        if self._job:
            self._listen()

    def _listen(self) -> None:
        """Scrapyd forgets its jobs when it restarts and signals them no more, so a word in Redis has to do."""
        try:
            with translated():
                told = self._client.hexists(FLEET_ENDING, self._job)
        except FrontierError as error:
            logger.debug("Whether this job is to end is not known: %s", error)  # an ACL without the fleet's keys
            return
        if told:
            self._job = ""
            self._on_told_to_end()
