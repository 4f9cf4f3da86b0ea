"""Releases on real nodes: a node without what the egg needs, versions in use, going back, cleaning up."""

from __future__ import annotations

import json
import subprocess
import textwrap

import pytest

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from deploy.errors import DeployError, VersionInUse
from deploy.jobs import Job, cancel
from deploy.local.scrapyd_node import ScrapydNode
from deploy.release import release
from deploy.released import record
from deploy.targets import Node
from deploy.versions import delete, prune
from deploy.withdrawals import Withdrawals, take_away
from tests.deploy.conftest import copy_checkout, eventually
from tests.deploy.doors.conftest import PROJECT, log_line
from tests.deploy.eggs import small_egg

pytestmark = pytest.mark.slow
V1, V2, V3 = "1796067001-aaaaaaaa", "1796067002-bbbbbbbb", "1796067003-cccccccc"


@pytest.fixture
def withdrawals(tmp_path):
    return Withdrawals(tmp_path / "withdrawals", None)


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
    yield Node("c", node.url, username=node.username, password=node.password)
    node.stop()


def test_a_node_that_lacks_packages_is_named_with_them(nodes, lacking_node, egg, withdrawals):
    """scrapyd#282: such a node would "finish" every job in a second."""
    outcome = release([nodes[0], lacking_node], egg, V1, withdrawals)
    with pytest.raises(DeployError) as failed:
        outcome.check()
    assert "c lacks scrapy-redis\nc: pymongo 4.1 is older than 4.13\n" in str(failed.value)
    assert "Traceback" not in str(failed.value)
    assert outcome.withdrawn == [nodes[0].name, "c"]
    for node in (nodes[0], lacking_node):
        assert NodeClient(node).list_versions(node.project) == []


def test_a_failed_release_leaves_what_was_there_the_newest(nodes, withdrawals):
    """scrapyd#282: Scrapyd keeps an egg that it cannot list, and takes it for the newest."""
    release(nodes, small_egg("fine"), V1, withdrawals).check()
    outcome = release(nodes, small_egg("broken", breaks_on="node2"), V2, withdrawals)
    assert list(outcome.spiders.failed) == ["node2"]
    assert [NodeClient(node).list_versions(node.project) for node in nodes] == [[V1], [V1]]

    kept = release(nodes, small_egg("broken", breaks_on="node2"), V3, withdrawals, best_effort=True)
    assert kept.on == ["node1"]
    assert [NodeClient(node).list_versions(node.project) for node in nodes] == [[V1, V3], [V1]]
    assert withdrawals.all() == []


def test_a_version_is_never_deleted_while_a_job_uses_it(released, withdrawals, tmp_path):
    """Scrapyd deletes it at once, and the next import of a running job fails."""
    node = released[0]
    client = NodeClient(node)
    release([node], small_egg("later"), V2, withdrawals).check()
    client.start(node.project, "lingering", job="named", version="v1", arguments={}, settings={})
    client.start(node.project, "telling", job="last", version=V2, arguments={"stays": "1"}, settings={})
    # Without a version: a plain curl.
    client.session.post(f"{node.url}schedule.json", data={"project": node.project, "spider": "lingering"})
    eventually(lambda: len(client.list_jobs(node.project)["running"]) == 3)
    eventually(lambda: log_line(node, "named"))

    release([node], small_egg("newest"), V3, withdrawals).check()
    outcome = delete(released, "v1").done
    assert "named" in outcome[node.name].kept["v1"]
    assert outcome[released[1].name].gone == ["v1"]
    pruned = prune(tmp_path, [node], keep=1).done[node.name]
    assert pruned.gone == []
    assert "last" in pruned.kept[V2]
    with pytest.raises(VersionInUse):
        take_away(client, V2)
    assert set(client.list_versions(node.project)) == {"v1", V2, V3}

    client.delete_version(node.project, V2)  # Scrapyd itself does it at once
    release([node], small_egg("later"), V2, withdrawals).check()
    jobs = client.list_jobs(node.project)["running"]
    cancel(released, [Job(node.name, job["id"], job["spider"], "running") for job in jobs]).check()
    assert prune(tmp_path, [node], keep=1, dry_run=True).done[node.name].gone == [V2]
    assert prune(tmp_path, [node], keep=1).done[node.name].gone == [V2], "v1 is what Scrapyd takes for the newest"


def test_a_job_that_does_not_say_its_version_may_use_any(released):
    node = released[0]
    client = NodeClient(node)
    client.start(node.project, "lingering", job="silent", version="v1", arguments={}, settings={"LOG_LEVEL": "WARNING"})
    eventually(lambda: client.list_jobs(node.project)["running"])
    with pytest.raises(VersionInUse, match=r"silent \(a job that does not say its version"):
        take_away(client, "v1")


@pytest.fixture
def push(at_the_door, stack, withdrawals):
    """``push(word, version)`` releases a small egg to the nodes, as this machine's own release."""

    def call(word: str, version: str, nodes: int = 2) -> None:
        release(stack_nodes(stack)[:nodes], small_egg(word), version, withdrawals).check()
        record(at_the_door, PROJECT, version, small_egg(word))

    return call


@pytest.fixture
def says(stack):
    """``says(node number)`` schedules as a plain curl does, and returns what the job says it is."""

    def call(number: int) -> str:
        node = stack_nodes(stack)[number - 1]
        client = NodeClient(node)
        data = {"project": PROJECT, "spider": "telling"}
        job = client.session.post(f"{node.url}schedule.json", data=data)["jobid"]
        ended = eventually(lambda: [one for one in client.list_jobs(PROJECT)["finished"] if one["id"] == job])
        return client.job_log(ended[0]).partition("I am ")[2].partition(",")[0]

    return call


def test_after_a_rollback_a_plain_curl_runs_the_old_code_whatever_the_names(push, says, deploy, stack):
    """scrapyd#66: Scrapyd takes the last by name for the newest, and v9 sorts behind every time."""
    push("old", V1, nodes=1)
    push("new", "v9", nodes=1)
    planned, _ = deploy("rollback", "--dry-run", "-t", "node1")
    assert f"back-to-{V1}" in planned
    client = NodeClient(stack_nodes(stack)[0])
    assert client.list_versions(PROJECT) == [V1, "v9"]

    deploy("rollback", "-t", "node1")
    assert says(1) == "old"
    held = client.list_versions(PROJECT)
    assert held[:2] == [V1, "v9"], "nothing is deleted for it"
    table = json.loads(deploy("versions", "--json", "-t", "node1")[0])
    assert table["nodes"]["node1"] == {"versions": held, "drift": None}
    assert table["released"] == held[-1]
    assert "name the version" in deploy("rollback", "-t", "node1", code=1)[1]


def test_drift_is_shown_and_versions_are_deleted_by_name(push, deploy, stack):
    one, two = stack_nodes(stack)
    push("old", V1)
    push("new", V2)
    NodeClient(two).delete_version(PROJECT, V2)
    NodeClient(one).add_version(PROJECT, "v9", small_egg("by hand"))
    out, err = deploy("versions")
    assert f"node2 lacks {V2}" in err
    assert "node1 runs v9 for a plain schedule.json" in err
    assert "node1 (drift)" in out
    released = next(line for line in out.splitlines() if line.startswith("released"))
    assert V2 in released

    deploy("delete", "v9", "--dry-run")
    assert "v9" in NodeClient(one).list_versions(PROJECT)
    deploy("delete", "v9")
    assert NodeClient(one).list_versions(PROJECT) == [V1, V2]
    assert "no node has version v9" in deploy("delete", "v9", code=1)[1]
    deploy("prune", "--keep", "1")
    assert [NodeClient(node).list_versions(PROJECT) for node in (one, two)] == [[V2], [V1]]


def test_a_machine_without_a_copy_builds_the_egg_from_the_commit(tmp_path):
    from deploy.released import find_egg  # noqa: PLC0415 - beside its one use
    from deploy.version_names import new_version  # noqa: PLC0415 - the same

    root = copy_checkout(tmp_path / "checkout")
    for command in (["init", "-q"], ["add", "-A"], ["-c", "user.name=a", "-c", "user.email=a@b", "commit", "-qm", "x"]):
        subprocess.run(["git", *command], cwd=root, check=True)
    version = new_version(root)
    (root / "spiders_project/settings.py").write_text("what came later")
    assert len(find_egg(root, PROJECT, version)) > 100_000
    with pytest.raises(DeployError, match=r"is not at hand.*git knows no commit"):
        find_egg(root, PROJECT, V1)
    with pytest.raises(DeployError, match="tells no clean commit"):
        find_egg(root, PROJECT, f"{version}-dirty")
