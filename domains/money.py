"""Money is kept in integer cents; at the edges it is a JSON number of dollars."""

from decimal import Decimal


def to_cents(amount: float) -> int:
    """Return the integer cents of an amount in dollars, rounded half to even.

    Raises:
        TypeError: If the amount is no number.
        ValueError: If it is not finite.
    """
    if not isinstance(amount, int | float):
        raise TypeError(f"an amount must be a number, got {type(amount).__name__}")
    number = Decimal(repr(amount)) if isinstance(amount, float) else Decimal(int(amount))
    if not number.is_finite():
        raise ValueError(f"an amount must be finite, got {amount!r}")
    return int((number * 100).to_integral_value())


def to_amount(cents: int) -> int | float:
    """Return the dollars of an amount in cents: an integer where it is whole."""
    return cents // 100 if cents % 100 == 0 else cents / 100
