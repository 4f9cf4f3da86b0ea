"""What the servers of the stack have in common: a directory, a loopback port, a random password, a log."""

from __future__ import annotations

import json
import logging
import re
import secrets
import time
from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, ClassVar

from deploy.errors import DeployError
from deploy.local import processes
from deploy.local.files import make_private, write_private

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import psutil

logger = logging.getLogger(__name__)

#: How often another program may snatch a port between our choosing and the server's binding it.
PORT_ATTEMPTS = 5
LOG_TAIL_LINES = 15

#: What the end of a log tells, and what to do about it.
REMEDIES = {
    r"No space left on device": "The disk is full: free some space.",
    r"error while loading shared libraries: (\S+?):": "Install the package that brings that library.",
    r"Too many open files": "Raise the limit of open files (`ulimit -n 4096`).",
    r"Permission denied": "Let the directory belong to you alone, or name another one with --dir.",
    r"No module named": "Install what is missing: `pip install -r requirements-local.txt`.",
}


class Server(ABC):
    """One server process in ``directory``, which holds everything it needs to be started again.

    ``server.json`` keeps port and password, ``server.log`` what the server says, and ``server.pid`` its pid,
    for people: what runs is asked from the operating system. The rest is the server's own.
    """

    title: ClassVar[str]
    start_seconds: ClassVar[float] = 30
    stop_seconds: ClassVar[float] = 15

    def __init__(self, name: str, directory: Path) -> None:
        self.name = name
        self.directory = directory.resolve()
        self.log = self.directory / "server.log"
        self._state_file = self.directory / "server.json"
        self._pid_file = self.directory / "server.pid"
        self._state: dict[str, Any] = self._load_state()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1; kept from start to start unless another program has taken it."""
        return int(self._state["port"])

    @property
    def password(self) -> str:
        """The password, made when the directory was first used."""
        return str(self._state["password"])

    @property
    def known(self) -> bool:
        """Whether the server was ever started in this directory."""
        return self._state_file.exists()

    @property
    @abstractmethod
    def url(self) -> str:
        """The address as its clients take it; with the password, unless they take that elsewhere."""

    @property
    def process(self) -> psutil.Process | None:
        """The running process, whoever started it; None when there is none."""
        return next(iter(processes.find(self.directory, self._is_server)), None)

    def start(self) -> bool:
        """Start the server unless it runs, and wait until it answers.

        Returns:
            Whether it had to be started.

        Raises:
            DeployError: It did not start, or does not answer; says why, with the end of its log.
        """
        if process := self.process:
            if self._wait(process):
                return False
            logger.warning("%s ended while it was asked; starting it again", self.name)
        make_private(self.directory)
        for _ in range(PORT_ATTEMPTS):
            self._leave_taken_port()
            self._save_state()
            self._configure()
            offset = self.log.stat().st_size if self.log.exists() else 0
            process = self._spawn()
            write_private(self._pid_file, f"{process.pid}\n")
            if self._wait(process):
                logger.info("%s started on 127.0.0.1:%d (pid %d)", self.name, self.port, process.pid)
                return True
            self._pid_file.unlink(missing_ok=True)
            if processes.is_free(self.port):
                raise DeployError(f"{self.title} did not start. {self._explanation(offset)}")
        raise DeployError(
            f"{self.title} found {PORT_ATTEMPTS} ports taken that had been free a moment before; try again"
        )

    def stop(self) -> bool:
        """Let the server write what it holds and end; returns whether it ran. Nobody else is touched."""
        process = self.process
        if process:
            processes.end([process], self.stop_seconds)
            logger.info("%s stopped (pid %d)", self.name, process.pid)
        self._pid_file.unlink(missing_ok=True)
        return process is not None

    @abstractmethod
    def answers(self) -> bool:
        """Whether the server, asked with its password, answers now."""

    @abstractmethod
    def _configure(self) -> None:
        """Write the configuration for the present port and password."""

    @abstractmethod
    def _command(self) -> list[str]:
        """The command line; no secret may stand in it, since every user of the machine can read it."""

    @staticmethod
    @abstractmethod
    def _is_server(command: list[str]) -> bool:
        """Whether a process in our directory with this command line is the server."""

    def _environment(self) -> Mapping[str, str] | None:
        return None

    def _spawn(self) -> psutil.Process:
        command = self._command()
        try:
            return processes.spawn(command, self.directory, self.log, self._environment())
        except OSError as error:
            raise DeployError(
                f"cannot run {command[0]} ({error.strerror}): is it made for this machine? "
                f"Install another {self.title}, or name a running one by its variable (REDIS_URL, MONGO_URI)"
            ) from error

    def _wait(self, process: psutil.Process) -> bool:
        """Wait until the server answers; False when its process has ended instead."""
        deadline = time.monotonic() + self.start_seconds
        while time.monotonic() < deadline:
            if processes.gone(process):
                return False
            if processes.listens(self.port) and self.answers():
                return True
            time.sleep(processes.POLL_SECONDS)
        raise DeployError(
            f"{self.title} (pid {process.pid}) does not answer on port {self.port} after "
            f"{self.start_seconds:.0f} s. {self._explanation(0)}\n"
            "Then run `python -m deploy down` and `python -m deploy up`."
        )

    def _explanation(self, offset: int) -> str:
        with self.log.open("rb") as file:
            file.seek(offset)
            lines = file.read().decode(errors="replace").splitlines()[-LOG_TAIL_LINES:]
        said = "\n".join(f"  {line}" for line in lines) or "  (nothing)"
        remedies = [remedy for pattern, remedy in REMEDIES.items() if re.search(pattern, said)]
        return "\n".join([f"The end of {self.log}:", said, *remedies])

    def _leave_taken_port(self) -> None:
        if processes.is_free(self.port):
            return
        taken = self.port
        self._state["port"] = processes.free_port()
        if self.known:
            logger.warning(
                "port %d of %s is taken by another program; %s moves to port %d, so read .local/env again",
                taken,
                self.name,
                self.name,
                self.port,
            )

    def _load_state(self) -> dict[str, Any]:
        try:
            state = json.loads(self._state_file.read_text())
            return {**state, "port": int(state["port"]), "password": str(state["password"])}
        except FileNotFoundError:
            return {"port": processes.free_port(), "password": secrets.token_hex(16)}
        except (ValueError, KeyError, TypeError) as error:
            raise DeployError(
                f"{self._state_file} is damaged ({error!r}); stop the stack and delete {self.directory}"
            ) from error

    def _save_state(self) -> None:
        write_private(self._state_file, json.dumps(self._state, indent=2) + "\n")
