"""The storage of one worker: takes items, and releases their deliveries once MongoDB has them."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any
from weakref import WeakKeyDictionary

from spiders_project import statnames
from spiders_project.errors import StorageError
from spiders_project.pipelines.buffer import Batcher, Room
from spiders_project.pipelines.client import connect, database, wait_until_usable
from spiders_project.pipelines.drafting import draft_item, reject_draft, reject_item
from spiders_project.pipelines.history import HistoryWriter
from spiders_project.pipelines.indexes import ensure_indexes, index_model
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.patience import Patience
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.rejects import RejectsWriter
from spiders_project.pipelines.shape import DICT_COLLECTION, Shape, class_path, item_classes, shape_of
from spiders_project.pipelines.writer import Writer

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Sequence
    from datetime import datetime

    from pymongo import AsyncMongoClient
    from pymongo.asynchronous.collection import AsyncCollection
    from pymongo.asynchronous.database import AsyncDatabase
    from scrapy.crawler import Crawler

    from spiders_project.delivery import Origin
    from spiders_project.pipelines.documents import Draft
    from spiders_project.pipelines.rejects import Reject
    from spiders_project.pipelines.writer import Refusal

logger = logging.getLogger(__name__)


class Storage:
    """Keeps the items of one spider in MongoDB.

    Args:
        options: How.
        spider: The spider's name.
        count: Called with a stat's name and a number.
        kinds: Item classes that are checked, and whose indexes are made, at start; others when the first item comes.
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
        #: Items that MongoDB itself has refused so far.
        self.refused = 0
        self.tasks: set[asyncio.Task[None]] = set()
        self._client: AsyncMongoClient[dict[str, Any]] | None = None
        self._db: AsyncDatabase[dict[str, Any]] | None = None
        self._patience = Patience(lambda: count(statnames.WAITS, 1))

    async def open(self) -> None:
        """Return when MongoDB can be written to; waits while it is away.

        Raises:
            StorageError: It answers, and will not do what is asked; or an item class asks for what cannot be.
        """
        shapes = [shape_of(kind, self.spider, self.options.item_keys) for kind in self._kinds]
        self._client = connect(self.options)
        self._db = database(self._client, self.options)
        try:
            await wait_until_usable(self._db, self._patience)
        except StorageError:
            await self._client.close()
            raise
        for shape in shapes:
            # The collections of those without are made by their first item, if this worker ever has one.
            if shape.indexes:
                self._index(shape)

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
        # A crawl may end sooner than its indexes are made.
        if open_ends := [*(asyncio.ensure_future(one.drain()) for one in self._batchers()), *self.tasks]:
            _, late = await asyncio.wait(open_ends, timeout=self.options.close_timeout)
            for one in late:
                one.cancel()
            lost = sum(one.abandon() for one in self._batchers())
        if self._client is not None:
            await self._client.close()
        return lost

    def _shape(self, kind: type[Any]) -> Shape:
        shape = self._shapes.get(kind)
        if shape is None:
            try:
                shape = shape_of(kind, self.spider, self.options.item_keys)
            except StorageError as error:
                # Nobody could check it at the start. Its items are kept where those are that have no class.
                shape = Shape(kind.__name__, class_path(kind), DICT_COLLECTION, problem=str(error))
            self._shapes[kind] = shape
            self._index(shape)
        return shape

    async def put(
        self, item: Any, origin: Origin | None, *, known_id: str | None = None, seen_at: datetime | None = None
    ) -> None:
        """Take an item; returns once it is buffered, later when the buffer is full.

        A replayed one has been scraped at ``seen_at``, and ``known_id`` is its ``_id`` for want of a key of its own.

        Raises:
            Rejection: It cannot be stored; the caller decides what becomes of it.
        """
        shape = self._shape(type(item))
        if shape.problem:
            raise Rejection("class", shape.problem)
        draft = draft_item(item, shape, self.spider, origin, known_id=known_id, seen_at=seen_at)
        await self._enter(draft, origin)
        self._batcher(shape).add(draft)

    async def reject(self, item: Any, origin: Origin | None, rejection: Rejection) -> None:
        """Set an item aside with its reason; returns once it is buffered. Without ``open`` it is counted only."""
        self._count(f"{statnames.REJECTED}/{rejection.code}", 1)
        shape = self._shape(type(item))
        # Scrapy's own line would hold the whole item, which may be what is wrong with it.
        logger.warning(
            "Rejected an item of %(name)s from %(place)s (%(rejected)s has it): %(reason)s",
            {
                "name": shape.name,
                "place": _place(item, origin),
                "rejected": shape.rejected,
                "reason": rejection.reason,
            },
        )
        if self._db is None:
            return
        reject = reject_item(item, shape, self.spider, origin, rejection)
        await self._enter(reject, origin)
        self._reject_batcher(shape).add(reject)

    async def _enter(self, entry: Draft | Reject, origin: Origin | None) -> None:
        if self._room.full(entry.size):
            self._count(statnames.BUFFER_FULL, 1)
            for batcher in self._batchers():
                batcher.flush()
        await self._room.enter(entry.size)
        if origin is not None:
            origin.delivery.hold()
            entry.holds.append(origin.delivery)

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
                await rejects.store([self._refused(one) for one in refusals])

            history = HistoryWriter(self._db[shape.history], self._patience) if self.options.history else None
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

    def _refused(self, refusal: Refusal) -> Reject:
        shape = refusal.draft.shape
        self.refused += refusal.draft.items
        self._count(f"{statnames.REJECTED}/{refusal.code}", 1)
        logger.error(
            "MongoDB refuses an item of %(name)s, kept in %(rejected)s: %(reason)s",
            {"name": shape.name, "rejected": shape.rejected, "reason": refusal.reason},
        )
        return reject_draft(refusal)


def _place(item: Any, origin: Origin | None) -> str:
    url = item.get("url") if isinstance(item, Mapping) else getattr(item, "url", None)
    if isinstance(url, str):
        return url
    if origin is None:
        return "start()"
    return origin.delivery.url or f"request {origin.delivery.request_id}"


_storages: WeakKeyDictionary[Crawler, Storage] = WeakKeyDictionary()


def storage_of(crawler: Crawler) -> Storage:
    """The storage of a crawler, shared by its pipelines.

    Raises:
        ConfigError: A setting is malformed.
    """
    storage = _storages.get(crawler)
    if storage is None:
        storage = _storages[crawler] = Storage(
            StorageOptions.from_settings(crawler.settings),
            crawler.spidercls.name,
            crawler.stats.inc_value,
            item_classes(crawler.spidercls).values(),
        )
    return storage
