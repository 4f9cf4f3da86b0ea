"""The gate by itself, over a frontier that grants what the test says."""

import asyncio

import pytest

from spiders_project.frontier.contract import Grant, HostLimits, Left, Slow
from spiders_project.frontier.gate import MOST_BOOKINGS, PATIENCE, SLACK, Gate
from spiders_project.frontier.ticket import GateClosed, NotNow, Ticket


class Granting:
    """Grants in the order given; remembers what was asked."""

    def __init__(self, *grants):
        self.grants = list(grants)
        self.calls = []

    async def book(self, asks):
        self.calls.append(list(asks))
        return [self.grants.pop(0) for _ in asks]


def gate_over(frontier, limits, held=1, tickets=()):
    said = []
    gate = Gate(
        frontier, limits_of=lambda host: limits, held=lambda host: held, tickets=lambda: tickets, say=said.append
    )
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
        older = Ticket("a", asyncio.get_running_loop().time())
        gate.pause_all("a", 0.08)
        loop = asyncio.get_running_loop()
        before = loop.time()
        await gate.enter(Ticket("b", before))
        await asyncio.sleep(0.001)
        await gate.enter(claimed())
        assert loop.time() - before < 0.08, "another host, and a claim that Redis gave in spite of the pause"
        await gate.enter(older)
        assert loop.time() - before >= 0.08

    asyncio.run(main())


def test_a_claim_that_would_have_to_wait_for_long_goes_back_and_leaves_its_place():
    async def main():
        gate, _ = gate_over(Granting(Grant(wait_ms=9000, granted=False)), HostLimits(delay_ms=9000, concurrency=1))
        with pytest.raises(NotNow):
            await gate.enter(claimed(late=1))
        older = claimed()
        gate.pause_all("a", PATIENCE + 1)
        with pytest.raises(NotNow):
            await gate.enter(older)
        await asyncio.wait_for(gate.enter(claimed()), 1)

    asyncio.run(main())


def test_what_never_was_claimed_borrows_the_turn_of_a_request_that_has_not_come_yet():
    async def main():
        page, robots = claimed(), Ticket("a")
        frontier = Granting(Grant(wait_ms=30, booking=8))
        gate, _ = gate_over(frontier, HostLimits(delay_ms=1000, concurrency=1), tickets=[page])
        await gate.enter(robots)
        assert frontier.calls == [], "it starts at once"
        gate.leave(robots)
        await gate.enter(page)
        assert [(ask.host, ask.booking) for ask in frontier.calls[0]] == [("a", 0)], "and the page books anew"

    asyncio.run(main())


def test_who_starts_late_after_its_wait_books_again_and_a_loop_that_is_never_on_time_starts_in_the_end(monkeypatch):
    async def main():
        frontier = Granting(*(Grant(wait_ms=1, booking=number) for number in range(1, 10)))
        gate, _ = gate_over(frontier, HostLimits(delay_ms=1000))
        sleep = gate._sleep

        async def oversleep(ticket, seconds):
            await sleep(ticket, seconds + 2 * SLACK)

        monkeypatch.setattr(gate, "_sleep", oversleep)
        await gate.enter(Ticket("a", 0.0, booking=0))
        assert [call[0].booking for call in frontier.calls] == list(range(MOST_BOOKINGS))

    asyncio.run(main())


def test_what_a_host_asks_for_holds_for_claims_that_were_made_before_and_is_told_when_it_changes():
    async def main():
        frontier = Granting(Grant(wait_ms=0, booking=8))
        gate, said = gate_over(frontier, HostLimits())
        older = Ticket("a", asyncio.get_running_loop().time())
        await asyncio.sleep(0.001)
        for seconds in (2.0, 2.1, 4.0):
            gate.slow("a", seconds)
        assert said == [Slow("a", 2000), Slow("a", 4000)]
        await gate.enter(older)
        assert [(ask.delay_ms, ask.patience_ms) for ask in frontier.calls[0]] == [(4000, PATIENCE * 1000)]
        await gate.enter(Ticket("b", 0.0))
        assert len(frontier.calls) == 1, "another host"

    asyncio.run(main())


def test_a_closed_gate_lets_no_claim_in_and_tells_those_who_wait():
    async def main():
        gate, _ = gate_over(Granting(), HostLimits(concurrency=1))
        await gate.enter(claimed())
        waiting = asyncio.ensure_future(gate.enter(claimed()))
        older = Ticket("b", asyncio.get_running_loop().time())
        gate.pause_all("b", PATIENCE * 0.9)
        paused = asyncio.ensure_future(gate.enter(older))
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
        gate.pause_all("a", 60)
        media = asyncio.ensure_future(gate.enter(Ticket("a")))
        await asyncio.sleep(0.05)
        gate.close()
        with pytest.raises(GateClosed):
            await asyncio.wait_for(media, 2)

    asyncio.run(main())


def test_what_redis_says_of_pauses_ends_those_that_began_before_it_was_asked(monkeypatch):
    async def main():
        monkeypatch.setattr("spiders_project.frontier.gate.LOOK_AGAIN", 0.01)
        gate, _ = gate_over(Granting(), HostLimits())
        loop = asyncio.get_running_loop()
        gate.heard({"a": 60.0}, loop.time())
        files = asyncio.ensure_future(gate.enter(Ticket("a")))
        await asyncio.sleep(0.03)
        assert not files.done()
        asked_at = loop.time()
        await asyncio.sleep(0.001)
        gate.pause_all("b", 60)
        gate.heard({}, asked_at)
        await asyncio.wait_for(files, 1)
        later = asyncio.ensure_future(gate.enter(Ticket("b")))
        await asyncio.sleep(0.03)
        assert not later.done(), "Redis has not heard of this one"
        later.cancel()

    asyncio.run(main())


def test_a_delay_that_only_redis_knows_counts_for_what_never_was_claimed_too():
    async def main():
        page, robots = claimed(), Ticket("a")
        frontier = Granting(Grant(wait_ms=9000, granted=False))
        gate, _ = gate_over(frontier, HostLimits(concurrency=1), tickets=[page])
        await gate.enter(robots)
        assert (robots.booking, page.booking) == (7, 0), "the turn of the page is used up"
        gate.leave(robots)
        with pytest.raises(NotNow):
            await gate.enter(page)

    asyncio.run(main())
