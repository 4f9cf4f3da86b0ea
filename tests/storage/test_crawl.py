"""Whole crawls into a real MongoDB."""

from __future__ import annotations

import json
from io import BytesIO

from PIL import Image

from tests.storage.crawls import SETTINGS, SPIDER, site


def test_every_item_is_stored_once(crawl, mongo_db, numbers):
    with crawl(SPIDER.format(site=numbers, pages=100)) as run:
        assert run.wait() == 0, run.log
        assert run.finish_reason == "finished", run.log
        assert run.stat("mongo/inserted") == 100

    assert {item["number"] for item in mongo_db["items"].find()} == set(range(100))
    assert mongo_db["items"].count_documents({}) == 100


FILES = """
import scrapy

class Books(scrapy.Spider):
    name = "books"
    custom_settings = {{"FEEDS": {{"books.jsonl": {{"format": "jsonlines"}}}}}}

    async def start(self):
        yield scrapy.Request("{site}/1")

    def parse(self, response):
        yield {{"isbn": "1", "price": Decimal("1.20"), "file_urls": [response.urljoin("/cover")]}}
"""


def test_feed_exports_and_files_work_beside_mongodb(crawl, mongo_db, tmp_path, numbers):
    spider = "from decimal import Decimal\n" + FILES.format(site=numbers)
    pipelines = SETTINGS["ITEM_PIPELINES"] | {"scrapy.pipelines.files.FilesPipeline": 300}
    with crawl(spider, ITEM_PIPELINES=pipelines, FILES_STORE=str(tmp_path / "files")) as run:
        assert run.wait() == 0, run.log

    (book,) = mongo_db["items"].find()
    (file,) = book["files"]
    assert (tmp_path / "files" / file["path"]).read_bytes() == b"cover"
    (line,) = (tmp_path / "books.jsonl").read_text().splitlines()
    assert json.loads(line) == {"isbn": "1", "price": "1.20", "file_urls": [file["url"]], "files": [file]}


IMAGES = """
import scrapy

class Covers(scrapy.Spider):
    name = "covers"

    async def start(self):
        yield scrapy.Request("{site}/1")

    def parse(self, response):
        yield {{"isbn": "1", "image_urls": [response.urljoin("/cover.png")]}}
"""


def test_images_are_linked_from_their_document(crawl, mongo_db, tmp_path):
    picture = BytesIO()
    Image.new("RGB", (7, 5)).save(picture, "PNG")
    with site(picture.getvalue()) as url:
        pipelines = SETTINGS["ITEM_PIPELINES"] | {"scrapy.pipelines.images.ImagesPipeline": 300}
        with crawl(IMAGES.format(site=url), ITEM_PIPELINES=pipelines, IMAGES_STORE=str(tmp_path / "images")) as run:
            assert run.wait() == 0, run.log

    (book,) = mongo_db["items"].find()
    (image,) = book["images"]
    with Image.open(tmp_path / "images" / image["path"]) as stored:
        assert stored.size == (7, 5)


BAD = """
import scrapy

class Bad(scrapy.Spider):
    name = "bad"

    async def start(self):
        yield scrapy.Request("{site}/1")

    def parse(self, response):
        yield {{"n": 1}}
        yield {{"n": 2, "value": lambda: 0}}
        yield {{"n": 3, "value": "\\ud800 \\0"}}
        yield {{"n": "four", "url": response.url}}
        yield {{"n": 5}}
"""


def test_an_item_that_cannot_be_stored_raises_nothing_in_the_spider(crawl, mongo_db, numbers):
    schema = {"properties": {"n": {"type": "integer"}}}
    with crawl(BAD.format(site=numbers), ITEM_SCHEMAS={"bad": schema}) as run:
        assert run.wait() == 0, run.log

    assert {item["n"] for item in mongo_db["items"].find()} == {1, 3, 5}
    assert {kept["item"]["n"]: kept["code"] for kept in mongo_db["items_rejected"].find()} == {
        2: "unencodable",
        "four": "invalid-type",
    }
    assert run.stat("item_dropped_count") == 2
    assert run.stat("items/rejected/unencodable") == 1
    assert run.stat("items/rejected/invalid-type") == 1
    assert f"from {numbers}/1 (items_rejected has it): n: 'four' is not of type 'integer'" in run.log
    assert "WARNING: Dropped" not in run.log
    assert "Traceback" not in run.log
    assert run.stat("spider_exceptions/count") == 0


def test_start_items_are_stored_too(crawl, mongo_db):
    spider = """
import scrapy

class Start(scrapy.Spider):
    name = "start"

    async def start(self):
        for n in range(30):
            yield {"n": n}
"""
    with crawl(spider, ITEM_KEYS={"start": ["n"]}) as run:
        assert run.wait() == 0, run.log

    assert mongo_db["items"].count_documents({}) == 30
