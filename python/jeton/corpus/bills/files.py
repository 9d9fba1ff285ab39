"""Read bills: CSV, JSON and JSON Lines of the shapes that providers give.

A plain table (``date, model, usd``), FOCUS 1.2 (``BilledCost``, ``ChargePeriodStart`` ...),
OpenAI's cost export and cost API, Anthropic's cost export and cost report. Amounts are read as they
are written, without floats; a row that cannot be read is an error with its line, and what was left
out is counted.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from jeton.corpus.bills.rows import (
    CURRENCIES,
    DELIMITER,
    MAX_BILL_BYTES,
    Bill,
    BillItem,
    What,
    day_of,
    decimal_of,
    folded,
    read_text,
    rows_of,
)
from jeton.errors import RecordError

__all__ = ["MAX_BILL_BYTES", "parse_bill", "read_bill"]

_CENTS_PER_USD = 100

_MODEL_COLUMNS = (
    "model",
    "modelname",
    "modelversion",
    "modelid",
    "xmodel",
    "xmodelname",
    "resourcename",
    "skumeter",
)
_USD_COLUMNS = (
    "billedcost",
    "usd",
    "costusd",
    "costinusd",
    "amountusd",
    "amountinusd",
    "amountvalue",
    "cost",
    "amount",
)
_WHAT_COLUMNS = ("tokentype", "usagetype", "lineitem", "what", "skumeter", "chargedescription")
_TOKEN_COLUMNS = ("ntokens", "tokens", "consumedquantity", "quantity")
_UNIT_COLUMNS = ("consumedunit", "unit")
_CURRENCY_COLUMNS = ("billingcurrency", "amountcurrency", "currency")
_TARIFF_COLUMNS = ("tariff", "servicetier")
_TEXT_COLUMNS = ("chargedescription", "description", "lineitem", "costtype", "chargecategory")


def read_bill(path: str | Path, *, model_names: Mapping[str, str] | None = None) -> Bill:
    """Read a provider's bill from a CSV, JSON or JSON Lines file.

    Args:
        path: The file.
        model_names: The bill's names of models mapped to those in the records, where neither is
            found in the price list (``{"USE1-Claude-input-tokens": "claude-sonnet-4-5"}``).

    Raises:
        RecordError: If the file has no amounts, a row cannot be read, or the currency is not USD.
        LimitError: If it has more than `MAX_BILL_BYTES`.
        OSError: If it cannot be read.
    """
    bill = parse_bill(read_text(Path(path)), source=str(path))
    if not model_names:
        return bill
    items = tuple(
        item if item.model is None else replace(item, model=model_names.get(item.model, item.model))
        for item in bill.items
    )
    return replace(bill, items=items)


def parse_bill(text: str, *, source: str = "given") -> Bill:
    """Return the bill that a text holds; as `read_bill`, without the file."""
    items: list[BillItem] = []
    n_free = n_totals = 0
    for line, row in rows_of(text, source):
        if _is_total(row):
            n_totals += 1
            continue
        item = _item(row, line=line, source=source)
        if item.usd == 0:
            n_free += 1
        else:
            items.append(item)
    if not items:
        raise RecordError(
            f"{source}: no row has an amount; expected columns date, model, usd, or a FOCUS, "
            "OpenAI or Anthropic export",
            path=source,
        )
    issues: tuple[str, ...] = ()
    if n_free:
        issues += (f"{n_free:,} row(s) without an amount left out",)
    if n_totals:
        issues += (f"{n_totals:,} row(s) that are totals left out",)
    n_undated = sum(item.day is None for item in items)
    if 0 < n_undated < len(items):
        issues += (f"{n_undated:,} of {len(items):,} row(s) have no date",)
    return Bill(tuple(items), source=f"{source} ({len(items):,} rows)", issues=issues)


def _item(row: dict[str, Any], *, line: int, source: str) -> BillItem:
    columns = {folded(name): value for name, value in row.items() if name != DELIMITER}
    delimiter = str(row.get(DELIMITER, ","))

    def first(names: tuple[str, ...]) -> Any:
        return next((columns[n] for n in names if columns.get(n) not in (None, "")), None)

    amount = first(_USD_COLUMNS)
    currency = first(_CURRENCY_COLUMNS)
    if isinstance(amount, dict):  # OpenAI's {"value": ..., "currency": ...}
        currency = amount.get("currency", currency)
        amount = amount.get("value")
    if amount is None and (other := _other_currency(columns)):
        currency, amount = other, "0"
    if amount is None:
        usd = Decimal(0)
    else:
        usd = _usd(amount, delimiter=delimiter, line=line, source=source)
    if currency is not None and str(currency).casefold() != "usd":
        raise RecordError(
            f"{source}: row {line} is in {currency}; expected USD\n"
            "hint: convert the bill at the rate of its invoice first",
            path=source,
            line=line,
        )
    if "startingat" in columns and isinstance(columns.get("amount"), str):
        usd /= _CENTS_PER_USD  # Anthropic's cost report counts in cents
    text = str(first(_TEXT_COLUMNS) or "")
    category = str(columns.get("chargecategory") or columns.get("costtype") or "usage").casefold()
    line_item = str(columns.get("lineitem") or "")
    model = first(_MODEL_COLUMNS) or line_item.partition(",")[0].strip() or None
    what = _what(" ".join(str(columns[n]) for n in _WHAT_COLUMNS if columns.get(n)))
    if what is None and model is not None and _SEARCH.search(str(model)):
        what = "search"
    if what == "search" and model is not None and _SEARCH.search(str(model)):
        # "web search" stands where models stand, and is none.
        model, text = None, text or str(model)
    if category not in ("usage", "tokens"):
        model, text = None, text or category
        what = "search" if _SEARCH.search(f"{category} {text}") else "other"
    return BillItem(
        usd=usd,
        day=day_of(row, line=line, source=source),
        model=None if model is None else str(model),
        what=what,
        n_tokens=_tokens(first(_TOKEN_COLUMNS), first(_UNIT_COLUMNS), delimiter),
        tariff=_tariff(first(_TARIFF_COLUMNS)),
        description=text,
    )


_IN_CURRENCY = re.compile(r"(?:billed|total)?(?:cost|amount|price|spend)(?:in)?([a-z]{3})")


def _other_currency(columns: Mapping[str, Any]) -> str | None:
    """Return the currency that a column's name states (``Cost in EUR``); None if there is none."""
    for name, value in columns.items():
        match = _IN_CURRENCY.fullmatch(name)
        if match is not None and match[1] in CURRENCIES[1:] and value not in (None, ""):
            return match[1].upper()
    return None


_TOTALS = frozenset({"total", "totals", "grand total", "subtotal", "sum"})


def _is_total(row: Mapping[str, Any]) -> bool:
    """True if a row only adds up the others; counting it too would double the bill."""
    return any(isinstance(v, str) and v.strip(" :").casefold() in _TOTALS for v in row.values())


def _what(text: str) -> What | None:
    """Return what a row charges for, from its words; None if they do not say."""
    words = text.casefold().replace("_", " ").replace("-", " ")
    if "cach" in words:
        is_write = any(word in words for word in ("write", "creation", "create"))
        return "cache_write" if is_write else "cache_read"
    if "output" in words or "completion" in words:
        return "output"
    if "input" in words or "prompt" in words:
        return "input"
    if _SEARCH.search(words):
        return "search"
    return "request" if words.strip() in ("request", "requests") else None


_SEARCH = re.compile(
    r"\b(?:web|file|social|google|storage)[ _-]?search(?:es)?\b|\bgrounding\b", re.I
)


def _tariff(value: Any) -> str | None:
    name = str(value).casefold() if value else ""
    if name in ("batch", "flex", "priority"):
        return name
    return "standard" if name in ("standard", "default", "auto") else None


_UNIT = re.compile(
    r"\s*(?P<number>\d+(?:\.\d+)?)?\s*(?P<scale>[km])?\s*tokens?\s*", re.IGNORECASE | re.ASCII
)


def _tokens(value: Any, unit: Any, delimiter: str) -> int | None:
    """Return a quantity in tokens; None if it is none or in another unit."""
    if value is None:
        return None
    match = _UNIT.fullmatch(str(unit)) if unit is not None else None
    if unit is not None and match is None:
        return None
    try:
        number = decimal_of(str(value), delimiter)
    except InvalidOperation:
        return None
    scale = Decimal(1)
    if match is not None:
        scale = Decimal(match["number"] or 1)
        scale *= {"k": 1000, "m": 1_000_000}.get((match["scale"] or "").casefold(), 1)
    tokens = number * scale
    return int(tokens) if tokens.is_finite() and abs(tokens) < Decimal(10) ** 18 else None


def _usd(value: Any, *, delimiter: str, line: int, source: str) -> Decimal:
    try:
        usd = value if isinstance(value, Decimal) else decimal_of(str(value), delimiter)
    except InvalidOperation:
        usd = Decimal("NaN")
    if isinstance(value, bool) or not usd.is_finite() or abs(usd) > Decimal(10) ** 15:
        raise RecordError(
            f"{source}: row {line} has the amount {value!r}; expected USD as a number",
            path=source,
            line=line,
        )
    return usd
