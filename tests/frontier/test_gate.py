"""The gate by itself, over a frontier that grants what the test says."""

import asyncio

import pytest

from spiders_project.frontier.contract import Grant, HostLimits, Left
from spiders_project.frontier.gate import SLACK, Gate, GateClosed, Ticket


class Granting:
    """Grants in the order given; remembers what was asked."""

    def __init__(self, *grants):
        self.grants = list(grants)
        self.calls = []

    async def book(self, asks):
        self.calls.append(list(asks))
        return [self.grants.pop(0) for _ in asks]


def gate_over(frontier, limits, held=1):
    said = []
    gate = Gate(frontier, limits_of=lambda host: limits, held=lambda host: held, say=said.append)
    return gate, said


def claimed(late=0.0):
    return Ticket("a", asyncio.get_running_loop().time() - late, booking=7)


def test_a_request_that_starts_when_it_was_claimed_asks_nobody():
    async def main():
        frontier = Granting()
        gate, _ = gate_over(frontier, HostLimits(delay_ms=1000, concurrency=1))
        await gate.enter(claimed())
        assert frontier.calls == []

    asyncio.run(main())


def test_a_late_start_shows_its_booking_and_waits_as_told():
    async def main():
        frontier = Granting(Grant(wait_ms=60))
        gate, _ = gate_over(frontier, HostLimits(delay_ms=1000))
        loop = asyncio.get_running_loop()
        before = loop.time()
        await gate.enter(claimed(late=SLACK * 2))
        assert loop.time() - before >= 0.06
        assert [(ask.host, ask.booking, ask.slot) for ask in frontier.calls[0]] == [("a", 7, False)]

    asyncio.run(main())


def test_those_who_come_together_ask_in_one_call():
    async def main():
        frontier = Granting(Grant(0), Grant(0))
        gate, _ = gate_over(frontier, HostLimits(delay_ms=1000))
        await asyncio.gather(gate.enter(claimed(late=1)), gate.enter(claimed(late=1)))
        assert [len(call) for call in frontier.calls] == [2]

    asyncio.run(main())


def test_what_never_was_claimed_borrows_the_slot_of_a_request_that_does_not_download_yet():
    async def main():
        frontier = Granting()
        gate, said = gate_over(frontier, HostLimits(concurrency=1))
        robots = Ticket("a")
        await gate.enter(robots)
        page = asyncio.ensure_future(gate.enter(claimed()))
        await asyncio.sleep(0.01)
        assert not page.done(), "its slot is lent"
        gate.leave(robots)
        await asyncio.wait_for(page, 1)
        assert (frontier.calls, said) == ([], [])

    asyncio.run(main())


def test_it_gets_a_slot_of_its_own_where_none_can_be_lent_and_gives_it_back():
    async def main():
        frontier = Granting(Grant(10, granted=False), Grant(0, slot_id="!1"))
        gate, said = gate_over(frontier, HostLimits(concurrency=1), held=0)
        media = Ticket("a")
        await gate.enter(media)
        assert gate.slot_ids == {"!1"}
        gate.leave(media)
        assert said == [Left("!1")]
        assert gate.slot_ids == set()

    asyncio.run(main())


def test_a_pause_holds_claims_that_were_made_before_it():
    async def main():
        gate, _ = gate_over(Granting(), HostLimits(concurrency=4), held=4)
        gate.pause("a", 0.08)
        loop = asyncio.get_running_loop()
        before = loop.time()
        await gate.enter(Ticket("b", before))
        assert loop.time() - before < 0.08, "another host"
        await gate.enter(claimed())
        assert loop.time() - before >= 0.08

    asyncio.run(main())


def test_a_closed_gate_lets_no_claim_in_and_tells_those_who_wait():
    async def main():
        gate, _ = gate_over(Granting(), HostLimits(concurrency=1))
        await gate.enter(claimed())
        waiting = asyncio.ensure_future(gate.enter(claimed()))
        gate.pause("b", 60)
        paused = asyncio.ensure_future(gate.enter(Ticket("b", asyncio.get_running_loop().time())))
        await asyncio.sleep(0.01)
        gate.close()
        for late in (waiting, paused):
            with pytest.raises(GateClosed):
                await asyncio.wait_for(late, 1)

    asyncio.run(main())


@pytest.mark.parametrize(
    "frontier", [Granting(), Granting(*[Grant(20, granted=False)] * 50)], ids=["paused", "no slot"]
)
def test_a_closed_gate_does_not_keep_the_worker_for_a_file_that_must_wait_long(monkeypatch, frontier):
    monkeypatch.setattr("spiders_project.frontier.gate.CLOSING_PATIENCE", 0.1)

    async def main():
        gate, _ = gate_over(frontier, HostLimits(concurrency=1), held=0 if frontier.grants else 1)
        gate.pause("a", 60)
        media = asyncio.ensure_future(gate.enter(Ticket("a")))
        await asyncio.sleep(0.05)
        gate.close()
        with pytest.raises(GateClosed):
            await asyncio.wait_for(media, 2)

    asyncio.run(main())
