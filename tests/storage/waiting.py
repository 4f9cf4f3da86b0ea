"""Wait for conditions, not for seconds."""

from __future__ import annotations

import time


def wait_for(condition, what, timeout=30):
    """Wait until ``condition()`` is true, and give its value."""
    deadline = time.monotonic() + timeout
    while not (value := condition()):
        if time.monotonic() > deadline:
            raise AssertionError(f"{what} did not happen within {timeout} s")
        time.sleep(0.05)
    return value
