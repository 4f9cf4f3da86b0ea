"""Items that are not what they should be are set aside with field and reason."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from decimal import Decimal
from typing import ClassVar

import pytest
from pydantic import BaseModel
from pydantic.dataclasses import dataclass as pydantic_dataclass
from scrapy.exceptions import DropItem

from spiders_project.delivery import current_origin
from spiders_project.errors import ConfigError
from spiders_project.pipelines.options import StorageOptions
from spiders_project.pipelines.reasons import Rejection
from spiders_project.pipelines.storage import Storage
from spiders_project.pipelines.validate import ValidatePipeline, Validator

PRICED = {"type": "object", "required": ["price"], "properties": {"price": {"type": "number", "minimum": 1}}}


class Offer(BaseModel):
    collection: ClassVar = "offers"

    sku: str
    price: Decimal


def test_a_pydantic_item_gets_the_types_that_its_class_declares():
    item = Validator({}, "shop")(Offer.model_construct(sku="a", price="1.20"))

    assert item == Offer(sku="a", price=Decimal("1.20"))


@pydantic_dataclass
class Checked:
    price: int


@dataclass
class Unchecked:
    price: int


def test_annotations_are_checked_where_pydantic_made_the_class_and_only_there():
    checked, unchecked = Checked(1), Unchecked("cheap")
    checked.price = "cheap"

    with pytest.raises(Rejection, match="price: Input should be a valid integer"):
        Validator({}, "shop")(checked)
    assert Validator({}, "shop")(unchecked) is unchecked
    with pytest.raises(Rejection, match="price: 'cheap' is not of type 'number'"):
        Validator({"Unchecked": PRICED}, "shop")(unchecked)


@pytest.mark.parametrize(
    ("item", "code", "reason"),
    [
        (Offer.model_construct(sku="a", price="cheap"), "invalid-decimal_parsing", "price: Input should be"),
        (Offer.model_construct(sku="a"), "invalid-missing", "price: Field required"),
        ({"name": "x"}, "invalid-required", "'price' is a required property"),
        ({"price": "3"}, "invalid-type", "price: '3' is not of type 'number'"),
        ({"price": Decimal("0.5")}, "invalid-minimum", "price: 0.5 is less than the minimum of 1"),
        ({"price": object()}, "unencodable", "price: a builtins.object has no form in MongoDB"),
    ],
)
def test_what_does_not_fit_names_field_and_reason(item, code, reason):
    with pytest.raises(Rejection) as raised:
        Validator({"shop": PRICED}, "shop")(item)

    assert raised.value.code == code
    assert raised.value.reason.startswith(reason)


def test_dicts_of_another_spider_have_another_schema():
    assert Validator({"shop": PRICED}, "library")({"title": "x"}) == {"title": "x"}


@pytest.mark.parametrize(
    ("schema", "message"),
    [
        ({"type": "nonsense"}, "is no JSON Schema"),
        ("spiders_project:no-such-file.json", "cannot be read"),
        ("no_such_package:file.json", "cannot be read"),
    ],
)
def test_a_malformed_schema_is_refused_at_start(schema, message):
    with pytest.raises(ConfigError, match=message):
        Validator({"shop": schema}, "shop")


def test_a_refused_item_is_kept_with_its_reason_and_its_request_waits_for_that(opened, mongo_db, settled, stats):
    origin = settled.origin("a")

    async def run():
        async with opened("shop", item_schemas={"shop": PRICED}, flush_seconds=30) as storage:
            pipeline = ValidatePipeline(storage)
            current_origin.set(origin)
            with pytest.raises(DropItem, match="'price' is a required property"):
                await pipeline.process_item({"name": "x"})
            origin.delivery.release()
            assert settled.ids == []
        assert settled.ids == ["a"]

    asyncio.run(run())
    (kept,) = mongo_db.items_rejected.find()
    assert kept["item"] == {"name": "x"}
    assert kept["reason"] == "'price' is a required property"
    assert kept["request_id"] == "a"
    assert kept["spider"] == "shop"
    assert stats["items/rejected/invalid-required"] == 1
    assert mongo_db["items"].count_documents({}) == 0


def test_without_a_storage_an_item_is_dropped_and_counted(stats):
    async def run():
        options = StorageOptions(item_schemas={"shop": PRICED})
        storage = Storage(options, "shop", lambda name, number: stats.update({name: number}))
        with pytest.raises(DropItem):
            await ValidatePipeline(storage).process_item({"name": "x"})

    asyncio.run(run())
    assert stats["items/rejected/invalid-required"] == 1


@pytest.mark.parametrize(
    ("price", "schema"),
    [
        (float("nan"), {"multipleOf": 0.01}),
        (float("inf"), {"multipleOf": 0.01}),
        (1, {"$ref": "#/nowhere"}),
        (1, {"$ref": "https://example.com/price.json"}),
        (1, {"$ref": "#/properties/price"}),
    ],
)
def test_a_schema_that_cannot_be_applied_rejects_the_item_and_raises_nothing(price, schema):
    with pytest.raises(Rejection, match="the JSON Schema cannot be applied") as raised:
        Validator({"dict": {"properties": {"price": schema}}}, "shop")({"price": price})

    assert raised.value.code == "invalid-validator"
