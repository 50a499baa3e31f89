"""The customer's tools that change something on the phone."""

from typing import Literal

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.phone.models import APN
from taugraph.tools.definition import DatabaseSession, ToolKind, domain_tool
from taugraph.tools.phone.connection import phone_in_hand, trouble
from taugraph.tools.phone.readings import SWITCHES, App, on_or_off, permissions_of, requested_bills


@domain_tool(ToolKind.WRITE)
def toggle_switch(
    switch: Literal["airplane_mode", "mobile_data", "data_roaming", "wifi", "vpn", "data_saver"],
    session: DatabaseSession,
) -> str:
    """Flip one switch of the settings: what is on goes off, what is off goes on.

    Args:
        switch: The switch.
    """
    device = phone_in_hand(session).device
    is_on = not getattr(device, switch)
    setattr(device, switch, is_on)
    return f"{SWITCHES[switch]} is now {on_or_off(is_on)}."


@domain_tool(ToolKind.WRITE)
def set_network_mode(mode: Literal["2g", "3g", "4g", "5g"], session: DatabaseSession) -> str:
    """Choose the fastest network the phone looks for.

    Args:
        mode: The network.
    """
    phone_in_hand(session).device.network_mode = mode
    return f"Preferred network is now {mode.upper()}."


@domain_tool(ToolKind.WRITE)
def reseat_sim(session: DatabaseSession) -> str:
    """Take the SIM card out and put it back in properly."""
    phone_in_hand(session).device.sim_seated = True
    return "The SIM card is back in its tray."


@domain_tool(ToolKind.WRITE)
def reset_apn(session: DatabaseSession) -> str:
    """Put the access point (APN) back to the carrier's own."""
    phone_in_hand(session).device.apn = APN
    return f"APN is now {APN}."


@domain_tool(ToolKind.WRITE)
def restart_phone(session: DatabaseSession) -> str:
    """Restart the phone; a waiting software update is installed, and the network profile is fetched anew."""
    phone = phone_in_hand(session)
    phone.device.update_pending = False
    phone.device.profile_version = phone.line.profile_version
    return f"The phone has restarted. It shows: {trouble(phone) or 'Larkline'}."


@domain_tool(ToolKind.WRITE)
def enter_puk(puk: str, new_pin: str, session: DatabaseSession) -> str:
    """Type the PUK of a locked SIM card, and choose a new PIN. Too many wrong PUKs block the card for good.

    Args:
        puk: The eight digits.
        new_pin: Four to eight digits of your choice.
    """
    phone = phone_in_hand(session)
    device = phone.device
    if not device.sim_seated or device.sim_state != "puk":
        raise ToolRefusal("the phone does not ask for a PUK")
    if not (new_pin.isdecimal() and 4 <= len(new_pin) <= 8):
        raise ToolRefusal("the new PIN must have four to eight digits")
    if puk != phone.sim.puk:
        device.puk_attempts_left -= 1
        if not device.puk_attempts_left:
            device.sim_state = "blocked"
        session.flush()
        raise ToolRefusal(f"wrong PUK; attempts left: {device.puk_attempts_left}", keeps_writes=True)
    device.sim_state, device.puk_attempts_left = "ready", 3
    return "The SIM card is unlocked and has its new PIN."


@domain_tool(ToolKind.WRITE)
def allow_app(app: App, permission: str, session: DatabaseSession) -> str:
    """Allow an app something that it was not allowed.

    Args:
        app: The app.
        permission: What it shall be allowed, as the app's page names it.
    """
    known = {found.permission: found for found in permissions_of(session, app)}
    if permission not in known:
        raise ToolRefusal(f"{app} asks for no permission {permission!r}; it knows {', '.join(known)}")
    known[permission].granted = True
    return f"{app} is now allowed: {permission}."


@domain_tool(ToolKind.WRITE)
def pay_request(bill_id: str, session: DatabaseSession) -> str:
    """Pay a bill that the carrier has sent a payment request for.

    Args:
        bill_id: The bill's id, as the request names it.
    """
    for bill in requested_bills(session, phone_in_hand(session)):
        if bill.bill_id == bill_id:
            bill.status = "paid"
            return f"Bill {bill_id} is paid."
    raise ToolRefusal(f"there is no payment request for bill {bill_id!r} on this phone")
