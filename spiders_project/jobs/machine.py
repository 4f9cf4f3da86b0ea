"""How busy this machine is, and how large this process."""

from __future__ import annotations

import os
import sys
from pathlib import Path


def load_average() -> float | None:
    """The load average over the last minute; None where the system has none."""
    try:
        return round(os.getloadavg()[0], 2)
    except (OSError, AttributeError):  # Windows has none
        return None


def resident_memory() -> int | None:
    """Resident memory of this process in bytes; None where it cannot be known."""
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[1])
        return pages * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError, IndexError):
        return _peak()


def _peak() -> int | None:
    """The most that it ever was, where the system tells nothing better."""
    try:
        import resource  # noqa: PLC0415 - Unix only
    except ImportError:
        return None
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if sys.platform == "darwin" else peak * 1024
