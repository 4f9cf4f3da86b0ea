"""One product of a catalogue: the typed item to copy."""

from __future__ import annotations

from decimal import Decimal  # noqa: TC003 - pydantic resolves the annotations at run time
from enum import Enum
from typing import Annotated, ClassVar

from pydantic import BaseModel, Field, StringConstraints

NonEmpty = Annotated[str, StringConstraints(strip_whitespace=True, min_length=1)]


class Availability(str, Enum):
    """Whether a product can be bought; the values are schema.org's."""

    IN_STOCK = "InStock"
    OUT_OF_STOCK = "OutOfStock"
    PRE_ORDER = "PreOrder"


class Product(BaseModel):
    """A product; a field that does not fit raises ``pydantic.ValidationError`` in the spider's callback.

    Attributes:
        sku: The shop's own number of the product.
        name: What it is called.
        url: Its page.
        price: The price as the shop writes it; a Decimal, so that nothing is rounded.
        currency: ISO 4217 code.
        availability: Whether it can be bought.
        categories: From the widest to the narrowest.
        images: The alternative texts of its images.
        description: What the shop says about it.
    """

    collection: ClassVar[str] = "products"
    key_fields: ClassVar[tuple[str, ...]] = ("sku",)
    volatile_fields: ClassVar[tuple[str, ...]] = ()

    sku: NonEmpty
    name: NonEmpty
    url: NonEmpty
    price: Annotated[Decimal, Field(ge=0)]
    currency: Annotated[str, StringConstraints(pattern=r"^[A-Z]{3}$")]
    availability: Availability
    categories: list[NonEmpty]
    images: list[str]
    description: str
