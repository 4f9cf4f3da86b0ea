"""The verbs of releases, where nodes are away, foreign, or have something left; no node is real here."""

from __future__ import annotations

import json
from contextlib import ExitStack
from pathlib import Path

import pytest

from deploy.claims import claimed
from deploy.withdrawals import Withdrawals
from tests.deploy.fake_node import fake_node
from tests.deploy.test_cli import call

LISTS = {"status": "ok", "pending": [], "running": [], "finished": []}


@pytest.fixture
def project(tmp_path, monkeypatch):
    """``project(a=answers, …)`` writes a scrapy.cfg with such nodes, and ``dead`` among them when it is None."""
    monkeypatch.chdir(tmp_path)
    with ExitStack() as stack:

        def write(**nodes):
            fakes = {name: stack.enter_context(fake_node(answers)) for name, answers in nodes.items() if answers}
            urls = {name: fakes[name].node().url if name in fakes else "http://127.0.0.1:9/" for name in nodes}
            (tmp_path / "scrapy.cfg").write_text("".join(f"[deploy:{n}]\nurl = {url}\n" for n, url in urls.items()))
            return fakes

        yield write


def versions(*held):
    return {"*": (200, {**LISTS, "versions": list(held), "spiders": ["site"], "projects": ["spiders_project"]})}


@pytest.mark.parametrize(("html", "said"), [((502, "<h1>no"), "no JSON"), (None, "cannot connect")])
def test_a_push_with_a_foreign_or_dead_node_ends_before_anything_is_built(project, capsys, html, said):
    fakes = project(fine=versions("v1"), odd=html)
    code, out, err = call(capsys, "push", "--json")
    assert code == 1
    assert said in err
    assert "nothing was sent to any node" in err
    assert "building" not in err
    assert list(json.loads(out)["failed"]) == ["odd"]
    assert not [asked for asked in fakes["fine"].asked if asked.startswith("POST")]


def test_a_version_that_somebody_else_is_releasing_is_neither_built_nor_sent(
    project, capsys, redis_client, redis_url, monkeypatch
):
    monkeypatch.setenv("REDIS_URL", redis_url)
    fakes = project(fine=versions("v1"))
    (Path.cwd() / "setup.py").touch()
    with claimed(redis_client, "spiders_project", "v2"):
        code, _, err = call(capsys, "push", "--version", "v2")
    assert code == 1
    assert "version v2 is being released by" in err
    assert "building" not in err
    assert not [asked for asked in fakes["fine"].asked if asked.startswith("POST")]


def test_versions_of_those_that_answer_are_shown_beside_one_that_does_not(project, capsys):
    project(fine=versions("1796067001-aaaaaaaa"), dead=None)
    code, out, err = call(capsys, "versions")
    assert code == 1
    assert "1796067001-aaaaaaaa" in out
    assert "dead: cannot connect" in err
    project(dead=None)
    assert call(capsys, "versions")[0] == 4


def test_what_is_left_to_withdraw_is_listed_and_withdrawn_by_the_next_look(project, capsys, tmp_path):
    held = ["v1", "v2"]

    def delete():
        held.remove("v2")
        return 200, {"status": "ok"}

    def listed():
        return 200, {**LISTS, "versions": list(held)}

    fakes = project(a={"/delversion.json": delete, "*": listed}, b=versions("v1"))
    Withdrawals.of(tmp_path, None).add(fakes["a"].node(), "v2", "node b lacks pymongo")
    left = json.loads(call(capsys, "withdraw", "--dry-run", "--json")[1])
    assert [(one["url"], one["version"], one["reason"]) for one in left] == [
        (fakes["a"].node().url, "v2", "node b lacks pymongo")
    ]
    assert held == ["v1", "v2"]
    code, _, err = call(capsys, "versions")
    assert code == 0
    assert "a: withdrew v2" in err
    assert held == ["v1"]
    assert json.loads(call(capsys, "withdraw", "--json")[1]) == []


def test_a_rollback_without_versions_says_to_push(project, capsys):
    project(a=versions())
    code, _, err = call(capsys, "rollback")
    assert code == 1
    assert "push` first" in err


def test_wrong_names_and_labels_are_wrong_use(project, capsys, tmp_path):
    project(a=versions("v1"))
    assert call(capsys, "delete", "v1.0")[0] == 2
    assert call(capsys, "prune", "--keep", "0")[0] == 2
    assert "no node is labelled fast" in call(capsys, "push", "--only", "fast")[2]
    (tmp_path / "fleet.toml").write_text("[nodes.a]\nlabels = 3\n")
    code, _, err = call(capsys, "versions", "--only", "fast")
    assert code == 2
    assert "line 2: nodes.a.labels" in err
