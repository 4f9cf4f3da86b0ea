"""The suite notices when a promise is broken: three sabotaged frontiers, and one that is not, as the control."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SUITE = "tests/conformance"
NOT_SABOTAGED = "test_sabotage"


def failures(variant: str, *tests: str) -> set[str]:
    """Names of the tests that fail on the sabotaged ``variant``."""
    command = [sys.executable, "-m", "pytest", "-q", "-p", "tests.conformance.sabotage", "-p", "no:cacheprovider"]
    command += ["-k", f"not [model] and not {NOT_SABOTAGED}", "-m", "not soak", *tests]
    environment = {**os.environ, "SABOTAGE": variant}
    done = subprocess.run(command, cwd=ROOT, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode in (0, 1), done.stdout + done.stderr
    return set(re.findall(r"^FAILED \S+::(\w+)", done.stdout, re.MULTILINE))


CASES = [
    ("no_lease", "test_leases.py", "test_the_leases_of_a_dead_worker_return_to_their_old_place"),
    ("two_steps", "test_crash_points.py", "test_a_killed_worker_leaves_a_consistent_frontier"),
    ("no_reaper", "test_leases.py", "test_the_leases_of_a_dead_worker_return_to_their_old_place"),
]


@pytest.mark.parametrize(("variant", "module", "test"), CASES)
def test_the_promise_that_is_broken_is_noticed(variant: str, module: str, test: str):
    assert failures(variant, f"{SUITE}/{module}::{test}") == {test}


def test_nothing_fails_where_nothing_is_broken():
    tests = {f"{SUITE}/{module}::{test}" for _, module, test in CASES}
    assert failures("none", *sorted(tests)) == set()


@pytest.mark.soak
@pytest.mark.timeout(600)
@pytest.mark.parametrize(("variant", "module", "test"), CASES)
def test_the_whole_suite_notices(variant: str, module: str, test: str):
    assert {test, "test_redis_does_what_the_model_does_for_twenty_thousand_steps"} <= failures(variant, SUITE)
