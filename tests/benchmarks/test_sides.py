"""Whether two sides did the same work, and what a worker that fails says."""

import os
import sys
from dataclasses import replace

import pytest

from benchmarks.errors import BenchError
from benchmarks.sides import Run, Side, Worker, command, differences, digest

PAGES = {"http://a/1", "http://a/2"}
RUN = Run(
    pages=2,
    seconds=4.0,
    cpu=1.0,
    page_set=digest([*PAGES]),
    item_set=digest(["{}"]),
    items=2,
    again=0,
    repeated=0,
    trouble={},
    memory=[],
    site_share=0.1,
    stats={},
)


def test_a_hash_knows_a_set_whatever_its_order():
    assert digest(["a", "b", "a"]) == digest(["b", "a"])
    assert digest(["a", "b"]) != digest(["a", "c"])


def test_equal_work_has_no_differences():
    assert RUN.rate == 0.5
    assert differences([RUN, RUN], PAGES) == []


def test_a_seed_that_scrapy_fetches_again_is_no_difference():
    again = replace(RUN, pages=3, items=3, again=1)
    assert differences([RUN, again], PAGES) == []


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (replace(RUN, pages=1, page_set=digest(["http://a/1"])), "not all fetched the 2 pages"),
        (replace(RUN, item_set=digest(["{1}"])), "the items differ"),
        (replace(RUN, items=1), "the items differ"),
        (replace(RUN, repeated=1), "1 pages were fetched twice"),
        (replace(RUN, trouble={"retry/count": 3}), "something failed: {'retry/count': 3}"),
    ],
)
def test_unequal_work_is_told(other, said):
    (found,) = differences([RUN, other], PAGES)
    assert found.startswith(said)


def test_both_sides_missing_the_same_page_is_told_too():
    assert differences([RUN, RUN], {*PAGES, "http://a/3"}) != []


def test_a_workers_command_line_has_its_settings_and_no_address():
    side = Side("ours", "same", "same_ours", options={"A": 1, "B": {"x": 2}})
    assert command(side)[3:] == ["crawl", "same", "-O", "items.jsonl:jsonlines", "-s", "A=1", "-s", 'B={"x": 2}']


def test_a_worker_that_fails_shows_the_end_of_its_log(tmp_path):
    worker = Worker([sys.executable, "-c", "raise SystemExit('no such luck')"], tmp_path, dict(os.environ))
    with pytest.raises(BenchError, match=r"(?s)exit code 1.*no such luck"):
        worker.wait(30)
    with pytest.raises(BenchError, match="left no figures"):
        worker.said()


def test_a_worker_that_does_not_end_is_given_up_and_killed_with_its_children(tmp_path):
    code = "import subprocess; subprocess.run(['sleep', '600'])"
    worker = Worker([sys.executable, "-c", code], tmp_path, dict(os.environ))
    with pytest.raises(BenchError, match="did not end within 0 s"):
        worker.wait(0.2)
    worker.kill()
    assert not worker.running
