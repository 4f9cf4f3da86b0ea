"""Waiting for conditions and not for seconds."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable


def wait_for(condition: Callable[[], object], seconds: float = 30, what: str | Callable[[], str] = "") -> None:
    """Wait until ``condition()`` is true.

    Raises:
        AssertionError: It is not, after ``seconds``; shows ``what``, or what that gives.
    """
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            raise AssertionError(f"not within {seconds} s: {what() if callable(what) else what}")
        time.sleep(0.02)
