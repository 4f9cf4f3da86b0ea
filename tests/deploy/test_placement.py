"""Where the next worker goes; properties of all four ways, and what each is for."""

from __future__ import annotations

import random
from collections import Counter

from hypothesis import given
from hypothesis import strategies as st

from deploy.fleet import CrawlSpec
from deploy.placement import Room, choose, shortage

WAYS = ("spread", "least-loaded", "round-robin", "random")
rooms_strategy = st.lists(
    st.builds(
        Room,
        name=st.sampled_from("abcdefgh"),
        capacity=st.integers(0, 6),
        busy=st.integers(0, 4),
        weight=st.sampled_from([0.5, 1.0, 3.0]),
        labels=st.frozensets(st.sampled_from(["eu", "gpu"])),
        open=st.booleans(),
        mine=st.builds(dict),
    ),
    max_size=6,
    unique_by=lambda room: room.name,
)


def spec(placement: str = "spread", **fields):
    return CrawlSpec(spider="s", placement=placement, **fields)


def place(count: int, rooms: list[Room], of: CrawlSpec, **options) -> list[str]:
    names, turns = [], {}
    for _ in range(count):
        room = choose("c", of, rooms, turns=turns, **options)
        if room is None:
            break
        room.take("c")
        turns[room.name] = turns.get(room.name, 0) + 1
        names.append(room.name)
    return names


@given(rooms_strategy, st.sampled_from(WAYS), st.frozensets(st.sampled_from(["eu", "gpu"])), st.integers(1, 3))
def test_nobody_gets_more_than_he_can_take_and_all_that_fits_is_placed(rooms, way, labels, most):
    fits = sum(min(room.free, most) for room in rooms if labels <= room.labels)
    before = {room.name: (room.free, room.labels) for room in rooms}
    of = spec(way, labels=labels, max_per_node=most)
    names = place(100, rooms, of, rng=random.Random(1))
    assert len(names) == fits
    for name, count in Counter(names).items():
        free, has = before[name]
        assert count <= min(free, most)
        assert labels <= has
    assert shortage("c", of, rooms)


def test_spread_looks_at_this_crawl_and_least_loaded_at_all_jobs():
    def rooms():
        return [Room("a", 8, busy=3), Room("b", 8, busy=1)]

    assert place(4, rooms(), spec("spread")) == ["b", "a", "b", "a"]
    assert place(2, rooms(), spec("least-loaded")) == ["b", "b"]


def test_round_robin_gives_turns_whatever_has_become_of_the_earlier_ones():
    rooms = [Room("a", 8), Room("b", 8, mine={"c": 3}, busy=3)]
    assert place(4, rooms, spec("round-robin")) == ["a", "b", "a", "b"]


def test_a_heavier_node_gets_its_share():
    for way in WAYS:
        rooms = [Room("a", 100), Room("b", 100, weight=3)]
        counts = Counter(place(40, rooms, spec(way), rng=random.Random(2)))
        assert 27 <= counts["b"] <= 33, way


def test_the_node_where_the_last_one_failed_is_taken_only_when_there_is_no_other():
    rooms = [Room("a", 4), Room("b", 4, busy=3)]
    assert choose("c", spec(), rooms, avoid={"a"}).name == "b"
    assert choose("c", spec(), [Room("a", 4)], avoid={"a"}).name == "a"


def test_what_is_short_is_said():
    assert shortage("c", spec(labels=frozenset({"gpu"})), [Room("a", 4)]) == "no node has the labels gpu"
    assert shortage("c", spec(), []) == "there is no node"
    assert shortage("c", spec(), [Room("a", 4, open=False)]) == "none of a takes work now"
    full = Room("a", 4, busy=1, mine={"c": 1})
    assert shortage("c", spec(max_per_node=1), [full]) == "max_per_node is 1, and a have as many"
    assert shortage("c", spec(), [Room("a", 1, busy=1)]) == "the nodes are full (a 1 of 1)"
