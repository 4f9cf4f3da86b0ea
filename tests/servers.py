"""Real servers for the tests: where their directories lie, and who ends them if pytest cannot.

Servers are started by ``deploy.local``, in directories below pytest's own temporary one. A guard, a small
process in a session of its own, waits for pytest to end in whatever way, and kills what still works there.
"""

from __future__ import annotations

import subprocess
import sys
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Iterator


def working_below(directory: Path) -> list[psutil.Process]:
    """The living processes whose working directory is ``directory`` or lies below it."""
    return [process for process in psutil.process_iter() if _works_below(process, directory)]


def _works_below(process: psutil.Process, directory: Path) -> bool:
    try:
        cwd = Path(process.cwd())
        return directory in (cwd, *cwd.parents) and process.status() != psutil.STATUS_ZOMBIE
    except (psutil.Error, OSError):  # ended meanwhile, or another user's
        return False


@contextmanager
def guarded(directory: Path) -> Iterator[None]:
    """Kill whatever works below ``directory`` once this process has ended, even by SIGKILL."""
    command = [sys.executable, __file__, str(directory)]
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)
    assert guard.stdin
    with guard, guard.stdin:
        yield


def main() -> None:
    """The guard: its standard input ends when pytest does."""
    sys.stdin.buffer.read()
    for process in working_below(Path(sys.argv[1])):
        with suppress(psutil.Error):
            process.kill()


if __name__ == "__main__":
    main()
