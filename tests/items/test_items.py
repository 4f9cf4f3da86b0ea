import json
from datetime import datetime, timezone
from decimal import Decimal

import pytest
from itemadapter import ItemAdapter
from pydantic import ValidationError

from spiders_project.items import Availability, FeedEntry, Page, Product

PRODUCT = {
    "sku": "1",
    "name": "Compass",
    "url": "http://a.org/1",
    "price": "12.50",
    "currency": "EUR",
    "availability": "InStock",
    "categories": ["Instruments"],
    "images": [],
    "description": "",
}
ITEMS = [
    Page(
        url="http://a.org/",
        requested_url="http://a.org/",
        status=200,
        content_type="text/html",
        fetched_at=datetime(2026, 1, 1, tzinfo=timezone.utc),
    ),
    Product.model_validate(PRODUCT),
    FeedEntry(id="1", feed_url="http://a.org/feed"),
]
EACH_ITEM = pytest.mark.parametrize("item", ITEMS, ids=lambda item: type(item).__name__)


@EACH_ITEM
def test_an_item_adapter_reads_and_writes_the_fields_and_not_the_declarations(item):
    adapter = ItemAdapter(item)
    assert not {"collection", "key_fields", "volatile_fields"} & set(adapter.field_names())
    assert adapter.asdict().keys() == set(adapter.field_names())
    name = next(iter(item.key_fields))
    adapter[name] = adapter[name]


@EACH_ITEM
def test_key_and_volatile_fields_are_fields_and_differ(item):
    names = set(ItemAdapter(item).field_names())
    assert item.collection
    assert item.key_fields
    assert set(item.key_fields) <= names
    assert set(item.volatile_fields) <= names - set(item.key_fields)


def test_each_class_has_a_collection_of_its_own():
    assert len({item.collection for item in ITEMS}) == len(ITEMS)


def test_a_price_is_what_the_shop_wrote():
    product = Product.model_validate(PRODUCT)
    assert product.price == Decimal("12.50")
    assert str(product.price) == "12.50"
    assert product.availability is Availability.IN_STOCK
    assert json.loads(product.model_dump_json())["availability"] == "InStock"


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("sku", " "),
        ("price", "cheap"),
        ("price", "-1"),
        ("price", "NaN"),
        ("currency", "euro"),
        ("availability", "Maybe"),
        ("name", None),
    ],
)
def test_a_product_with_a_field_that_does_not_fit_is_refused_by_its_name(field, value):
    with pytest.raises(ValidationError, match=field):
        Product.model_validate({**PRODUCT, field: value})
