"""What a failed release has left is taken away: from no job, and from a node that was away when it is back."""

from __future__ import annotations

import json

import pytest
import redis
from redis.backoff import NoBackoff
from redis.retry import Retry

from deploy.client import NodeClient
from deploy.drains import set_draining
from deploy.errors import ConnectError, DeployError, VersionInUse
from deploy.keys import WITHDRAWALS as KEY
from deploy.release import release
from deploy.targets import Node
from deploy.withdrawals import Withdrawals, settle, take_away
from tests.deploy.fake_node import fake_node

OK = {"status": "ok"}


class Scrapyd:
    """A node's versions and jobs, as far as a release meets them; ``refuses`` makes addversion fail."""

    def __init__(self, *versions: str, refuses: bool = False) -> None:
        self.versions = list(versions)
        self.pending: list[dict] = []
        self.running: list[dict] = []
        self.refuses = refuses
        self.dies_at = ""
        self.comes_at_deletion: dict | None = None
        self.logs: dict[str, str] = {}
        self.fake = None

    def answers(self, fake) -> dict:
        self.fake = fake
        return {
            "/listversions.json": self._when_alive("list", lambda: {"versions": list(self.versions)}),
            "/listprojects.json": self._when_alive("list", lambda: {"projects": ["spiders_project"]}),
            "/listjobs.json": self._when_alive(
                "list", lambda: {"pending": self.pending, "running": self.running, "finished": []}
            ),
            "/addversion.json": self._when_alive("add", self._add),
            "/delversion.json": self._when_alive("delete", self._delete),
            "/listspiders.json": self._when_alive("list", lambda: {"spiders": ["site"]}),
            "*": lambda: (200, self.logs.get(self.fake.asked[-1].rpartition("/")[2], "")),
        }

    def _when_alive(self, what, answer):
        def reply():
            if self.dies_at == what:
                self.dies_at = "list"  # and stays away
                if what == "add":
                    self._add()
            if self.dies_at == "list":
                return 502, "no Scrapyd here"
            if what == "add" and self.refuses:
                self._add()
                return 200, {"status": "error", "message": "RunnerError: no"}
            return 200, {**OK, **answer()}

        return reply

    def _add(self) -> dict:
        body = self.fake.bodies[-1].decode("latin-1")
        version = body.partition('name="version"')[2].split("\r\n")[2]
        self.versions.append(version)
        return {"spiders": 1}

    def _delete(self) -> dict:
        version = self.fake.bodies[-1].decode().partition("version=")[2]
        self.versions.remove(version)
        if self.comes_at_deletion:
            self.pending.append(self.comes_at_deletion)
        return {}


@pytest.fixture
def node():
    """``node(scrapyd, name)`` serves one until the test ends."""
    running = []

    def serve(scrapyd, name="n1"):
        served = fake_node({})
        fake = served.__enter__()
        running.append(served)
        fake.answers = scrapyd.answers(fake)
        return fake.node(name)

    yield serve
    for served in running:
        served.__exit__(None, None, None)


@pytest.fixture(params=["redis", "file"])
def withdrawals(request, tmp_path, redis_client):
    return Withdrawals(tmp_path / ".local", redis_client if request.param == "redis" else None)


def test_a_node_that_went_away_in_a_release_is_rid_of_it_when_it_is_back(node, withdrawals):
    dying, fine = Scrapyd("v1"), Scrapyd("v1")
    nodes = [node(dying, "dying"), node(fine, "fine")]
    dying.dies_at = "add"
    outcome = release(nodes, b"egg", "v2", withdrawals)
    with pytest.raises(DeployError, match=r"not withdrawn: dying: .*(?s:.*)what is left is recorded"):
        outcome.check()
    assert fine.versions == ["v1"]
    assert dying.versions == ["v1", "v2"], "it had landed before the node fell silent"
    assert [(one.url, one.version) for one in withdrawals.all()] == [(nodes[0].url, "v2")]

    assert settle(nodes, withdrawals).failed.keys() == {"dying"}
    assert len(withdrawals.all()) == 1, "still away"
    dying.dies_at = ""
    assert settle(nodes, withdrawals).done == {"dying": ["v2"]}
    assert dying.versions == ["v1"]
    assert withdrawals.all() == []


def test_a_version_that_a_job_uses_is_withdrawn_after_the_job(node, withdrawals):
    used, broken = Scrapyd("v1"), Scrapyd("v1", refuses=True)
    nodes = [node(used, "used"), node(broken, "broken")]
    used.pending = [{"id": "j1", "version": "v2"}]
    outcome = release(nodes, b"egg", "v2", withdrawals)
    assert isinstance(outcome.left["used"], VersionInUse)
    assert used.versions == ["v1", "v2"]
    assert settle(nodes, withdrawals).done == {"used": []}
    used.pending = []
    assert settle(nodes, withdrawals).done == {"used": ["v2"]}


def test_jobs_that_ran_before_the_release_are_not_in_its_way(node, withdrawals):
    """They say no version, and can use none that came after them."""
    older = Scrapyd("v1", refuses=True)
    older.running = [{"id": "silent", "log_url": "/logs/silent.log"}]
    outcome = release([node(older)], b"egg", "v2", withdrawals)
    assert outcome.withdrawn == ["n1"]
    assert older.versions == ["v1"]


def test_a_release_under_a_name_that_was_to_be_withdrawn_is_not_withdrawn_later(node, withdrawals):
    one = Scrapyd("v1")
    target = node(one)
    withdrawals.add(target, "v2", "failed before")
    release([target], b"egg", "v2", withdrawals).check()
    assert settle([target], withdrawals).done == {}
    assert one.versions == ["v1", "v2"]


def test_a_version_that_was_there_before_is_left_alone(node, withdrawals):
    has, lacks = Scrapyd("v1", "v2"), Scrapyd("v1")
    outcome = release([node(has, "has"), node(lacks, "lacks")], b"egg", "v2", withdrawals)
    with pytest.raises(DeployError, match="has: version v2 exists there already"):
        outcome.check()
    assert has.versions == ["v1", "v2"]
    assert lacks.versions == ["v1"]


def test_a_node_that_lists_other_spiders_fails_the_release(node, withdrawals):
    outcome = release([node(Scrapyd())], b"egg", "v1", withdrawals, expected=["site", "feed"])
    with pytest.raises(DeployError, match=r"n1: version v1 lists other spiders.*feed lacking"):
        outcome.check()


def test_a_job_that_comes_while_a_version_is_deleted_gets_it_back(node):
    """Scrapyd has no lock: the second look is what narrows the window."""
    one = Scrapyd("v1", "v2")
    one.comes_at_deletion = {"id": "late", "version": "v1"}
    with pytest.raises(VersionInUse, match="late"):
        take_away(NodeClient(node(one)), "v1", egg=b"egg")
    assert sorted(one.versions) == ["v1", "v2"]


def test_running_jobs_are_asked_for_their_version_in_their_logs(node):
    one = Scrapyd("v1", "v2", "v3")
    one.running = [{"id": job, "log_url": f"/logs/{job}.log"} for job in ("a", "b")]
    one.logs = {"a.log": "... INFO: This job runs version v1\n", "b.log": "... INFO: This job runs version v2\n"}
    client = NodeClient(node(one))
    with pytest.raises(VersionInUse, match=r"stays, since jobs use it: a$"):
        take_away(client, "v1")
    assert take_away(client, "v3")
    assert not take_away(client, "v3"), "it is gone already"


def test_both_places_are_read_and_what_is_not_ours_harms_no_neighbour(node, tmp_path, redis_client):
    target = node(Scrapyd("v1", "v2"))
    Withdrawals(tmp_path, None).add(target, "v1", "Redis was away")
    both = Withdrawals(tmp_path, redis_client)
    both.add(target, "v2", "Redis was there")
    redis_client.hset(KEY, "odd", "{")
    redis_client.hset(KEY, "odder", json.dumps({"colour": "blue"}))
    assert [one.version for one in both.all()] == ["v1", "v2"]
    assert settle([target], both).done == {"n1": ["v1", "v2"]}
    assert both.all() == []


def test_a_damaged_file_is_named(tmp_path):
    (tmp_path / "withdrawals.json").write_text("{")
    with pytest.raises(DeployError, match="is damaged"):
        Withdrawals(tmp_path, None).all()


def test_when_no_node_can_be_reached_that_is_the_exit_code(node, withdrawals):
    one = Scrapyd()
    target = node(one)
    with pytest.raises(ConnectError) as failed:
        release([type(target)("dead", "http://127.0.0.1:9/")], b"egg", "v1", withdrawals).check()
    assert failed.value.exit_code == 4
    assert "nothing was sent" in str(failed.value)


def test_while_redis_is_away_the_file_has_them(tmp_path):
    """It answered when the release began."""
    away = redis.Redis(host="127.0.0.1", port=9, retry=Retry(NoBackoff(), 0))
    both = Withdrawals(tmp_path, away)
    node = Node("n1", "http://n1/")
    both.add(node, "v1", "why")
    assert [one.version for one in both.all()] == ["v1"]
    both.drop(node, "v1")
    assert both.all() == []
    with pytest.raises(ConnectError, match="Redis does not answer"):
        set_draining(away, "n1", draining=True)


def test_a_job_that_waits_without_a_version_holds_the_only_one_there_is(node):
    one = Scrapyd("v1", "v2")
    one.pending = [{"id": "plain", "version": None}]
    client = NodeClient(node(one))
    assert take_away(client, "v2"), "it will run what is the newest then"
    with pytest.raises(VersionInUse, match="plain"):
        take_away(client, "v1")
