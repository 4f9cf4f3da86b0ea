"""Jobs whose heartbeat has stopped: their records are completed, by the supervisor that acts."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor, wait
from typing import TYPE_CHECKING

from deploy.errors import DeployError
from deploy.logs import JobLog
from deploy.records import complete_as_died, local_time, running, spoken

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    import redis

    from deploy.records import JobRecord
    from deploy.targets import Node

#: Silence is watched for so long before it counts, in seconds: when Redis was away, all jobs are silent at first.
PATIENCE = 10.0
#: Records completed in one round, since each asks a node for the end of a log.
_MOST = 4
_LOG_TIMEOUT = (1.0, 1.5)
#: For all logs of a round together, in seconds: a node that hangs must not cost the supervisor its lease.
LOGS_SECONDS = 2.0
_TAIL_BYTES = 20_000


class Deaths:
    """What a supervisor calls each round while it acts; its fencing token is not needed, as a record can be mended.

    Args:
        client: Of the frontier's Redis, with ``decode_responses`` off.
        nodes: The nodes of scrapy.cfg.
        say: Told of each death.
        patience: See ``PATIENCE``.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        client: redis.Redis,
        nodes: Sequence[Node],
        say: Callable[[str], None],
        *,
        patience: float = PATIENCE,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._client = client
        self._nodes = {node.name: node for node in nodes}
        self._say = say
        self._patience = patience
        self._clock = clock
        self._silent: dict[str, float] = {}  # since when, by job

    def __call__(self, _token: str = "") -> None:
        """Look once.

        Raises:
            ConnectError: Redis does not answer.
            DeployError: Redis refuses.
        """
        with spoken():
            silent = [record for record in running(self._client) if not record.alive]
            now = self._clock()
            self._silent = {record.id: self._silent.get(record.id, now) for record in silent}
            due = [record for record in silent if now - self._silent[record.id] >= self._patience]
            tails = self._tails(due[:_MOST])
            for record in due[:_MOST]:
                if complete_as_died(self._client, record.id, reason="no heartbeat", log_tail=tails.get(record.id, "")):
                    self._say(
                        f"{record.spider}: job {record.id} on {record.node} died: no heartbeat since "
                        f"{local_time(record.seen_at)}"
                    )

    def _tails(self, records: Sequence[JobRecord]) -> dict[str, str]:
        """The ends of their logs by job, side by side; those that come too late are left out."""
        if not records:
            return {}
        pool = ThreadPoolExecutor(len(records))
        asked = {record.id: pool.submit(self._tail, record) for record in records}
        wait(asked.values(), timeout=LOGS_SECONDS)
        pool.shutdown(wait=False, cancel_futures=True)
        return {job: tail.result() for job, tail in asked.items() if tail.done() and not tail.cancelled()}

    def _tail(self, record: JobRecord) -> str:
        """The end of its log; nothing where its node does not say."""
        node = self._nodes.get(record.node)
        if node is None or record.error:
            return ""
        log = JobLog(node, record.project, record.spider, record.id, timeout=_LOG_TIMEOUT)
        try:
            start = max(0, (log.size() or 0) - _TAIL_BYTES)
            return (log.read(start, _TAIL_BYTES) or b"").decode("utf-8", "replace")
        except DeployError:
            return ""
