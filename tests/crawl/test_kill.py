"""I1, I3: workers die at any moment, and every page is stored all the same."""

import random
import time

import pytest

CONCURRENT = 16  # tests.crawl.settings


def crawl_with_kills(site, crawl, *, pages, kills, seed):
    """Crawl with two workers; kill one at a random moment and start another, ``kills`` times."""
    dice = random.Random(seed)
    tree = site(pages, hosts=4, latency=0.03)
    run = crawl()
    run.seed(tree.url(0))
    alive = run.start(2)
    killed = 0
    while killed < kills:
        # Not by the clock alone: a kill counts while there is work to lose.
        before = len(run.items)
        run.wait_stored(before + dice.randint(1, max(2, pages // (2 * kills))))
        time.sleep(dice.uniform(0, 0.05))
        dice.shuffle(alive)
        # Once all of them at the same time: nobody is left to give their leases back.
        for victim in alive if killed == kills // 2 else alive[:1]:
            victim.kill()
            alive = [worker for worker in alive if worker is not victim]
        killed += 1
        alive += run.start(2 - len(alive))
    run.finish(120)
    assert set(run.stored) == tree.expected, run.describe()
    assert run.dead == []
    return tree, run


def fetched_twice(tree):
    """How many fetches were in vain.

    For each worker killed that is what it had under way: CONCURRENT_REQUESTS downloads, and pages whose ack had not
    gone out, which are few on a free machine and at most as many again on a busy one.
    """
    return sum(count - 1 for count in tree.fetched.values())


@pytest.mark.slow
def test_no_page_is_lost_when_workers_are_killed_at_random_moments(site, crawl):
    tree, _ = crawl_with_kills(site, crawl, pages=300, kills=5, seed=11)
    assert fetched_twice(tree) <= 6 * 2 * CONCURRENT


@pytest.mark.slow
def test_what_a_worker_has_done_is_said_before_it_begins_more_than_it_can_parse(site, crawl):
    """Its loop is busy all the time with the callbacks of many pages, and hardly gets to its calls to Redis."""
    concurrent = 64
    tree = site(500, hosts=4, latency=0.001)
    run = crawl()
    run.seed(tree.url(0))
    limits = {"CONCURRENT_REQUESTS": concurrent, "CONCURRENT_REQUESTS_PER_DOMAIN": concurrent}
    (worker,) = run.start(1, arguments={"work": "0.005"}, **limits)
    run.wait_stored(300)
    worker.kill()
    run.start(1)
    run.finish(60)
    assert set(run.stored) == tree.expected, run.describe()
    # Under way, and on their way through the engine behind those; without the rule it is all of the last second.
    assert fetched_twice(tree) <= 2 * concurrent + concurrent // 8


@pytest.mark.soak
@pytest.mark.timeout(1200)
@pytest.mark.parametrize("seed", range(1, 6))
def test_no_page_is_lost_over_many_kills(site, crawl, seed):
    tree, _ = crawl_with_kills(site, crawl, pages=4000, kills=10, seed=seed)
    assert fetched_twice(tree) <= 11 * 2 * CONCURRENT
