"""Errors that MongoDB answers with: those of the server are waited out, those of a document set it aside."""

from __future__ import annotations

import asyncio
from collections import Counter
from dataclasses import dataclass
from struct import pack

import pytest
from bson.raw_bson import RawBSONDocument
from pymongo import MongoClient

from deploy.local.mongo_server import MongoServer
from spiders_project.pipelines.documents import MAX_BYTES, REMEMBERED_REQUESTS, whole
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.storage import Storage
from tests.pipelines.deliveries import Settled

ITEMS = 10


@dataclass
class Thing:
    n: int


@pytest.fixture(scope="module")
def server(servers_root):
    """A MongoDB that can be told to fail."""
    server = MongoServer(servers_root / "failing", roles=["root"], parameters={"enableTestCommands": True})
    server.start()
    yield server
    server.stop()


@pytest.fixture
def client(server):
    with MongoClient(server.url) as client:
        yield client
        client.admin.command("configureFailPoint", "failCommand", mode="off")
        client.drop_database("failing")


@pytest.fixture
def fail(client):
    def fail(times=2, **data):
        client.admin.command("configureFailPoint", "failCommand", mode={"times": times}, data=data)

    return fail


@pytest.fixture
def store(server):
    """Store ten items as one batch; the stats and what was settled."""

    def store(items=None, **options):
        stats, settled = Counter(), Settled()
        items = items or [{"n": n} for n in range(ITEMS)]

        async def run():
            uri = f"{server.url}&heartbeatFrequencyMS=500"
            given = StorageOptions(uri=uri, database="failing", item_keys={"dict": ("n",)}, **options)
            storage = Storage(given, "failing", lambda name, number: stats.update({name: number}))
            await storage.open()
            for item in items:
                origin = settled.origin(str(item["n"]))
                await storage.put(item, origin)
                origin.delivery.release()
            assert await storage.close() == 0

        asyncio.run(run())
        return stats, settled

    return store


PASSING = {
    "out of disk space": {"failCommands": ["insert"], "errorCode": 14031},
    "not primary": {"failCommands": ["insert"], "errorCode": 10107},
    "stepped down": {"failCommands": ["insert"], "errorCode": 189},
    "shutting down": {"failCommands": ["insert"], "errorCode": 11600},
    "role taken away": {"failCommands": ["insert"], "errorCode": 13},
    "connection closed": {"failCommands": ["insert"], "closeConnection": True},
    "connection closed at reading": {"failCommands": ["find"], "closeConnection": True},
    "an unknown error at reading": {"failCommands": ["find"], "errorCode": 8000},
    "write concern not satisfied": {
        "failCommands": ["insert"],
        "writeConcernError": {"code": 64, "errmsg": "waiting for replication timed out"},
    },
}


@pytest.mark.parametrize("error", PASSING.values(), ids=PASSING)
def test_a_server_that_cannot_for_now_is_waited_for(fail, store, client, error):
    fail(**error)
    stats, settled = store()

    assert stats["mongo/waits"] >= 1
    assert client["failing"]["items"].count_documents({"fetch_count": 1}) == ITEMS
    assert sorted(settled.ids) == sorted(str(n) for n in range(ITEMS))
    assert client["failing"]["items_rejected"].count_documents({}) == 0


def test_an_update_whose_answer_was_lost_is_counted_once(fail, store, client):
    store()
    changed = [{"n": n, "changed": n % 2} for n in range(ITEMS)]
    # Once at the look at the start, whose no-op is an update, too, and once at the bulk.
    fail(times=2, failCommands=["update"], writeConcernError={"code": 64, "errmsg": "timed out"})
    stats, _ = store(changed)

    items = client["failing"]["items"]
    assert stats["mongo/waits"] == 2
    # The helper's requests have the ids of the first time: these are redeliveries.
    assert {(item["changed"], item["fetch_count"]) for item in items.find()} == {(0, 1), (1, 1)}


def test_a_document_that_mongodb_refuses_never_harms_its_batch(store, client):
    client["failing"].create_collection("items", validator={"n": {"$ne": 3}})
    stats, settled = store()

    assert {item["n"] for item in client["failing"]["items"].find()} == set(range(ITEMS)) - {3}
    (kept,) = client["failing"]["items_rejected"].find()
    assert kept["item"] == {"n": 3}
    assert kept["code"] == "mongo-121"
    assert kept["request_id"] == "3"
    assert stats["items/rejected/mongo-121"] == 1
    assert len(settled.ids) == ITEMS


def test_a_batch_refused_as_a_whole_is_split_until_the_bad_document_is_found(store, client, monkeypatch):
    def spoil_3(draft, ours):
        document = whole(draft, ours)
        # A value of no type within an object: the driver passes it on, and mongod refuses the command.
        field = b"\x03x\0" + pack("<i", 8) + b"\x20y\0" + b"\0"
        bad = pack("<i", len(document.raw) + len(field)) + document.raw[4:-1] + field + b"\0"
        return RawBSONDocument(bad) if b"n\0\x03\0\0\0" in draft.raw else document

    monkeypatch.setattr("spiders_project.pipelines.documents.whole", spoil_3)
    _, settled = store()

    assert {item["n"] for item in client["failing"]["items"].find()} == set(range(ITEMS)) - {3}
    (kept,) = client["failing"]["items_rejected"].find()
    assert kept["item"] == {"n": 3}
    assert kept["code"] == "mongo-22"
    assert len(settled.ids) == ITEMS


@pytest.mark.parametrize("code", [1, 20, 96, 8000])
@pytest.mark.parametrize("commands", [["insert"], ["insert", "update"]])
def test_what_is_wrong_with_every_write_is_waited_for_and_blamed_on_no_document(
    server, client, fail, caplog, code, commands
):
    stats, settled = Counter(), Settled()

    async def run():
        given = StorageOptions(uri=server.url, database="failing", flush_seconds=0.01)
        storage = Storage(given, "failing", lambda name, number: stats.update({name: number}))
        await storage.open()
        client.admin.command(
            "configureFailPoint", "failCommand", mode="alwaysOn", data={"failCommands": commands, "errorCode": code}
        )
        for n in range(3):
            origin = settled.origin(str(n))
            await storage.put({"n": n}, origin)
            origin.delivery.release()
        while stats["mongo/waits"] < 2:  # noqa: ASYNC110 - a plain counter
            await asyncio.sleep(0.01)
        assert settled.ids == []
        client.admin.command("configureFailPoint", "failCommand", mode="off")
        assert await storage.close() == 0

    asyncio.run(asyncio.wait_for(run(), 20))
    assert sorted(settled.ids) == ["0", "1", "2"]
    assert client["failing"]["items"].count_documents({}) == 3
    assert client["failing"]["items_rejected"].count_documents({}) == 0
    assert "MongoDB cannot be written (0 s so far), trying until it can: it takes no write into items" in caplog.text


def test_a_document_over_16_mb_is_rejected_with_its_size(server, client):
    stats = Counter()
    big = {"n": 1, "html": "x" * (16 * 1024 * 1024), "title": "big"}

    async def run():
        storage = Storage(
            StorageOptions(uri=server.url, database="failing"), "x", lambda name, n: stats.update({name: n})
        )
        await storage.open()
        await storage.put({"n": 2}, None)
        with pytest.raises(Rejection) as raised:
            await storage.put(big, None)
        await storage.reject(big, None, raised.value)
        await storage.close()

    asyncio.run(run())
    (kept,) = client["failing"]["items_rejected"].find()
    assert kept["size"] > 16 * 1024 * 1024
    assert kept["item"]["title"] == "big"
    assert kept["replayable"] is False
    assert stats["items/rejected/too-large"] == 1
    assert client["failing"]["items"].count_documents({}) == 1


def test_the_largest_document_that_is_taken_fits_with_our_own_fields(server, client, store):
    items = client["failing"]["items"]
    store([{"n": 1, "html": "x" * (MAX_BYTES - 80)}], history=True)
    items.update_one({}, {"$set": {"request_ids": [f"{n:048}" for n in range(REMEMBERED_REQUESTS)]}})
    store([{"n": 1, "html": "y" * (MAX_BYTES - 80)}], history=True)

    assert items.find_one()["fetch_count"] == 2
    assert items.find_one()["html"][0] == "y"


def test_a_collection_whose_writes_are_slow_holds_up_no_other(server, fail):
    fail(1, failCommands=["insert"], namespace="failing.items", blockConnection=True, blockTimeMS=1500)
    settled = Settled()

    async def run():
        storage = Storage(
            StorageOptions(uri=server.url, database="failing", flush_seconds=0.05), "x", lambda name, n: None
        )
        await storage.open()
        for name, item in (("slow", {"n": 1}), ("quick", Thing(1))):
            origin = settled.origin(name)
            await storage.put(item, origin)
            origin.delivery.release()
        await storage.close()

    asyncio.run(run())
    assert settled.ids == ["quick", "slow"]
