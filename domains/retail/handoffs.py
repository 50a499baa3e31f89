"""When the shop's customers are for a colleague: what is neither in a tool's reach nor forbidden."""

from sqlmodel import SQLModel

from taugraph.domains.handoff import Reach, handoff_rule
from taugraph.domains.retail.models import Order
from taugraph.domains.rules import Moment

_ORDER = r"(?:(?:the|her|his|their|this|that|pending|whole|entire|delivered)\W+){0,3}?(?:orders?\W+)?#W\d+"
_ENDS = r"(?=\W*$|\W*;|,?\W*#W\d|\W*(?:due|because|since|despite|although|for a refund)\b)"
_WISHES = (
    rf"(?:cancel|return|exchang)\w*\W+{_ORDER}{_ENDS}|{_ORDER}\W+(?:to be )?cancell?ed{_ENDS}"
    rf"|cancel(?:l?ing|lation)?\W+of\W+{_ORDER}{_ENDS}"
    r"|(?:return|exchang)\w*\W+(?:(?:the|an|some|all|two|three|four|\d+)\W+)?items?\W+(?:of|from|in)\W+"
    rf"{_ORDER}{_ENDS}"
    r"|(?:chang|modify|updat|correct)\w*\W+(?:the )?"
    r"(?:(?:shipping |delivery )?address|items?|payment method|size|colou?r)"
    rf"\W+(?:of|on|for|in)\W+{_ORDER}{_ENDS}"
)
_REQUESTS = (
    rf"\b(?:cancel|return|exchange)\W+{_ORDER}{_ENDS}"
    rf"|\b(?:cancel|return|exchange)\W+(?:(?:my|an?|the|some|one|two|three)\W+)?(?:orders?|items?){_ENDS}"
)
_BEYOND = (
    r"\b(?:cancellation|lost|missing|(?:not|never|n't) (?:\w+ )?(?:arriv|receiv|come|came|deliver)|carrier|courier"
    r"|customs|intercept|recall|warrant|repair|damag|broke|defect|fault|split|tore?\b|torn|shrank|shrunk|label"
    r"|wrong (?:item|product)|already (?:sent|returned)|gift[- ]?wrap|price match|discount|coupon|voucher|promo|bank"
    r"|card number|expired|new card|out of stock|back ?order|restock|pick ?up|express|shipping (?:speed|method)|subscri"
    r"|company|tax\b|loyalty|points\b)"
)
_ORDINARY = ("pending", "pending (item modified)", "processed", "delivered")


def _is_reserved(_: Moment, row: SQLModel) -> bool:
    """Tell whether an order may be for a colleague, as taking back a cancellation or a return is."""
    return not isinstance(row, Order) or row.status not in _ORDINARY


HANDOFF = handoff_rule(Reach(Order, _WISHES, _REQUESTS, _BEYOND, _is_reserved))
"""The shop's rule of handing over."""
