"""``curl`` on every endpoint of Scrapyd, as its documentation has it."""

from __future__ import annotations

import json

import pytest

from deploy.environment import stack_nodes
from tests.deploy.conftest import eventually
from tests.deploy.doors.conftest import log_line, run

pytestmark = pytest.mark.slow


@pytest.fixture
def curl(released):
    """``curl(endpoint, name=value…)``: GET, or POST with ``post=True``; the answer, which must be a success."""
    node = released[0]

    def call(endpoint: str, *pairs: str, post: bool = False) -> dict:
        fields = [part for pair in pairs for part in ("-d" if post else "--data-urlencode", pair)]
        done = run(
            *("curl", "-sS", "--fail", "-u", f"{node.username}:{node.password}"),
            *(() if post else ("-G",)),
            *(f"{node.url}{endpoint}", *fields),
        )
        assert done.returncode == 0, done.stderr
        answer = json.loads(done.stdout)
        assert answer["status"] == "ok", answer
        return answer

    call.project = f"project={node.project}"
    call.node = node
    return call


def test_the_life_of_a_job_by_curl_alone(curl):
    project = curl.project
    assert curl("daemonstatus.json")["running"] == 0
    assert curl.node.project in curl("listprojects.json")["projects"]
    assert curl("listversions.json", project)["versions"] == ["v1"]
    assert "site" in curl("listspiders.json", project)["spiders"]
    assert "site" in curl("listspiders.json", project, "_version=v1")["spiders"]

    job = curl(*("schedule.json", project, "spider=lingering", "setting=DOWNLOAD_DELAY=7", "colour=blue"), post=True)[
        "jobid"
    ]
    eventually(lambda: curl("status.json", f"job={job}")["currstate"] == "running")
    # Scrapyd answers "cancelled" also while the process is too young to hear a signal.
    eventually(lambda: log_line(curl.node, job))
    assert [entry["id"] for entry in curl("listjobs.json", project)["running"]] == [job]

    assert curl("cancel.json", project, f"job={job}", post=True)["prevstate"] == "running"
    eventually(lambda: curl("status.json", f"job={job}", project)["currstate"] == "finished")
    assert [entry["id"] for entry in curl("listjobs.json", project)["finished"]] == [job]


def test_a_job_scheduled_with_version_and_id_of_ones_own(curl):
    answer = curl(
        *("schedule.json", curl.project, "spider=lingering", "_version=v1", "jobid=mine", "short=1"), post=True
    )
    assert answer["jobid"] == "mine"
    eventually(lambda: curl("status.json", "job=mine")["currstate"] == "finished")


def test_versions_and_projects_are_deleted(curl, egg):
    node = curl.node
    done = run(
        *("curl", "-sS", "-u", f"{node.username}:{node.password}", f"{node.url}addversion.json"),
        *("-F", curl.project, "-F", "version=v2", "-F", "egg=@-;filename=project.egg"),
        input=egg,
    )
    assert json.loads(done.stdout)["spiders"] > 0
    assert curl("listversions.json", curl.project)["versions"] == ["v1", "v2"]
    curl("delversion.json", curl.project, "version=v2", post=True)
    assert curl("listversions.json", curl.project)["versions"] == ["v1"]
    curl("delproject.json", curl.project, post=True)
    assert node.project not in curl("listprojects.json")["projects"]


def test_a_node_answers_nobody_without_a_password(stack):
    url = stack_nodes(stack)[0].url
    done = run("curl", "-s", "-o", "-", "-w", "%{http_code}", f"{url}daemonstatus.json")
    assert done.stdout.endswith("401")
