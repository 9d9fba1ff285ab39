"""Rows of a bill or a usage report: CSV, JSON and JSON Lines, opened and dated.

Numbers with a point are read as decimals, because a float would lose the cent that is looked for.

A bill: its rows, or its total alone.
"""

from __future__ import annotations

import csv
import io
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Literal

from jeton._archives import HEAD_BYTES, refuse_archive
from jeton._foreign import json_of
from jeton.errors import LimitError, RecordError, UsageError

What = Literal["input", "cache_read", "cache_write", "output", "request", "search", "other"]
"""Item that a line charges for: prompt tokens at the full rate, read from a cache, written to one;
generated tokens; requests; searches by the provider; anything else (tools, tax, credits)."""

CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class BillItem:
    """One row of a bill.

    Attributes:
        usd: Amount, USD; below 0 for a credit.
        day: Day of use; None if the bill does not say.
        model: The model as the bill writes it; None for what belongs to no model.
        what: The charged thing; None if the bill does not say.
        n_tokens: Tokens charged; None if the bill does not say.
        tariff: ``standard``, ``batch``, ...; None if the bill does not say.
        description: The row's own words.
    """

    usd: Decimal
    day: date | None = None
    model: str | None = None
    what: What | None = None
    n_tokens: int | None = None
    tariff: str | None = None
    description: str = ""


@dataclass(frozen=True, slots=True)
class Bill:
    """A bill: its rows, or its total alone.

    Attributes:
        items: Rows.
        source: Where it was read, in words.
        issues: Oddities of the bill, each with a count.
    """

    items: tuple[BillItem, ...]
    source: str = "given"
    issues: tuple[str, ...] = ()

    @property
    def total_usd(self) -> Decimal:
        """All rows together, USD."""
        return sum((item.usd for item in self.items), Decimal(0))


MAX_BILL_BYTES = 256 * 1024 * 1024
"""A larger file is refused: a bill by model and day has kilobytes, and this is read at once."""

_DATE_COLUMNS = (
    "chargeperiodstart",
    "date",
    "day",
    "usagedate",
    "usagedateutc",
    "starttimeiso",
    "startingat",
    "startdate",
    "starttime",
)

_DATED = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


def read_text(path: Path) -> str:
    """Return the text of a file.

    Raises:
        LimitError: If it has more than `MAX_BILL_BYTES`.
        RecordError: If it is not UTF-8.
        OSError: If it cannot be read.
    """
    size = path.stat().st_size
    if size > MAX_BILL_BYTES:
        raise LimitError(
            f"{path} has {size:,} bytes; expected a bill of at most {MAX_BILL_BYTES:,}",
            what="bill bytes",
            limit=MAX_BILL_BYTES,
        )
    data = path.read_bytes()
    refuse_archive(str(path), data[:HEAD_BYTES], expected="a bill as CSV or JSON")
    try:
        return data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(
            f"{path} is not UTF-8 at byte {error.start}; expected CSV or JSON", path=str(path)
        ) from None


def rows_of(text: str, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield (number, row) of a CSV, JSON or JSON Lines text, containers opened."""
    start = text.lstrip()[:1]
    if start in ("{", "["):
        yield from enumerate(_json_rows(text, source), start=1)
    else:
        yield from _csv_rows(text, source)


def _csv_rows(text: str, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
    header = text.lstrip("\r\n").partition("\n")[0]
    delimiter = max(",;\t|", key=header.count)
    reader = csv.DictReader(io.StringIO(text.lstrip("\r\n")), delimiter=delimiter)
    try:
        for row in reader:
            if None in row:
                raise RecordError(
                    f"{source}: line {reader.line_num} has more fields than the header",
                    path=source,
                    line=reader.line_num,
                )
            cells = {name.strip(): (value or "").strip() for name, value in row.items()}
            if any(cells.values()):
                yield reader.line_num, {**cells, DELIMITER: delimiter}
    except csv.Error as error:
        raise RecordError(
            f"{source}: line {reader.line_num} is not CSV: {error}",
            path=source,
            line=reader.line_num,
        ) from None


DELIMITER = "\0delimiter"
"""Key of a CSV row that remembers the delimiter; no column has that name."""


def _json_rows(text: str, source: str) -> Iterator[dict[str, Any]]:
    documents: list[Any]
    try:
        documents = [_loads(text)]
    except ValueError:
        documents = []
        for number, line in enumerate(text.splitlines(), start=1):
            if not line.strip():
                continue
            try:
                documents.append(_loads(line))
            except ValueError:
                raise RecordError(
                    f"{source}: line {number} is not JSON", path=source, line=number
                ) from None
    except RecursionError:
        raise RecordError(f"{source}: nested too deeply to be a bill", path=source) from None
    for document in documents:
        yield from _opened(document, source)


def _loads(text: str) -> Any:
    # Amounts as decimals: a float would lose the cent that is looked for.
    return json_of(text, parse_float=Decimal, parse_constant=_refuse)


def _refuse(name: str) -> Any:
    raise ValueError(f"{name} is not a number")


def _opened(document: Any, source: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of a document: a row, a list, or a page of buckets of results."""
    if isinstance(document, list):
        for entry in document:
            yield from _opened(entry, source)
        return
    if not isinstance(document, dict):
        raise RecordError(
            f"{source}: found {type(document).__name__} in JSON; expected an object for each row",
            path=source,
        )
    for container in ("data", "items", "rows"):
        if isinstance(document.get(container), list):
            yield from _opened(document[container], source)
            return
    if isinstance(document.get("results"), list):
        shared = {key: value for key, value in document.items() if key != "results"}
        for entry in document["results"]:
            if not isinstance(entry, dict):
                raise RecordError(f"{source}: a result is not an object", path=source)
            yield {**shared, **entry}
        return
    yield document


def folded(name: str) -> str:
    """Return a column's name without case and signs, so that ``Cost (USD)`` is ``costusd``."""
    return re.sub(r"[^a-z0-9]", "", name.casefold())


def decimal_of(text: str, delimiter: str) -> Decimal:
    """Read ``1,234.56``, ``$0.40``, ``(3.00)``; ``1.234,56`` in files separated by ``;``."""
    text = text.strip()
    negative = text.startswith("(") and text.endswith(")")
    text = text.strip("()").replace("$", "").replace("\u00a0", "").replace(" ", "")
    if delimiter == ";" and "," in text:
        if "." not in text and re.fullmatch(r"-?\d{1,3}(,\d{3})+", text):
            # 1,234 may be a thousand or a decimal fraction: a bill is no place to guess.
            raise InvalidOperation
        text = text.replace(".", "").replace(",", ".")
    elif re.fullmatch(r"-?\d{1,3}(,\d{3})+(\.\d*)?", text):
        text = text.replace(",", "")
    number = Decimal(text)
    return -number if negative else number


_MARKS = {
    "$": "USD",
    "us$": "USD",
    "\u20ac": "EUR",
    "\u00a3": "GBP",
    "\u00a5": "JPY",
    "\u20b9": "INR",
}
CURRENCIES = (
    "usd", "aud", "brl", "cad", "chf", "cny", "czk", "dkk", "eur", "gbp", "hkd", "huf", "inr",
    "jpy", "krw", "mxn", "nok", "nzd", "pln", "sek", "sgd", "try", "zar",
)  # fmt: skip
"""Currencies that bills are in."""

_SIGNS = "[$\u20ac\u00a3\u00a5\u20b9]"
_CODES = "|".join(CURRENCIES)
_AMOUNT = re.compile(
    rf"(?P<sign>[-+]?)\s*(?P<before>us\$|{_SIGNS}|(?:{_CODES})\b)?\s*"
    r"(?P<number>[-+]?(?:\d[\d.,' \u00a0_]*|\.\d+|nan|inf(?:inity)?))\s*"
    rf"(?P<after>{_SIGNS}|{_CODES}|dollars?|euros?)?",
    re.IGNORECASE,
)


def read_amount(text: str) -> Decimal | None:
    """Read an amount in USD as people write it: ``14.89``, ``$1,234.50``, ``USD 14.89``.

    Returns:
        None if the text is no amount at all (the name of a file).

    Raises:
        UsageError: If it is an amount, but below 0, in another currency, or not clear.
    """
    match = _AMOUNT.fullmatch(text.strip())
    if match is None:
        return None
    words = [match[name].casefold() for name in ("before", "after") if match[name]]
    names = {"dollar": "USD", "dollars": "USD", "euro": "EUR", "euros": "EUR", **_MARKS}
    for word in words:
        currency = names.get(word, word.upper())
        if currency != "USD":
            raise UsageError(
                f"the bill's total is {text!r}, in {currency}; expected USD\n"
                "hint: convert it at the rate of its invoice, as 14.89"
            )
    number = match["sign"] + re.sub(r"[' \u00a0_]", "", match["number"])
    if "," in number and not re.fullmatch(r"[-+]?\d{1,3}(,\d{3})+(\.\d*)?", number):
        raise UsageError(
            f"the bill's total is {text!r}; expected an amount with a decimal point, as 14.89"
        )
    try:
        amount = Decimal(number.replace(",", ""))
    except InvalidOperation:
        raise UsageError(
            f"the bill's total is {text!r}; expected an amount in USD, as 14.89"
        ) from None
    if not amount.is_finite() or amount < 0:
        raise UsageError(f"the bill's total is {text}; expected an amount in USD of at least 0")
    return amount


def day_of(row: Mapping[str, Any], *, line: int, source: str) -> date | None:
    """Return the day of a row, from a date or Unix seconds; None if it has none.

    Raises:
        RecordError: If it has one that cannot be read.
    """
    columns = {folded(name): value for name, value in row.items() if name != DELIMITER}
    value = next((columns[n] for n in _DATE_COLUMNS if columns.get(n) not in (None, "")), None)
    if value is None:
        return None
    text = str(value).strip()
    match = _DATED.match(text)
    try:
        if match is not None:
            return date(int(match[1]), int(match[2]), int(match[3]))
        if re.fullmatch(r"\d{9,11}", text):  # Unix seconds
            return datetime.fromtimestamp(int(text), tz=UTC).date()
    except (ValueError, OverflowError, OSError):
        pass
    raise RecordError(
        f"{source}: row {line} has the date {text[:40]!r}; expected YYYY-MM-DD",
        path=source,
        line=line,
    )
