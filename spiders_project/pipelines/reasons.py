"""Why an item is not stored."""

from __future__ import annotations

from spiders_project.errors import RejectedItem

#: Characters of a reason; validators and MongoDB quote the whole value that does not fit.
LONGEST_REASON = 300


def shorten(text: str) -> str:
    """A reason that fits into a log line."""
    return text if len(text) <= LONGEST_REASON else f"{text[:LONGEST_REASON]}…"


class Rejection(RejectedItem):
    """An item cannot be stored.

    Attributes:
        code: The short reason that its stat is counted under: ``items/rejected/<code>``.
        reason: Field and reason, for the log and for ``<collection>_rejected``.
        size: Its bytes, when it is too large.
    """

    def __init__(self, code: str, reason: str, size: int | None = None) -> None:
        self.reason = shorten(reason)
        super().__init__(self.reason)
        self.code = code
        self.size = size
