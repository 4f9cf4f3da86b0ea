"""Jobs whose heartbeat has stopped: their records are completed, by the supervisor that acts."""

from __future__ import annotations

import time
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
_LOG_TIMEOUT = (1.0, 3.0)
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
            for record in due[:_MOST]:
                if complete_as_died(self._client, record.id, reason="no heartbeat", log_tail=self._tail(record)):
                    self._say(
                        f"{record.spider}: job {record.id} on {record.node} died: no heartbeat since "
                        f"{local_time(record.seen_at)}"
                    )

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
