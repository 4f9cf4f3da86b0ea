"""The servers of the site: nginx where there is one, else a small one of our own."""

from __future__ import annotations

import asyncio
import getpass
import json
import os
import shutil
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

from deploy.local.processes import LOOPBACK
from deploy.local.server import Server

if TYPE_CHECKING:
    from collections.abc import Mapping

    from benchmarks.site import Plan

ROOT = Path(__file__).resolve().parents[1]
#: Debian keeps it where only root's PATH looks.
SBIN = f"{os.environ.get('PATH', os.defpath)}:/usr/sbin:/usr/local/sbin"
ARRIVALS = "arrivals.log"

NGINX = """\
daemon off;
worker_processes 1;
{user}
pid nginx.pid;
error_log server.log warn;
events {{ worker_connections 4096; }}
http {{
  types {{ }}
  default_type "text/html; charset=utf-8";
  log_not_found off;
  log_format arrivals '$msec $server_addr $uri';
  access_log {log};
  sendfile on;
  keepalive_requests 10000000;
  open_file_cache max=50000;
  client_body_temp_path tmp;
  proxy_temp_path tmp;
  fastcgi_temp_path tmp;
  uwsgi_temp_path tmp;
  scgi_temp_path tmp;
  server {{
{listen}
    root www;
  }}
}}
"""


class SiteServer(Server):
    """A server of ``plan`` in ``directory``; ``logged`` keeps who asked when for what (``arrivals``)."""

    title = "the site"
    program = ""

    def __init__(self, directory: Path, plan: Plan, *, logged: bool = False) -> None:
        super().__init__("site", directory)
        self.plan = plan
        self.logged = logged

    @property
    def url(self) -> str:
        """The address of its first host."""
        return f"http://{LOOPBACK}:{self.port}/"

    @property
    def seeds(self) -> list[str]:
        """The URLs from which every page is reached."""
        return self.plan.seeds(self.port)

    @property
    def arrivals(self) -> list[tuple[float, str, str]]:
        """Time (s since the epoch), host and path of each request, in their order."""
        log = self.directory / ARRIVALS
        lines = [line.split(" ", 2) for line in log.read_text().splitlines()] if log.exists() else []
        return [(float(at), host, path) for at, host, path in lines]

    def forget_arrivals(self) -> None:
        """Begin the log anew; the server appends to the same file."""
        log = self.directory / ARRIVALS
        if log.exists():
            os.truncate(log, 0)

    def cpu_seconds(self) -> float:
        """The CPU time that the server has used, to tell whether it held up a crawl."""
        process = self.process
        if process is None:
            return 0.0
        times = [one.cpu_times() for one in (process, *process.children(recursive=True))]
        return sum(one.user + one.system for one in times)

    def answers(self) -> bool:
        """Whether it listens, which is all that is asked."""
        return True

    def _configure(self) -> None:
        www = self.directory / "www"
        shutil.rmtree(www, ignore_errors=True)
        self.plan.write(www, self.port)


class NginxSite(SiteServer):
    """The site served by nginx with one worker process."""

    program = "nginx"

    def _configure(self) -> None:
        super()._configure()
        listen = "\n".join(f"    listen {host}:{self.port};" for host in self.plan.addresses)
        user = f"user {getpass.getuser()};" if os.geteuid() == 0 else ""
        log = f"{ARRIVALS} arrivals" if self.logged else "off"
        (self.directory / "nginx.conf").write_text(NGINX.format(user=user, log=log, listen=listen))

    def _command(self) -> list[str]:
        binary = shutil.which("nginx", path=SBIN)
        assert binary
        return [binary, "-p", str(self.directory), "-e", "server.log", "-c", str(self.directory / "nginx.conf")]

    @staticmethod
    def _is_server(command: list[str]) -> bool:
        # nginx rewrites its command line to "nginx: master process …", its workers' to "nginx: worker process".
        return bool(command) and "nginx" in command[0] and "worker" not in command[0]


class OwnSite(SiteServer):
    """The site served by this module, from memory."""

    program = "a server of the bench"

    def _command(self) -> list[str]:
        options = {"hosts": self.plan.addresses, "port": self.port, "logged": self.logged}
        return [sys.executable, "-m", "benchmarks.site_server", json.dumps(options)]

    def _environment(self) -> Mapping[str, str]:
        return {**os.environ, "PYTHONPATH": str(ROOT)}

    @staticmethod
    def _is_server(command: list[str]) -> bool:
        return "benchmarks.site_server" in command


def site_server(directory: Path, plan: Plan, *, logged: bool = False) -> SiteServer:
    """The best server that there is on this machine."""
    kind = NginxSite if shutil.which("nginx", path=SBIN) else OwnSite
    return kind(directory, plan, logged=logged)


class _Connection(asyncio.Protocol):
    """Answers GET of the files below ``www``, kept alive."""

    def __init__(self, files: Mapping[str, bytes], log: Any) -> None:
        self._files = files
        self._log = log
        self._buffer = b""

    def connection_made(self, transport: Any) -> None:
        self._transport = transport
        self._host = transport.get_extra_info("sockname")[0]

    def data_received(self, data: bytes) -> None:
        *requests, self._buffer = (self._buffer + data).split(b"\r\n\r\n")
        for request in requests:
            path = request.split(b" ", 2)[1].decode()
            if self._log:
                self._log.write(f"{time.time():.3f} {self._host} {path}\n")
            body = self._files.get(path)
            status = b"200 OK" if body is not None else b"404 Not Found"
            body = body or b""
            self._transport.write(
                b"HTTP/1.1 %b\r\nContent-Type: text/html; charset=utf-8\r\nContent-Length: %d\r\n\r\n%b"
                % (status, len(body), body)
            )


async def _serve(hosts: list[str], port: int, files: Mapping[str, bytes], log: Any) -> None:
    loop = asyncio.get_running_loop()
    for host in hosts:
        await loop.create_server(lambda: _Connection(files, log), host, port, backlog=1024)
    await asyncio.Event().wait()


def main(hosts: list[str], port: int, *, logged: bool) -> None:
    """Serve the files below ``www`` until killed."""
    www = Path("www")
    files = {f"/{path.relative_to(www)}": path.read_bytes() for path in www.rglob("*") if path.is_file()}
    log = Path(ARRIVALS).open("a", buffering=1) if logged else None  # noqa: SIM115 - as long as the process
    asyncio.run(_serve(hosts, port, files, log))


if __name__ == "__main__":
    main(**json.loads(sys.argv[1]))
