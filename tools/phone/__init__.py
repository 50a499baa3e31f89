"""The phone carrier as a domain: the agent's tools act on its records, the customer's own on the phone at hand."""

from datetime import datetime
from pathlib import Path

from taugraph.domains.domain import Domain, RowComparison
from taugraph.domains.phone.models import TABLES, Handoff
from taugraph.domains.phone.rules import RULES
from taugraph.domains.phone.seed import load_seed
from taugraph.domains.task import load_tasks
from taugraph.tools.arithmetic import calculate
from taugraph.tools.handoff import handoff_tool
from taugraph.tools.phone.handling import (
    allow_app,
    enter_puk,
    pay_request,
    reseat_sim,
    reset_apn,
    restart_phone,
    set_network_mode,
    toggle_switch,
)
from taugraph.tools.phone.lines import (
    change_plan,
    refuel_data,
    reset_provisioning,
    resume_line,
    send_payment_request,
    set_line_roaming,
    suspend_line,
)
from taugraph.tools.phone.readings import (
    check_app,
    check_payment_request,
    check_settings,
    check_sim,
    check_status_bar,
    run_speed_test,
    send_test_picture,
)
from taugraph.tools.phone.records import change
from taugraph.tools.phone.searches import (
    find_customer_by_name,
    find_customer_by_phone,
    get_bills,
    get_customer_details,
    get_data_usage,
    get_line_details,
    list_plans,
    look_up_puk,
)

AGENT_TOOLS = (
    calculate,
    change_plan,
    find_customer_by_name,
    find_customer_by_phone,
    get_bills,
    get_customer_details,
    get_data_usage,
    get_line_details,
    list_plans,
    look_up_puk,
    refuel_data,
    reset_provisioning,
    resume_line,
    send_payment_request,
    set_line_roaming,
    suspend_line,
    handoff_tool(Handoff),
)
"""What the agent can do: the carrier's side."""

USER_TOOLS = (
    allow_app,
    check_app,
    check_payment_request,
    check_settings,
    check_sim,
    check_status_bar,
    enter_puk,
    pay_request,
    reseat_sim,
    reset_apn,
    restart_phone,
    run_speed_test,
    send_test_picture,
    set_network_mode,
    toggle_switch,
)
"""What the customer can do with the phone at hand."""

_FOLDER = Path(__file__).parents[2] / "domains" / "phone"

domain = Domain(
    name="phone",
    tables=TABLES,
    seed=load_seed(),
    policy=(_FOLDER / "policy.md").read_text(encoding="utf-8"),
    agent_tools=AGENT_TOOLS,
    user_tools=USER_TOOLS,
    tasks=load_tasks(_FOLDER / "tasks.jsonl"),
    now=datetime(2025, 3, 18, 10),
    comparison=RowComparison(unordered={"charges": "position"}, ignored={"handoffs": frozenset({"summary"})}),
    rules=RULES,
    change_records=change,
)
"""The carrier on our own seed."""
