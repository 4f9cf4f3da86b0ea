"""What the operator's side raises, and the exit code of each."""

from __future__ import annotations


class DeployError(Exception):
    """Something failed; the text says what happened and what to do."""

    exit_code = 1


class UsageError(DeployError):
    """The command, scrapy.cfg or a file named by the user is wrong."""

    exit_code = 2


class ConnectError(DeployError):
    """A node, Redis or MongoDB does not answer."""

    exit_code = 4


class EggError(DeployError):
    """The egg cannot be built, or lacks what a worker needs; raised by ``egg``, shows the build's output."""


class CrawlError(DeployError):
    """The crawl ended unfinished or stored nothing; raised by ``crawl``, says where to look."""


class NodeError(DeployError):
    """A node answered, and not with success; raised by ``client``, names the node."""


class VersionInUse(NodeError):  # noqa: N818 - the name of the state, as in the docs
    """A version is to be deleted and a job runs from it, or will; raised by ``withdrawals``, names the jobs."""


class NodeUnreachable(NodeError, ConnectError):  # noqa: N818 - the name of the state, as in the docs
    """A node refuses connections or does not answer in time; raised by ``client``."""


class LeaseLost(DeployError):  # noqa: N818 - the name of the state
    """Another supervisor acts; raised by whoever writes with an old token."""
