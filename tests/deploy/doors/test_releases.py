"""Releases on real nodes: a node without what the egg needs, versions in use, going back, cleaning up."""

from __future__ import annotations

import json
import subprocess
import textwrap

import pytest

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from deploy.local.scrapyd_node import ScrapydNode
from tests.deploy.conftest import eventually
from tests.deploy.doors.conftest import PROJECT, log_line, run

pytestmark = pytest.mark.slow


@pytest.fixture
def deploy(at_the_door):
    def call(*args: str, code: int = 0, **env: str):
        done = run("python", "-m", "deploy", *args, cwd=at_the_door, **env)
        assert done.returncode == code, done.stdout + done.stderr
        return done

    return call


@pytest.fixture
def clients(stack):
    return [NodeClient(node) for node in stack_nodes(stack)]


@pytest.fixture
def lacking_node(server_directory):
    """A node without scrapy-redis, and with a pymongo that is too old."""
    site = server_directory / "site"
    old = site / "pymongo-4.1.dist-info"
    old.mkdir(parents=True)
    (old / "METADATA").write_text("Metadata-Version: 2.1\nName: pymongo\nVersion: 4.1\n")
    hide = """
        import importlib.metadata, sys

        class Uninstalled:
            def find_spec(name, path=None, target=None):
                if name.partition(".")[0] == "scrapy_redis":
                    raise ModuleNotFoundError("No module named 'scrapy_redis'")

        sys.meta_path.insert(0, Uninstalled)
        found = importlib.metadata.Distribution.from_name

        def from_name(name):
            if name.replace("_", "-") == "scrapy-redis":
                raise importlib.metadata.PackageNotFoundError(name)
            return found(name)

        importlib.metadata.Distribution.from_name = from_name
    """
    (site / "sitecustomize.py").write_text(textwrap.dedent(hide))
    node = ScrapydNode(server_directory / "node9", name="node9", settings={"PYTHONPATH": str(site)})
    node.start()
    yield node
    node.stop()


def test_a_node_that_lacks_packages_is_named_with_them(deploy, lacking_node, clients):
    at_node2 = {
        "NODE2_URL": lacking_node.url,
        "NODE2_USERNAME": lacking_node.username,
        "NODE2_PASSWORD": lacking_node.password,
    }
    done = deploy("push", "--version", "v1", code=1, **at_node2)
    assert "node2 lacks scrapy-redis\nnode2: pymongo 4.1 is older than 4.13\n" in done.stderr
    assert "Traceback" not in done.stderr
    assert "was withdrawn from node1, node2" in done.stderr
    assert clients[0].list_versions(PROJECT) == []


def started(deploy, clients, *args):
    """Start a lingering job on node1 and wait until it says which code it runs."""
    job = json.loads(deploy("schedule", "lingering", "-t", "node1", "--json", *args).stdout)["jobs"]["node1"][0]
    eventually(lambda: log_line(clients[0].node, job))
    return job


def test_a_version_is_never_deleted_while_a_job_uses_it(deploy, clients):
    """Scrapyd deletes it, and a running job's next import fails."""
    for version in ("1796067001-aaaaaaaa", "1796067002-bbbbbbbb", "1796067003-cccccccc", "1796067004-dddddddd"):
        deploy("push", "--version", version)
    job = started(deploy, clients, "--version", "1796067002-bbbbbbbb")

    done = deploy("delete", "1796067002-bbbbbbbb", code=1)
    assert f"node1: version 1796067002-bbbbbbbb stays, since jobs use it: {job}" in done.stderr
    assert [len(client.list_versions(PROJECT)) for client in clients] == [4, 3]
    deploy("prune", "--keep", "1", "--dry-run")
    assert [len(client.list_versions(PROJECT)) for client in clients] == [4, 3]
    done = deploy("prune", "--keep", "1")
    assert "1796067002-bbbbbbbb stays" in done.stderr
    assert [client.list_versions(PROJECT) for client in clients] == [
        ["1796067002-bbbbbbbb", "1796067004-dddddddd"],
        ["1796067004-dddddddd"],
    ]
    deploy("cancel", job)
    deploy("delete", "1796067002-bbbbbbbb", "-t", "node1")
    assert clients[0].list_versions(PROJECT) == ["1796067004-dddddddd"]
    assert "no node has version nope" in deploy("delete", "nope", code=1).stderr


def test_a_job_that_was_scheduled_without_a_version_uses_one_as_well(deploy, clients, at_the_door):
    deploy("push", "--version", "1796067001-aaaaaaaa")
    deploy("push", "--version", "1796067002-bbbbbbbb")
    clients[0].session.post(f"{clients[0].node.url}schedule.json", data={"project": PROJECT, "spider": "lingering"})
    job = eventually(lambda: [j["id"] for j in clients[0].list_jobs(PROJECT)["running"]])[0]
    eventually(lambda: log_line(clients[0].node, job))
    assert job in deploy("delete", "1796067002-bbbbbbbb", "-t", "node1", code=1).stderr
    deploy("delete", "1796067001-aaaaaaaa", "-t", "node1")


def write_spider(checkout, word: str) -> None:
    (checkout / "spiders_project/spiders/telling.py").write_text(
        textwrap.dedent(f"""
        import scrapy

        class Telling(scrapy.Spider):
            name = "telling"
            custom_settings = {{"SCHEDULER": "scrapy.core.scheduler.Scheduler",
                               "DUPEFILTER_CLASS": "scrapy.dupefilters.RFPDupeFilter"}}

            async def start(self):
                self.logger.info("I am {word}")
                return
                yield
        """)
    )


def says(client, word: str) -> bool:
    """Schedule as a plain curl does, and look what the job says."""
    job = client.session.post(
        f"{client.node.url}schedule.json", data={"project": client.node.project, "spider": "telling"}
    )["jobid"]
    jobs = eventually(lambda: [j for j in client.list_jobs(client.node.project)["finished"] if j["id"] == job])
    return f"I am {word}" in client.job_log(jobs[0])


def test_after_a_rollback_a_plain_curl_runs_the_old_code_and_after_another_the_one_before(deploy, clients, at_the_door):
    for word in ("one", "two", "three"):
        write_spider(at_the_door, word)
        deploy("push")
    assert says(clients[0], "three")

    planned = deploy("rollback", "--dry-run")
    assert "back-to" in planned.stdout
    assert len(clients[0].list_versions(PROJECT)) == 3
    deploy("rollback")
    assert says(clients[0], "two")
    assert says(clients[1], "two")
    deploy("rollback")
    assert says(clients[0], "one")
    table = json.loads(deploy("versions", "--json").stdout)
    assert len(table["nodes"]["node1"]["versions"]) == 5, "nothing is deleted for it"
    assert table["released"].endswith(table["nodes"]["node1"]["versions"][0])
    assert "name the version" in deploy("rollback", code=1).stderr


def test_a_rollback_wins_over_names_that_sort_behind_every_time(deploy, clients, at_the_door):
    write_spider(at_the_door, "old")
    deploy("push")
    old = clients[0].list_versions(PROJECT)[0]
    write_spider(at_the_door, "new")
    deploy("push", "--version", "v9")
    assert says(clients[0], "new")
    deploy("rollback", old)
    assert says(clients[0], "old")
    write_spider(at_the_door, "newer")
    assert "still runs v9-" in deploy("push").stderr


def test_a_machine_without_a_copy_builds_the_egg_from_the_commit(deploy, clients, at_the_door):
    def git(*args):
        subprocess.run(["git", "-c", "user.name=a", "-c", "user.email=a@b", *args], cwd=at_the_door, check=True)

    git("init", "-q")
    for word in ("one", "two"):
        write_spider(at_the_door, word)
        git("add", "-A", ".")
        git("commit", "-q", "-m", word)
        deploy("push")
    for copy in (at_the_door / ".local/eggs").rglob("*.egg"):
        copy.unlink()
    deploy("rollback")
    assert says(clients[0], "one")
