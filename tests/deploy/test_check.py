"""The node files that we ship run, and ``deploy check`` tells what is wrong with others; with real Scrapyd daemons."""

from __future__ import annotations

import re
import stat
import subprocess
import textwrap
from configparser import ConfigParser
from dataclasses import replace

import pytest
import requests
import yaml

from deploy.check import Facts, check, judge
from deploy.client import NodeClient
from deploy.errors import DeployError
from deploy.fleet import NodeSpec
from deploy.local.files import write_private
from deploy.local.scrapyd_node import ScrapydNode
from deploy.probe import probe_egg
from deploy.targets import Node
from tests.deploy.conftest import ROOT
from tests.deploy.fake_node import fake_node

FILES = ROOT / "deploy/nodes"
REQUIREMENTS = (ROOT / "requirements.txt").read_text()


class Shipped(ScrapydNode):
    """A node with our scrapyd.conf; its password is where that looks for it."""

    own = "node_username = {username}\nnode_password = {password}\n"

    def _configure(self) -> None:
        (self.directory / "scrapyd.conf").write_text((FILES / "scrapyd.conf").read_text())
        own = self.own.format(username=self.username, password=self.password)
        text = f"[scrapyd]\nnode_name = {self.name}\nhttp_port = {self.port}\n{own}"
        write_private(self.directory / "scrapy.cfg", text)


class WithoutPassword(Shipped):
    own = ""


class Stock(ScrapydNode):
    """A node as Scrapyd comes, but for its port."""

    def _configure(self) -> None:
        text = f"[scrapyd]\nnode_name = {self.name}\nhttp_port = {self.port}\n"
        write_private(self.directory / "scrapy.cfg", text)


@pytest.fixture(scope="module")
def shipped(servers_root):
    """A node with our configuration."""
    node = Shipped(servers_root / "shipped", name="node1")
    try:
        node.start()
        yield Node("node1", node.url, username=node.username, password=node.password)
    finally:
        node.stop()


@pytest.fixture
def started(server_directory):
    """``started(kind, name, **settings)`` starts a node, and stops it after the test."""
    nodes = []

    def start(kind, name="node1", **settings):
        node = kind(server_directory / name, name=name, settings=settings)
        nodes.append(node)
        node.start()
        return Node(name, node.url, username=node.username, password=node.password)

    yield start
    for node in nodes:
        node.stop()


def checked(node):
    outcome = check([node], {node.name: NodeSpec()}, probe_egg(REQUIREMENTS))
    outcome.check()
    return outcome.done[node.name]


def test_a_node_with_our_configuration_has_no_faults_and_lets_nobody_in(shipped):
    assert requests.get(f"{shipped.url}daemonstatus.json", timeout=10).status_code == 401
    found = checked(shipped)
    assert found.faults == []
    assert found.facts.max_proc == NodeSpec().capacity
    assert found.facts.bind_address == "127.0.0.1"
    assert NodeClient(shipped).list_projects() == [], "the probe is gone"


def test_scrapyd_with_our_configuration_does_not_start_without_a_password(started):
    with pytest.raises(DeployError, match="node_username"):
        started(WithoutPassword)


def test_what_is_wrong_with_a_node_as_scrapyd_comes_is_said(started):
    """scrapyd#363: a miner moved in."""
    node = started(Stock)
    faults = "\n".join(checked(replace(node, username="", password="")).faults)
    assert "answers anybody: whoever reaches it can run code there" in faults
    assert "forgets its finished jobs when it restarts" in faults
    assert "keeps the last 5 logs of a spider" in faults


def test_a_node_with_the_wrong_setuptools_is_told(started, server_directory):
    site = server_directory / "site"
    site.mkdir()
    hide = """
        import sys

        class Gone:
            def find_spec(name, path=None, target=None):
                if name == "pkg_resources" and "scrapyd.runner" in sys.orig_argv:
                    raise ModuleNotFoundError("No module named 'pkg_resources'")

        sys.meta_path.insert(0, Gone)
    """
    (site / "sitecustomize.py").write_text(textwrap.dedent(hide))
    found = checked(started(Shipped, PYTHONPATH=str(site)))
    assert "its setuptools is too new" in found.faults[0]


def test_a_node_that_lacks_packages_is_told_though_it_could_list_spiders(shipped):
    outcome = check([shipped], {"node1": NodeSpec()}, probe_egg(REQUIREMENTS + "no-such-package>=1\nredis>=99\n"))
    fault = outcome.done["node1"].faults[0]
    assert fault.startswith("lacks no-such-package; redis ")
    assert "is older than 99: `pip install -r requirements.txt` there" in fault


FACTS = Facts(
    python="3.12.1",
    unmet=(),
    time=0.0,
    node_name="n1",
    root=False,
    project=None,
    bind_address="127.0.0.1",
    max_proc=4,
    jobstorage="scrapyd.jobstorage.SqliteJobStorage",
    jobs_to_keep=10**6,
    finished_to_keep=1000,
    free_bytes=10**10,
)


@pytest.mark.parametrize(
    ("facts", "clock_off", "said"),
    [
        ({}, 60.0, "has a clock 60 s ahead of this machine's"),
        ({}, -60.0, "60 s behind"),
        ({"free_bytes": 10**8}, 0.0, "has only 100 MB free"),
        ({"project": "/srv/spiders_project/__init__.py"}, 0.0, "runs that in place of every egg"),
        ({"max_proc": 2}, 0.0, "starts 2 jobs at once .* capacity 4"),
        ({"node_name": ""}, 0.0, "set NODE_NAME=n1"),
    ],
)
def test_faults_that_cannot_be_made_here(facts, clock_off, said):
    node = Node("n1", "http://n1:6800/")
    found = judge(node, replace(FACTS, **facts), clock_off, NodeSpec())
    assert len(found.faults) == 1
    assert re.search(said, found.faults[0])
    assert judge(node, FACTS, 4.0, NodeSpec()).faults == []


def test_what_is_not_forbidden_is_advised():
    found = judge(Node("n1", "http://n1:6800/"), replace(FACTS, root=True, bind_address="0.0.0.0"), 0.0, NodeSpec())
    assert found.faults == []
    assert len(found.advice) == 2


def test_something_that_is_no_scrapyd_is_named():
    with fake_node((200, "<html>hello")) as fake:
        found = checked(fake.node("n1"))
    assert "answers anybody" in found.faults[0]
    assert "no JSON" in found.faults[1]


def test_the_secrets_of_the_stack_are_made_once_and_shown_to_nobody(tmp_path):
    script = tmp_path / "nodes/make-secrets.sh"
    script.parent.mkdir()
    script.write_text((FILES / "make-secrets.sh").read_text())
    made = subprocess.run(["sh", script], capture_output=True, text=True, check=True)
    secrets = script.parent / "secrets"
    assert stat.S_IMODE(secrets.stat().st_mode) == 0o700
    config = ConfigParser()
    config.read(secrets / "node.conf")
    password = config["scrapyd"]["node_password"]
    assert len(password) == 48
    assert password not in made.stdout + made.stderr
    again = subprocess.run(["sh", script], capture_output=True, text=True, check=False)
    assert again.returncode == 1
    assert "exists already" in again.stderr
    # Each secret that compose.yaml names is made, and nothing else.
    compose = yaml.safe_load((FILES / "compose.yaml").read_text())
    named = {one["file"] for one in compose["secrets"].values()}
    for service in compose["services"].values():
        files = service.get("env_file", [])
        named |= {files} if isinstance(files, str) else set(files)
    assert named == {f"secrets/{path.name}" for path in secrets.iterdir()} - {"secrets/host.env"}


def test_the_compose_file_opens_nothing_to_the_world_and_names_what_it_uses():
    """What needs a container engine is not run here."""
    compose = yaml.safe_load((FILES / "compose.yaml").read_text())
    services = compose["services"]
    assert {"redis", "mongo", "node1", "node2", "supervisor"} <= set(services)
    dockerfile = (FILES / "Dockerfile").read_text()
    for name, service in services.items():
        assert all(port.startswith("127.0.0.1:") for port in service.get("ports", [])), name
        for needed in service.get("depends_on", []):
            assert needed in services
        for secret in service.get("secrets", []):
            assert (secret if isinstance(secret, str) else secret["source"]) in compose["secrets"]
        for volume in service.get("volumes", []):
            assert volume.partition(":")[0] in compose["volumes"]
        if "build" in service:
            assert f" AS {service['build']['target']}\n" in dockerfile
            assert (FILES / service["build"]["context"] / service["build"]["dockerfile"]).is_file()
        else:
            assert service["image"].rpartition(":")[2] not in {"", "latest"}
    for number in (1, 2):
        assert services[f"node{number}"]["environment"] == {"NODE_NAME": f"node{number}"}
    ignored = (FILES / "Dockerfile.dockerignore").read_text().splitlines()
    assert {".local", "deploy/nodes/secrets"} <= set(ignored)


def test_the_unit_ends_jobs_with_their_node():
    unit = ConfigParser(strict=False, interpolation=None)
    unit.optionxform = str
    unit.read(FILES / "scrapyd.service")
    service = unit["Service"]
    assert service["KillMode"] == "control-group"
    assert service["ExecStart"].endswith("-m scrapyd --pidfile=")
    assert service["WorkingDirectory"] == f"/var/lib/{service['StateDirectory']}"
    rule = (FILES / "logs.tmpfiles.conf").read_text().splitlines()[-1].split()
    assert rule == ["e", f"{service['WorkingDirectory']}/logs", "-", "-", "-", "14d"]
