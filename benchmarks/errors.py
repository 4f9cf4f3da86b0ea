"""What the bench raises."""

from __future__ import annotations


class BenchError(Exception):
    """Raised when something cannot be measured, from any module; says what, and what to do."""
