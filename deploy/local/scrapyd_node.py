"""A Scrapyd node where only an egg can supply ``spiders_project``."""

from __future__ import annotations

import base64
import http.client
import json
import logging
import os
import re
import subprocess
import sys
from typing import TYPE_CHECKING, Any

from deploy.errors import DeployError
from deploy.local import processes
from deploy.local.files import write_private
from deploy.local.processes import LOOPBACK
from deploy.local.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping
    from pathlib import Path

    import psutil

logger = logging.getLogger(__name__)

USERNAME = "scrapyd"
REQUEST_SECONDS = 5

#: Scrapyd reads this name last, after /etc and the home directory, so nothing there overrides it; and with it
#: here, neither Scrapyd nor Scrapy looks further up, where the checkout's own scrapy.cfg may lie.
CONFIG_NAME = "scrapy.cfg"
CONFIG = """\
[scrapyd]
bind_address = {host}
http_port = {port}
node_name = {name}
username = {username}
password = {password}
eggs_dir = eggs
logs_dir = logs
dbs_dir = dbs
# Finished jobs are remembered over a restart, and more of them than the defaults' 100 with 5 logs.
jobstorage = scrapyd.jobstorage.SqliteJobStorage
finished_to_keep = 1000
jobs_to_keep = 100
# A job starts within half a second; each is a process, and a laptop runs four well.
poll_interval = 0.5
max_proc = 4
"""

#: Variables that would change which code, settings or address a node uses, or tell jobs a node's password.
DISTURBING = re.compile(r"(PYTHON|SCRAPY|NODE\d+_|NODE_NAME$)")

#: Printed by the node's own interpreter: where spiders_project and Scrapyd come from without an egg.
PROBE = """\
import json
from importlib.util import find_spec
print(json.dumps([getattr(find_spec(name), "origin", None) for name in ("spiders_project", "scrapyd")]))
"""


class ScrapydNode(Server):
    """A Scrapyd daemon in ``directory``, and the jobs that it starts.

    Args:
        name: ``node1``, ``node2``, …; reaches its jobs as NODE_NAME.
        directory: Where its eggs, logs and databases lie.
        settings: Environment variables of its jobs (REDIS_URL, MONGO_URI, …). ``start()`` restarts a running
            node that has other ones.
    """

    title = "Scrapyd"
    #: What a job is given to finish its pages; then it is killed, and its requests go back by themselves.
    job_seconds = 10.0

    def __init__(
        self, directory: Path, *, name: str = "node1", settings: Mapping[str, str] | None = None
    ) -> None:
        super().__init__(name, directory)
        self.username = USERNAME
        self._settings = dict(settings or {})

    @property
    def url(self) -> str:
        """``http://127.0.0.1:PORT/``."""
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def jobs(self) -> list[psutil.Process]:
        """The processes of its jobs, also of those that it has forgotten because it died before them."""
        return processes.find(self.directory, lambda command: "scrapyd.runner" in command)

    def start(self) -> bool:
        """As ``Server.start``; a node that runs with other settings is stopped before.

        Raises:
            DeployError: As ``Server.start``, or ``spiders_project`` could be imported without an egg.
        """
        if self.process and self._state.get("settings") != self._settings:
            logger.warning("%s runs with other settings; restarting it", self.name)
            self.stop()
        self._state["settings"] = self._settings
        started = super().start()
        if started and (orphans := self.jobs):
            pids = ", ".join(str(job.pid) for job in orphans)
            logger.warning("%s: jobs outlived it and run on; `down` ends them (pid %s)", self.name, pids)
        return started

    def stop(self) -> bool:
        """Stop Scrapyd, which would start pending jobs in place of ended ones, and then its jobs."""
        ran = super().stop()
        if jobs := self.jobs:
            processes.end(jobs, self.job_seconds)
            logger.info("%s: %d running jobs stopped", self.name, len(jobs))
        return ran

    def answers(self) -> bool:
        """Whether daemonstatus.json answers under our name."""
        return self.daemon_status().get("node_name") == self.name

    def daemon_status(self) -> dict[str, Any]:
        """The answer of daemonstatus.json (``pending``, ``running``, ``finished``), or nothing."""
        connection = http.client.HTTPConnection(LOOPBACK, self.port, timeout=REQUEST_SECONDS)
        token = base64.b64encode(f"{self.username}:{self.password}".encode()).decode()
        try:
            connection.request("GET", "/daemonstatus.json", headers={"Authorization": f"Basic {token}"})
            answer = json.load(connection.getresponse())
        except (OSError, http.client.HTTPException, ValueError):
            return {}
        finally:
            connection.close()
        return answer if isinstance(answer, dict) else {}

    def _configure(self) -> None:
        config = CONFIG.format(
            host=LOOPBACK, port=self.port, name=self.name, username=self.username, password=self.password
        )
        write_private(self.directory / CONFIG_NAME, config)
        self._check_interpreter()

    def _check_interpreter(self) -> None:
        result = subprocess.run(
            [sys.executable, "-c", PROBE],
            cwd=self.directory,
            env=self._environment(),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            check=False,
        )
        if result.returncode:
            raise DeployError(f"{sys.executable} does not run: {result.stderr.strip()}")
        project, scrapyd = json.loads(result.stdout)
        if project:
            raise DeployError(
                f"{sys.executable} imports spiders_project from {project}, and nodes would run that instead "
                "of the egg that is pushed to them; run `pip uninstall spiders_project` in that environment"
            )
        if not scrapyd:
            raise DeployError(f"{sys.executable} has no Scrapyd: `pip install -r requirements-local.txt`")

    def _command(self) -> list[str]:
        # Without the empty --pidfile, a stale twistd.pid whose number was reused keeps Scrapyd from starting.
        return [sys.executable, "-m", "scrapyd", "--pidfile="]

    def _environment(self) -> dict[str, str]:
        inherited = {name: value for name, value in os.environ.items() if not DISTURBING.match(name)}
        return {
            **inherited,
            **self._settings,
            "NODE_NAME": self.name,
            "PYTHONSAFEPATH": "1",  # from 3.11 on: the working directory supplies no modules
            # Scrapyd imports it, and the warning would stand in every job's log.
            "PYTHONWARNINGS": "ignore:pkg_resources is deprecated:UserWarning",
        }

    @staticmethod
    def _is_server(command: list[str]) -> bool:
        return "scrapyd" in command
