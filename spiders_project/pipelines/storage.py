"""The storage of one worker: takes items, and releases their deliveries once MongoDB has them."""

from __future__ import annotations

import asyncio
import logging
from datetime import datetime, timezone
from itertools import count
from typing import TYPE_CHECKING, Any
from uuid import uuid4
from weakref import WeakKeyDictionary

import bson
from bson.errors import BSONError

from spiders_project import items
from spiders_project.errors import RejectedItem
from spiders_project.pipelines.buffer import Batcher, Room
from spiders_project.pipelines.client import connect, database, wait_until_usable
from spiders_project.pipelines.documents import MAX_BYTES, Draft, item_fields, own_fields
from spiders_project.pipelines.encoder import CODEC, EncodeError, decode, encode
from spiders_project.pipelines.history import HistoryWriter
from spiders_project.pipelines.identity import content_hash, digest, item_id
from spiders_project.pipelines.indexes import ensure_indexes, index_model
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.patience import Patience
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.rejects import Reject, RejectsWriter, rejected
from spiders_project.pipelines.shape import Shape, shape_of
from spiders_project.pipelines.writer import Refusal, Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence

    from pymongo import AsyncMongoClient
    from pymongo.asynchronous.collection import AsyncCollection
    from pymongo.asynchronous.database import AsyncDatabase
    from scrapy.crawler import Crawler

    from spiders_project.delivery import Origin

logger = logging.getLogger(__name__)

# What stands for the request of an item without one: each such item was scraped once.
_PROCESS = uuid4().hex[:12]
_item_numbers = count()


class Storage:
    """Keeps the items of one spider in MongoDB.

    Args:
        options: How.
        spider: The spider's name.
        count: Called with a stat's name and a number.
        kinds: Item classes whose indexes are made at start; those of others, when the first item comes.
    """

    def __init__(
        self,
        options: StorageOptions,
        spider: str,
        count: Callable[[str, int], None],
        kinds: Iterable[type[Any]] = (),
    ) -> None:
        self.options = options
        self.spider = spider
        self._count = count
        self._kinds = tuple(kinds)
        self._room = Room(options.buffer_items, options.buffer_bytes)
        self._shapes: dict[type[Any], Shape] = {}
        self._drafts: dict[str, Batcher[Draft]] = {}
        self._rejects: dict[str, Batcher[Reject]] = {}
        self.tasks: set[asyncio.Task[None]] = set()
        self._client: AsyncMongoClient[dict[str, Any]] | None = None
        self._db: AsyncDatabase[dict[str, Any]] | None = None
        self._patience = Patience(lambda: count("mongo/waits", 1))

    async def open(self) -> None:
        """Return when MongoDB can be written to; waits while it is away.

        Raises:
            StorageError: It answers, and will not do what is asked.
        """
        self._client = connect(self.options)
        self._db = database(self._client, self.options)
        await wait_until_usable(self._db, self._patience)
        for kind in self._kinds:
            self._shape(kind)

    def collection(self, name: str) -> AsyncCollection[dict[str, Any]]:
        """A collection of the open storage, as the storage itself uses it."""
        assert self._db is not None
        return self._db[name]

    async def drain(self) -> None:
        """Return when all that was taken so far is stored or set aside."""
        await asyncio.gather(*(one.drain() for one in self._batchers()))

    async def close(self) -> int:
        """Store what is left; give the number of items for which MongoDB did not come back in time."""
        lost = 0
        if drains := [asyncio.ensure_future(one.drain()) for one in self._batchers()]:
            _, late = await asyncio.wait(drains, timeout=self.options.close_timeout)
            for drain in late:
                drain.cancel()
            lost = sum(one.abandon() for one in self._batchers())
        for task in self.tasks:
            task.cancel()
        if self._client is not None:
            await self._client.close()
        return lost

    def shape(self, item: Any) -> Shape:
        """How items like this one are stored."""
        return self._shape(type(item))

    def _shape(self, kind: type[Any]) -> Shape:
        shape = self._shapes.get(kind)
        if shape is None:
            shape = self._shapes[kind] = shape_of(kind, self.spider, self.options.item_keys)
            self._index(shape)
        return shape

    def draft(self, item: Any, origin: Origin | None, known_id: str | None = None) -> Draft:
        """Encode an item; ``known_id`` is the ``_id`` of a replayed one, where it has no key of its own.

        Raises:
            Rejection: It cannot be stored.
        """
        shape = self.shape(item)
        try:
            fields = encode(item)
        except EncodeError as error:
            raise Rejection("unencodable", str(error)) from None
        if not isinstance(fields, dict):
            raise Rejection("no-item", f"a {type(item).__name__} is no item")
        try:
            key = known_id if known_id and not shape.key_fields else item_id(fields, shape, origin)
        except RejectedItem as error:
            raise Rejection("key", str(error)) from None
        try:
            raw = bson.encode(own_fields(fields), codec_options=CODEC)
        except (BSONError, OverflowError, UnicodeError) as error:
            raise Rejection("unencodable", str(error)) from None
        if len(raw) > MAX_BYTES:
            raise Rejection("too-large", f"{len(raw)} bytes as BSON; MongoDB's limit is 16 MiB (16777216)", len(raw))
        return Draft(
            id=key,
            raw=raw,
            content_hash=content_hash(fields, shape),
            spider=self.spider,
            request_ids=[origin.delivery.request_id if origin else f"{_PROCESS}-{next(_item_numbers)}"],
            seen_at=_now(),
        )

    async def put(self, item: Any, origin: Origin | None, known_id: str | None = None) -> None:
        """Take an item; returns once it is buffered, later when the buffer is full.

        Raises:
            Rejection: It cannot be stored; the caller decides what becomes of it.
        """
        draft = self.draft(item, origin, known_id)
        await self._enter(draft, origin)
        self._batcher(self.shape(item)).add(draft)

    async def reject(self, item: Any, origin: Origin | None, rejection: Rejection) -> None:
        """Set an item aside with its reason; returns once it is buffered."""
        self._count(f"items/rejected/{rejection.code}", 1)
        shape = self.shape(item)
        reject = self._reject(item, origin, shape, rejection)
        await self._enter(reject, origin)
        self._reject_batcher(shape).add(reject)

    async def _enter(self, entry: Draft | Reject, origin: Origin | None) -> None:
        if self._room.full(entry.size):
            self._count("mongo/buffer_full", 1)
            for batcher in self._batchers():
                batcher.flush()
        await self._room.enter(entry.size)
        if origin is not None:
            origin.delivery.hold()
            entry.holds.append(origin.delivery)

    def _reject(self, item: Any, origin: Origin | None, shape: Shape, rejection: Rejection) -> Reject:
        place = [origin.delivery.fingerprint.hex(), origin.ordinal] if origin else repr(item)
        return rejected(
            reject_id=digest([shape.name, place]),
            item=item,
            item_class=shape.path,
            item_id=_id_or_none(item, shape, origin),
            spider=self.spider,
            code=rejection.code,
            reason=rejection.reason,
            request_id=origin.delivery.request_id if origin else None,
            rejected_at=_now(),
            size=rejection.size,
        )

    def _index(self, shape: Shape) -> None:
        if self._db is None:
            return
        wanted = [(shape.collection, shape.indexes)] if shape.indexes else []
        if self.options.history:
            wanted.append((shape.history, (index_model(("item_id", "changed_at")),)))
        for name, models in wanted:
            task = asyncio.get_running_loop().create_task(
                ensure_indexes(self._db[name], models, self._patience, self._count)
            )
            self.tasks.add(task)
            task.add_done_callback(self.tasks.discard)

    def _batchers(self) -> list[Batcher[Any]]:
        return [*self._drafts.values(), *self._rejects.values()]

    def _batcher(self, shape: Shape) -> Batcher[Draft]:
        batcher = self._drafts.get(shape.collection)
        if batcher is None:
            assert self._db is not None
            rejects = RejectsWriter(self._db[shape.rejected], self._patience)

            async def set_aside(refusals: Sequence[Refusal]) -> None:
                await rejects.store([self._refused(one, shape) for one in refusals])

            history = (
                HistoryWriter(self._db[shape.history], self._patience, shape.volatile_fields)
                if self.options.history
                else None
            )
            writer = Writer(self._db[shape.collection], self._patience, set_aside, self._count, history)
            batcher = self._drafts[shape.collection] = Batcher(
                writer.store, self._room, self.options.batch_size, self.options.flush_seconds
            )
        return batcher

    def _reject_batcher(self, shape: Shape) -> Batcher[Reject]:
        batcher = self._rejects.get(shape.rejected)
        if batcher is None:
            assert self._db is not None
            writer = RejectsWriter(self._db[shape.rejected], self._patience)
            batcher = self._rejects[shape.rejected] = Batcher(
                writer.store, self._room, self.options.batch_size, self.options.flush_seconds
            )
        return batcher

    def _refused(self, refusal: Refusal, shape: Shape) -> Reject:
        """What MongoDB itself will not store."""
        draft = refusal.draft
        self._count(f"items/rejected/{refusal.code}", 1)
        logger.error(
            "MongoDB refuses an item of %(name)s, kept in %(rejected)s: %(reason)s",
            {"name": shape.name, "rejected": shape.rejected, "reason": refusal.reason},
        )
        return rejected(
            reject_id=digest([shape.name, draft.id]),
            item=item_fields(decode(draft.raw)),
            item_class=shape.path,
            item_id=draft.id,
            spider=draft.spider,
            code=refusal.code,
            reason=refusal.reason,
            request_id=draft.request_ids[-1],
            rejected_at=draft.seen_at,
        )


def _id_or_none(item: Any, shape: Shape, origin: Origin | None) -> str | None:
    try:
        return item_id(encode(item), shape, origin)
    except (RejectedItem, AttributeError):
        return None


def _now() -> datetime:
    return datetime.now(timezone.utc)


_storages: WeakKeyDictionary[Crawler, Storage] = WeakKeyDictionary()


def storage_of(crawler: Crawler) -> Storage:
    """The storage of a crawler, shared by its pipelines.

    Raises:
        ConfigError: A setting is malformed.
    """
    storage = _storages.get(crawler)
    if storage is None:
        stats = crawler.stats
        storage = _storages[crawler] = Storage(
            StorageOptions.from_settings(crawler.settings),
            crawler.spidercls.name,
            stats.inc_value,
            [one for one in vars(items).values() if isinstance(one, type) and hasattr(one, "indexes")],
        )
    return storage
