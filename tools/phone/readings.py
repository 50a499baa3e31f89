"""The customer's tools that only look at the phone, answered the way its screen shows it."""

from typing import Literal

from sqlmodel import Session, col, select

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.money import to_amount
from taugraph.domains.phone.models import AppPermission, Bill
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.phone.connection import Phone, may_send_pictures, network, phone_in_hand, speed_mbps, trouble

App = Literal["Messages", "Maps", "Photos"]
"""Apps whose permissions can be looked at."""

SWITCHES = {
    "airplane_mode": "Airplane mode",
    "mobile_data": "Mobile data",
    "data_roaming": "Data roaming",
    "wifi": "Wifi",
    "vpn": "VPN",
    "data_saver": "Data saver",
}
"""What stands beside each switch of the settings."""


@domain_tool(ToolKind.READ)
def check_status_bar(session: DatabaseSession) -> str:
    """Look at the icons at the top of the screen: network, wifi, VPN, data saver."""
    phone = phone_in_hand(session)
    device, found = phone.device, network(phone)
    shown = [trouble(phone) or f"Larkline{' (roaming)' if device.abroad else ''}, {str(found).upper()}"]
    if found and not device.mobile_data:
        shown.append("mobile data off")
    if device.wifi:
        shown.append(f"wifi: {device.wifi_network or 'not connected'}")
    shown += [word for word, is_on in (("VPN", device.vpn), ("data saver", device.data_saver)) if is_on]
    if device.update_pending:
        shown.append("software update ready, restart to install")
    return "Status bar: " + " | ".join(shown)


@domain_tool(ToolKind.READ)
def check_settings(session: DatabaseSession) -> str:
    """Open the network settings: every switch, the preferred network and the access point (APN)."""
    device = phone_in_hand(session).device
    shown = [f"{label}: {on_or_off(getattr(device, name))}" for name, label in SWITCHES.items()]
    return "; ".join([*shown, f"Preferred network: {device.network_mode.upper()}", f"APN: {device.apn}"])


@domain_tool(ToolKind.READ)
def check_sim(session: DatabaseSession) -> str:
    """Look at what the phone says about its SIM card."""
    device = phone_in_hand(session).device
    if not device.sim_seated:
        return "SIM: no card found. Check that it sits properly in its tray."
    if device.sim_state == "puk":
        return f"SIM: locked after too many wrong PINs. Enter the PUK; attempts left: {device.puk_attempts_left}."
    if device.sim_state == "blocked":
        return "SIM: blocked for good, no PUK attempts left."
    return f"SIM: ready, card number {device.iccid}."


@domain_tool(ToolKind.READ)
def check_app(app: App, session: DatabaseSession) -> str:
    """Look at what an app may do.

    Args:
        app: The app.
    """
    return f"{app}: " + ", ".join(
        f"{found.permission} {'allowed' if found.granted else 'not allowed'}" for found in permissions_of(session, app)
    )


@domain_tool(ToolKind.READ)
def run_speed_test(session: DatabaseSession) -> str:
    """Measure how fast the internet is on the phone, over wifi if that is connected and else over mobile data."""
    phone = phone_in_hand(session)
    speed = speed_mbps(phone)
    if not speed:
        return "Speed test: no internet connection."
    way = "wifi" if phone.device.wifi and phone.device.wifi_network else f"mobile data, {str(network(phone)).upper()}"
    word = "poor" if speed < 1 else "fair" if speed < 10 else "good" if speed < 100 else "excellent"
    return f"Speed test over {way}: {speed} Mbps, {word}."


@domain_tool(ToolKind.READ)
def send_test_picture(session: DatabaseSession) -> str:
    """Send a picture message to your own number, to see whether that works."""
    phone = phone_in_hand(session)
    return "Picture message: delivered." if may_send_pictures(session, phone) else "Picture message: could not be sent."


@domain_tool(ToolKind.READ)
def check_payment_request(session: DatabaseSession) -> str:
    """Look whether the carrier has sent a request to pay a bill to this phone."""
    bills = requested_bills(session, phone_in_hand(session))
    if not bills:
        return "Payment requests: none."
    return "Payment requests: " + ", ".join(
        f"bill {bill.bill_id} of {bill.month}, ${to_amount(bill.amount_cents):.2f}" for bill in bills
    )


def permissions_of(session: Session, app: str) -> list[AppPermission]:
    """Return the permissions of an app on the phone at hand, by name.

    Raises:
        ToolRefusal: If the phone has no such app.
    """
    device_id = phone_in_hand(session).device.device_id
    wanted = select(AppPermission).where(AppPermission.device_id == device_id, AppPermission.app == app)
    if not (found := list(session.exec(wanted.order_by(col(AppPermission.permission))))):
        raise ToolRefusal(f"there is no app {app!r} on the phone")
    return found


def requested_bills(session: Session, phone: Phone) -> list[Bill]:
    """Return the bills of the phone's line that the customer is asked to pay, oldest first."""
    wanted = select(Bill).where(Bill.line_id == phone.line.line_id, Bill.status == "requested")
    return list(session.exec(wanted.order_by(col(Bill.position))))


def on_or_off(is_on: bool) -> str:
    """Return the word beside a switch."""
    return "on" if is_on else "off"
