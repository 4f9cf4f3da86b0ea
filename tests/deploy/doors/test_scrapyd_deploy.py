"""``scrapyd-deploy`` from the project's root: how people push who know Scrapyd."""

from __future__ import annotations

import pytest

from deploy.client import NodeClient
from deploy.environment import stack_nodes
from tests.deploy.doors.conftest import PROJECT, run

pytestmark = pytest.mark.slow


def test_scrapyd_deploy_to_all_targets_lands_on_both_nodes_and_is_what_our_schedule_runs(
    at_the_door, deploy, stack, monkeypatch
):
    """And builds for each node, where ours builds once for all: scrapyd-client#10."""
    setup = at_the_door / "setup.py"
    setup.write_text("import sys\nif 'bdist_egg' in sys.argv: open('builds', 'a').write('x')\n" + setup.read_text())
    builds = at_the_door / "builds"
    deploy("push", "--version", "1000000000-old")
    assert builds.read_text() == "x"
    builds.unlink()

    with monkeypatch.context() as patch:
        for name in stack.environment:
            patch.delenv(name)
        done = run("sh", "-c", ". .local/env && scrapyd-deploy -a", cwd=at_the_door)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count('"status": "ok"') == 2, done.stdout + done.stderr
    assert builds.read_text() == "xx"
    newest = set()
    for node in stack_nodes(stack):
        client = NodeClient(node)
        old, new = client.list_versions(PROJECT)
        assert old == "1000000000-old"
        newest.add(new)
        assert {"site", "catalogue", "sitemap", "feed"} <= set(client.list_spiders(PROJECT))
    (version,) = newest
    out, _ = deploy("schedule", "lingering", "-a", "short=1")
    assert out.count(version) == 2


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
