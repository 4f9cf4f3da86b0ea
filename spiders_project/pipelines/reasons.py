"""Why an item is not stored."""

from __future__ import annotations

from spiders_project.errors import RejectedItem


class Rejection(RejectedItem):
    """An item cannot be stored.

    Attributes:
        code: The short reason that its stat is counted under: ``items/rejected/<code>``.
        reason: Field and reason, for the log and for ``<collection>_rejected``.
        size: Its bytes, when it is too large.
    """

    def __init__(self, code: str, reason: str, size: int | None = None) -> None:
        super().__init__(reason)
        self.code = code
        self.reason = reason
        self.size = size
