"""Request logs and usage exports, read, joined, and every request priced once.

Read usage exports of providers into rows of the ledger: OpenAI's and Anthropic's reports.

Prompt tokens include those read from a cache and those written to it, whatever the export's own
convention is. A row stands for all requests of a model in a span of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime, time
from decimal import Decimal
from pathlib import Path
from typing import TYPE_CHECKING, Any

from jeton.catalog.model_map import ModelMap, read_model_map
from jeton.corpus.bills.rows import MAX_BILL_BYTES, day_of, read_text, rows_of
from jeton.corpus.requests.counts import DOUBTS
from jeton.economics.ledger import Ledger, LedgerBuilder, LedgerIssue, UsageRows, usage_rows
from jeton.economics.ledger.prices import Prices
from jeton.errors import RecordError
from jeton.progress import OnProgress

if TYPE_CHECKING:
    from jeton.corpus.requests import RequestInputs, RequestStream
    from jeton.corpus.requests.issues import LogIssue


def ledger(
    inputs: RequestInputs | UsageRows,
    *,
    domain_field: str = "",
    model_field: str = "",
    time_field: str = "",
    prices: Prices | None = None,
    model_map: ModelMap | Mapping[str, str] | str | Path | None = None,
    strict_prices: bool = False,
    period: str = "",
    requests_per_day: int | float | Decimal | None = None,
    on: date | None = None,
    on_progress: OnProgress | None = None,
) -> Ledger:
    """Return what request logs cost: every request priced by its own model, provider and time.

    Args:
        inputs: Logs or usage exports as files, folders or records, with or without text; or rows
            of usage.
        domain_field: Where the domain of a request is (a service, a team, a key).
        model_field: Where the model's name is; empty: by the usual names.
        time_field: Where the time is; empty: by the usual names.
        prices: Prices by name; None: the installed list.
        model_map: Names of one's own for models, or a file of them (`read_model_map`).
        strict_prices: True if a request without a price is an error.
        period: Time that the log covers, where its own times do not tell: ``week``, ``30d``, dates.
        requests_per_day: Traffic, where it is known; the log is then a sample of it.
        on: Day whose prices hold for requests without a time; today (UTC) by default.
        on_progress: Told how far reading has come.

    Raises:
        UnknownPriceError: If requests have no price and that is an error; names all.
        CorpusError: If the inputs cannot be read.
        UsageError: If the period or a name cannot be read.
    """
    if isinstance(model_map, str | Path):
        model_map = read_model_map(model_map)
    builder = LedgerBuilder(prices=prices, model_map=model_map, strict=strict_prices, on=on)
    if isinstance(inputs, UsageRows):
        builder.add(inputs)
        return builder.build(period=period, requests_per_day=requests_per_day)
    from jeton.corpus.requests import open_requests

    stream = open_requests(
        inputs,
        domain_field=domain_field,
        model_field=model_field,
        time_field=time_field,
        on_progress=on_progress,
    )
    return ledger_of_stream(stream, builder, period=period, requests_per_day=requests_per_day)


def ledger_of_stream(
    stream: RequestStream,
    builder: LedgerBuilder,
    *,
    period: str = "",
    requests_per_day: int | float | Decimal | None = None,
) -> Ledger:
    """Return the ledger of a stream of requests, read to its end."""
    for batch in stream:
        names: dict[str, Any] = {
            "models": stream.models,
            "providers": stream.providers,
            "tariffs": stream.tariffs,
            "domains": stream.domains,
        }
        builder.add(batch.columns, **names)
        for correction in batch.corrections:
            builder.add(correction.before, **names, sign=-1)
            if correction.columns is not None:
                builder.add(correction.columns, **names)
    found = builder.build(joined=stream.joined, period=period, requests_per_day=requests_per_day)
    issues = tuple(
        LedgerIssue(issue.kind, issue.n, _text(issue)) for issue in stream.issues.values()
    )
    return replace(found, issues=found.issues + issues)


_SHOWN = 3


def _text(issue: LogIssue) -> str:
    """Meaning of an issue, with the first places of those that make a price an estimate."""
    if issue.kind not in DOUBTS or not issue.examples:
        return issue.meaning
    return f"{issue.meaning} ({'; '.join(issue.examples[:_SHOWN])})"


__all__ = ["MAX_BILL_BYTES", "parse_usage", "read_usage"]

_LONG_PROMPT = 200_001
"""Prompt length that stands for those of Anthropic's span ``200k-1M``."""


def read_usage(path: str | Path) -> UsageRows:
    """Read a usage report of OpenAI or Anthropic (JSON or CSV), grouped by model.

    Raises:
        RecordError: If it is neither, or a row has no model.
        LimitError: If it has more than `MAX_BILL_BYTES`.
        OSError: If it cannot be read.
    """
    return parse_usage(read_text(Path(path)), source=str(path))


def parse_usage(text: str, *, source: str = "given") -> UsageRows:
    """Return the rows that a text holds; as `read_usage`, without the file."""
    records = []
    for line, row in rows_of(text, source):
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
    return usage_rows(records)


def _usage(row: Mapping[str, Any], model: str, *, line: int, source: str) -> dict[str, Any]:
    def count(*names: str) -> int:
        for name in names:
            value = row.get(name)
            if isinstance(value, str) and value.strip().removesuffix(".0").isdigit():
                return int(value.strip().removesuffix(".0"))
            if isinstance(value, int) and not isinstance(value, bool):
                return value
        return 0

    day = day_of(row, line=line, source=source)
    found: dict[str, Any] = {"model": model}
    if day is not None:
        found["time_s"] = datetime.combine(day, time(), tzinfo=UTC).timestamp()
    if "uncached_input_tokens" in row:
        found["provider"] = "anthropic"
        return found | _anthropic(row, count, line=line, source=source)
    if "input_tokens" not in row:
        raise RecordError(
            f"{source}: row {line} has neither input_tokens nor uncached_input_tokens; expected a "
            "usage report of OpenAI or Anthropic",
            path=source,
            line=line,
        )
    if "num_model_requests" in row:
        found["provider"] = "openai"
    found |= {
        "input_tokens": count("input_tokens"),
        "output_tokens": count("output_tokens"),
        "cache_read_tokens": count(
            "input_cached_tokens", "cached_input_tokens", "cache_read_tokens"
        ),
        "input_audio_tokens": count("input_audio_tokens"),
        "output_audio_tokens": count("output_audio_tokens"),
        "n_requests": max(count("num_model_requests", "n_requests"), 1),
        "tariff": "batch" if str(row.get("batch")).casefold() == "true" else _tariff(row),
    }
    return found


def _anthropic(row: Mapping[str, Any], count: Any, *, line: int, source: str) -> dict[str, Any]:
    created = row.get("cache_creation")
    parts = created if isinstance(created, dict) else {}
    hour = parts.get("ephemeral_1h_input_tokens", 0)
    minutes = parts.get("ephemeral_5m_input_tokens", 0)
    if not (isinstance(hour, int) and isinstance(minutes, int)):
        raise RecordError(f"{source}: row {line}: cache_creation has no counts", line=line)
    read = count("cache_read_input_tokens")
    tools = row.get("server_tool_use")
    searches = tools.get("web_search_requests", 0) if isinstance(tools, dict) else 0
    return {
        "input_tokens": count("uncached_input_tokens") + read + hour + minutes,
        "output_tokens": count("output_tokens"),
        "cache_read_tokens": read,
        "cache_write_tokens": hour + minutes,
        "cache_write_1h_tokens": hour,
        "web_searches": searches if isinstance(searches, int) else 0,
        "tariff": _tariff(row),
        # The report splits by the step of the price instead of giving lengths.
        "prompt_tokens": _LONG_PROMPT if row.get("context_window") == "200k-1M" else 0,
    }


def _tariff(row: Mapping[str, Any]) -> str:
    return str(row.get("service_tier") or "standard").casefold()
