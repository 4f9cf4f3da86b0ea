"""``scrapyd-deploy`` from the project's root: how people push who know Scrapyd."""

from __future__ import annotations

import pytest

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from tests.deploy.doors.conftest import PROJECT, run

pytestmark = pytest.mark.slow


def test_scrapyd_deploy_to_all_targets_lands_on_both_nodes(at_the_door, stack, monkeypatch):
    for name in stack.environment:
        monkeypatch.delenv(name)
    done = run("sh", "-c", ". .local/env && scrapyd-deploy -a", cwd=at_the_door)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"status": "ok"') == 2, done.stdout + done.stderr
    for node in stack_nodes(stack):
        client = NodeClient(node)
        assert len(client.list_versions(PROJECT)) == 1
        assert {"site", "catalogue", "sitemap", "feed"} <= set(client.list_spiders(PROJECT))


def test_scrapyd_deploy_to_one_target_lands_there_alone(at_the_door, stack):
    done = run("scrapyd-deploy", "node2", cwd=at_the_door)
    assert done.returncode == 0, done.stderr
    held = [NodeClient(node).list_versions(PROJECT) for node in stack_nodes(stack)]
    assert [len(versions) for versions in held] == [0, 1]


def test_no_password_stands_in_scrapy_cfg(at_the_door, stack):
    text = (at_the_door / "scrapy.cfg").read_text()
    for node in stack.nodes:
        assert node.password not in text
        assert f"password = ${node.name.upper()}_PASSWORD" in text


def test_what_scrapyd_deploy_pushed_last_is_what_our_schedule_runs(at_the_door, stack):
    assert run("python", "-m", "deploy", "push", "--version", "1000000000-old", cwd=at_the_door).returncode == 0
    assert run("scrapyd-deploy", "-a", cwd=at_the_door).returncode == 0
    newest = NodeClient(stack_nodes(stack)[0]).list_versions(PROJECT)[-1]
    done = run("python", "-m", "deploy", "schedule", "lingering", "-a", "short=1", cwd=at_the_door)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count(newest) == 2
