"""Processes of their own session, found again by the directory that they work in.

Each server is started in a directory of its own, and so are the jobs that a Scrapyd node starts. That, and
not a pid in a file, says whether a process is ours: the pid may have gone to a stranger since.
"""

from __future__ import annotations

import random
import socket
import subprocess
import time
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING

import psutil

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Mapping, Sequence

LOOPBACK = "127.0.0.1"
POLL_SECONDS = 0.03
#: How long the kernel may take to end a process that was killed.
KILL_SECONDS = 5.0
#: The ports that the kernel gives to connections: "first last".
KERNEL_PORTS = Path("/proc/sys/net/ipv4/ip_local_port_range")
#: Below are the services that people know by their numbers.
FIRST_PORT, LAST_PORT = 10_000, 65_535
PORT_TRIES = 50


def spawn(
    command: Sequence[str], directory: Path, log: Path, environment: Mapping[str, str] | None = None
) -> psutil.Process:
    """Start ``command`` in ``directory``, out of reach of this terminal's signals, writing to ``log``.

    Raises:
        OSError: The program cannot be run.
    """
    log.touch(mode=0o600)
    with log.open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=directory,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            start_new_session=True,  # Ctrl-C in a terminal ends what runs there, never a server
            umask=0o077,
        )
    process.returncode = 0  # it outlives us by design; without this, Popen warns that it still runs
    return psutil.Process(process.pid)


def find(directory: Path, matches: Callable[[list[str]], bool]) -> list[psutil.Process]:
    """The living processes that work in ``directory`` and whose command line ``matches``."""
    return [process for process in psutil.process_iter() if _works_in(process, directory, matches)]


def _works_in(process: psutil.Process, directory: Path, matches: Callable[[list[str]], bool]) -> bool:
    try:
        return Path(process.cwd()) == directory and matches(process.cmdline()) and not gone(process)
    except (psutil.Error, OSError):  # ended meanwhile, or another user's: not ours either way
        return False


def gone(process: psutil.Process) -> bool:
    """Whether ``process`` has ended, reaped (as we do our own child) or still to be by its parent."""
    try:
        process.wait(0)
    except psutil.TimeoutExpired:
        pass
    else:
        return True
    try:
        return process.status() == psutil.STATUS_ZOMBIE  # in a container, process 1 may never reap it
    except psutil.NoSuchProcess:
        return True


def end(processes: Iterable[psutil.Process], patience: float) -> None:
    """Ask the processes to end, and kill those that have not after ``patience`` seconds."""
    asked = list(processes)
    for process in asked:
        _signal(process.terminate)
    kill(_left_after(patience, asked))


def kill(processes: Iterable[psutil.Process]) -> None:
    """Kill what still lives of the processes."""
    killed = [process for process in processes if not gone(process)]
    for process in killed:
        _signal(process.kill)
    _left_after(KILL_SECONDS, killed)


def children(processes: Iterable[psutil.Process]) -> set[psutil.Process]:
    """What the processes have started, and what that has started."""
    found: set[psutil.Process] = set()
    for process in processes:
        with suppress(psutil.Error):
            found.update(process.children(recursive=True))
    return found


def _left_after(seconds: float, processes: list[psutil.Process]) -> list[psutil.Process]:
    deadline = time.monotonic() + seconds
    while (processes := [process for process in processes if not gone(process)]) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    return processes


def _signal(send: Callable[[], None]) -> None:
    with suppress(psutil.NoSuchProcess):  # also when its pid has been reused
        send()


def free_port() -> int:
    """A TCP port that nobody uses on loopback right now, and that the kernel gives to nobody by itself.

    A port of the kernel's own range may be given to anybody's connection while its server restarts. A client that
    tries to reach the server may even get it as its own, and is then connected to itself.
    """
    ports = _lasting_ports()
    for port in random.sample(ports, min(PORT_TRIES, len(ports))):
        if is_free(port):
            return port
    with socket.socket() as probe:
        probe.bind((LOOPBACK, 0))
        return int(probe.getsockname()[1])


def _lasting_ports() -> range:
    try:
        low, high = (int(word) for word in KERNEL_PORTS.read_text().split())
    except (OSError, ValueError):  # no Linux
        low, high = 32768, 65535
    return max(range(FIRST_PORT, low), range(high + 1, LAST_PORT + 1), key=len)


def is_free(port: int) -> bool:
    """Whether a server could listen on ``port`` of loopback."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind((LOOPBACK, port))
        except OSError:
            return False
    return True


def listens(port: int) -> bool:
    """Whether something accepts connections on ``port`` of loopback."""
    try:
        socket.create_connection((LOOPBACK, port), timeout=1).close()
    except OSError:
        return False
    return True
