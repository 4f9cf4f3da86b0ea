"""What is wrong with a running node: open to anybody, packages, clock, disk, configuration."""

from __future__ import annotations

import json
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass, field
from ipaddress import ip_address
from typing import TYPE_CHECKING, Any
from urllib.parse import urljoin, urlsplit

import requests

from deploy.client import TIMEOUT, NodeClient
from deploy.errors import NodeError, NodeUnreachable
from deploy.fanout import FanOut, fan_out
from deploy.health import CLOCK_SECONDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from deploy.fleet import NodeSpec
    from deploy.targets import Node

#: The Scrapyd project of the probe; one name, since a project leaves an empty queue file on its node.
PROJECT = "deploy_check"
#: Below this a node cannot keep a week's logs.
MIN_FREE_BYTES = 1_000_000_000
#: Scrapyd deletes the oldest logs of a spider beyond this many, also those of jobs that run.
MIN_LOGS = 50


@dataclass(frozen=True)
class Facts:
    """What a node says of itself, in the environment of its jobs.

    Attributes:
        python: Version of its interpreter.
        unmet: Packages that are missing or do not fit requirements.txt.
        time: Its clock, in unix seconds.
        node_name: NODE_NAME, under which its workers appear.
        root: It runs as root.
        project: Where it finds spiders_project without an egg; None: nowhere, as it should.
        bind_address: Where it listens.
        max_proc: Jobs that it runs at once.
        jobstorage: The class that remembers finished jobs.
        jobs_to_keep: Logs that it keeps of each spider.
        finished_to_keep: Finished jobs that it remembers.
        free_bytes: Free space, of the fullest of its disks.
    """

    python: str
    unmet: tuple[str, ...]
    time: float
    node_name: str
    root: bool
    project: str | None
    bind_address: str
    max_proc: int
    jobstorage: str
    jobs_to_keep: int
    finished_to_keep: int
    free_bytes: int


@dataclass
class Checked:
    """One node: what it says of itself, and its ``faults``, each with what to do. ``advice`` is no fault."""

    facts: Facts | None
    faults: list[str] = field(default_factory=list)
    advice: list[str] = field(default_factory=list)


def check(nodes: Sequence[Node], specs: Mapping[str, NodeSpec], probe: bytes) -> FanOut[Checked]:
    """Check all nodes side by side; ``failed`` holds those that do not answer at all.

    Args:
        nodes: The nodes.
        specs: What fleet.toml says of each.
        probe: Of ``deploy.probe.probe_egg``.
    """

    def work(node: Node) -> Checked:
        is_open = answers_anybody(node)
        try:
            facts, clock_off = ask(node, probe)
        except NodeUnreachable:
            raise
        except NodeError as error:
            checked = Checked(None, [_why_no_probe(str(error).removeprefix(f"{node.name}: "))])
        else:
            checked = judge(node, facts, clock_off, specs[node.name])
        if is_open:
            checked.faults.insert(0, _OPEN)
        return checked

    return fan_out(nodes, work)


_OPEN = (
    "answers anybody: whoever reaches it can run code there; set username and password in its scrapyd.conf, "
    "and open its port to the operators alone"
)


def answers_anybody(node: Node) -> bool:
    """Whether the node answers who gives no password.

    Raises:
        NodeUnreachable: It answers nobody.
    """
    session = requests.Session()
    session.trust_env = False  # netrc would give the password after all
    try:
        answer = session.get(urljoin(node.url, "daemonstatus.json"), timeout=TIMEOUT, allow_redirects=False)
    except requests.RequestException as error:
        raise NodeUnreachable(f"{node.name}: cannot connect to {node.url}; is Scrapyd running there?") from error
    return answer.ok


def ask(node: Node, probe: bytes) -> tuple[Facts, float]:
    """Push the probe, read what it prints, and take it away; and how far the node's clock is before ours, in seconds.

    Raises:
        NodeError: The node does not run it.
    """
    client = NodeClient(node)
    version = f"probe-{uuid.uuid4().hex}"
    try:
        sent_at = time.time()
        client.add_version(PROJECT, version, probe)
        now = time.time()
        lines = client.list_spiders(PROJECT, version)
    finally:
        with suppress(NodeError):
            client.delete_version(PROJECT, version)
    try:
        said: dict[str, Any] = json.loads(lines[-1])
        facts = Facts(**{**said, "unmet": tuple(said["unmet"])})
    except (IndexError, ValueError, TypeError, KeyError) as error:
        raise NodeError(f"{node.name}: the probe printed what it never prints: {lines}") from error
    # It looked at its clock some time between our question and its answer.
    off = facts.time - now if facts.time > now else min(0.0, facts.time - sent_at)
    return facts, off


def judge(node: Node, facts: Facts, clock_off: float, spec: NodeSpec) -> Checked:
    """What of the facts is a fault."""
    faults = (
        (facts.unmet, f"{'; '.join(facts.unmet)}: `pip install -r requirements.txt` there"),
        (
            abs(clock_off) > CLOCK_SECONDS,
            (
                f"has a clock {abs(clock_off):.0f} s {'ahead of' if clock_off > 0 else 'behind'} this machine's: "
                "let both ask a time server"
            ),
        ),
        (
            facts.free_bytes < MIN_FREE_BYTES,
            f"has only {facts.free_bytes / 1e6:.0f} MB free for eggs, logs and queues: delete old logs",
        ),
        (
            facts.project,
            f"finds spiders_project at {facts.project}, and runs that in place of every egg: take it away",
        ),
        (
            facts.max_proc < spec.capacity,
            (
                f"starts {facts.max_proc} jobs at once (max_proc), and fleet.toml says capacity {spec.capacity}: "
                "what is too much would wait in its queue"
            ),
        ),
        (
            "Memory" in facts.jobstorage,
            "forgets its finished jobs when it restarts: set jobstorage = scrapyd.jobstorage.SqliteJobStorage",
        ),
        (
            facts.jobs_to_keep < MIN_LOGS,
            (
                f"keeps the last {facts.jobs_to_keep} logs of a spider, and deletes also those of jobs that run: "
                "set jobs_to_keep high, and delete logs by age"
            ),
        ),
        (
            facts.node_name != node.name,
            (
                f"has workers that say they run on {facts.node_name or 'the name of its machine'}: "
                f"set NODE_NAME={node.name} in its environment, which is its name in scrapy.cfg"
            ),
        ),
    )
    in_clear = not _is_loopback(facts.bind_address) and urlsplit(node.url).scheme == "http"
    advice = (
        (facts.root, "runs as root: give it a user of its own"),
        (in_clear, "has its password sent in clear: put TLS before it, or reach it through a tunnel"),
    )
    return Checked(facts, [text for wrong, text in faults if wrong], [text for wrong, text in advice if wrong])


def _why_no_probe(error: str) -> str:
    if "No module named 'pkg_resources'" in error:
        return "its setuptools is too new for Scrapyd, which imports pkg_resources: `pip install 'setuptools<81'` there"
    return f"runs no egg: {error}"


def _is_loopback(address: str) -> bool:
    try:
        return ip_address(address).is_loopback
    except ValueError:
        return address == "localhost"
