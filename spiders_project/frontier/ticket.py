"""A download on its way through the gate, and what it hears where it may not start."""

from __future__ import annotations

from dataclasses import dataclass, field


class NotNow(Exception):  # noqa: N818 - a state, not a failure
    """The host may not be visited for a while; the claimed request was not started, and should go back."""


class GateClosed(NotNow):
    """The worker stops; the download was not started."""


@dataclass(slots=True, eq=False)
class Ticket:
    """One download on its way through the gate.

    Attributes:
        host: Its host.
        claimed_at: When its claim was asked for (the loop's clock); None when it never was claimed.
        booking: What its claim, or its last grant, booked.
        slot_id: The concurrency slot that it got for itself.
        entered: Whether it has come to the gate.
        due: When it may start by its booking (the loop's clock); None when it has none.
        booked_at: When it was booked.
    """

    host: str
    claimed_at: float | None = None
    booking: int = 0
    slot_id: str = ""
    entered: bool = False
    due: float | None = field(init=False)
    booked_at: float = field(init=False)

    def __post_init__(self) -> None:
        self.due = self.claimed_at
        self.booked_at = self.claimed_at or 0.0
