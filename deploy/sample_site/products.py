"""The shop's stock: 240 products in 12 categories, the same on every machine."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

CATEGORIES = (
    "Astrolabes", "Barometers", "Compasses", "Dulcimers", "Easels", "Flasks",
    "Globes", "Hourglasses", "Inkwells", "Kaleidoscopes", "Lanterns", "Metronomes",
)  # fmt: skip
PRODUCTS_IN_CATEGORY = 20
_MATERIALS = ("brass", "walnut", "glass", "pewter", "slate")
_CURRENCIES = ("EUR", "GBP", "JPY")
_AVAILABILITY = ("InStock", "InStock", "OutOfStock", "PreOrder")


@dataclass(frozen=True)
class Product:
    """A product as its page shows it; ``path`` is the page's path, ``availability`` schema.org's word."""

    sku: str
    name: str
    path: str
    price: Decimal
    currency: str
    availability: str
    categories: tuple[str, ...]
    images: tuple[str, ...]
    description: str


def _product(number: int) -> Product:
    category = CATEGORIES[number // PRODUCTS_IN_CATEGORY]
    material = _MATERIALS[number % len(_MATERIALS)]
    name = f"{category[:-1]} No. {number}"
    return Product(
        sku=f"SK-{number:04}",
        name=f"{name} & {material} “Été”",
        path=f"/product/sk-{number:04}",
        price=Decimal(number * 37 + 5) / 100,
        currency=_CURRENCIES[number % len(_CURRENCIES)],
        availability=_AVAILABILITY[number % len(_AVAILABILITY)],
        categories=("Instruments", category),
        images=tuple(f"{name}, {side}" for side in ("front", "back")[: 1 + number % 2]),
        description=f"Made of {material} <by hand>, piece {number} of its kind.",
    )


PRODUCTS = tuple(_product(number) for number in range(len(CATEGORIES) * PRODUCTS_IN_CATEGORY))


def expected_products() -> dict[str, Product]:
    """Every product of the shop, by SKU."""
    return {product.sku: product for product in PRODUCTS}
