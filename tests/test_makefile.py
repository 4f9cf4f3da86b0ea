"""The Makefile: lists what it has, hands over what people type untouched, refuses an old Python."""

from __future__ import annotations

import re
import subprocess
from pathlib import Path

import pytest

CHECKOUT = Path(__file__).parents[1]


def make(*arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
    command = ["make", "--no-print-directory", *arguments]
    environment.setdefault("PATH", "/usr/local/bin:/usr/bin:/bin")
    return subprocess.run(command, cwd=CHECKOUT, env=environment, capture_output=True, text=True, check=False)


def test_without_a_target_it_lists_every_target() -> None:
    phony = re.search(r"^\.PHONY: (.*)$", (CHECKOUT / "Makefile").read_text(), re.MULTILINE)
    assert phony
    listed = re.findall(r"^  make (\w+)  ", make().stdout, re.MULTILINE)
    assert listed == phony[1].split()


@pytest.mark.parametrize("url", ["https://example.org/?a=1&b=2;c", "https://example.org/'\"`id` x#y"])
@pytest.mark.parametrize("typed", ["make crawl URL=…", "URL=… make crawl"])
def test_what_people_type_reaches_the_command_untouched(url: str, typed: str, tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o700)
    variables = {"URL": url, "PAGES": "5", "CONTACT": "me@example.org"}
    fixed = ("-o", ".venv/installed", "crawl", f"BIN={tmp_path}")
    if typed.startswith("make"):
        said = make(*fixed, *(f"{name}={value}" for name, value in variables.items()))
    else:
        said = make(*fixed, **variables)
    assert said.stdout.splitlines() == [
        *("-m", "deploy", "crawl", "--url", url, "--pages", "5", "--contact", "me@example.org")
    ]


def test_what_is_asked_of_the_bench_reaches_it(tmp_path: Path) -> None:
    python = tmp_path / "python"
    python.write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
    python.chmod(0o700)
    fixed = ("-o", ".venv/installed-bench", "bench", f"BIN={tmp_path}")
    assert make(*fixed).stdout.split() == ["-m", "benchmarks"]
    said = make(*fixed, "QUICK=1", "ONLY=memory,growth", "DOCS=1").stdout.split()
    assert said == ["-m", "benchmarks", "--quick", "--docs", "--only", "memory,growth"]


def test_an_old_python_is_refused_with_what_to_do(tmp_path: Path) -> None:
    old = tmp_path / "python2"
    old.write_text("#!/bin/sh\nexit 1\n")
    old.chmod(0o700)
    said = make("venv", f"PYTHON={old}", f"VENV={tmp_path}/venv")
    assert said.returncode == 2
    assert "Python 3.10 or newer is needed: make venv PYTHON=" in said.stderr
    assert not (tmp_path / "venv").exists()
