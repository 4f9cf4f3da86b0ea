"""The verbs: data on standard output, progress on standard error, exit codes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[3]


def deploy(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-m", "deploy", *arguments]
    return subprocess.run(command, cwd=CHECKOUT, capture_output=True, text=True, check=False, env=environment or None)


def test_up_status_down(server_directory: Path) -> None:
    where = ("--dir", str(server_directory / ".local"))
    try:
        up = deploy("up", "--nodes", "1", *where)
        assert (up.returncode, up.stdout) == (0, "")
        assert "redis started on 127.0.0.1:" in up.stderr

        servers = json.loads(deploy("status", "--json", *where).stdout)["servers"]
        assert [server["name"] for server in servers] == ["redis", "mongo", "node1"]
        assert {server["state"] for server in servers} == {"running"}
        assert servers[2]["running"] == 0
        assert f"node1    running  {servers[2]['pid']}" in deploy("status", *where).stdout
    finally:
        down = deploy("down", *where)
    assert (down.returncode, down.stdout) == (0, "")
    assert "the stack is down" in down.stderr


def test_status_without_a_stack_says_how_to_get_one(tmp_path: Path) -> None:
    status = deploy("status", "--dir", str(tmp_path))
    assert (status.returncode, status.stdout) == (0, "")
    assert "`python -m deploy up` starts one" in status.stderr


@pytest.mark.parametrize(
    ("arguments", "environment", "code"),
    [
        (("up", "--nodes", "0"), {}, 2),
        (("up", "--dir", __file__), {}, 2),
        (
            ("up", "--nodes", "1"),
            {"REDIS_URL": "redis://127.0.0.1:1", "MONGO_URI": "mongodb://127.0.0.1:x"},
            4,
        ),
    ],
)
def test_faults_have_their_exit_codes_and_no_traceback(
    arguments: tuple[str, ...], environment: dict[str, str], code: int, tmp_path: Path
) -> None:
    if "--dir" not in arguments:
        arguments += ("--dir", str(tmp_path / ".local"))
    failed = deploy(*arguments, **environment)
    assert (failed.returncode, failed.stdout) == (code, "")
    assert "Traceback" not in failed.stderr
    assert "rror: " in failed.stderr
