"""``stack.json``: where the servers of a stack are and how to get in; and the same as ``env`` for a shell."""

from __future__ import annotations

import json
import shlex
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

from deploy.errors import UsageError
from deploy.local.files import write_private

if TYPE_CHECKING:
    from pathlib import Path

STACK_FILE = "stack.json"
ENV_FILE = "env"


@dataclass(frozen=True)
class NodeInfo:
    """One Scrapyd node; ``pid`` is None while it is stopped."""

    name: str
    url: str
    username: str
    password: str = field(repr=False)
    pid: int | None


@dataclass(frozen=True)
class StackInfo:
    """What a client of the stack needs to know; the addresses hold passwords."""

    redis_url: str = field(repr=False)
    mongo_uri: str = field(repr=False)
    nodes: tuple[NodeInfo, ...]

    @property
    def environment(self) -> dict[str, str]:
        """The variables that ``scrapy.cfg`` and ``settings.py`` read."""
        variables = {"REDIS_URL": self.redis_url, "MONGO_URI": self.mongo_uri}
        for node in self.nodes:
            prefix = node.name.upper()
            variables[f"{prefix}_URL"] = node.url
            variables[f"{prefix}_USERNAME"] = node.username
            variables[f"{prefix}_PASSWORD"] = node.password
        return variables

    def save(self, directory: Path) -> None:
        """Write ``stack.json`` and ``env`` (both mode 600)."""
        write_private(directory / STACK_FILE, json.dumps(asdict(self), indent=2) + "\n")
        exports = [f"export {name}={shlex.quote(value)}\n" for name, value in self.environment.items()]
        write_private(directory / ENV_FILE, "".join(exports))

    @classmethod
    def load(cls, directory: Path) -> StackInfo | None:
        """Read ``stack.json``; None when there never was a stack in ``directory``.

        Raises:
            UsageError: The file is damaged.
        """
        path = directory / STACK_FILE
        try:
            fields = json.loads(path.read_text())
            nodes = tuple(NodeInfo(**node) for node in fields.pop("nodes"))
            return cls(nodes=nodes, **fields)
        except FileNotFoundError:
            return None
        except (ValueError, KeyError, TypeError) as error:
            raise UsageError(f"{path} is damaged ({error!r}); delete it, and `up` writes it anew") from error
