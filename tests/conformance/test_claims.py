"""Who is claimed next: priority, then turns of hosts, then the order of puts; within each host's limits."""

import itertools
from collections import Counter

import pytest

from spiders_project.frontier.contract import Ack, GiveBack, HostLimits, Left, Pause
from tests.conformance.world import RedisWorld, World, put


def test_hosts_take_turns_and_each_gives_its_first_request_first(world: World):
    worker = world.worker()
    worker.say(*(put(host, name=f"{host}{number}") for host in "abc" for number in range(3)))
    assert worker.names(9) == ["a0", "b0", "c0", "a1", "b1", "c1", "a2", "b2", "c2"]


def test_a_host_that_comes_late_takes_its_turn_behind_the_round(world: World):
    worker = world.worker()
    worker.say(*(put(host, name=f"{host}{number}") for host in "ab" for number in range(3)))
    assert worker.names() == ["a0"]
    worker.say(put("c", name="c0"))
    assert worker.names(3) == ["b0", "a1", "c0"]


def test_one_host_with_many_requests_does_not_delay_the_others(world: World):
    # F20: one host at the head of the queue filled every slot.
    worker = world.worker()
    worker.say(*(put("huge") for _ in range(500)))
    worker.say(*(put(f"small{number}") for number in range(20)))
    hosts = [claim.host for claim in worker.claim(40)]
    assert {f"small{number}" for number in range(20)} <= set(hosts)


@pytest.mark.soak
@pytest.mark.timeout(600)
def test_a_million_urls_of_one_host_and_three_that_hang_do_not_delay_a_thousand_hosts(redis_world: RedisWorld):
    """F20 in its full size: each round is one request of each host, whatever the others have queued."""
    hosts, pages, batch, hanging = 1000, 10, 1000, ("hangs1", "hangs2", "hangs3")
    worker = redis_world.worker()
    for first in range(0, 1_000_000, batch):
        worker.say(*(put("huge", number) for number in range(first, first + batch)))
    for host in hanging:
        worker.say(*(put(host) for _ in range(batch)))
    for page in range(pages):
        worker.say(*(put(f"small{number}", name=str(page)) for number in range(hosts)))

    hung: Counter[str] = Counter()
    claimed: list[str] = []
    small: list[str] = []
    done: list[Ack] = []
    while len(small) < hosts * pages:
        claims = worker.say(*done, want=64, held=hung, share=16).claims
        assert claims, "there is work"
        hung.update(claim.host for claim in claims if claim.host in hanging)  # never done
        done = [Ack(claim.request_id) for claim in claims if claim.host not in hanging]
        claimed += [claim.host for claim in claims]
        small = [host for host in claimed if host.startswith("small")]
    assert all(count <= 16 for count in hung.values())
    while not claimed[-1].startswith("small"):
        claimed.pop()  # the last call asked for more
    assert claimed.count("huge") == pages, "one a round"
    # Each round of the small hosts is whole before the next one begins.
    assert all(len(set(small[first : first + hosts])) == hosts for first in range(0, hosts * pages, hosts))


def test_an_empty_claim_does_not_use_up_a_turn(world: World):
    worker = world.worker()
    worker.say(put("a", name="a"), put("b", name="b"))
    for _ in range(3):
        world.worker("other", max_pages=0).say(want=0)
    assert worker.names(2) == ["a", "b"]


def test_priority_goes_before_turns(world: World):
    worker = world.worker()
    worker.say(
        put("a", name="a low", priority=-1),
        put("a", name="a"),
        put("b", name="b high", priority=3),
        put("b", name="b"),
        put("c", name="c higher", priority=4),
    )
    assert worker.names(5) == ["c higher", "b high", "a", "b", "a low"]


def test_lifo_gives_the_last_put_first_and_priority_before_it(world: World):
    worker = world.worker(order="lifo")
    worker.say(put("a", name="1"), put("a", name="2"), put("a", name="high", priority=1), put("a", name="3"))
    assert worker.names(4) == ["high", "3", "2", "1"]


@pytest.mark.parametrize("order", ["fifo", "lifo"])
def test_what_is_given_back_takes_its_old_place(world: World, order: str):
    worker = world.worker(order=order)
    worker.say(*(put("a", name=str(number)) for number in range(4)))
    first = worker.claim(3)
    worker.say(*(GiveBack(claim.request_id) for claim in (first[1], first[2], first[0])))
    again = worker.names(4)
    assert again == (["0", "1", "2", "3"] if order == "fifo" else ["3", "2", "1", "0"])


def test_no_request_is_claimed_twice(world: World):
    workers = [world.worker(f"w{number}") for number in range(3)]
    workers[0].say(*(put(f"h{number % 7}", number) for number in range(60)))
    claims = [claim.request_id for _ in range(5) for worker in workers for claim in worker.claim(5)]
    assert len(claims) == len(set(claims)) == 60


# ---------------------------------------------------------------- the limits of a host


def test_delay_is_held_for_all_workers_together(world: World):
    # F18: three processes with DOWNLOAD_DELAY=1 made three requests a second.
    workers = [world.worker(f"w{number}", limits=HostLimits(delay_ms=1000)) for number in range(3)]
    workers[0].say(*(put("a") for _ in range(10)))
    starts = []
    for _ in range(500):
        starts += [world.now for worker in workers for _ in worker.claim(4)]
        world.advance(10)
    gaps = [later - earlier for earlier, later in itertools.pairwise(starts)]
    assert len(starts) == 5
    assert min(gaps) >= 1000
    assert max(gaps) <= 1000 + 20 + 10


def test_a_claim_shows_its_booking(world: World):
    worker = world.worker(limits=HostLimits(delay_ms=500))
    (claim,) = worker.say(put("a"), put("a"), want=2).claims
    assert claim.booking == world.now + 520
    assert worker.say(want=1).next_ms == 520


def test_a_host_without_delay_is_not_booked(world: World):
    worker = world.worker()
    assert [claim.booking for claim in worker.say(put("a"), put("a"), want=2).claims] == [0, 0]


def test_jitter_spreads_delays_within_its_bounds(redis_world: RedisWorld):
    worker = redis_world.worker(limits=HostLimits(delay_ms=1000, jitter=0.5))
    delays = []
    for _ in range(200):
        (claim,) = worker.say(put("a"), want=1).claims
        delays.append(claim.booking - redis_world.now - 20)
        redis_world.advance(2000)
    assert 500 <= min(delays) < 600
    assert 1400 < max(delays) <= 1500
    assert len(set(delays)) > 100


def test_concurrency_is_held_for_all_workers_together(world: World):
    # F19: CONCURRENT_REQUESTS_PER_DOMAIN=3 let nine run at once.
    workers = [world.worker(f"w{number}", limits=HostLimits(concurrency=3)) for number in range(3)]
    workers[0].say(*(put("a") for _ in range(10)), *(put("b") for _ in range(10)))
    claims = [(worker, claim) for worker in workers for claim in worker.claim(5)]
    assert sorted(claim.host for _, claim in claims) == ["a"] * 3 + ["b"] * 3
    worker, claim = claims[0]
    worker.say(Ack(claim.request_id))
    assert [claim.host for worker in workers for claim in worker.claim(5)] == [claim.host]


def test_the_slot_is_free_when_the_download_has_ended_long_before_the_ack(world: World):
    worker = world.worker(limits=HostLimits(concurrency=1))
    (first,) = worker.say(put("a"), put("a"), put("a"), want=3).claims
    (second,) = worker.say(Left(first.request_id), want=3).claims
    assert worker.say(Left(first.request_id), want=3).claims == []  # its slot is not freed twice
    assert worker.say(Ack(first.request_id), want=3).claims == []
    assert len(worker.say(Ack(second.request_id), want=3).claims) == 1
    assert world.facts().active == {"a": 1}


def test_a_host_of_its_own_limits_keeps_them(world: World):
    own = {"slow": HostLimits(delay_ms=5000), "free": HostLimits(), "narrow": HostLimits(concurrency=1)}
    worker = world.worker(limits=HostLimits(concurrency=2), host_limits=own)
    worker.say(*(put(host) for host in ("slow", "free", "narrow", "other") for _ in range(4)))
    hosts = [claim.host for claim in worker.claim(20)]
    assert {host: hosts.count(host) for host in set(hosts)} == {"slow": 1, "free": 4, "narrow": 1, "other": 2}


def test_limits_hold_after_all_workers_have_gone(world: World):
    # I5: they survive restarts.
    worker = world.worker(limits=HostLimits(delay_ms=5000))
    assert len(worker.say(put("a"), put("a"), want=1).claims) == 1
    worker.leave()
    later = world.worker("later", limits=HostLimits(delay_ms=5000))
    assert later.claim(2) == []
    world.advance(5020)
    assert len(later.claim(2)) == 1


def test_a_paused_host_is_left_alone_by_all(world: World):
    # F21: no Retry-After, no "not before".
    one, other = world.worker("one"), world.worker("other")
    one.say(put("a", name="a"), put("b", name="b"), Pause("a", 60_000))
    assert one.names(2) == ["b"]
    assert other.names(2) == []
    assert other.say(want=1).next_ms == 60_000
    world.advance(59_999)
    assert other.names(2) == []
    world.advance(1)
    assert other.names(2) == ["a"]


def test_a_short_pause_does_not_shorten_a_long_one(world: World):
    worker = world.worker()
    worker.say(put("a", name="a"), Pause("a", 10_000), Pause("a", 10))
    world.advance(1000)
    assert worker.names() == []
    world.advance(9000)
    assert worker.names() == ["a"]


def test_a_pause_holds_for_a_host_that_has_no_requests_yet(world: World):
    worker = world.worker()
    worker.say(Pause("a", 1000), want=1)
    worker.say(put("a", name="a"))
    assert worker.names() == []
    world.advance(1000)
    assert worker.names() == ["a"]


# ---------------------------------------------------------------- shares


def test_a_worker_takes_its_share_of_a_host_while_another_could_be_visited(world: World):
    worker = world.worker()
    worker.say(*(put("huge") for _ in range(50)), *(put("small") for _ in range(2)))
    hosts = [claim.host for claim in worker.claim(10, share=3)]
    assert hosts[:5] == ["huge", "small", "huge", "small", "huge"]
    assert hosts[5:] == ["huge"] * 5, "nothing else could be visited, so no slot stays empty"


def test_what_a_worker_holds_counts_toward_the_share(world: World):
    worker = world.worker()
    worker.say(*(put("huge") for _ in range(9)), *(put("small") for _ in range(9)))
    assert {claim.host for claim in worker.claim(3, share=3, held={"huge": 3})} == {"small"}


def test_a_lone_worker_may_take_all_slots_of_a_host(world: World):
    worker = world.worker(limits=HostLimits(concurrency=8))
    worker.say(*(put("a") for _ in range(20)))
    assert len(worker.claim(20)) == 8


def test_two_hungry_workers_share_the_slots_of_a_host(world: World):
    limits = HostLimits(concurrency=8)
    one, other = world.worker("one", limits=limits), world.worker("other", limits=limits)
    one.say(*(put("a") for _ in range(40)))
    claims = one.claim(20)
    assert len(claims) == 8
    assert other.claim(20) == []
    free = [Ack(claim.request_id) for claim in claims[:6]]
    assert one.say(*free, want=20, held={"a": 2}).claims != []
    assert len(other.claim(20)) == 4
    held = len(world.facts().leases["one"])
    assert held == 4, "each has half of the slots"


def test_slots_are_shared_only_while_another_worker_is_hungry(world: World):
    limits = HostLimits(concurrency=4)
    one, other = world.worker("one", limits=limits), world.worker("other", limits=limits)
    assert other.claim(1) == []
    one.say(*(put("a") for _ in range(9)))
    assert len(one.claim(9)) == 2
    world.advance(1500)
    assert len(one.claim(9, held={"a": 2})) == 2


def test_a_host_that_may_be_visited_soon_keeps_its_share_free(world: World):
    worker = world.worker(host_limits={"slow": HostLimits(delay_ms=1000)})
    worker.say(*(put("huge") for _ in range(50)), put("slow"), put("slow"))
    assert len(worker.claim(10, share=3)) == 4
    assert worker.claim(10, share=3, held={"huge": 3, "slow": 1}) == []


def test_a_host_that_is_paused_for_long_keeps_no_slots_free(world: World):
    worker = world.worker()
    worker.say(*(put("huge") for _ in range(50)), put("paused"), Pause("paused", 3_600_000))
    assert len(worker.claim(10, share=3)) == 10
