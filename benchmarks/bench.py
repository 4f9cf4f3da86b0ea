"""What the groups share: servers that start when they are needed, a scratch directory, progress, alternating runs."""

from __future__ import annotations

import itertools
import shutil
import sys
import time
from contextlib import ExitStack
from typing import TYPE_CHECKING, Any

import redis

from benchmarks.machine import Watch
from benchmarks.relay import Relay, farther
from benchmarks.sides import Run, Side, crawl, differences
from benchmarks.site import Plan
from benchmarks.site_server import SiteServer, site_server
from deploy.local.mongo_server import MongoServer
from deploy.local.redis_server import RedisServer

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from benchmarks.results import Row

#: The share of a core from which on the site's server may hold up a crawl.
MOST_SITE_SHARE = 0.8
FLUSH_SECONDS = 60.0
#: By so much may an added round trip differ from what was asked for: timers are not finer.
MOST_OFF_MS = 0.15
HOSTS = 20
PAGES, QUICK_PAGES = 5000, 600
#: The parts of the pages that the smaller sites have.
SMALL, TINY = 1 / 3, 1 / 9
#: Less than that takes longer to start than to crawl.
FEWEST = 200


class Bench:
    """One run of the suite.

    Args:
        directory: Scratch space, for servers and workers.
        quick: Whether to measure less, which takes a fifth of the time and says a little less.
        pages: Pages of the site that throughput is measured on; 0 for the usual number.

    Attributes:
        plan: The site that throughput is measured on.
        small: One with fewer pages, for what takes many runs.
        tiny: One with still fewer, to warm up, and for peers that are several times slower.
        watch: What disturbed the measurements.
        rows: What was measured.
    """

    def __init__(self, directory: Path, *, quick: bool, pages: int = 0) -> None:
        self.directory = directory
        self.quick = quick
        self.plan = Plan(pages=pages or (QUICK_PAGES if quick else PAGES), hosts=HOSTS)
        self.small, self.tiny = (
            Plan(max(FEWEST, int(self.plan.pages * part / 2) * 2), HOSTS) for part in (SMALL, TINY)
        )
        self.watch = Watch()
        self.rows: list[Row] = []
        self._contexts = ExitStack()
        self._sites: dict[tuple[Plan, bool], SiteServer] = {}
        self._relays: dict[float, Relay] = {}
        self._redis: RedisServer | None = None
        self._mongo: MongoServer | None = None
        self._numbers = itertools.count()

    def close(self) -> None:
        """End every server."""
        self._contexts.close()

    # ------------------------------------------------------------------ saying

    @staticmethod
    def say(text: str) -> None:
        """Progress, on stderr."""
        print(f"  {time.strftime('%H:%M:%S')} {text}", file=sys.stderr, flush=True)

    def add(self, row: Row) -> None:
        """Keep a row; programs find it by its name.

        Raises:
            ValueError: There is one of that name.
        """
        if any(row.name == other.name for other in self.rows):
            raise ValueError(f"two rows are called {row.name!r}")
        self.rows.append(row)

    def note(self, text: str) -> None:
        """Remember that something went wrong, which makes the whole run fail."""
        self.watch.note(text)

    # ------------------------------------------------------------------ servers

    def scratch(self, name: str) -> Path:
        """A new directory."""
        path = self.directory / f"{next(self._numbers):03}-{name}"
        path.mkdir()
        return path

    @property
    def redis(self) -> RedisServer:
        """A Redis without append-only file."""
        if self._redis is None:
            self._redis = RedisServer(self.directory / "redis", options={"appendonly": "no"})
            self._contexts.callback(self._redis.stop)
            self._redis.start()
        return self._redis

    def empty_redis(self) -> None:
        """Forget what the last run left; millions of keys take their time."""
        with redis.Redis.from_url(self.redis.url, socket_timeout=FLUSH_SECONDS) as client:
            client.flushall()

    @property
    def mongo(self) -> MongoServer:
        """A MongoDB."""
        if self._mongo is None:
            self._mongo = MongoServer(self.directory / "mongo")
            self._contexts.callback(self._mongo.stop)
            self._mongo.start()
        return self._mongo

    def site(self, plan: Plan | None = None, *, logged: bool = False) -> SiteServer:
        """The site, or one with a plan of its own, served until the end."""
        plan = plan or self.plan
        if (plan, logged) not in self._sites:
            server = site_server(self.directory / f"site-{len(self._sites)}", plan, logged=logged)
            self.say(f"{plan.pages} pages on {plan.hosts} hosts, served by {server.program}")
            self._contexts.callback(server.stop)
            server.start()
            self._sites[plan, logged] = server
        return self._sites[plan, logged]

    def redis_url(self, milliseconds: float = 0.0) -> str:
        """The Redis, farther away by so much of a round trip."""
        if not milliseconds:
            return self.redis.url
        if milliseconds not in self._relays:
            relay = self._contexts.enter_context(farther(self.redis.url, milliseconds / 1000))
            self.say(f"a relay adds {relay.added * 1000:.2f} ms to each PING")
            if abs(relay.added * 1000 - milliseconds) > MOST_OFF_MS:
                self.note(f"a relay adds {relay.added * 1000:.2f} ms to a round trip instead of {milliseconds:g} ms")
            self._relays[milliseconds] = relay
        return self._relays[milliseconds].url

    # ------------------------------------------------------------------ crawls

    def crawl(
        self,
        side: Side,
        milliseconds: float = 0.0,
        *,
        site: SiteServer | None = None,
        url: str = "",
        variables: Mapping[str, str] | None = None,
        timeout: float = 200,
    ) -> Run:
        """One crawl of the whole site on an empty Redis.

        Args:
            side: Who crawls.
            milliseconds: How much farther away its Redis is.
            site: What is crawled, if not the usual site.
            url: Where its Redis is, if not there.
            variables: Further variables of its environment.
            timeout: Seconds after which it is given up.
        """
        site = site or self.site()
        self.empty_redis()
        if side.seeds_key:
            with redis.Redis.from_url(self.redis.url) as client:
                client.rpush(side.seeds_key, *site.seeds)
        directory = self.scratch(side.spider)
        environment = {"REDIS_URL": url or self.redis_url(milliseconds), **(variables or {})}
        run = crawl(side, site, directory, environment, timeout=timeout)
        shutil.rmtree(directory)
        if run.site_share > MOST_SITE_SHARE:
            self.note(f"{side.name}: the site's server used {run.site_share:.2f} of a core, and may have held it up")
        return run

    def alternate(
        self,
        sides: Mapping[str, Callable[[], Run]],
        rounds: int,
        what: str,
        *,
        warm_up: Mapping[str, Callable[[], Run]] | None = None,
    ) -> dict[str, list[Run]]:
        """Runs of each side, A B A B, after runs that do not count.

        Args:
            sides: Name of a side → one run of it.
            rounds: Runs of each that count.
            what: What is measured, for notes of what disturbed it.
            warm_up: The runs before them, for instance of a smaller site; one of each side unless given.
        """
        found: dict[str, list[Run]] = {name: [] for name in sides}
        for number in range(rounds + 1):
            for name, run_once in (sides if number or warm_up is None else warm_up).items():
                with self.watch.during(what):
                    run = run_once()
                label = f"round {number}" if number else "warm-up"
                self.say(f"{what}: {label}: {name}: {run.pages} pages in {run.seconds:.1f} s, {run.rate:.0f} pages/s")
                if number:
                    found[name].append(run)
        return found

    def same_work(self, runs: Mapping[str, Sequence[Run]], expected: set[str], what: str) -> bool:
        """Whether all runs fetched and stored the same; notes it where they did not."""
        found = differences([run for several in runs.values() for run in several], expected)
        for difference in found:
            self.note(f"{what}: {difference}")
        return not found

    def redis_info(self, section: str) -> dict[str, Any]:
        """What Redis tells of itself."""
        with redis.Redis.from_url(self.redis.url) as client:
            info: Any = client.info(section)
        return dict(info)
