"""Where the shop's published versions differ, as one table."""

from taugraph.domains.dialect import Dialect

_SHARED_TOOLS = frozenset(
    {
        "calculate",
        "cancel_pending_order",
        "exchange_delivered_order_items",
        "find_user_id_by_email",
        "find_user_id_by_name_zip",
        "get_order_details",
        "get_product_details",
        "get_user_details",
        "list_all_product_types",
        "modify_pending_order_address",
        "modify_pending_order_items",
        "modify_pending_order_payment",
        "modify_user_address",
        "return_delivered_order_items",
        "transfer_to_human_agents",
    }
)


class RetailDialect(Dialect):
    """The differences between the shop's versions."""

    corrected: bool = False
    """Whether empty requests are refused, and refunds settle what is really owed on each method."""
    last_pair_decides: bool = False
    """Whether a change of several items gives all of them the last new item's price and options."""
    accepts_same_item: bool = True
    """Whether an item may be changed into itself."""
    item_change_locks_address: bool = False
    """Whether the address can no longer be changed once items were."""
    shows_unset_fields: bool = True
    """Whether records show optional fields that are not set, as null."""
    shows_user_id: bool = True
    """Whether a user record carries its own id."""


TAUGRAPH = RetailDialect(
    name="taugraph",
    tools=_SHARED_TOOLS | {"get_item_details"},
    corrected=True,
    accepts_same_item=False,
)
"""Our own seed: the corrected behaviour."""

TAU_BENCH = RetailDialect(
    name="tau-bench",
    checks_arguments=False,
    tools=_SHARED_TOOLS | {"think"},
    item_change_locks_address=True,
    shows_unset_fields=False,
    shows_user_id=False,
)
"""The first published version."""

TAU2 = RetailDialect(
    name="tau2",
    checks_arguments=False,
    tools=_SHARED_TOOLS | {"get_item_details"},
    last_pair_decides=True,
    accepts_same_item=False,
)
"""Its successors."""

DIALECTS = {dialect.name: dialect for dialect in (TAUGRAPH, TAU_BENCH, TAU2)}
"""Dialect by name."""
