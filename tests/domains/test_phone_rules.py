"""The carrier's rules on its own seed: each kept once and broken once."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from support.conversation import Conversation

from taugraph.domains.phone.rules import RULES
from taugraph.tools.executor import Executor
from taugraph.tools.phone import domain
from taugraph.tools.phone.records import change

LINE, CUSTOMER = "L81829", "C56269"
OTHER = "L23310"
Talk = Callable[..., Conversation]


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    executor = Executor(domain)
    yield executor
    executor.close()


@pytest.fixture
def talk(executor: Executor) -> Talk:
    """Return a function that begins a conversation with Anika, identified, with what differs in the records."""

    def begin(*, identified: bool = True, **data: Any) -> Conversation:
        conversation = Conversation(executor).user("Hello.")
        conversation._changes = executor.database.run({}, lambda session: change(session, data))[1]
        if identified:
            conversation.call("find_customer_by_phone", phone_number="713-555-0141", birth_date="1996-02-19")
        return conversation

    return begin


@pytest.fixture
def bills(executor: Executor) -> list[str]:
    rows = [row for row in domain.seed.rows() if getattr(row, "bill_id", None) and row.line_id == LINE]  # type: ignore[attr-defined]
    return [row.bill_id for row in rows]  # type: ignore[attr-defined]


def suspended(reason: str) -> dict[str, Any]:
    return {LINE: {"status": "suspended", "suspended_for": reason}}


def test_rules_have_names_of_their_own_and_a_sentence_each() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.text.endswith(".") and ". " not in rule.text for rule in RULES)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("get_customer_details", {"customer_id": CUSTOMER}),
        ("get_line_details", {"line_id": LINE}),
        ("get_data_usage", {"line_id": LINE}),
        ("look_up_puk", {"line_id": LINE}),
    ],
)
def test_the_customer_is_identified_before_anything_is_read(name: str, arguments: dict[str, Any], talk: Talk) -> None:
    wrong = talk(identified=False).call(name, **arguments)
    assert wrong.broken == ["customer_identified_before_private_data"]
    assert talk().call(name, **arguments).broken == []


def test_a_failed_identification_is_none(talk: Talk) -> None:
    conversation = talk(identified=False)
    conversation.call("find_customer_by_phone", phone_number="713-555-0141", birth_date="1990-01-01")
    assert conversation.call("get_line_details", line_id=LINE).broken == ["customer_identified_before_private_data"]


def test_plans_are_no_secret(talk: Talk) -> None:
    assert talk(identified=False).call("list_plans").broken == []


def test_another_customers_line_is_none_of_the_conversation(talk: Talk) -> None:
    conversation = talk().call("get_line_details", line_id=LINE).call("get_data_usage", line_id=OTHER)
    assert set(conversation.broken) == {"one_customer_per_conversation", "customer_identified_before_private_data"}


def test_a_change_wants_a_yes(talk: Talk) -> None:
    assert talk().call("set_line_roaming", line_id=LINE, enabled=True).broken == ["consent_before_write"]
    assert talk().does("set_line_roaming", line_id=LINE, enabled=True).broken == []


@pytest.mark.parametrize(
    ("name", "arguments", "question"),
    [
        ("set_line_roaming", {"enabled": True}, "I would enable roaming on your line for $4.50. Is that all right?"),
        ("suspend_line", {"reason": "lost"}, "Shall I suspend the line until the phone is found?"),
        ("refuel_data", {"gigabytes": 2}, "I can add 2 GB for $4.50. Go ahead?"),
        ("change_plan", {"plan_id": "ocean"}, "The Ocean plan costs $48.75 a month. Shall I switch you over?"),
        ("reset_provisioning", {}, "I would write the network profile of your line anew, for free. May I?"),
    ],
)
def test_a_question_in_plain_words_is_enough(name: str, arguments: dict[str, Any], question: str, talk: Talk) -> None:
    conversation = talk().agent(question).user("Yes, please do.")
    assert conversation.call(name, line_id=LINE, **arguments).broken == []


@pytest.mark.parametrize("reason", ["lost", "stolen", "travel", "unpaid_bill"])
def test_what_is_settled_may_be_resumed(reason: str, talk: Talk) -> None:
    assert talk(lines=suspended(reason)).does("resume_line", line_id=LINE).broken == []


@pytest.mark.parametrize("reason", ["fraud_review", "contract_ended"])
def test_what_the_carrier_has_stopped_stays_so(reason: str, talk: Talk) -> None:
    broken = talk(lines=suspended(reason)).does("resume_line", line_id=LINE).broken
    assert broken == ["suspension_may_be_lifted"]


@pytest.mark.parametrize("status", ["overdue", "requested"])
def test_a_line_in_debt_stays_suspended(status: str, talk: Talk, bills: list[str]) -> None:
    data = {"lines": suspended("unpaid_bill"), "bills": {bills[1]: {"status": status}}}
    assert talk(**data).does("resume_line", line_id=LINE).broken == ["suspension_may_be_lifted"]


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("set_line_roaming", {"enabled": True}),
        ("refuel_data", {"gigabytes": 1}),
        ("change_plan", {"plan_id": "ocean"}),
    ],
)
def test_debt_comes_before_anything_that_costs(
    name: str, arguments: dict[str, Any], talk: Talk, bills: list[str]
) -> None:
    data = {"bills": {bills[0]: {"status": "overdue"}}}
    assert talk(**data).does(name, line_id=LINE, **arguments).broken == ["debt_comes_first"]
    assert talk().does(name, line_id=LINE, **arguments).broken == []


def test_roaming_goes_off_whatever_is_owed(talk: Talk, bills: list[str]) -> None:
    data = {"lines": {LINE: {"roaming": True}}, "bills": {bills[0]: {"status": "overdue"}}}
    assert talk(**data).does("set_line_roaming", line_id=LINE, enabled=False).broken == []


@pytest.mark.parametrize(
    ("name", "arguments"), [("refuel_data", {"gigabytes": 1}), ("change_plan", {"plan_id": "ocean"})]
)
def test_a_suspended_line_is_left_alone(name: str, arguments: dict[str, Any], talk: Talk) -> None:
    broken = talk(lines=suspended("travel")).does(name, line_id=LINE, **arguments).broken
    assert broken == ["line_is_active"]


@pytest.mark.parametrize(
    ("extra", "wanted", "is_broken"), [(0, 5, False), (0, 6, True), (3000, 2, False), (3000, 3, True)]
)
def test_five_gigabytes_a_month_are_the_limit(extra: int, wanted: int, is_broken: bool, talk: Talk) -> None:
    conversation = talk(lines={LINE: {"extra_mb": extra}}).does("refuel_data", line_id=LINE, gigabytes=wanted)
    assert conversation.broken == (["refuel_stays_within_limit"] if is_broken else [])


def test_requests_go_out_for_overdue_bills_one_at_a_time(talk: Talk, bills: list[str]) -> None:
    overdue = {bills[0]: {"status": "overdue"}, bills[1]: {"status": "overdue"}}
    conversation = talk(bills=overdue).does("send_payment_request", bill_id=bills[0])
    assert conversation.broken == []
    assert conversation.does("send_payment_request", bill_id=bills[1]).broken == ["one_overdue_bill_is_requested"]
    early = talk().does("send_payment_request", bill_id=bills[2])
    assert early.broken == ["one_overdue_bill_is_requested"]


def test_a_colleague_takes_over_what_no_tool_does(talk: Talk) -> None:
    summary = f"Line {LINE} is suspended for a fraud review."
    conversation = talk(lines=suspended("fraud_review")).call("get_line_details", line_id=LINE)
    assert conversation.call("transfer_to_human_agents", summary=summary).broken == []


def test_a_colleague_does_not_take_over_a_plain_request(talk: Talk) -> None:
    conversation = talk(identified=False).user("Please change my plan.")
    conversation.call("transfer_to_human_agents", summary="The customer wants another plan.")
    assert conversation.broken == ["handoff_only_when_out_of_scope"]


@pytest.mark.parametrize(
    ("reason", "is_broken"),
    [("travel", True), ("unpaid_bill", True), ("fraud_review", False), ("contract_ended", False)],
)
def test_a_colleague_lifts_only_what_the_carrier_has_stopped(reason: str, is_broken: bool, talk: Talk) -> None:
    conversation = talk(lines=suspended(reason)).call("get_line_details", line_id=LINE)
    conversation.call("transfer_to_human_agents", summary=f"The customer wants to resume line {LINE}.")
    assert conversation.broken == (["handoff_only_when_out_of_scope"] if is_broken else [])
