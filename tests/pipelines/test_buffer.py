"""The buffer is bounded in items and bytes, and whoever finds it full waits."""

from __future__ import annotations

import asyncio

import pytest

from spiders_project.pipelines.buffer import Batcher, Entry, Room


class Sink:
    """Stores batches when it is let to."""

    def __init__(self):
        self.batches = []
        self.open = asyncio.Event()

    async def store(self, batch):
        self.batches.append([entry.id for entry in batch])
        await self.open.wait()


def entry(number, size=10):
    return Entry(str(number), b"x" * size)


async def fill(room, batcher, numbers, size=10):
    for number in numbers:
        await room.enter(size)
        batcher.add(entry(number, size))


async def settle():
    for _ in range(20):
        await asyncio.sleep(0)


@pytest.mark.parametrize(("items", "size"), [(10, 10**6), (10**6, 100)])
def test_a_full_buffer_lets_nobody_in_until_a_batch_is_stored(items, size):
    async def run():
        sink, room = Sink(), Room(items, size)
        batcher = Batcher(sink.store, room, batch_size=5, flush_seconds=60)
        filling = asyncio.ensure_future(fill(room, batcher, range(25)))
        await settle()
        assert (room.items, room.size) == (10, 100)
        assert not filling.done()
        sink.open.set()
        await filling
        await batcher.drain()
        assert [one for batch in sink.batches for one in batch] == [str(number) for number in range(25)]
        assert (room.items, room.size) == (0, 0)

    asyncio.run(run())


def test_an_entry_larger_than_the_bound_comes_alone():
    async def run():
        room = Room(10, 100)
        await room.enter(1000)
        assert room.full(1)
        room.leave(1, 1000)
        assert not room.full(1)

    asyncio.run(run())


def test_one_batch_is_in_flight_and_the_next_one_gathers():
    async def run():
        sink = Sink()
        batcher = Batcher(sink.store, Room(100, 10**6), batch_size=5, flush_seconds=60)
        for number in range(12):
            batcher.add(entry(number))
        await settle()
        assert sink.batches == [["0", "1", "2", "3", "4"]]
        sink.open.set()
        await settle()
        assert sink.batches == [["0", "1", "2", "3", "4"], ["5", "6", "7", "8", "9"]]
        await batcher.drain()
        assert sink.batches[-1] == ["10", "11"]

    asyncio.run(run())


def test_entries_of_one_id_become_one_and_all_holds_stay():
    first, second = entry(1), Entry("1", b"longer than that", holds=["hold"])
    first.absorb(second)

    assert (first.raw, first.holds, first.items, first.size) == (second.raw, ["hold"], 2, 26)


def test_what_was_not_stored_is_counted_when_the_buffer_is_abandoned():
    async def run():
        batcher = Batcher(Sink().store, Room(100, 10**6), batch_size=5, flush_seconds=60)
        for number in range(12):
            batcher.add(entry(number))
        await settle()
        assert batcher.abandon() == 12
        await settle()

    asyncio.run(run())


def test_a_fault_of_ours_is_tried_again_and_loses_nothing(monkeypatch, caplog):
    monkeypatch.setattr("spiders_project.pipelines.buffer.FAULT_SECONDS", 0)
    stored = []

    async def store(batch):
        if len(stored) < 2:
            stored.append("fault")
            raise ZeroDivisionError
        stored.append([entry.id for entry in batch])

    async def run():
        batcher = Batcher(store, Room(100, 10**6), batch_size=5, flush_seconds=60)
        batcher.add(entry(1))
        await batcher.drain()

    asyncio.run(run())
    assert stored == ["fault", "fault", ["1"]]
    assert "A batch could not be stored" in caplog.text


def test_a_large_entry_gets_in_before_small_ones_that_came_later():
    async def run():
        room, order = Room(items=100, size=100), []

        async def enter(name, size):
            await room.enter(size)
            order.append(name)

        await room.enter(60)
        waiting = [asyncio.create_task(enter(name, size)) for name, size in (("gone", 90), ("large", 90), ("small", 1))]
        await asyncio.sleep(0)
        waiting[0].cancel()
        await asyncio.sleep(0)
        assert order == []
        room.leave(1, 60)
        await asyncio.gather(*waiting[1:])
        assert (room.items, room.size) == (2, 91)
        return order

    assert asyncio.run(run()) == ["large", "small"]
