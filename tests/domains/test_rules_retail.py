"""The shop's rules on its own seed: each kept once and broken once."""

import json
from collections.abc import Iterator
from typing import Any

import pytest
from support.conversation import Conversation

from taugraph.domains.retail.rules import RULES
from taugraph.tools.executor import Executor
from taugraph.tools.retail import domain

PENDING, DELIVERED, PROCESSED = "#W2362066", "#W7854316", "#W7422582"
PALOMA, OSCAR = "paloma_whitfield_2737", "oscar_holloway_8082"
ITEM = "9250159565"


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    executor = Executor(domain)
    yield executor
    executor.close()


@pytest.fixture
def talk(executor: Executor) -> Conversation:
    return Conversation(executor).user("Hello.")


@pytest.fixture
def paloma(talk: Conversation) -> Conversation:
    return talk.call("find_user_id_by_email", email="paloma.whitfield9265@example.com")


@pytest.fixture
def oscar(talk: Conversation) -> Conversation:
    return talk.call("find_user_id_by_name_zip", first_name="Oscar", last_name="Holloway", zip="44153")


def test_rules_have_names_of_their_own_and_a_sentence_each() -> None:
    assert len({rule.name for rule in RULES}) == len(RULES)
    assert all(rule.text.endswith(".") and ". " not in rule.text for rule in RULES)


def test_the_customer_is_found_before_anything_is_read(talk: Conversation) -> None:
    talk.user(f"I am {PALOMA}.").call("get_user_details", user_id=PALOMA)
    assert talk.broken == ["customer_authenticated_before_private_data"]


def test_a_customer_who_was_found_may_be_looked_up(paloma: Conversation) -> None:
    paloma.call("get_user_details", user_id=PALOMA).call("get_order_details", order_id=PENDING)
    assert paloma.broken == []


def test_who_was_found_is_who_is_served(paloma: Conversation) -> None:
    paloma.call("get_user_details", user_id=OSCAR)
    assert paloma.broken == ["customer_authenticated_before_private_data"]


def test_a_conversation_is_with_one_customer(paloma: Conversation) -> None:
    paloma.call("get_user_details", user_id=PALOMA).call("get_order_details", order_id=DELIVERED)
    assert paloma.broken == ["one_customer_per_conversation"]


def test_looking_up_an_order_that_the_customer_named_tells_whose_it_is(paloma: Conversation) -> None:
    paloma.call("get_user_details", user_id=PALOMA).user(f"And what about {DELIVERED}?")
    assert paloma.call("get_order_details", order_id=DELIVERED).broken == []


@pytest.mark.parametrize(
    ("asked", "broken"),
    [
        (f"Cancel {PENDING} as no longer needed?", []),
        ("Cancel your order?", []),
        (f"Cancel {DELIVERED}?", ["consent_before_write"]),
        (f"Change the address of {PENDING}?", ["consent_before_write"]),
    ],
)
def test_the_question_is_about_the_change_that_is_made(paloma: Conversation, asked: str, broken: list[str]) -> None:
    paloma.agent(asked).user("Yes.").call("cancel_pending_order", order_id=PENDING, reason="no longer needed")
    assert paloma.broken == broken


@pytest.mark.parametrize(
    ("words", "reason", "kept"),
    [
        ("I don't need it.", "no longer needed", True),
        ("I clicked by accident.", "ordered by mistake", True),
        ("Please.", "ordered by mistake", True),
        ("I don't need it.", "ordered by mistake", False),
        ("I ordered it by mistake.", "no longer needed", False),
    ],
)
def test_the_reason_is_the_customers(paloma: Conversation, words: str, reason: str, kept: bool) -> None:
    paloma.user(words).does("cancel_pending_order", order_id=PENDING, reason=reason)
    assert paloma.broken == ([] if kept else ["cancel_reason_is_the_customers"])


def test_only_delivered_orders_are_returned(paloma: Conversation) -> None:
    goods = {"item_ids": [ITEM], "payment_method_id": "gift_card_9339059"}
    paloma.does("return_delivered_order_items", order_id=PENDING, **goods)
    assert paloma.broken == ["status_allows_change"]


@pytest.mark.parametrize(
    ("method", "kept"), [("credit_card_7181281", True), ("gift_card_2746691", True), ("paypal_9030264", False)]
)
def test_a_refund_goes_to_who_paid_or_a_gift_card(oscar: Conversation, method: str, kept: bool) -> None:
    goods = {"item_ids": ["5213590531"], "payment_method_id": method}
    oscar.does("return_delivered_order_items", order_id=DELIVERED, **goods)
    assert oscar.broken == ([] if kept else ["refund_goes_to_payer_or_gift_card"])


@pytest.mark.parametrize(("method", "kept"), [("paypal_1722866", True), ("gift_card_9339059", False)])
def test_a_payment_moves_to_another_method(paloma: Conversation, method: str, kept: bool) -> None:
    paloma.does("modify_pending_order_payment", order_id=PENDING, payment_method_id=method)
    assert paloma.broken == ([] if kept else ["payment_moves_to_another_method"])


def test_items_of_an_order_are_changed_once(paloma: Conversation, executor: Executor) -> None:
    document = json.loads(executor.execute("get_product_details", {"product_id": "7637925717"}, {}).text)
    first, second = [key for key, one in document["variants"].items() if one["available"] and key != ITEM][:2]
    change: dict[str, Any] = {"order_id": PENDING, "payment_method_id": "paypal_1722866"}
    paloma.does("modify_pending_order_items", item_ids=[ITEM], new_item_ids=[first], **change)
    assert paloma.broken == []
    paloma.does("modify_pending_order_items", item_ids=[first], new_item_ids=[second], **change)
    assert paloma.broken == ["items_change_once"]


@pytest.mark.parametrize("value", [None, 7, "x", [], ["x"], {"a": [1]}, True])
def test_arguments_of_any_type_break_no_rule_in_our_own_code(talk: Conversation, value: Any) -> None:
    for tool in domain.agent_tools:
        properties = tool.tool_call_schema.model_json_schema()["properties"]
        talk.call(tool.name, **dict.fromkeys(properties, value))
        if "order_id" in properties:
            talk.call(tool.name, **dict.fromkeys(properties, value) | {"order_id": PENDING})
