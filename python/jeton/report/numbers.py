"""Numbers as people read them, each with the JSON path it was taken from.

Nothing here computes a result: a number is looked up in the JSON report by its path and written
with a unit. The exceptions are said by the number itself: ``versus`` (change against another
number), ``share_of`` (part of another number), ``minus`` (less another number) and ``times`` (as
often, such as twelve months).
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Literal

Kind = Literal[
    "count",
    "ratio",
    "rate",
    "share",
    "bytes",
    "flops",
    "seconds",
    "usd",
    "cents",
    "change",
    "usd_change",
    "cents_change",
    "about",
]
"""How a number is written. ``ratio`` has two decimals, ``rate`` four digits; ``usd`` is as short as
its size deserves, ``cents`` is to the cent, as bills are; kinds that end in ``change`` have their
sign; ``about`` is a count as people say it ("4.69 million")."""

_BASIS_SIGNS = {"exact": "", "calibrated": "\u2248", "estimated": "~"}
_MINUS = "\u2212"
_STEP = 1000
_ALL = 100
_MOST_DIGITS = 6
_CENT = Decimal("0.01")
_WHOLE = 10_000
"""From here on a mean has no decimals: they say nothing."""
_BYTES = ("B", "kB", "MB", "GB", "TB", "PB")
_FLOPS = ("FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP", "EFLOP")
_MILLIONS = ((10**9, "billion"), (10**6, "million"))
_SECONDS = ((1, "s"), (1e-3, "ms"), (1e-6, "\u00b5s"), (1e-9, "ns"))
_SIGNED: dict[Kind, Kind] = {"change": "share", "usd_change": "usd", "cents_change": "cents"}
"""Kinds that are written with their sign, and how the number after it is written."""
_PATH_PART = re.compile(r'([^.\[\]]+)|\[(\d+)\]|\[("(?:[^"\\]|\\.)*")\]')
"""``key``, ``[0]``, or ``["any key"]`` as a JSON string."""
_PLAIN_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_-]*")


@dataclass(frozen=True, slots=True)
class Shown:
    """A number ready to be shown.

    Attributes:
        text: As people read it (``"$1,234"``).
        path: Where it stands in the JSON report (``tokenizers[0].n_tokens``).
        raw: The JSON report's value, exactly.
        versus: Path of the number that ``text`` gives the change against.
        share_of: Path of the number that ``text`` gives the share of.
        minus: Path of the number that was taken off before ``text`` was written.
        times: The factor of the number (less ``minus``).
        basis: ``exact``, ``calibrated`` or ``estimated``.
    """

    text: str
    path: str
    raw: str
    versus: str = ""
    share_of: str = ""
    minus: str = ""
    times: int = 1
    basis: str = "exact"


def lookup(data: Any, path: str) -> Any:
    """Return the value at a path such as ``tokenizers[0].economics.usd_per_day.value``."""
    for match in _PATH_PART.finditer(path):
        key, index, quoted = match.groups()
        if quoted is not None:
            key = json.loads(quoted)
        data = data[key] if index is None else data[int(index)]
    return data


def below(path: str, step: str | int) -> str:
    """Return the path one step further down; keys that are no plain names are quoted."""
    if isinstance(step, int):
        return f"{path}[{step}]"
    return f"{path}.{step}" if _PLAIN_KEY.fullmatch(step) else f"{path}[{json.dumps(step)}]"


def kind_of_unit(unit: str) -> Kind:
    """Choose how a figure is written from its unit in plain words."""
    word = unit.split(" ", 1)[0] if unit else ""
    kinds: dict[str, Kind] = {
        "USD": "usd",
        "FLOP": "flops",
        "FLOPs": "flops",
        "seconds": "seconds",
        "second": "seconds",
        "s": "seconds",
        "share": "share",
    }
    if word == "bytes":
        # "bytes per token" of text is a ratio; memory per token or request is an amount.
        return "ratio" if unit == "bytes per token" else "bytes"
    return kinds.get(word, "count")


def unit_after_number(unit: str) -> str:
    """Return the unit less what the written number says already: "$5" needs no "USD"."""
    rest = unit.partition(" ")[2]
    return unit if kind_of_unit(unit) in {"count", "ratio"} else rest


class Numbers:
    """Looks numbers up in one JSON report and writes them."""

    def __init__(self, data: dict[str, Any]) -> None:
        self.data = data

    def show(self, path: str, kind: Kind, *, basis: str = "exact") -> Shown | None:
        """Return the number at a path; None where the report has none."""
        value = lookup(self.data, path)
        if value is None:
            return None
        return Shown(write_number(_number(value), kind), path, str(value), basis=basis)

    def figure(self, path: str, kind: Kind | None = None) -> Shown | None:
        """Return the number of the figure at a path; None where the report has none."""
        figure = lookup(self.data, path)
        if figure is None:
            return None
        return self.show(
            f"{path}.value", kind or kind_of_unit(figure["unit"]), basis=figure["basis"]
        )

    def at(self, path: str, kind: Kind, *, basis: str = "exact") -> Shown | None:
        """Return the number or the figure at a path; a figure has a basis of its own.

        None where the report has none, or nothing on the way to it.
        """
        try:
            found = lookup(self.data, path)
        except TypeError:
            return None
        if isinstance(found, dict):
            return self.figure(path, kind)
        return self.show(path, kind, basis=basis)

    def change(self, path: str, versus: str) -> Shown | None:
        """Return by what share a number is above (+) or below (-) another."""
        value, other = lookup(self.data, path), lookup(self.data, versus)
        if value is None or other is None or not _number(other):
            return None
        change = _number(value) / _number(other) - 1
        return Shown(write_number(change, "change"), path, str(value), versus=versus)

    def share(
        self, path: str, share_of: str, *, minus: str = "", times: int = 1, basis: str = "exact"
    ) -> Shown | None:
        """Return a number (less ``minus``, so many times) as a share of another."""
        value, whole = lookup(self.data, path), lookup(self.data, share_of)
        if value is None or whole is None or not _number(whole):
            return None
        other = lookup(self.data, minus) if minus else 0
        share = (_number(value) - _number(other)) * times / _number(whole)
        text = write_number(share, "share")
        return Shown(
            text, path, str(value), share_of=share_of, minus=minus, times=times, basis=basis
        )

    def scaled(
        self, path: str, kind: Kind, *, times: int = 1, minus: str = "", basis: str = "exact"
    ) -> Shown | None:
        """Return a number, less another, so many times."""
        value = lookup(self.data, path)
        other = lookup(self.data, minus) if minus else 0
        if value is None or other is None:
            return None
        text = write_number((_number(value) - _number(other)) * times, kind)
        return Shown(text, path, str(value), minus=minus, times=times, basis=basis)

    def value(self, path: str) -> Decimal | None:
        """Return the number at a path for arithmetic that places it in a chart."""
        value = lookup(self.data, path)
        return None if value is None else _number(value)


def money_kind(values: Iterable[Any]) -> Kind:
    """Choose how a column of money is written: to the cent where a value has a dollar or more."""
    amounts = [_number(value) for value in values if value is not None]
    return "cents" if any(abs(amount) >= 1 for amount in amounts) else "usd"


def basis_sign(shown: Shown) -> str:
    """Return the sign of a number that is not exact; nothing is nothing, however it was found."""
    return _BASIS_SIGNS[shown.basis] if re.search("[1-9]", shown.text) else ""


def signed(shown: Shown | None) -> str:
    """A number with the sign of its basis, or nothing."""
    return "" if shown is None else basis_sign(shown) + shown.text


def write_number(value: Decimal, kind: Kind) -> str:
    """Write a number with its unit, as short as its size deserves."""
    if kind in _SIGNED:
        text = write_number(abs(value), _SIGNED[kind])
        # A number that rounds to nothing has no sign.
        is_nothing = not re.search("[1-9]", text)
        return text if is_nothing else ("+" if value > 0 else _MINUS) + text
    if value < 0:
        return _MINUS + write_number(-value, kind)
    if kind == "share":
        return _percent(value)
    if kind == "usd":
        return f"${_money(value)}"
    if kind == "cents":
        return f"${value.quantize(_CENT):,.2f}"
    if kind == "rate":
        return _significant(value, 4)
    if kind == "bytes":
        return _scaled(value, _BYTES)
    if kind == "flops":
        return _scaled(value, _FLOPS)
    if kind == "seconds":
        return _time(value)
    if kind == "about":
        return _about(value)
    if kind == "ratio":
        return f"{value:,.2f}" if value >= 1 else _significant(value, 2)
    return _count(value)


def _number(value: Any) -> Decimal:
    return Decimal(str(value))


def _significant(value: Decimal, digits: int) -> str:
    """At least ``digits`` significant digits; whole digits are never rounded away."""
    if not value:
        return "0"
    return f"{value:,.{max(0, digits - 1 - value.adjusted())}f}"


def _count(value: Decimal) -> str:
    if value == value.to_integral_value():
        return f"{value:,.0f}"
    if value >= _WHOLE:
        return f"{value:,.0f}"
    return f"{value:,.1f}" if value >= 1 else _significant(value, 2)


def _about(value: Decimal) -> str:
    for size, name in _MILLIONS:
        if value >= size:
            return f"{_significant(value / size, 3)}\u00a0{name}"
    return _count(value)


def _percent(value: Decimal) -> str:
    percent = value * 100
    if percent == percent.to_integral_value():
        return f"{percent:,.0f}%"
    if percent < 1:
        return f"{_significant(percent, 2)}%"
    # A share below all is never written as 100%.
    digits = next(
        (n for n in range(1, 6) if percent > _ALL or round(percent, n) < _ALL), _MOST_DIGITS
    )
    return f"{percent:,.{digits}f}%"


def _money(value: Decimal) -> str:
    if not value or value >= _STEP:
        return f"{value:,.0f}"
    is_cents = value >= 1 or value * 100 == (value * 100).to_integral_value()
    return f"{value:,.2f}" if is_cents else _significant(value, 3)


def _scaled(value: Decimal, units: tuple[str, ...]) -> str:
    index = 0
    while value >= _STEP and index < len(units) - 1:
        value /= _STEP
        index += 1
    number = f"{value:,.0f}" if index == 0 and value >= 1 else _significant(value, 3)
    return f"{number}\u00a0{units[index]}"


def _time(value: Decimal) -> str:
    for size, unit in _SECONDS:
        if value >= Decimal(str(size)):
            return f"{_significant(value / Decimal(str(size)), 3)}\u00a0{unit}"
    return f"{_significant(value * 10**9, 3)}\u00a0ns"
