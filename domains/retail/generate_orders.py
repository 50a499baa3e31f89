"""Invents what was bought: orders of the catalogue's variants at today's prices, each paid once by its buyer.

An order's payment is the sum of its lines, and a cancelled order got the same sum back.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from random import Random

from taugraph.domains.changes import Row
from taugraph.domains.retail.generate_people import Names, invent_address

_ORDERS = 1000
_MOST_LINES = 5
_STATUSES = {"pending": 42, "delivered": 37, "processed": 10, "cancelled": 10}
_ADDRESS = ("address1", "address2", "city", "state", "country", "zip")


def order_rows(
    people: Mapping[str, Sequence[Row]], catalogue: Mapping[str, Sequence[Row]], names: Names, random: Random
) -> dict[str, list[Row]]:
    """Draw the rows of `orders` and of the tables that hang on it.

    Args:
        people: The rows of `users` and `payment_methods`.
        catalogue: The rows of `products` and `variants`.
        names: Where other addresses than the buyer's own are taken from.
        random: Decides everything.
    """
    tables = ("orders", "user_orders", "order_lines", "fulfillments", "order_payments")
    rows: dict[str, list[Row]] = {table: [] for table in tables}
    methods = _grouped(people["payment_methods"], "user_id")
    listed: dict[str, list[str]] = {user["user_id"]: [] for user in people["users"]}
    for number in random.sample(range(1_000_000, 10_000_000), _ORDERS):
        user = random.choice(people["users"])
        order = _invent_order(f"#W{number}", user, names, random)
        lines = list(_invent_lines(order["order_id"], catalogue, random))
        method = random.choice(methods[user["user_id"]])
        listed[user["user_id"]].append(order["order_id"])
        rows["orders"].append(order)
        rows["order_lines"] += lines
        rows["fulfillments"] += _parcels(order, lines, random)
        rows["order_payments"] += _payments(order, lines, method["payment_method_id"])
    rows["user_orders"] = [
        {"user_id": user_id, "position": position, "order_id": order_id}
        for user_id, order_ids in listed.items()
        for position, order_id in enumerate(order_ids)
    ]
    return rows


def _grouped(rows: Iterable[Row], column: str) -> dict[str, list[Row]]:
    groups: dict[str, list[Row]] = {}
    for row in rows:
        groups.setdefault(row[column], []).append(row)
    return groups


def _invent_order(order_id: str, user: Row, names: Names, random: Random) -> Row:
    home = {column: user[column] for column in _ADDRESS}
    (status,) = random.choices(list(_STATUSES), weights=list(_STATUSES.values()))
    order = {
        "order_id": order_id,
        "user_id": user["user_id"],
        "status": status,
        **(home if random.random() < 0.8 else invent_address(names, random)),
    }
    if status == "cancelled":
        order["cancel_reason"] = random.choice(["no longer needed", "ordered by mistake"])
    return order


def _invent_lines(order_id: str, catalogue: Mapping[str, Sequence[Row]], random: Random) -> Iterator[Row]:
    """Yield one to five lines; that one product or item comes twice is left to chance."""
    variants = _grouped(catalogue["variants"], "product_id")
    for position in range(random.randint(1, _MOST_LINES)):
        product = random.choice(catalogue["products"])
        variant = random.choice(variants[product["product_id"]])
        bought = {column: variant[column] for column in ("product_id", "item_id", "price_cents", "options")}
        yield {"order_id": order_id, "position": position, "name": product["name"], **bought}


def _parcels(order: Row, lines: Sequence[Row], random: Random) -> Iterator[Row]:
    if order["status"] != "pending":
        yield {
            "order_id": order["order_id"],
            "position": 0,
            "tracking_ids": [str(random.randrange(10**11, 10**12))],
            "item_ids": [line["item_id"] for line in lines],
        }


def _payments(order: Row, lines: Sequence[Row], method_id: str) -> Iterator[Row]:
    kinds = ("payment", "refund") if order["status"] == "cancelled" else ("payment",)
    total = sum(line["price_cents"] for line in lines)
    for position, kind in enumerate(kinds):
        yield {
            "order_id": order["order_id"],
            "position": position,
            "transaction_type": kind,
            "amount_cents": total,
            "payment_method_id": method_id,
        }
