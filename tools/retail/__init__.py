"""The shop as a domain: its tables, seed, policy and tasks, with the tools that act on them."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from taugraph.domains.domain import Domain, RowComparison
from taugraph.domains.published import read_policy, read_tau_bench_tasks
from taugraph.domains.retail.dialects import TAU2, TAU_BENCH, TAUGRAPH
from taugraph.domains.retail.models import TABLES, Handoff
from taugraph.domains.retail.published import read_seed
from taugraph.domains.retail.rules import RULES
from taugraph.domains.retail.seed import load_seed
from taugraph.domains.task import load_tasks
from taugraph.domains.tau2_files import is_tau2_folder, read_tau2_policy, read_tau2_tasks
from taugraph.tools.arithmetic import calculate
from taugraph.tools.handoff import handoff_tool
from taugraph.tools.retail.deliveries import exchange_delivered_order_items, return_delivered_order_items
from taugraph.tools.retail.orders import (
    cancel_pending_order,
    modify_pending_order_address,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_user_address,
)
from taugraph.tools.retail.records import change
from taugraph.tools.retail.searches import (
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_item_details,
    get_order_details,
    get_product_details,
    get_user_details,
    list_all_product_types,
)
from taugraph.tools.thinking import think

AGENT_TOOLS = (
    calculate,
    cancel_pending_order,
    exchange_delivered_order_items,
    find_user_id_by_email,
    find_user_id_by_name_zip,
    get_item_details,
    get_order_details,
    get_product_details,
    get_user_details,
    list_all_product_types,
    modify_pending_order_address,
    modify_pending_order_items,
    modify_pending_order_payment,
    modify_user_address,
    return_delivered_order_items,
    think,
    handoff_tool(Handoff),
)
"""Every tool of every dialect."""

_FOLDER = Path(__file__).parents[2] / "domains" / "retail"


def read_data(folder: Path) -> Domain:
    """Build the shop on published files.

    Raises:
        DataError: If a file is missing or breaks its form.
    """
    if is_tau2_folder(folder):
        found = replace(domain, policy=read_tau2_policy(folder), tasks=read_tau2_tasks(folder), dialect=TAU2)
    else:
        found = replace(domain, policy=read_policy(folder), tasks=read_tau_bench_tasks(folder), dialect=TAU_BENCH)
    return replace(found, seed=read_seed(folder), comparison=RowComparison(), source=folder.name)


domain = Domain(
    name="retail",
    tables=TABLES,
    seed=load_seed(),
    policy=(_FOLDER / "policy.md").read_text(encoding="utf-8"),
    agent_tools=AGENT_TOOLS,
    tasks=load_tasks(_FOLDER / "tasks.jsonl"),
    now=datetime(2024, 5, 15, 15),
    dialect=TAUGRAPH,
    comparison=RowComparison(
        unordered={
            "fulfillments": "position",
            "order_lines": "position",
            "order_payments": "position",
            "payment_methods": "position",
            "user_orders": "position",
        },
        ignored={"handoffs": frozenset({"summary"})},
    ),
    rules=RULES,
    read_data=read_data,
    change_records=change,
)
"""The shop on our own seed."""
