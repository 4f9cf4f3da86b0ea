"""A job's log, through its node's HTTP API: found, its end shown, followed while it grows."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING
from urllib.parse import quote, urljoin

from deploy.client import TIMEOUT, NodeClient
from deploy.errors import DeployError, NodeError, NodeUnreachable
from deploy.fanout import fan_out
from deploy.jobs import list_jobs

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from deploy.records import JobRecord
    from deploy.targets import Node

POLL_SECONDS = 1.0
#: Bytes fetched in one call.
BLOCK = 256 * 1024
_OK, _PARTIAL, _NOT_FOUND, _NO_SUCH_RANGE = 200, 206, 404, 416


class JobLog:
    """The log of one job on its node."""

    def __init__(self, node: Node, project: str, spider: str, job: str, timeout: tuple[float, float] = TIMEOUT) -> None:
        self.node = node
        self.job = job
        self._client = NodeClient(node, timeout)
        self._url = urljoin(
            node.url, "/".join(quote(part, safe="") for part in ("logs", project, spider, f"{job}.log"))
        )

    def size(self) -> int | None:
        """Its length in bytes; None where there is none (yet, or any more).

        Raises:
            NodeError: The node does not answer, or not as Scrapyd.
        """
        response = self._client.session.send_raw("HEAD", self._url, timeout=self._client.timeout)
        if response.status_code == _NOT_FOUND:
            return None
        if response.status_code != _OK:
            raise NodeError(f"{self.node.name}: the log of job {self.job}: HTTP {response.status_code}")
        return int(response.headers.get("content-length", 0))

    def read(self, start: int, length: int = BLOCK) -> bytes | None:
        """At most ``length`` bytes from ``start`` on; None where the log is shorter than ``start``.

        Raises:
            NodeError: The node does not answer, or the log is gone.
        """
        span = {"Range": f"bytes={start}-{start + length - 1}"}
        response = self._client.session.send_raw("GET", self._url, headers=span, timeout=self._client.timeout)
        if response.status_code == _NO_SUCH_RANGE:
            # Its length stands behind the slash; Twisted says the same of nothing new and of a shorter file.
            size = response.headers.get("content-range", "").rpartition("/")[2]
            return None if size.isdigit() and int(size) < start else b""
        if response.status_code == _OK:  # a proxy that knows no ranges
            return response.content[start : start + length]
        if response.status_code != _PARTIAL:
            raise NodeError(f"{self.node.name}: the log of job {self.job} is gone (HTTP {response.status_code})")
        return response.content

    def start_of_tail(self, lines: int) -> int:
        """Where the last ``lines`` lines begin; raises as ``size``."""
        end = position = self.size() or 0
        wanted = lines + 1
        while position and wanted > 0:
            start = max(0, position - BLOCK)
            block = self.read(start, position - start) or b""
            if position == end and not block.endswith(b"\n"):
                wanted -= 1  # the last line is not complete
            cut = len(block)
            while wanted > 0 and (cut := block.rfind(b"\n", 0, cut)) >= 0:
                wanted -= 1
                if not wanted:
                    return start + cut + 1
            position = start
        return 0 if lines else end

    def is_listed(self) -> bool:
        """Whether the node has the job pending or running; raises as ``size``."""
        return self._client.status(self.job) in {"pending", "running"}


def find_log(nodes: Sequence[Node], job: str, record: JobRecord | None) -> JobLog:
    """Where the log of ``job`` is: by its record, else by what the nodes list.

    Raises:
        DeployError: Nobody knows the job, or its log is gone.
        ConnectError: No node answers.
    """
    if record and record.project and record.spider:
        places = [JobLog(node, record.project, record.spider, job) for node in nodes]
    else:
        listed = list_jobs(nodes)
        spiders = {one.node: one.spider for jobs in listed.done.values() for one in jobs if one.id == job}
        if not spiders:
            listed.check()
            raise DeployError(
                f"no node lists job {job}, and it left no record: `python -m deploy jobs` shows what there is"
            )
        places = [JobLog(node, node.project, spiders[node.name], job) for node in nodes if node.name in spiders]
    by_name = {place.node.name: place for place in places}
    sizes = fan_out([place.node for place in places], lambda node: by_name[node.name].size())
    for name, size in sizes.done.items():
        if size is not None:
            return by_name[name]
    named = by_name.get(record.node if record else "")
    if named is None and len(by_name) == 1:
        named = next(iter(by_name.values()))
    if named is not None and named.node.name in sizes.done and named.is_listed():
        return named  # it has not begun to write
    sizes.check()
    raise DeployError(
        f"the log of job {job} is on none of {', '.join(by_name)}: the node has deleted it, by age or number"
    )


def follow(
    log: JobLog,
    start: int,
    runs: Callable[[], bool],
    say: Callable[[str], None],
    *,
    poll_seconds: float = POLL_SECONDS,
) -> Iterator[bytes]:
    """The log from ``start`` on, as it grows, until ``runs()`` is false and nothing more comes.

    A node that does not answer for a while is said once, and waited for.
    """
    silent = False
    while True:
        going_on = runs()  # asked before reading: what is written until the end is read
        try:
            block = log.read(start) if log.size() is not None else b""
        except NodeUnreachable as error:
            if not going_on:
                raise
            if not silent:
                say(f"{error}; waiting")
            silent, block = True, b""
        else:
            silent = False
        if block is None:
            say("the log begins anew")  # the job's id was given a second time
            start = 0
        elif block:
            start += len(block)
            yield block
        elif not going_on:
            return
        else:
            time.sleep(poll_seconds)
