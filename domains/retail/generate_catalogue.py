"""Invents what the shop sells: every product in some of the variants that its options allow, each at its own price."""

from collections.abc import Sequence
from itertools import product as combinations
from random import Random
from typing import Any

from taugraph.domains.changes import Row

Goods = dict[str, Any]
"""A product to be: its name, the price in cents its variants lie around, and the values of each option."""

_FEWEST_VARIANTS, _MOST_VARIANTS = 5, 20


def catalogue_rows(goods: Sequence[Goods], random: Random) -> dict[str, list[Row]]:
    """Draw the rows of `products` and `variants`."""
    rows: dict[str, list[Row]] = {"products": [], "variants": []}
    numbers = iter(random.sample(range(10**9, 10**10), len(goods) * (_MOST_VARIANTS + 1)))
    for kind in goods:
        product_id = str(next(numbers))
        rows["products"].append({"product_id": product_id, "name": kind["name"]})
        for position, options in enumerate(_invent_variants(kind["options"], random)):
            rows["variants"].append(
                {
                    "item_id": str(next(numbers)),
                    "product_id": product_id,
                    "position": position,
                    "options": options,
                    "available": random.random() < 0.64,
                    "price_cents": kind["base_cents"] * random.randint(8500, 11500) // 10000,
                }
            )
    return rows


def _invent_variants(options: dict[str, list[str]], random: Random) -> list[dict[str, str]]:
    """Return some of the combinations of values, none of them twice."""
    possible = list(combinations(*options.values()))
    count = random.randint(_FEWEST_VARIANTS, min(_MOST_VARIANTS, len(possible)))
    return [dict(zip(options, values, strict=True)) for values in random.sample(possible, count)]
