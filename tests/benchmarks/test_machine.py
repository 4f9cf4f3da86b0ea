"""What else the machine does while we measure."""

import subprocess
import sys
from dataclasses import replace

import pytest

from benchmarks.machine import Look, Watch, describe, disturbances, versions

QUIET = Look(at=100.0, busy=50.0, stolen=0.0, own=20.0, swapped=0, hertz=3000.0)


def test_our_own_work_is_no_disturbance():
    assert disturbances(QUIET, replace(QUIET, at=110.0, busy=69.0, own=38.5)) == []


@pytest.mark.parametrize(
    ("after", "said"),
    [
        ({"busy": 60.0}, "other programs took 1.00 cores"),
        ({"swapped": 5_000_000}, "5 MB were swapped"),
        ({"stolen": 4.0}, "other machines on this hardware took 0.40 cores"),
        ({"hertz": 2000.0}, "the processor slowed down from 3000 to 2000 MHz"),
    ],
)
def test_what_is_not_ours_is_told(after, said):
    assert disturbances(QUIET, replace(QUIET, at=110.0, **after)) == [said]


def test_a_short_look_says_nothing_of_other_programs():
    assert disturbances(QUIET, replace(QUIET, at=100.5, busy=51.0)) == []


def test_the_work_of_children_that_have_ended_is_ours():
    before = Look.now()
    subprocess.run([sys.executable, "-c", "sum(range(10**7))"], check=True)
    assert Look.now().own - before.own > 0.05


def test_a_disturbance_is_said_once_whatever_its_numbers(capsys):
    watch = Watch()
    for cores in (1.5, 1.7):
        watch.note(f"latency: other programs took {cores} cores")
    watch.note("growth: other programs took 1.5 cores")
    assert watch.notes == ["latency: other programs took 1.5 cores", "growth: other programs took 1.5 cores"]
    assert capsys.readouterr().err.count("disturbed") == 2


def test_machine_and_versions_are_named():
    assert {"date", "processor", "cores", "memory_bytes", "system"} <= set(describe())
    found = versions()
    assert {"python", "scrapy", "scrapy-redis", "redis-server"} <= set(found)
    assert "(" in found["redis-server"], "with its allocator"
