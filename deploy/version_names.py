"""Names of versions: which ones Scrapyd keeps as they are, how they sort, and what they tell."""

from __future__ import annotations

import re
import subprocess
import time
from typing import TYPE_CHECKING

from packaging.version import InvalidVersion, Version

from deploy.errors import UsageError

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence
    from pathlib import Path

#: Scrapyd rewrites every other character, and then finds the version under a name that nobody gave it.
VERSION_NAME = re.compile(r"[A-Za-z0-9_-]+", re.ASCII)
#: Seconds since the epoch come first: Scrapyd's "newest" is the last by name, and scrapyd-deploy names its
#: versions by these ten digits, so that versions of both sort by time together.
_TIMED = re.compile(r"(\d{10})(?:-(?:([0-9a-f]{8})$)?|$)", re.ASCII)
#: A rollback: what makes it sort last, where its time does not; its time; the version whose content it has.
_ROLLBACK = re.compile(r"(?:(.+)-)?(\d{10})-back-to-(.+)", re.ASCII)


def check_version_name(version: str) -> None:
    """Refuse a name that Scrapyd would rewrite.

    Raises:
        UsageError: Says which characters are allowed.
    """
    if not VERSION_NAME.fullmatch(version):
        raise UsageError(
            f"{version!r} cannot name a version: only letters A-Z a-z, digits, '_' and '-' survive Scrapyd"
        )


def new_version(root: Path, now: float | None = None, held: Iterable[str] = ()) -> str:
    """``<seconds since the epoch, UTC>-<short commit>``, with ``-dirty`` when the checkout has changes.

    It is newer than all of ``held``, also where the clock of whoever pushed those was ahead of ours.
    """
    commit = _git(root, "rev-parse", "--short=8", "HEAD")
    if not commit:
        commit = "nogit"
    elif _git(root, "status", "--porcelain", "--untracked-files=no"):
        commit += "-dirty"
    return f"{_next_second(now, held)}-{commit}"


def rollback_version(to: str, held: Collection[Sequence[str]], now: float | None = None) -> str:
    """A new name for the content of ``to``, which sorts last among the versions of every node in ``held``."""
    names = [name for of_node in held for name in of_node]
    version = f"{_next_second(now, names)}-back-to-{origin(to)}"
    if all(sorted_versions([*of_node, version])[-1] == version for of_node in held):
        return version
    # A name that begins with a letter sorts behind every time; what begins with it and goes on sorts behind it.
    last = max(names)
    earlier = _ROLLBACK.fullmatch(last)
    return f"{earlier[1] if earlier else last}-{version}"


def origin(version: str) -> str:
    """The version whose content ``version`` has: itself, but for a rollback."""
    match = _ROLLBACK.fullmatch(version)
    return match[3] if match else version


def time_of(version: str) -> float | None:
    """The time in a version's name, in unix seconds; None where it has none."""
    if match := _ROLLBACK.fullmatch(version):
        return float(match[2])
    match = _TIMED.match(version)
    return float(match[1]) if match else None


def commit_of(version: str) -> str | None:
    """The commit in a version's name; None where it has none, or the checkout had changes beside it."""
    match = _TIMED.match(origin(version))
    return match[2] if match else None


def sorted_versions(versions: Iterable[str]) -> list[str]:
    """``versions`` as Scrapyd sorts them; the last is what a plain ``schedule.json`` runs."""
    names = list(versions)
    try:
        return sorted(names, key=Version)
    except InvalidVersion:
        return sorted(names)


def _next_second(now: float | None, held: Iterable[str]) -> int:
    newest = max((int(time_of(version) or 0) for version in held), default=0)
    return max(int(time.time() if now is None else now), newest + 1)


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
