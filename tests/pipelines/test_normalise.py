"""Every kind of item is spelt anew without being made anew."""

from __future__ import annotations

from dataclasses import InitVar, dataclass, field
from datetime import datetime, timedelta, timezone

import attrs
import pytest
import scrapy
from pydantic import BaseModel

from spiders_project.pipelines.normalise import NormalisePipeline

WIDE, COMPOSED = "e\u0301", "\u00e9"


@dataclass
class Plain:
    text: str


@dataclass(frozen=True, slots=True)
class Frozen:
    text: str


@dataclass
class WithInitVar:
    text: str
    raw: InitVar[str] = "raw"


@dataclass
class Derived:
    text: str = field(init=False)
    unset: str = field(init=False)

    def __post_init__(self):
        self.text = WIDE


@attrs.frozen
class AttrsFrozen:
    text: str
    made: datetime = attrs.field(init=False, default=datetime(2026, 1, 1))  # noqa: DTZ001 - naive


class Model(BaseModel):
    text: str


class Classic(scrapy.Item):
    text = scrapy.Field()


ITEMS = [Plain(WIDE), Frozen(WIDE), WithInitVar(WIDE, "x"), Derived(), AttrsFrozen(WIDE), Model(text=WIDE)]


@pytest.mark.parametrize("item", [*ITEMS, Classic(text=WIDE)], ids=lambda item: type(item).__name__)
def test_a_text_is_composed_in_a_copy(item):
    def text(item):
        return item["text"] if isinstance(item, Classic) else item.text

    done = NormalisePipeline().process_item(item)

    assert type(done) is type(item)
    assert text(done) == COMPOSED
    assert text(item) == WIDE


def test_fields_that_no_argument_sets_become_utc_too():
    assert NormalisePipeline().process_item(AttrsFrozen("x")).made == datetime(2026, 1, 1, tzinfo=timezone.utc)


@attrs.define
class Private:
    _text: str


def test_a_private_attribute_is_spelt_anew():
    assert NormalisePipeline().process_item(Private(WIDE))._text == COMPOSED


def test_a_time_beyond_the_calendar_is_left_to_the_storage():
    first = datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5)))

    assert NormalisePipeline().process_item({"t": first}) == {"t": first}


class Fields(dict):
    """An item class that extends dict, as OrderedDict does."""


def test_a_class_that_extends_dict_stays_itself():
    done = NormalisePipeline().process_item(Fields(text=WIDE))

    assert type(done) is Fields
    assert done == {"text": COMPOSED}
