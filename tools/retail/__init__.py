"""The shop as a domain: its tables, seed, policy and tasks, with the tools that act on them."""

from dataclasses import replace
from datetime import datetime
from pathlib import Path

from taugraph.domains.domain import Domain, RowComparison, Seed
from taugraph.domains.published import read_policy, read_tau_bench_tasks
from taugraph.domains.retail.dialects import TAU_BENCH, TAUGRAPH
from taugraph.domains.retail.models import TABLES, Handoff
from taugraph.domains.retail.published import read_seed
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
