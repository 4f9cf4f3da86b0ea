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
