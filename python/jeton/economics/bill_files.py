"""Read bills and usage exports: CSV, JSON and JSON Lines of the shapes that providers give.

Bills: a plain table (``date, model, usd``), FOCUS 1.2 (``BilledCost``, ``ChargePeriodStart`` ...),
OpenAI's cost export and cost API, Anthropic's cost export and cost report. Usage: OpenAI's and
Anthropic's usage reports. Amounts are read as they are written, without floats; a row that cannot
be read is an error with its line, and what was left out is counted.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any

from jeton.economics.bill_items import Bill, BillItem, What
from jeton.economics.usage import UsageRecord
from jeton.errors import LimitError, RecordError

__all__ = ["MAX_BILL_BYTES", "parse_bill", "parse_usage", "read_bill", "read_usage"]

MAX_BILL_BYTES = 256 * 1024 * 1024
"""A larger file is refused: a bill by model and day has kilobytes, and this is read at once."""

_CENTS_PER_USD = 100

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
_USD_COLUMNS = ("billedcost", "usd", "costusd", "amountusd", "amountvalue", "cost", "amount")
_WHAT_COLUMNS = ("tokentype", "usagetype", "lineitem", "what", "skumeter", "chargedescription")
_TOKEN_COLUMNS = ("ntokens", "tokens", "consumedquantity", "quantity")
_UNIT_COLUMNS = ("consumedunit", "unit")
_CURRENCY_COLUMNS = ("billingcurrency", "amountcurrency", "currency")
_TARIFF_COLUMNS = ("tariff", "servicetier")
_TEXT_COLUMNS = ("chargedescription", "description", "lineitem", "costtype", "chargecategory")

_DATED = re.compile(r"(\d{4})-(\d{2})-(\d{2})")


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
    bill = parse_bill(_read(Path(path)), source=str(path))
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
    for line, row in _rows(text, source):
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


def read_usage(path: str | Path) -> tuple[UsageRecord, ...]:
    """Read a usage report of OpenAI or Anthropic (JSON), grouped by model.

    Raises:
        RecordError: If it is neither, or a row has no model.
        LimitError: If it has more than `MAX_BILL_BYTES`.
        OSError: If it cannot be read.
    """
    return parse_usage(_read(Path(path)), source=str(path))


def parse_usage(text: str, *, source: str = "given") -> tuple[UsageRecord, ...]:
    """Return the records that a text holds; as `read_usage`, without the file."""
    records = []
    for line, row in _rows(text, source):
        model = row.get("model")
        if not isinstance(model, str) or not model:
            raise RecordError(
                f"{source}: row {line} names no model\nhint: export usage grouped by model",
                path=source,
                line=line,
            )
        records.append(_usage(row, model, line=line, source=source))
    if not records:
        raise RecordError(f"{source}: no row of use", path=source)
    return tuple(records)


def _usage(row: dict[str, Any], model: str, *, line: int, source: str) -> UsageRecord:
    def count(*names: str) -> int:
        for name in names:
            value = row.get(name)
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return 0

    day = _day(row, line=line, source=source)
    if "uncached_input_tokens" in row:
        created = row.get("cache_creation")
        parts = created if isinstance(created, dict) else {}
        hour = parts.get("ephemeral_1h_input_tokens", 0)
        minutes = parts.get("ephemeral_5m_input_tokens", 0)
        if not (isinstance(hour, int) and isinstance(minutes, int)):
            raise RecordError(f"{source}: row {line}: cache_creation has no counts", line=line)
        read = count("cache_read_input_tokens")
        long_prompts = row.get("context_window") == "200k-1M"
        return UsageRecord(
            model=model,
            input_tokens=count("uncached_input_tokens") + read + hour + minutes,
            output_tokens=count("output_tokens"),
            cache_read_tokens=read,
            cache_write_tokens=hour + minutes,
            cache_write_1h_tokens=hour,
            day=day,
            tariff=_tariff(row.get("service_tier")) or "standard",
            # The report splits by the step of the price instead of giving lengths.
            above_input_tokens=200_000 if long_prompts else 0,
        )
    if "input_tokens" not in row:
        raise RecordError(
            f"{source}: row {line} has neither input_tokens nor uncached_input_tokens; expected a "
            "usage report of OpenAI or Anthropic",
            path=source,
            line=line,
        )
    return UsageRecord(
        model=model,
        input_tokens=count("input_tokens"),
        output_tokens=count("output_tokens"),
        cache_read_tokens=count("input_cached_tokens", "cache_read_tokens"),
        n_requests=max(count("num_model_requests", "n_requests"), 1),
        day=day,
        tariff="batch"
        if row.get("batch") is True
        else _tariff(row.get("service_tier")) or "standard",
    )


def _read(path: Path) -> str:
    size = path.stat().st_size
    if size > MAX_BILL_BYTES:
        raise LimitError(
            f"{path} has {size:,} bytes; expected a bill of at most {MAX_BILL_BYTES:,}",
            what="bill bytes",
            limit=MAX_BILL_BYTES,
        )
    try:
        return path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise RecordError(
            f"{path} is not UTF-8 at byte {error.start}; expected CSV or JSON", path=str(path)
        ) from None


def _rows(text: str, source: str) -> Iterator[tuple[int, dict[str, Any]]]:
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
                yield reader.line_num, {**cells, _DELIMITER: delimiter}
    except csv.Error as error:
        raise RecordError(
            f"{source}: line {reader.line_num} is not CSV: {error}",
            path=source,
            line=reader.line_num,
        ) from None


_DELIMITER = "\0delimiter"
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
    return json.loads(text, parse_float=Decimal, parse_constant=_refuse)


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


def _item(row: dict[str, Any], *, line: int, source: str) -> BillItem:
    columns = {_folded(name): value for name, value in row.items() if name != _DELIMITER}
    delimiter = str(row.get(_DELIMITER, ","))

    def first(names: tuple[str, ...]) -> Any:
        return next((columns[n] for n in names if columns.get(n) not in (None, "")), None)

    amount = first(_USD_COLUMNS)
    currency = first(_CURRENCY_COLUMNS)
    if isinstance(amount, dict):  # OpenAI's {"value": ..., "currency": ...}
        currency = amount.get("currency", currency)
        amount = amount.get("value")
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
    if category not in ("usage", "tokens"):
        model, what, text = None, "other", text or category
    return BillItem(
        usd=usd,
        day=_day(row, line=line, source=source),
        model=None if model is None else str(model),
        what=what,
        n_tokens=_tokens(first(_TOKEN_COLUMNS), first(_UNIT_COLUMNS), delimiter),
        tariff=_tariff(first(_TARIFF_COLUMNS)),
        description=text,
    )


_TOTALS = frozenset({"total", "totals", "grand total", "subtotal", "sum"})


def _is_total(row: Mapping[str, Any]) -> bool:
    """Whether a row only adds up the others; counting it too would double the bill."""
    return any(isinstance(v, str) and v.strip(" :").casefold() in _TOTALS for v in row.values())


def _folded(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name.casefold())


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
    return "request" if words.strip() in ("request", "requests") else None


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
        number = _decimal(str(value), delimiter)
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
        usd = value if isinstance(value, Decimal) else _decimal(str(value), delimiter)
    except InvalidOperation:
        usd = Decimal("NaN")
    if isinstance(value, bool) or not usd.is_finite() or abs(usd) > Decimal(10) ** 15:
        raise RecordError(
            f"{source}: row {line} has the amount {value!r}; expected USD as a number",
            path=source,
            line=line,
        )
    return usd


def _decimal(text: str, delimiter: str) -> Decimal:
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


def _day(row: Mapping[str, Any], *, line: int, source: str) -> date | None:
    columns = {_folded(name): value for name, value in row.items() if name != _DELIMITER}
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
