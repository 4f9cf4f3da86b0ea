"""Write a crawl into a file, also while its workers run.

Nothing is lost by it: records are read in the order in which work moves on (seeds, dead letters, the seen set, then
requests by their ids, which only grow, up to the newest in one atomic step), so whatever is open at the end is in the
file, and no fingerprint is in it without its request, unless that is done. What is done meanwhile may be in it too, and
is crawled again where the file is imported.
"""

from __future__ import annotations

import secrets
from typing import TYPE_CHECKING, Any, BinaryIO

import msgpack

from spiders_project.frontier.connection import translated
from spiders_project.frontier.dump import FORMAT, VERSION, Counts, Record, marks_of, packed

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from spiders_project.frontier.crawl import Crawl

#: Ids walked, entries read, and buckets of the seen set read, in one call.
WALK, BATCH, BUCKETS = 2000, 500, 50
_REPORT_EVERY = 50_000  # records


def export_crawl(crawl: Crawl, out: BinaryIO, progress: Callable[[int], None]) -> Counts:
    """Write the crawl to ``out``, in bounded memory.

    Args:
        crawl: The crawl.
        out: Where to (``dump.writing``).
        progress: Told now and then how many records are written.

    Raises:
        FrontierUnavailable: Redis does not answer.
        FrontierError: Redis refuses.
    """
    started = round(crawl.now() * 1000)
    head = {"format": FORMAT, "version": VERSION, "id": secrets.token_bytes(8), "time": started}
    out.write(packed({**head, "namespace": crawl.keys.namespace}))
    counts, records = Counts(), 0
    for record in _records(crawl, started):
        out.write(packed(record))
        counts.add(record)
        records += 1
        if records % _REPORT_EVERY == 0:
            progress(records)
    out.write(packed(["end", records]))
    return counts


def _records(crawl: Crawl, started: int) -> Iterator[Record]:
    with translated():
        yield from _seeds(crawl)
        yield from _dead(crawl, 0)
        yield from _seen(crawl)
        yield from _requests(crawl)
        yield from _dead(crawl, started)  # given up after the first look
        rejected: Any = crawl.client.lrange(crawl.keys.rejected, 0, -1)
        yield from (["rejected", element] for element in rejected)


def _seeds(crawl: Crawl) -> Iterator[Record]:
    client: Any = crawl.client  # redis-py's annotations speak of both its clients at once
    key = crawl.keys.start_urls
    kind = client.type(key)
    if kind == b"set":
        yield from (["seed", entry, 0] for entry in client.sscan_iter(key, count=BATCH))
    elif kind == b"zset":
        yield from (["seed", entry, score] for entry, score in client.zscan_iter(key, count=BATCH))
    elif kind == b"list":
        # From the end, because workers take from the head and places count from there.
        last = -1
        while entries := client.lrange(key, last - BATCH + 1, last):
            yield from (["seed", entry, 0] for entry in reversed(entries))
            last -= BATCH


def _dead(crawl: Crawl, since: int) -> Iterator[Record]:
    for id_, value in crawl.client.hscan_iter(crawl.keys.dead, count=BATCH):
        letter, payload, time = msgpack.unpackb(value, raw=True)
        if int(time) >= since:
            yield ["dead", id_.decode(), letter, payload, int(time)]


def _seen(crawl: Crawl) -> Iterator[Record]:
    client: Any = crawl.client
    newest = int(client.hget(crawl.keys.seen, "generation") or 0)
    for generation in range(max(0, newest - 1), newest + 1):
        bucket = 0
        # A split moves members into a bucket with a higher number, so an ascending walk misses none.
        while bucket < (buckets := _buckets(client, crawl.keys.seen, generation)):
            numbers = range(bucket, min(bucket + BUCKETS, buckets))
            pipe = client.pipeline(transaction=False)
            for number in numbers:
                pipe.smembers(crawl.keys.seen_bucket(number, generation))
            if members := [member for bucket_members in pipe.execute() for member in bucket_members]:
                yield ["seen", marks_of(members)]
            bucket = numbers.stop


def _buckets(client: Any, key: str, generation: int) -> int:
    newest, *shape = client.hmget(key, "generation", "level", "split", "old_level", "old_split")
    level, split = shape[:2] if int(newest or 0) == generation else shape[2:]
    return 2 ** int(level) + int(split) if level is not None else 0


def _requests(crawl: Crawl) -> Iterator[Record]:
    first = 1
    while first:
        first, found = msgpack.unpackb(crawl.run("walk", str(first), WALK), raw=True)
        for id_, payload, due in found:
            yield ["request", id_.decode(), payload, int(float(due)) if due else 0]
