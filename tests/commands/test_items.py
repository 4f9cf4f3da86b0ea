"""``scrapy items``, run as people run it, over what a worker has stored."""

from __future__ import annotations

import asyncio
import csv
import io
import json
import os
import subprocess
import sys
from datetime import datetime, timezone
from decimal import Decimal
from pathlib import Path

import pytest

from spiders_project.items import Product
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.storage import Storage
from spiders_project.pipelines.validate import Validator

ROOT = Path(__file__).resolve().parents[2]
PRICED = {"type": "object", "required": ["price"]}


def product(sku, **changes):
    fields = {
        "sku": sku,
        "name": "A name, with a comma",
        "url": f"https://example.com/{sku}",
        "price": Decimal("19.90"),
        "currency": "EUR",
        "availability": "InStock",
        "categories": ["a", "b"],
        "images": [],
        "description": "",
    }
    return Product(**fields | changes)


@pytest.fixture
def crawled(mongo_uri, mongo_db):
    """Store items as a worker of ``catalogue`` does."""

    def crawled(*items, schemas=None):
        async def run():
            storage = Storage(
                StorageOptions(uri=mongo_uri, database=mongo_db.name), "catalogue", lambda name, number: None
            )
            validate = Validator(schemas or {}, "catalogue")
            await storage.open()
            for item in items:
                try:
                    await storage.put(validate(item), None)
                except Rejection as rejection:
                    await storage.reject(item, None, rejection)
            await storage.close()

        asyncio.run(run())

    return crawled


@pytest.fixture
def scrapy(mongo_uri, mongo_db):
    def scrapy(*args, **environment):
        given = {"MONGO_URI": mongo_uri, "MONGO_DATABASE": mongo_db.name} | environment
        return subprocess.run(
            [sys.executable, "-m", "scrapy", "items", *args],
            cwd=ROOT,
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            timeout=60,
            check=False,
        )

    return scrapy


def test_status_shows_documents_and_reasons(crawled, scrapy):
    crawled(product("1"), product("2"), Product.model_construct(sku="3"), {"a": lambda: 0})
    done = scrapy("status", "catalogue")

    assert done.returncode == 0, done.stderr
    assert "products: 2 documents" in done.stdout
    assert "rejected, invalid-missing: 1" in done.stdout
    assert "items: 0 documents, first seen never" in done.stdout
    assert "rejected, unencodable: 1" in done.stdout

    rows = json.loads(scrapy("status", "catalogue", "--json").stdout)
    assert [(row["collection"], row["documents"]) for row in rows] == [("items", 0), ("products", 2)]


def test_export_writes_a_document_a_line(crawled, scrapy):
    crawled(product("1"), product("2", price="5"))
    done = scrapy("export", "catalogue")

    assert done.returncode == 0, done.stderr
    documents = {one["sku"]: one for one in map(json.loads, done.stdout.splitlines())}
    assert documents["1"]["price"] == "19.90"
    assert documents["2"]["categories"] == ["a", "b"]
    assert documents["2"]["first_seen"].endswith("+00:00")
    assert "products: 2 documents" in done.stderr


def test_export_as_csv_has_a_column_for_each_field(crawled, scrapy):
    crawled(product("1"), product("2"))
    rows = list(csv.DictReader(io.StringIO(scrapy("export", "catalogue", "--format", "csv").stdout)))

    assert {row["sku"] for row in rows} == {"1", "2"}
    assert rows[0]["name"] == "A name, with a comma"
    assert json.loads(rows[0]["categories"]) == ["a", "b"]


def test_export_since_leaves_out_what_has_not_changed(crawled, scrapy, mongo_db):
    crawled(product("1"), product("2"))
    mongo_db.products.update_one({"sku": "1"}, [{"$set": {"changed_at": {"$subtract": ["$$NOW", 7_200_000]}}}])

    assert len(scrapy("export", "catalogue", "--since", "1h").stdout.splitlines()) == 1
    assert len(scrapy("export", "catalogue", "--since", "2020-01-01").stdout.splitlines()) == 2


def test_status_since_counts_what_is_new(crawled, scrapy, mongo_db):
    crawled(product("1"), product("2"), Product.model_construct(sku="3"))
    mongo_db.products.update_one({"sku": "1"}, [{"$set": {"changed_at": {"$subtract": ["$$NOW", 7_200_000]}}}])
    mongo_db.products_rejected.update_one({}, [{"$set": {"rejected_at": {"$subtract": ["$$NOW", 7_200_000]}}}])

    assert "products: 1 documents" in scrapy("status", "catalogue", "--since", "1h").stdout
    assert "0 rejected" in scrapy("status", "catalogue", "--since", "1h").stdout


def test_rejected_items_are_shown_and_stored_once_their_reason_is_gone(crawled, scrapy, mongo_db):
    crawled({"name": "a"}, {"name": "b"}, schemas={"catalogue": PRICED})
    shown = [json.loads(line) for line in scrapy("rejected", "catalogue").stdout.splitlines()]
    assert {one["item"]["name"] for one in shown} == {"a", "b"}
    assert {one["reason"] for one in shown} == {"'price' is a required property"}

    again = scrapy("retry", "catalogue", ITEM_SCHEMAS=json.dumps({"catalogue": PRICED}))
    assert again.returncode == 1
    assert "0 stored, 2 refused again" in again.stdout
    assert mongo_db["items"].count_documents({}) == 0

    done = scrapy("retry", "catalogue")
    assert done.returncode == 0, done.stderr
    assert "2 stored, 0 refused again" in done.stdout
    assert {item["name"] for item in mongo_db["items"].find()} == {"a", "b"}
    assert mongo_db["items_rejected"].count_documents({}) == 0


def test_a_rejected_item_comes_back_in_its_class_and_under_its_key(crawled, scrapy, mongo_db):
    wrong = Product.model_construct(**{**product("1").__dict__, "currency": "euro"})
    crawled(product("2"), wrong)
    assert "0 stored, 1 refused again" in scrapy("retry", "catalogue").stdout
    mongo_db.products_rejected.update_one({}, {"$set": {"item.currency": "EUR"}})

    assert "1 stored, 0 refused again" in scrapy("retry", "catalogue").stdout
    crawled(product("1"))
    assert mongo_db.products.count_documents({}) == 2
    assert mongo_db.products.find_one({"sku": "1"})["price"].to_decimal() == Decimal("19.90")


def test_what_mongodb_refuses_again_stays(crawled, scrapy, mongo_db):
    mongo_db.create_collection("items", validator={"name": {"$ne": "a"}})
    crawled({"name": "a"}, {"name": "b"})
    assert "0 stored, 1 refused again" in scrapy("retry", "catalogue").stdout
    assert mongo_db["items_rejected"].count_documents({}) == 1

    mongo_db.command("collMod", "items", validator={})
    assert "1 stored, 0 refused again" in scrapy("retry", "catalogue").stdout
    assert mongo_db["items_rejected"].count_documents({}) == 0
    assert mongo_db["items"].count_documents({}) == 2


def test_a_class_named_in_mongodb_is_never_imported(crawled, scrapy, mongo_db):
    crawled(Product.model_construct(sku="3"))
    mongo_db.products_rejected.update_one({}, {"$set": {"item_class": "antigravity.Anything"}})
    done = scrapy("retry", "catalogue")

    assert done.returncode == 1
    assert "1 cannot be retried" in done.stdout


@pytest.mark.parametrize(
    ("args", "message"),
    [
        ([], "status|export|rejected|retry"),
        (["status"], "status|export|rejected|retry"),
        (["forget", "catalogue"], "status|export|rejected|retry"),
        (["status", "nobody"], "no spider 'nobody'; there are catalogue"),
        (["export", "catalogue", "--since", "yesterday"], "--since yesterday: no time that there was; use 24h"),
        (["status", "catalogue", "--since", "99999999999d"], "--since 99999999999d: no time that there was"),
        (["status", "catalogue", "--since", ""], "--since : no time that there was"),
        (
            ["status", "catalogue", "--collection", "nope"],
            "no collection 'nope' has items of catalogue; there are: none",
        ),
    ],
)
def test_wrong_use_is_explained(scrapy, args, message):
    done = scrapy(*args)

    assert done.returncode == 2
    assert message in done.stderr


def test_a_mongodb_that_is_away_is_another_exit_code(scrapy):
    done = scrapy("status", "catalogue", MONGO_URI="mongodb://127.0.0.1:9/?serverSelectionTimeoutMS=300")

    assert done.returncode == 4
    assert "does MongoDB run?" in done.stderr
    assert "Traceback" not in done.stderr


def test_a_reader_that_has_seen_enough_is_no_error(crawled, mongo_uri, mongo_db):
    crawled(*({"n": n, "text": "x" * 1000} for n in range(500)))
    command = f"{sys.executable} -m scrapy items export catalogue | head -n 1"
    done = subprocess.run(
        command,
        shell=True,
        cwd=ROOT,
        env={**os.environ, "MONGO_URI": mongo_uri, "MONGO_DATABASE": mongo_db.name},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )

    assert len(done.stdout.splitlines()) == 1
    assert "Error" not in done.stderr


#: Runs a command of Scrapy; its last line on stderr is the most memory that it had (KB). Not by getrusage,
#: whose maximum a process inherits from the one that started it.
MEASURED = """
import re, sys
from pathlib import Path
from scrapy.cmdline import execute
try:
    execute()
finally:
    print(re.search(r"VmHWM:\\s+(\\d+)", Path("/proc/self/status").read_text())[1], file=sys.stderr)
"""


@pytest.mark.parametrize(
    ("documents", "form"),
    [
        (20_000, "jsonl"),
        pytest.param(500_000, "jsonl", marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
        pytest.param(500_000, "csv", marks=[pytest.mark.soak, pytest.mark.timeout(600)]),
    ],
)
def test_export_streams_a_large_collection_in_bounded_memory(mongo_uri, mongo_db, documents, form):
    def export():
        command = [sys.executable, "-c", MEASURED, "items", "export", "catalogue", "--since", "1h", "--format", form]
        environment = {**os.environ, "MONGO_URI": mongo_uri, "MONGO_DATABASE": mongo_db.name}
        with subprocess.Popen(
            command, cwd=ROOT, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            lines = sum(1 for _ in process.stdout)
            said = process.stderr.read()
        assert process.returncode == 0, said
        return lines - (form == "csv"), int(said.splitlines()[-1]) / 1024, said

    text, now = "x" * 2000, datetime.now(timezone.utc)
    inserted = 0
    peaks = []
    for total in (100, documents):
        while inserted < total:
            step = min(10_000, total - inserted)
            mongo_db.products.insert_many(
                {"_id": f"{n:032}", "spider": "catalogue", "changed_at": now, "text": text}
                for n in range(inserted, inserted + step)
            )
            inserted += step
        lines, peak, said = export()
        assert lines == total
        assert f"products: {total:,} documents" in said
        peaks.append(peak)
    assert peaks[1] - peaks[0] < 20, "MB; all the documents have twice as much and more"
