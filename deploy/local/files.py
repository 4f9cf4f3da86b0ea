"""Directories and files that only their owner may read, and what their faults mean to the user."""

from __future__ import annotations

import errno
import os
import shutil
import stat
import tempfile
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from deploy.errors import CrawlError, DeployError, UsageError

if TYPE_CHECKING:
    from collections.abc import Iterator

try:
    import fcntl
except ImportError:  # Windows has no flock, no sessions and no Scrapyd
    fcntl = None  # type: ignore[assignment]  # the one name that a platform may lack

#: MongoDB takes 200 MiB for its journal at once, and an append-only file is rewritten beside itself.
MIN_FREE_BYTES = 500 * 1024 * 1024


def make_private(directory: Path) -> None:
    """Make ``directory`` (mode 700), or check that an existing one is ours alone.

    Raises:
        UsageError: It belongs to someone else, is no directory, or others may read the secrets in it.
    """
    try:
        directory.mkdir(mode=0o700, parents=True)
    except FileExistsError:
        if not directory.is_dir():
            raise UsageError(f"{directory} is no directory; name another one with --dir") from None
    info = directory.stat()
    if info.st_uid != os.geteuid():
        raise UsageError(
            f"{directory} belongs to user {info.st_uid}, not to you ({os.geteuid()}); "
            "name another directory with --dir, or run this as its owner"
        )
    if stat.S_IMODE(info.st_mode) & 0o077:
        if any(directory.iterdir()):
            raise UsageError(
                f"{directory} holds passwords and others may read it (mode {stat.S_IMODE(info.st_mode):o}); "
                f"run `chmod 700 {directory}`, or delete it for new passwords"
            )
        directory.chmod(0o700)


def write_private(path: Path, text: str) -> None:
    """Write ``text`` to ``path`` (mode 600), whole or not at all."""
    descriptor, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")  # mode 600
    try:
        with os.fdopen(descriptor, "w", encoding="utf-8") as file:
            file.write(text)
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def check_space(directory: Path, needed: int = MIN_FREE_BYTES) -> None:
    """Refuse to start on a disk that is full, or nearly so.

    Raises:
        DeployError: Less than ``needed`` bytes are free.
    """
    free = shutil.disk_usage(directory).free
    if free < needed:
        raise DeployError(
            f"the disk of {directory} is full: {free >> 20} MiB free, {needed >> 20} MiB needed; "
            "free some space, or name a directory on another disk with --dir"
        )


@contextmanager
def explained(directory: Path) -> Iterator[None]:
    """Turn what the operating system says about ``directory`` into what the user can do about it."""
    try:
        yield
    except OSError as error:
        match error.errno:
            case errno.ENOSPC | errno.EDQUOT:
                raise DeployError(f"the disk of {directory} is full; free some space and try again") from error
            case errno.EACCES | errno.EPERM | errno.EROFS:
                raise UsageError(f"cannot write: {error}; name another directory with --dir") from error
            case errno.ENOENT | errno.ENOTDIR | errno.EEXIST if not directory.is_dir():
                raise UsageError(f"{directory} cannot be made: {error}; name another directory with --dir") from error
        raise


@contextmanager
def locked(directory: Path) -> Iterator[None]:
    """Let one ``up`` or ``down`` at a time work on ``directory``; a second one waits for the first.

    Raises:
        UsageError: This platform has no file locks.
    """
    if fcntl is None:
        raise UsageError(
            "the embedded stack runs on Linux and macOS; here, start Redis, MongoDB and Scrapyd yourself "
            "(WSL is the easiest way) and name them in REDIS_URL, MONGO_URI and scrapy.cfg"
        )
    lock = directory / "lock"
    lock.touch(mode=0o600)
    with lock.open("w") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        yield


@contextmanager
def only_one(lock: Path, refusal: str) -> Iterator[None]:
    """Hold ``lock`` as long as the block runs; the system lets go of it however this process ends.

    Raises:
        CrawlError: Another process holds it; says ``refusal``.
    """
    assert fcntl is not None, "where there are no file locks, `locked` has refused to start the stack"
    lock.touch(mode=0o600)
    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            raise CrawlError(refusal) from None
        yield
