"""A whole crawl in a test: real worker processes around one real Redis."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgpack
import psutil
import redis

from spiders_project.keys import Keys
from tests.crawl.waiting import wait_for

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

ROOT = Path(__file__).resolve().parents[2]


class Worker:
    """One ``scrapy crawl`` process."""

    def __init__(self, crawl: Crawl, number: int, command: list[str], environment: Mapping[str, str]) -> None:
        self.log_file = crawl.directory / f"worker-{number}.log"
        self._directory = crawl.directory
        with self.log_file.open("wb") as log:
            self.process = subprocess.Popen(
                command,
                cwd=crawl.directory,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                start_new_session=True,
            )

    @property
    def log(self) -> str:
        return self.log_file.read_text(errors="replace")

    @property
    def pid(self) -> int:
        return self.process.pid

    @property
    def running(self) -> bool:
        return self.process.poll() is None

    @property
    def said(self) -> dict[str, Any]:
        """What the witness wrote at the end: reason, gap, stats."""
        return json.loads((self._directory / f"{self.pid}.json").read_text())

    @property
    def stats(self) -> dict[str, Any]:
        return self.said["stats"]

    @property
    def cpu(self) -> float:
        """Seconds of CPU time so far."""
        times = psutil.Process(self.pid).cpu_times()
        return times.user + times.system

    def send(self, number: int) -> None:
        self.process.send_signal(number)

    def kill(self) -> None:
        """As when the machine loses power: kill -9."""
        self.process.kill()
        self.process.wait(10)

    def wait(self, seconds: float = 60) -> int:
        """The exit code, once the process has ended by itself."""
        try:
            return self.process.wait(seconds)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"the worker still runs after {seconds} s:\n{self.log[-4000:]}") from None

    def wait_log(self, text: str, seconds: float = 30) -> None:
        def found() -> bool:
            assert self.running or text in self.log, f"the worker ended without {text!r}:\n{self.log[-4000:]}"
            return text in self.log

        wait_for(found, seconds, f"{text!r} in the log:\n{self.log[-4000:]}")


@dataclass
class Crawl:
    """Workers of one spider around one frontier.

    Attributes:
        directory: Where they run, log, and store.
        redis_url: Their Redis.
        spider: The spider's name, and the namespace.
        settings: On every worker's command line.
    """

    directory: Path
    redis_url: str
    spider: str = "tree"
    settings: Mapping[str, Any] | None = None
    #: For the test itself, where workers go through a relay or have a wrong password.
    admin_url: str = ""

    def __post_init__(self) -> None:
        self.workers: list[Worker] = []
        self.keys = Keys(self.spider)
        self.redis = redis.Redis.from_url(self.admin_url or self.redis_url)

    def start(
        self, count: int = 1, *, redis_url: str = "", arguments: Mapping[str, str] | None = None, **settings: Any
    ) -> list[Worker]:
        """Start workers; ``arguments`` are the spider's, the others are settings."""
        command = [sys.executable, "-m", "scrapy", "crawl", self.spider]
        for name, value in {**(self.settings or {}), **settings}.items():
            command += ["-s", f"{name}={json.dumps(value) if isinstance(value, dict | list) else value}"]
        for name, value in (arguments or {}).items():
            command += ["-a", f"{name}={value}"]
        environment = {
            **os.environ,
            "PYTHONPATH": str(ROOT),
            "SCRAPY_SETTINGS_MODULE": "tests.crawl.settings",
            "REDIS_URL": redis_url or self.redis_url,
            "PYTHONWARNINGS": "default",
        }
        started = [Worker(self, len(self.workers) + n, command, environment) for n in range(count)]
        self.workers += started
        return started

    def seed(self, *entries: str | bytes) -> None:
        """As a person does: ``redis-cli rpush``."""
        self.redis.rpush(self.keys.start_urls, *entries)

    # ------------------------------------------------------------------ what came of it

    @property
    def items(self) -> list[dict[str, Any]]:
        """Everything stored, in its order; an entry whose writer was killed half way does not count."""
        try:
            lines = (self.directory / "items.jsonl").read_bytes().split(b"\n")[:-1]
        except FileNotFoundError:
            return []
        return [json.loads(line) for line in lines]

    @property
    def stored(self) -> list[str]:
        """The URLs of the items, with repetitions."""
        return [item["url"] for item in self.items]

    @property
    def failed(self) -> list[dict[str, Any]]:
        """What the spider's errback stored."""
        return [item for item in self.items if "failed" in item]

    @property
    def dead(self) -> list[dict[str, Any]]:
        """The dead letters."""
        return [
            json.loads(msgpack.unpackb(value, raw=True)[0]) for value in self.redis.hgetall(self.keys.dead).values()
        ]

    @property
    def leases(self) -> int:
        """Requests, and slots, that any worker holds."""
        return sum(self.redis.hlen(key) for key in self.redis.scan_iter(self.keys.leases("*")))

    def wait_stored(self, count: int, seconds: float = 60) -> None:
        """Until so many pages are stored."""
        wait_for(lambda: len(self.items) >= count, seconds, self.describe)

    def finish(self, seconds: float = 60) -> None:
        """Wait until every worker has ended by itself, as one whose crawl is finished."""
        for worker in self.workers:
            if worker.process.returncode == -signal.SIGKILL:
                continue
            wait_for(lambda: not worker.running, seconds, self.describe)  # noqa: B023 - called in this turn
            assert worker.process.returncode == 0, self.describe()

    def describe(self) -> str:
        """For a test that failed: what is stored, what Redis holds, what the workers said last."""
        tails = "\n".join(f"--- {worker.log_file.name}\n{worker.log[-3000:]}" for worker in self.workers)
        return f"{len(self.items)} items, dead {self.dead}\n{self._frontier()}\n{tails}"

    def _frontier(self) -> str:
        lines = []
        for key in sorted(self.redis.scan_iter(f"{self.spider}:*")):
            match self.redis.type(key):
                case b"hash":
                    lines.append(f"{key.decode()} {dict(list(self.redis.hgetall(key).items())[:20])}"[:1000])
                case b"zset":
                    lines.append(f"{key.decode()} {self.redis.zrange(key, 0, 20, withscores=True)}"[:1000])
                case b"list":
                    lines.append(f"{key.decode()} {self.redis.lrange(key, 0, 20)}"[:1000])
        return "\n".join(lines)

    def close(self) -> None:
        for worker in self.workers:
            if worker.running:
                worker.kill()
        self.redis.close()


@contextmanager
def crawling(directory: Path, redis_url: str, **options: Any) -> Iterator[Crawl]:
    """A crawl whose workers are killed with the block."""
    crawl = Crawl(directory, redis_url, **options)
    try:
        yield crawl
    finally:
        crawl.close()
