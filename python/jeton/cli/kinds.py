"""Kinds of values that options take: numbers with limits, sizes, durations, prices, fleets."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from decimal import Decimal, InvalidOperation
from typing import Any, Final

import click


class FiniteRange(click.FloatRange):
    """A range of numbers without ``inf`` and ``nan``, which the range of click lets through.

    Args:
        is_endless_fine: True for an option to which ``inf`` means something.
        limits: Limits, as of click.
        more: Named ones.
    """

    def __init__(self, *limits: Any, is_endless_fine: bool = False, **more: Any) -> None:
        super().__init__(*limits, **more)
        self._is_endless_fine = is_endless_fine

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the number."""
        number = super().convert(value, param, ctx)
        if math.isnan(number) or (math.isinf(number) and not self._is_endless_fine):
            self.fail(f"{value} is no finite number", param, ctx)
        return number


COUNT = click.IntRange(min=1)
"""A whole number above 0."""

WHOLE = click.IntRange(min=0)
"""A whole number, 0 included."""

AMOUNT = FiniteRange(min=0)
"""A number that is not below 0."""

POSITIVE = FiniteRange(min=0, min_open=True)
"""A number above 0."""

SHARE = FiniteRange(0, 1, min_open=True, max_open=True)
"""A share between 0 and 1, neither of them."""


class ValueKind(click.ParamType[Any]):
    """A kind of value that a function reads from a text, or refuses with a ``ValueError``."""

    def __init__(self, name: str, read: Callable[[str], Any], *, of: type[Any]) -> None:
        self.name = name
        self._read, self._of = read, of

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """Read the value; one that is read already stays."""
        if isinstance(value, self._of):
            return value
        try:
            return self._read(str(value))
        except ValueError as error:
            self.fail(str(error), param, ctx)


_BYTES_OF: Final = {
    "": 1,
    "k": 10**3,
    "m": 10**6,
    "g": 10**9,
    "t": 10**12,
    "ki": 2**10,
    "mi": 2**20,
    "gi": 2**30,
    "ti": 2**40,
}
_SECONDS_OF: Final = {"s": 1.0, "m": 60.0, "h": 3600.0, "": 1.0}


def _bytes(text: str) -> int:
    match = re.fullmatch(r"\s*(\d+(?:\.\d+)?)\s*([kmgt]i?)?b?\s*", text.lower())
    if match is None:
        raise ValueError(f"{text!r} is not a size, as in 500MB, 4GiB or 1000000")
    return int(float(match[1]) * _BYTES_OF[match[2] or ""])


def _duration(text: str) -> float:
    match = re.fullmatch(r"(\d+(?:\.\d+)?)\s*(s|m|h|)", text.strip())
    if match is None or float(match[1]) <= 0:
        raise ValueError(f"{text!r} is no duration; expected for example 90s, 10m or 1h")
    return float(match[1]) * _SECONDS_OF[match[2]]


def _n_ids(text: str) -> int | None:
    """The number of ids that a text means; None where it means none."""
    match = re.fullmatch(r"(\d[\d_]*(?:\.\d+)?)([kK]?)", text.strip())
    if match is None:
        return None
    number = Decimal(match[1].replace("_", "")) * (1000 if match[2] else 1)
    return int(number) if number >= 1 and number == int(number) else None


def _vocab_size(text: str) -> int:
    size = _n_ids(text)
    if size is None:
        raise ValueError(f"{text!r} is not a size; expected a number such as 32000 or 32k")
    return size


def _vocab_sizes(text: str) -> tuple[int, ...]:
    found = []
    for part in text.split(","):
        size = _n_ids(part)
        if size is None:
            raise ValueError(f"{part!r} is not a size; expected numbers such as 8k,16k,32000")
        found.append(size)
    return tuple(found)


def _decimal(text: str) -> Decimal:
    """The number that a text means; below every limit where it means none."""
    try:
        amount = Decimal(text)
    except InvalidOperation:
        return Decimal(-1)
    return amount if amount.is_finite() else Decimal(-1)


def _usd(text: str) -> Decimal:
    amount = _decimal(text)
    if not 0 < amount < 10**9:
        raise ValueError(f"{text!r} is no price; expected dollars above 0 such as 2.49")
    return amount


def _limit_usd(text: str) -> Decimal:
    amount = _decimal(text)
    if amount < 0:
        raise ValueError(f"{text!r} is no amount of dollars")
    return amount


def _numbers(text: str) -> tuple[float, ...]:
    found = []
    for part in text.split(","):
        try:
            number = float(part)
        except ValueError:
            number = -1.0
        if not 0 < number < math.inf:
            raise ValueError(f"{part!r} is no number above 0; expected such as 0.5,1,1.5")
        found.append(number)
    return tuple(found)


def _rented(text: str) -> tuple[int, str]:
    number, sign, name = text.partition(":")
    if not sign or not number.isascii() or not number.isdigit() or not name.strip():
        raise ValueError(f"{text!r} is no fleet; expected GPUs and a name such as 8:h100-sxm")
    return int(number[:9]), name.strip()


BYTES = ValueKind("size", _bytes, of=int)
"""A number of bytes: 500MB, 4GiB, 1000000."""

DURATION = ValueKind("duration", _duration, of=float)
"""A number of seconds, minutes or hours, as seconds: 90s, 10m, 1h."""

VOCAB_SIZE = ValueKind("size", _vocab_size, of=int)
"""A number of ids, of which a k is a thousand: 32k, 32000."""

VOCAB_SIZES = ValueKind("sizes", _vocab_sizes, of=tuple)
"""Several of them: 8k,16k,32000."""

USD = ValueKind("usd", _usd, of=Decimal)
"""An amount of money above 0."""

LIMIT_USD = ValueKind("usd", _limit_usd, of=Decimal)
"""An amount of money, 0 included."""

NUMBERS = ValueKind("numbers", _numbers, of=tuple)
"""Numbers above 0: 0.5,1,1.5."""

RENTED = ValueKind("rented", _rented, of=tuple)
"""A number of GPUs, and their name: 8:h100-sxm."""
