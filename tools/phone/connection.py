"""What a phone can do at present: it follows from its settings and from what the carrier holds about its line.

The phone itself shows only the outcome, never the carrier's reason.
"""

from dataclasses import dataclass
from decimal import Decimal

from sqlmodel import Session, col, select

from taugraph.domains.errors import ToolRefusal
from taugraph.domains.phone.models import APN, NETWORKS, AppPermission, Device, Line, Plan, Sim

_MBPS = {"2g": Decimal("0.1"), "3g": Decimal("3.2"), "4g": Decimal(45), "5g": Decimal(210)}
_WIFI_MBPS = Decimal(60)
_VPN_SLOWS = 6
_SAVER_SLOWS = 3


@dataclass(frozen=True)
class Phone:
    """A phone with what the carrier holds about it.

    Attributes:
        device: Its settings.
        sim: Its card.
        line: The card's line.
        plan: The line's plan.
    """

    device: Device
    sim: Sim
    line: Line
    plan: Plan


def phone_in_hand(session: Session) -> Phone:
    """Return the phone that the conversation's customer holds.

    Raises:
        ToolRefusal: If the task puts none in the customer's hand.
    """
    device = session.exec(select(Device).where(col(Device.in_hand))).first()
    if device is None:
        raise ToolRefusal("there is no phone at hand")
    sim = session.get_one(Sim, device.iccid)
    line = session.get_one(Line, sim.line_id)
    return Phone(device, sim, line, session.get_one(Plan, line.plan_id))


def trouble(phone: Phone) -> str | None:
    """Return what the phone shows where it has no mobile network; `None` where it has one."""
    device, line = phone.device, phone.line
    if device.airplane_mode:
        return "Airplane mode"
    if not device.sim_seated:
        return "No SIM"
    if device.sim_state != "ready":
        return "SIM locked" if device.sim_state == "puk" else "SIM blocked"
    if line.status != "active" or (device.abroad and not line.roaming):
        return "No service"
    has_profile = line.profile_version and device.profile_version == line.profile_version
    return None if has_profile else "Emergency calls only"


def network(phone: Phone) -> str | None:
    """Return the mobile network the phone is in, such as `4g`; `None` where it has none."""
    if trouble(phone):
        return None
    limits = [phone.device.network_mode, phone.plan.fastest]
    if phone.device.abroad or phone.device.update_pending:
        limits.append("4g")
    return min(limits, key=NETWORKS.index)


def has_data_left(line: Line, plan: Plan) -> bool:
    """Tell whether the line may use more mobile data this month."""
    return plan.data_mb is None or line.used_mb < plan.data_mb + line.extra_mb


def may_send_pictures(session: Session, phone: Phone) -> bool:
    """Tell whether a picture message would leave the phone."""
    granted = [
        session.get_one(AppPermission, (phone.device.device_id, "Messages", name)) for name in ("sms", "storage")
    ]
    return _has_access_point(phone) and all(permission.granted for permission in granted)


def speed_mbps(phone: Phone) -> Decimal:
    """Return how fast the internet is, in megabits per second; 0 where there is none."""
    device = phone.device
    if device.wifi and device.wifi_network:
        return _WIFI_MBPS / (_VPN_SLOWS if device.vpn else 1)
    found = network(phone)
    if found is None or not _has_access_point(phone) or not has_data_left(phone.line, phone.plan):
        return Decimal(0)
    slowed = (_VPN_SLOWS if device.vpn else 1) * (_SAVER_SLOWS if device.data_saver else 1)
    return (_MBPS[found] / slowed).quantize(Decimal("0.1"))


def _has_access_point(phone: Phone) -> bool:
    """Tell whether data reach the mobile network at all, however little is left of them."""
    device = phone.device
    may_roam = device.data_roaming or not device.abroad
    return network(phone) is not None and device.mobile_data and may_roam and device.apn == APN
