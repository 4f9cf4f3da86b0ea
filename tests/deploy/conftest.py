"""A copy of the checkout to build from: what git knows, so that tests never write into the tree under test."""

from __future__ import annotations

import shutil
import subprocess
import time
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def copy_checkout(copy: Path) -> Path:
    """Copy the project's root to ``copy``, as a fresh clone with the work in progress would have it."""
    listed = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "-z"], cwd=ROOT, capture_output=True, check=True, text=True
    )
    for name in filter(None, listed.stdout.split("\0")):
        source, target = ROOT / name, copy / name
        if source.is_file():
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return copy


@pytest.fixture
def checkout(tmp_path) -> Path:
    """A copy of the checkout that the test may change."""
    return copy_checkout(tmp_path / "checkout")


def eventually(condition, seconds: float = 30, every: float = 0.1):
    """What ``condition()`` returns once it is true; fails when that takes longer than ``seconds``."""
    deadline = time.monotonic() + seconds
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {seconds} s"
        time.sleep(every)
    return value
