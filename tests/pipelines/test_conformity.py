"""Pydantic items pass as they are, unless somebody has gone past their class."""

from __future__ import annotations

from dataclasses import InitVar, field
from decimal import Decimal
from typing import Annotated, ClassVar

import pytest
from pydantic import AfterValidator, BaseModel, Field, HttpUrl, field_validator
from pydantic.dataclasses import dataclass

from spiders_project.pipelines.conformity import Conformity
from spiders_project.pipelines.reasons import Rejection


class Price(BaseModel):
    title: str
    price: float

    @field_validator("price", mode="before")
    @classmethod
    def strip(cls, value):
        return value.replace("GBP", "")


class Sku(BaseModel):
    key_fields: ClassVar = ("sku",)
    sku: str

    @field_validator("sku")
    @classmethod
    def prefix(cls, value):
        return f"SKU-{value}"


class Tags(BaseModel):
    tags: Annotated[str, AfterValidator(lambda text: text.split(","))]
    many: list[Annotated[str, AfterValidator(lambda text: f"<{text}>")]] = []
    missing: int = None
    url: HttpUrl = "https://example.com/"


@dataclass
class Made:
    text: str
    number: int = field(init=False, default=3)


@dataclass
class FromRaw:
    text: str
    raw: InitVar[int]


class Inner(BaseModel):
    n: Annotated[int, Field(ge=0)]


class Derived(Inner):
    more: str


class Outer(BaseModel):
    inner: Inner
    many: list[Inner] = []


VALID = [
    Price(title="a", price="GBP3"),
    Sku(sku="1"),
    Tags(tags="a,b", many=["x"], url="https://example.com/x"),
    Tags(tags="a,b"),
    Made("x"),
    FromRaw("x", 1),
    Outer(inner=Derived(n=1, more="x"), many=[Inner(n=2)]),
]


@pytest.mark.parametrize("item", VALID, ids=lambda item: type(item).__name__)
def test_a_valid_item_passes_as_it_is(item):
    assert Conformity()(item) is item


BAD = [
    (Price.model_construct(title=1, price=3.0), "title"),
    (Outer.model_construct(inner=Inner.model_construct(n="x"), many=[]), "inner.n"),
    (Outer(inner=Inner(n=1), many=[Inner.model_construct(n=-1)]), "many.0.n"),
    (Outer.model_construct(many=[]), "inner"),
    (Outer.model_construct(inner=Inner.model_construct()), "inner.n"),
]


@pytest.mark.parametrize(("item", "path"), BAD, ids=[path for _, path in BAD])
def test_what_went_past_its_class_is_refused(item, path):
    with pytest.raises(Rejection) as raised:
        Conformity()(item)

    assert raised.value.reason.startswith(f"{path}: ")


def test_what_was_assigned_is_refused_wherever_it_lies():
    item, made, raw = Outer(inner=Inner(n=1)), Made("x"), FromRaw("x", 1)
    item.inner.n = made.text = raw.text = []

    for one in (item, made, raw):
        with pytest.raises(Rejection):
            Conformity()(one)


def test_what_is_assigned_is_validated_and_its_neighbours_are_left_alone():
    class Both(Price, Sku):
        count: int

    item = Both(title="a", price="GBP3", sku="1", count=1)
    item.count = "2"
    done = Conformity()(item)

    assert (done.count, done.sku, done.price) == (2, "SKU-1", 3.0)
    assert item.count == "2"


def test_what_went_past_its_class_and_fits_is_converted():
    assert Conformity()(Price.model_construct(title="a", price="GBP3")).price == 3.0
    item = Outer(inner=Inner(n=1), many=[Inner.model_construct(n="2")])
    assert Conformity()(item).many == [Inner(n=2)]
    assert item.many[0].n == "2"


class Exact(BaseModel):
    price: Decimal


def test_a_whole_number_for_a_decimal_becomes_one():
    assert type(Conformity()(Exact.model_construct(price=2)).price) is Decimal
