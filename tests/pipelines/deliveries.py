"""Deliveries made by hand, which remember that they were settled."""

from __future__ import annotations

from spiders_project.delivery import Delivery, Origin


class Settled:
    """Makes deliveries, and knows the ids of those that are settled."""

    def __init__(self):
        self.ids: list[str] = []

    def delivery(self, request_id="request-1", fingerprint=b"fingerprint-1"):
        return Delivery(request_id, lambda: fingerprint, lambda delivery: self.ids.append(delivery.request_id))

    def origin(self, request_id="request-1", fingerprint=None, ordinal=0):
        return Origin(self.delivery(request_id, fingerprint or request_id.encode()), ordinal)
