"""One piece of work on every node, side by side: a result or an error for each."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor, as_completed
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, TypeVar

from deploy.errors import ConnectError, DeployError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from deploy.targets import Node

T = TypeVar("T")
#: Nodes spoken to at once. The work is waiting, so threads are cheap: fifty nodes take as long as the slowest.
MAX_THREADS = 64


@dataclass
class FanOut(Generic[T]):
    """What came of it, by the node's name, in the order of the nodes."""

    done: dict[str, T] = field(default_factory=dict)
    failed: dict[str, DeployError] = field(default_factory=dict)

    def check(self) -> None:
        """Raise one error that names every node that failed.

        Raises:
            ConnectError: No node at all can be reached.
            DeployError: Any other failure on any node.
        """
        if not self.failed:
            return
        errors = list(self.failed.values())
        unreachable = not self.done and all(isinstance(error, ConnectError) for error in errors)
        text = "\n".join(str(error) for error in errors)
        if len(self.done) + len(errors) > 1:
            text = f"{len(errors)} of {len(self.done) + len(errors)} nodes failed\n{text}"
        raise (ConnectError if unreachable else DeployError)(text)


def fan_out(
    nodes: Sequence[Node],
    work: Callable[[Node], T],
    on_done: Callable[[Node, DeployError | None], None] = lambda _node, _error: None,
) -> FanOut[T]:
    """Run ``work(node)`` for each node, in threads. Anything but a ``DeployError`` is a bug and is raised.

    Args:
        nodes: At most ``MAX_THREADS`` of them at a time.
        work: Returns the node's result, or raises its error.
        on_done: Called in this thread as soon as a node is through, with its error if it failed.
    """
    result: FanOut[T] = FanOut()
    if not nodes:
        return result
    with ThreadPoolExecutor(max_workers=min(len(nodes), MAX_THREADS)) as pool:
        futures = {pool.submit(work, node): node for node in nodes}
        for future in as_completed(futures):
            error = future.exception()
            if error is not None and not isinstance(error, DeployError):
                pool.shutdown(wait=False, cancel_futures=True)
                raise error
            on_done(futures[future], error)
    for future, node in futures.items():
        error = future.exception()
        if isinstance(error, DeployError):
            result.failed[node.name] = error
        else:
            result.done[node.name] = future.result()
    return result
