"""Releases: one egg, one version name, all nodes at once."""

from __future__ import annotations

import json
import re
import subprocess
import time
from typing import TYPE_CHECKING, Any

from deploy.client import NodeClient
from deploy.errors import NodeError, UsageError
from deploy.fanout import FanOut, fan_out
from deploy.local.files import make_private, write_private

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from deploy.targets import Node

#: Scrapyd rewrites every other character, and then finds the version under a name that nobody gave it.
VERSION_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
#: Seconds since the epoch come first: Scrapyd's "newest" is the last by name, and scrapyd-deploy names its
#: versions by these ten digits, so that versions of both sort by time together.
_TIMED_VERSION = re.compile(r"(\d{10})(?:-|$)", re.ASCII)
_RECORD = ".local/released.json"


def new_version(root: Path, now: float | None = None) -> str:
    """``<seconds since the epoch, UTC>-<short commit>``, with ``-dirty`` when the checkout has changes."""
    commit = _git(root, "rev-parse", "--short=8", "HEAD")
    if not commit:
        commit = "nogit"
    elif _git(root, "status", "--porcelain", "--untracked-files=no"):
        commit += "-dirty"
    return f"{int(time.time() if now is None else now)}-{commit}"


def check_version_name(version: str) -> None:
    """Refuse a name that Scrapyd would rewrite.

    Raises:
        UsageError: Says which characters are allowed.
    """
    if not VERSION_NAME.fullmatch(version):
        raise UsageError(
            f"{version!r} cannot name a version: only letters A-Z a-z, digits, '_' and '-' survive Scrapyd"
        )


def push(nodes: Sequence[Node], egg: bytes, version: str) -> FanOut[list[str]]:
    """Push the egg to all nodes side by side; the spiders that each of them then lists."""

    def work(node: Node) -> list[str]:
        client = NodeClient(node)
        if version in client.list_versions(node.project):
            raise NodeError(
                f"{node.name}: version {version} exists there already, and a version is never overwritten: "
                "jobs may be running from it"
            )
        client.add_version(node.project, version, egg)
        spiders = client.list_spiders(node.project, version)
        if not spiders:
            raise NodeError(f"{node.name}: version {version} lists no spiders there")
        return spiders

    check_version_name(version)
    return fan_out(nodes, work)


def where_landed(nodes: Sequence[Node], version: str) -> list[str]:
    """The names of the nodes that hold ``version``, as far as they answer."""
    held = fan_out(nodes, lambda node: version in NodeClient(node).list_versions(node.project))
    return [name for name, there in held.done.items() if there]


def record(root: Path, project: str, version: str, now: float) -> None:
    """Remember the last release, so that one with a name without a time is found as the newest."""
    path = root / _RECORD
    make_private(path.parent)  # the embedded stack keeps its passwords there
    records = {**_records(root), project: {"version": version, "pushed_at": now}}
    write_private(path, json.dumps(records, indent=2) + "\n")


def newest_version(root: Path, project: str, versions: Iterable[str]) -> str | None:
    """The newest of ``versions``: by the time in their names, or by our record of the last push.

    Scrapyd alone would take the last by name, whatever the names are.
    """
    known = list(versions)
    last = _records(root).get(project, {})
    times = {version: float(match[1]) for version in known if (match := _TIMED_VERSION.match(version))}
    if last.get("version") in known:
        times.setdefault(last["version"], last["pushed_at"])
    if times:
        return max(times, key=lambda version: (times[version], version))
    return known[-1] if known else None


def _records(root: Path) -> dict[str, dict[str, Any]]:
    try:
        records = json.loads((root / _RECORD).read_text())
    except (OSError, ValueError):
        return {}
    return records if isinstance(records, dict) else {}


def _git(root: Path, *args: str) -> str:
    """What git prints, or nothing where this is no git checkout or there is no git."""
    try:
        done = subprocess.run(
            ["git", "-C", str(root), *args],  # noqa: S607 - git from the user's PATH is the one meant
            capture_output=True,
            text=True,
            check=False,
        )
    except OSError:
        return ""
    return done.stdout.strip() if done.returncode == 0 else ""
