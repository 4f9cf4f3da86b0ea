"""The table for people."""

import pytest

from benchmarks.cli import PAGE
from benchmarks.errors import BenchError
from benchmarks.figures import Figure
from benchmarks.results import Row
from benchmarks.table import BEGIN, END, markdown, number, show, write_page

ROWS = [
    Row.of("speed: ours", Figure(1234.5, 1000.0, 1300.0), "pages/s"),
    Row.of("speed: ratio", 2.5, "times", peer="plain Scrapy, pages/s", peer_value=494.0, budget="≥ 2"),
    Row.of("loss: pages lost", 3.0, "pages", peer="stock", peer_value=40.0, budget="= 0"),
]
MACHINE = {"date": "2026-01-02T03:04:05Z", "cores": 2, "processor": "X", "memory_bytes": 2**33, "distribution": "Y"}


@pytest.mark.parametrize(("value", "text"), [(1234.5, "1,234"), (99.44, "99.4"), (0.0934, "0.0934"), (0, "0")])
def test_numbers_have_the_digits_that_matter(value, text):
    assert number(value) == text


def test_the_page_names_machine_versions_groups_and_what_disturbed():
    text = markdown(ROWS, MACHINE, {"python": "3.11"}, ["other programs took 1.5 cores\nmore"])
    assert "Measured on 2026-01-02: 2 cores of X, 8 GiB, Y." in text
    assert "python 3.11." in text
    assert "### speed" in text
    assert "| ratio | 2.5 times |  | plain Scrapy, pages/s: 494 | ≥ 2 | ok |" in text
    assert "| pages lost | 3 pages |  | stock: 40 | = 0 | NOT OK |" in text
    assert "| ours | 1,234 pages/s | 1,000 to 1,300 |  |  |  |" in text
    assert "- other programs took 1.5 cores\n" in text


def test_only_what_stands_between_the_marks_is_written(tmp_path):
    page = tmp_path / "performance.md"
    page.write_text(f"before\n{BEGIN}\nold \\1\n{END}\nafter\n")
    for _ in range(2):
        write_page(page, r"new \1")
    assert page.read_text() == f"before\n{BEGIN}\nnew \\1\n{END}\nafter\n"


def test_the_page_of_the_project_has_a_place_for_the_table(tmp_path):
    copy = tmp_path / "performance.md"
    copy.write_text(PAGE.read_text())
    write_page(copy, "new")
    assert f"{BEGIN}\nnew\n{END}" in copy.read_text()


def test_a_page_without_marks_stays_as_it_is(tmp_path):
    page = tmp_path / "performance.md"
    page.write_text("mine")
    with pytest.raises(BenchError, match="has no lines"):
        write_page(page, "new")
    assert page.read_text() == "mine"


def test_the_terminal_shows_every_row(capsys):
    show(ROWS)
    said = capsys.readouterr().out
    assert all(word in said for word in ("speed", "1,234 pages/s", "NOT OK", "stock: 40", "1,000 to 1,300"))
