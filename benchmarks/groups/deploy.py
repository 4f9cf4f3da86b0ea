"""Seconds of a release to one node and to many, each 50 ms away."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import time
from contextlib import contextmanager
from typing import TYPE_CHECKING

from benchmarks.errors import BenchError
from benchmarks.figures import Figure
from benchmarks.results import Row
from benchmarks.site_server import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from benchmarks.bench import Bench

LATENCY = 0.05
NODES = (1, 50)
ROUNDS, QUICK_ROUNDS = 3, 1
#: scrapyd-deploy builds an egg for each node, one after the other: more of them show nothing new.
PEER_NODES, QUICK_PEER_NODES = 10, 3
LEFT_OUT = shutil.ignore_patterns(".git", ".venv", ".local", "tests", "results", "__pycache__", ".*_cache", "build")
TIMEOUT = 300.0


def run(bench: Bench) -> None:
    """Add the rows; each push builds its egg, as both commands do."""
    rounds = QUICK_ROUNDS if bench.quick else ROUNDS
    for nodes in NODES:
        checkout = bench.scratch("checkout") / "project"
        shutil.copytree(ROOT, checkout, ignore=LEFT_OUT)
        with fake_nodes(nodes) as ports:
            ours, theirs = [], []
            peer_ports = ports[: QUICK_PEER_NODES if bench.quick else PEER_NODES]
            for number in range(rounds):
                with bench.watch.during(f"deploy, {nodes} nodes"):
                    configure(checkout, ports)
                    ours.append(timed(checkout, ["-m", "deploy", "push"]))
                    if number and nodes > 1:
                        continue  # a minute and more, and no news
                    configure(checkout, peer_ports)
                    theirs.append(timed(checkout, ["-m", "scrapyd_client.deploy", "-a"]) / len(peer_ports) * nodes)
                    bench.say(f"deploy: {nodes} nodes: ours {ours[-1]:.1f} s, scrapyd-deploy {theirs[-1]:.1f} s")
        of = f", from {len(peer_ports)} of them" if len(peer_ports) < nodes else ""
        bench.add(
            Row.of(
                f"deploy: a release to {nodes} node{'s' * (nodes > 1)}, 50 ms away",
                Figure.of(ours),
                "s",
                peer=f"scrapyd-deploy -a{of}",
                peer_value=Figure.of(theirs).value,
            )
        )


@contextmanager
def fake_nodes(count: int) -> Iterator[list[int]]:
    """The ports of so many nodes, in a process of its own."""
    command = [sys.executable, "-m", "benchmarks.fake_nodes", str(count), repr(LATENCY)]
    process = subprocess.Popen(
        command, cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    with process:
        try:
            assert process.stdout
            yield [int(process.stdout.readline()) for _ in range(count)]
        finally:
            process.kill()


def configure(checkout: Path, ports: list[int]) -> None:
    """Write the nodes into the checkout's scrapy.cfg."""
    sections = [
        f"[deploy:node{number}]\nurl = http://127.0.0.1:{port}/\nproject = spiders_project\n"
        for number, port in enumerate(ports, 1)
    ]
    (checkout / "scrapy.cfg").write_text("[settings]\ndefault = spiders_project.settings\n\n" + "\n".join(sections))


def timed(checkout: Path, words: list[str]) -> float:
    """Seconds of a command; both name a version by the second, so the next one comes in another.

    Raises:
        BenchError: It failed.
    """
    started = time.monotonic()
    environment = {**os.environ, "HOME": str(checkout.parent)}
    try:
        done = subprocess.run(
            [sys.executable, *words],
            cwd=checkout,
            env=environment,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            timeout=TIMEOUT,
            check=False,
        )
    except subprocess.TimeoutExpired as error:
        raise BenchError(f"{' '.join(words)} did not end within {TIMEOUT:.0f} s") from error
    seconds = time.monotonic() - started
    if done.returncode or "error" in done.stdout:
        raise BenchError(f"{' '.join(words)} failed:\n{done.stdout[-2000:]}")
    time.sleep(1)
    return seconds
