"""python-scrapyd-api as it is published: the scripts that people have keep working."""

from __future__ import annotations

import pytest
from scrapyd_api import FINISHED, PENDING, RUNNING, ScrapydAPI

from deploy.client import NodeClient
from tests.deploy.conftest import eventually
from tests.deploy.doors.conftest import log_line

pytestmark = pytest.mark.slow


def test_every_method_of_scrapyd_api(released, egg):
    node = released[0]
    project = node.project
    api = ScrapydAPI(node.url, auth=(node.username, node.password))

    assert project in api.list_projects()
    assert api.add_version(project, "v2", egg) == len(api.list_spiders(project))
    assert api.list_versions(project) == ["v1", "v2"]
    assert {"site", "lingering"} <= set(api.list_spiders(project))

    job = api.schedule(project, "lingering", settings={"DOWNLOAD_DELAY": 7}, colour="blue", _version="v1")
    assert api.job_status(project, job) in {PENDING, RUNNING}
    eventually(lambda: api.job_status(project, job) == RUNNING)
    (entry,) = api.list_jobs(project)["running"]
    assert entry["id"] == job

    said = eventually(lambda: log_line(node, job))
    assert "delay 7.0" in said
    assert "'colour': 'blue'" in said

    assert api.cancel(project, job) == RUNNING
    eventually(lambda: api.job_status(project, job) == FINISHED)
    assert api.delete_version(project, "v2") is True
    assert api.list_versions(project) == ["v1"]
    assert api.delete_project(project) is True
    assert project not in api.list_projects()


def test_a_workers_code_lies_in_the_egg(released):
    """A checkout on a node's path would run instead of what was pushed, because Scrapyd appends the egg to it."""
    for node in released:
        client = NodeClient(node)
        job = client.schedule(node.project, "lingering", short="1", _version="v1")
        eventually(lambda: client.status(job) == "finished")  # noqa: B023 - called before the next turn
        assert f"/{node.name}/eggs/{node.project}/v1.egg/spiders_project/__init__.py" in log_line(node, job)
