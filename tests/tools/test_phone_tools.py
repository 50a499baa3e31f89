"""The carrier's tools and the phone's: what a phone can do follows from what both sides have set."""

import json
from collections.abc import Callable, Iterator
from typing import Any, Self

import pytest
from pydantic import ValidationError

from taugraph.domains.changes import NetChanges
from taugraph.domains.errors import ToolRefusal
from taugraph.tools.executor import Answer, Executor
from taugraph.tools.phone import domain
from taugraph.tools.phone.records import change

LINE, DEVICE, CUSTOMER = "L81829", "D71782", "C56269"
"""Anika Eriksen's line on the plan Channel (5G, 25 GB), and her phone."""
PUK = "look_up_puk"
NONE = "Speed test: no internet connection."
FIVE_G = "Speed test over mobile data, 5G: 210.0 Mbps, excellent."


class Hands:
    """Agent and customer at work on one database."""

    def __init__(self, agent: Executor, changes: NetChanges) -> None:
        self._agent, self._user = agent, agent.sharing(domain.user_tools)
        self.changes = changes

    def agent(self, name: str, **arguments: Any) -> Answer:
        return self._make(self._agent, name, arguments)

    def user(self, name: str, **arguments: Any) -> str:
        return self._make(self._user, name, arguments).text

    def did(self, name: str, **arguments: Any) -> Self:
        answer = self.agent(name, **arguments)
        assert not answer.is_error, answer.text
        return self

    def row(self, table: str) -> dict[str, Any]:
        ((_, after),) = self.changes[table].values()
        assert after
        return after

    @property
    def speed(self) -> str:
        return self.user("run_speed_test")

    @property
    def bar(self) -> str:
        return self.user("check_status_bar")

    def _make(self, executor: Executor, name: str, arguments: dict[str, Any]) -> Answer:
        answer = executor.execute(name, arguments, self.changes)
        self.changes = answer.changes
        return answer


Begin = Callable[..., Hands]


@pytest.fixture(scope="module")
def executor() -> Iterator[Executor]:
    executor = Executor(domain)
    yield executor
    executor.close()


@pytest.fixture
def begin(executor: Executor) -> Begin:
    """Return a function that puts Anika's phone in her hand, with what differs on it, on her line or elsewhere."""

    def start(phone: dict[str, Any] | None = None, line: dict[str, Any] | None = None, **other: Any) -> Hands:
        data = {"devices": {DEVICE: {"in_hand": True, **(phone or {})}}, "lines": {LINE: line or {}}, **other}
        return Hands(executor, executor.database.run({}, lambda session: change(session, data))[1])

    return start


def test_a_phone_on_which_all_is_well_is_in_the_fastest_network(begin: Begin) -> None:
    hands = begin()
    assert (hands.bar, hands.speed) == ("Status bar: Larkline, 5G", FIVE_G)
    assert hands.user("send_test_picture") == "Picture message: delivered."
    assert hands.user("check_sim") == "SIM: ready, card number 8901708600894457777."


@pytest.mark.parametrize(
    ("phone", "line", "shown"),
    [
        ({"airplane_mode": True}, {}, "Airplane mode"),
        ({"sim_seated": False}, {}, "No SIM"),
        ({"sim_state": "puk"}, {}, "SIM locked"),
        ({"sim_state": "blocked"}, {}, "SIM blocked"),
        ({}, {"status": "suspended", "suspended_for": "travel"}, "No service"),
        ({"abroad": True}, {}, "No service"),
        ({"profile_version": 7}, {}, "Emergency calls only"),
        ({"profile_version": 0}, {"profile_version": 0}, "Emergency calls only"),
    ],
)
def test_without_a_network_there_is_neither_internet_nor_picture(
    phone: dict[str, Any], line: dict[str, Any], shown: str, begin: Begin
) -> None:
    hands = begin(phone, line)
    assert (hands.bar, hands.speed) == (f"Status bar: {shown}", NONE)
    assert hands.user("send_test_picture") == "Picture message: could not be sent."


@pytest.mark.parametrize(
    ("phone", "line", "sends_pictures"),
    [
        ({"mobile_data": False}, {}, False),
        ({"apn": "web.oldnet"}, {}, False),
        ({"abroad": True}, {"roaming": True}, False),
        ({}, {"used_mb": 25_000}, True),
    ],
)
def test_with_a_network_there_may_still_be_no_internet(
    phone: dict[str, Any], line: dict[str, Any], sends_pictures: bool, begin: Begin
) -> None:
    hands = begin(phone, line)
    assert hands.bar.startswith("Status bar: Larkline")
    assert hands.speed == NONE
    assert ("delivered" in hands.user("send_test_picture")) is sends_pictures


@pytest.mark.parametrize(
    ("phone", "speed"),
    [
        ({"network_mode": "2g"}, "mobile data, 2G: 0.1 Mbps, poor."),
        ({"network_mode": "3g"}, "mobile data, 3G: 3.2 Mbps, fair."),
        ({"network_mode": "4g"}, "mobile data, 4G: 45.0 Mbps, good."),
        ({"update_pending": True}, "mobile data, 4G: 45.0 Mbps, good."),
        ({"vpn": True}, "mobile data, 5G: 35.0 Mbps, good."),
        ({"data_saver": True}, "mobile data, 5G: 70.0 Mbps, good."),
        ({"vpn": True, "data_saver": True, "network_mode": "3g"}, "mobile data, 3G: 0.2 Mbps, poor."),
        ({"wifi": True, "wifi_network": "Attic", "airplane_mode": True}, "wifi: 60 Mbps, good."),
        ({"wifi": True, "wifi_network": "Attic", "vpn": True}, "wifi: 10 Mbps, good."),
        ({"wifi": True, "wifi_network": None}, "mobile data, 5G: 210.0 Mbps, excellent."),
    ],
)
def test_what_slows_the_internet_down(phone: dict[str, Any], speed: str, begin: Begin) -> None:
    assert begin(phone).speed == f"Speed test over {speed}"


def test_the_plan_limits_the_network(begin: Begin) -> None:
    assert begin(line={"plan_id": "harbor", "used_mb": 10}).bar == "Status bar: Larkline, 4G"


def test_abroad_both_sides_must_roam_whoever_goes_first(begin: Begin) -> None:
    carrier_first, phone_first = begin({"abroad": True}), begin({"abroad": True})
    carrier_first.did("set_line_roaming", line_id=LINE, enabled=True)
    assert (carrier_first.bar, carrier_first.speed) == ("Status bar: Larkline (roaming), 4G", NONE)
    assert carrier_first.user("toggle_switch", switch="data_roaming") == "Data roaming is now on."
    phone_first.user("toggle_switch", switch="data_roaming")
    assert phone_first.bar == "Status bar: No service"
    phone_first.did("set_line_roaming", line_id=LINE, enabled=True)
    assert carrier_first.speed == phone_first.speed == "Speed test over mobile data, 4G: 45.0 Mbps, good."
    assert carrier_first.changes == phone_first.changes


def test_a_line_that_was_resumed_wants_the_phone_restarted(begin: Begin) -> None:
    hands = begin({}, {"status": "suspended", "suspended_for": "lost"}).did("resume_line", line_id=LINE)
    assert hands.bar == "Status bar: Emergency calls only"
    assert hands.user("restart_phone") == "The phone has restarted. It shows: Larkline."
    assert hands.speed == FIVE_G


def test_only_the_carrier_mends_a_broken_profile(begin: Begin) -> None:
    hands = begin({}, {"profile_version": 0})
    assert hands.user("restart_phone").endswith("Emergency calls only.")
    hands.did("reset_provisioning", line_id=LINE)
    assert hands.bar == "Status bar: Emergency calls only"
    assert hands.user("restart_phone").endswith("Larkline.")


def test_a_restart_installs_what_waits_and_brings_5g_back(begin: Begin) -> None:
    hands = begin({"update_pending": True})
    assert hands.bar == "Status bar: Larkline, 4G | software update ready, restart to install"
    hands.user("restart_phone")
    assert hands.bar == "Status bar: Larkline, 5G"


def test_a_puk_opens_the_card_and_the_third_wrong_one_blocks_it(begin: Begin) -> None:
    hands = begin({"sim_state": "puk"})
    assert hands.user("check_sim").endswith("attempts left: 3.")
    for left in (2, 1):
        assert hands.user("enter_puk", puk="00000000", new_pin="1234") == f"Error: wrong PUK; attempts left: {left}"
    right = hands.agent(PUK, line_id=LINE).text
    assert hands.user("enter_puk", puk=right, new_pin="12").startswith("Error: the new PIN must have four")
    assert hands.user("enter_puk", puk=right, new_pin="1234").startswith("The SIM card is unlocked")
    assert (hands.row("devices")["sim_state"], hands.row("devices")["puk_attempts_left"]) == ("ready", 3)
    assert hands.user("enter_puk", puk=right, new_pin="1234") == "Error: the phone does not ask for a PUK"


def test_the_last_wrong_puk_blocks_the_card(begin: Begin) -> None:
    hands = begin({"sim_state": "puk", "puk_attempts_left": 1})
    hands.user("enter_puk", puk="00000000", new_pin="1234")
    assert hands.user("check_sim") == "SIM: blocked for good, no PUK attempts left."
    right = hands.agent(PUK, line_id=LINE).text
    assert hands.user("enter_puk", puk=right, new_pin="1234") == "Error: the phone does not ask for a PUK"


def test_a_bill_is_paid_on_the_phone_only_where_it_was_asked_for(begin: Begin) -> None:
    bill = json.loads(begin().agent("get_bills", line_id=LINE).text)[1]["bill_id"]
    hands = begin(bills={bill: {"status": "overdue"}})
    assert hands.user("check_payment_request") == "Payment requests: none."
    refusal = f"Error: there is no payment request for bill '{bill}' on this phone"
    assert hands.user("pay_request", bill_id=bill) == refusal
    hands.did("send_payment_request", bill_id=bill)
    assert hands.user("check_payment_request").startswith(f"Payment requests: bill {bill} of 2025-02, $")
    assert hands.user("pay_request", bill_id=bill) == f"Bill {bill} is paid."
    assert "bills" not in hands.changes
    assert hands.agent("send_payment_request", bill_id=bill).text == f"Error: bill {bill} is paid"


def test_an_app_is_allowed_what_it_asks_for_and_nothing_else(begin: Begin) -> None:
    hands = begin(app_permissions={f"{DEVICE}/Messages/storage": {"granted": False}})
    assert hands.user("check_app", app="Messages") == "Messages: sms allowed, storage not allowed"
    assert hands.user("send_test_picture") == "Picture message: could not be sent."
    wrong = hands.user("allow_app", app="Messages", permission="location")
    assert wrong == "Error: Messages asks for no permission 'location'; it knows sms, storage"
    assert hands.user("allow_app", app="Messages", permission="storage") == "Messages is now allowed: storage."
    assert hands.user("send_test_picture") == "Picture message: delivered."


@pytest.mark.parametrize("switch", ["airplane_mode", "mobile_data", "data_roaming", "wifi", "vpn", "data_saver"])
def test_flipping_a_switch_twice_leaves_no_trace(switch: str, begin: Begin) -> None:
    hands = begin()
    before = hands.changes
    hands.user("toggle_switch", switch=switch)
    assert hands.changes != before
    hands.user("toggle_switch", switch=switch)
    assert hands.changes == before


@pytest.mark.parametrize("name", ["reset_apn", "reseat_sim", "restart_phone"])
def test_doing_to_a_sound_phone_what_it_does_not_need_changes_nothing(name: str, begin: Begin) -> None:
    hands = begin()
    before = hands.changes
    hands.user(name)
    assert hands.changes == before


def test_refuelled_data_are_charged_and_can_be_used(begin: Begin) -> None:
    hands = begin({}, {"used_mb": 25_500})
    left = json.loads(hands.did("refuel_data", line_id=LINE, gigabytes=2).agent("get_data_usage", line_id=LINE).text)
    assert (left["used_gb"], left["included_gb"], left["left_gb"]) == (25.5, 27, 1.5)
    assert hands.speed == FIVE_G
    bill = json.loads(hands.agent("get_line_details", line_id=LINE).text)["next_bill"]
    assert bill == [{"kind": "refuel", "amount": 4.5}]
    hands.did("set_line_roaming", line_id=LINE, enabled=True)
    bill = json.loads(hands.agent("get_line_details", line_id=LINE).text)["next_bill"]
    assert [entry["kind"] for entry in bill] == ["refuel", "roaming"]


def test_what_is_free_is_not_charged(begin: Begin) -> None:
    hands = begin({}, {"plan_id": "ocean"}).did("set_line_roaming", line_id=LINE, enabled=True)
    assert "charges" not in hands.changes
    hands.did("set_line_roaming", line_id=LINE, enabled=False)
    assert hands.changes == begin({}, {"plan_id": "ocean"}).changes


@pytest.mark.parametrize(
    ("name", "arguments", "refusal"),
    [
        ("resume_line", {"line_id": LINE}, "line L81829 is active, not suspended"),
        ("resume_line", {"line_id": "L1"}, "there is no line 'L1'; a line id begins with 'L'"),
        ("set_line_roaming", {"line_id": LINE, "enabled": False}, "roaming of line L81829 is already off"),
        ("refuel_data", {"line_id": LINE, "gigabytes": 0}, "between 1 and 50 gigabytes can be added"),
        ("refuel_data", {"line_id": "L47990", "gigabytes": 1}, "line L47990 has unlimited data"),
        ("change_plan", {"line_id": LINE, "plan_id": "channel"}, "line L81829 is on this plan already"),
        ("change_plan", {"line_id": LINE, "plan_id": "brook"}, "there is no plan 'brook'"),
        ("send_payment_request", {"bill_id": "B1"}, "there is no bill 'B1'"),
        ("get_customer_details", {"customer_id": "C1"}, "there is no customer 'C1'"),
    ],
)
def test_the_carrier_refuses_what_cannot_be(name: str, arguments: dict[str, Any], refusal: str, begin: Begin) -> None:
    hands = begin()
    before = hands.changes
    answer = hands.agent(name, **arguments)
    assert (answer.text, answer.is_error, hands.changes) == (f"Error: {refusal}", True, before)


def test_a_suspended_line_is_not_suspended_again_nor_provisioned(begin: Begin) -> None:
    hands = begin().did("suspend_line", line_id=LINE, reason="stolen")
    assert hands.bar == "Status bar: No service"
    assert hands.agent("suspend_line", line_id=LINE, reason="lost").text == "Error: line L81829 is suspended already"
    assert hands.agent("reset_provisioning", line_id=LINE).is_error


@pytest.mark.parametrize("number", ["713-555-0141", "7135550141", "(713) 555 0141"])
def test_a_customer_is_found_by_number_however_it_is_written(number: str, begin: Begin) -> None:
    answer = begin().agent("find_customer_by_phone", phone_number=number, birth_date="1996-02-19")
    assert answer.text == CUSTOMER


def test_a_customer_is_found_by_name_and_never_without_the_right_birthday(begin: Begin) -> None:
    hands = begin()
    name = {"first_name": "anika", "last_name": "ERIKSEN"}
    assert hands.agent("find_customer_by_name", birth_date="1996-02-19", **name).text == CUSTOMER
    assert hands.agent("find_customer_by_name", birth_date="1996-02-20", **name).is_error
    assert hands.agent("find_customer_by_phone", phone_number="713-555-0141", birth_date="1996-02-20").is_error


def test_the_phone_never_shows_what_only_the_carrier_holds(begin: Begin) -> None:
    hands = begin({}, {"status": "suspended", "suspended_for": "fraud_review"})
    reads = [tool.name for tool in domain.user_tools if "read" in (tool.tags or ()) and tool.name != "check_app"]
    shown = " ".join(hands.user(name) for name in reads)
    assert all(
        word not in shown for word in ("suspended", "fraud", LINE, CUSTOMER, hands.agent(PUK, line_id=LINE).text)
    )


def test_without_a_phone_in_hand_every_tool_of_the_customer_says_so(executor: Executor) -> None:
    hands = Hands(executor, {})
    assert hands.user("check_status_bar") == "Error: there is no phone at hand"


@pytest.mark.parametrize(
    ("data", "error", "words"),
    [
        ({"phones": {}}, ToolRefusal, "there is no table 'phones'; known are app_permissions, bills"),
        ({"devices": {"D1": {}}}, ToolRefusal, "table 'devices' has no row 'D1'"),
        ({"devices": {DEVICE: {"colour": "red"}}}, ToolRefusal, "takes device_id, iccid"),
        ({"devices": {DEVICE: {"vpn": "perhaps"}}}, ValidationError, "vpn"),
    ],
)
def test_a_task_cannot_begin_with_what_does_not_exist(
    data: Any, error: type[Exception], words: str, executor: Executor
) -> None:
    with pytest.raises(error, match=words):
        executor.database.run({}, lambda session: change(session, data))
