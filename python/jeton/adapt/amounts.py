"""Amounts that a plan is made of: an endless one, or none, would make every sum endless."""

from __future__ import annotations

from jeton.errors import UsageError

_MOST = 1e15


def check_amounts(**amounts: float | None) -> None:
    """Refuses amounts that are negative, endless or no number; None is no amount.

    Raises:
        UsageError: An amount is out of range; it is named.
    """
    for name, value in amounts.items():
        if value is not None and not 0 <= value < _MOST:
            raise UsageError(
                f"{name} is {value}; expected 0 to {_MOST:.0e}\nhint: an amount, as 1000"
            )
