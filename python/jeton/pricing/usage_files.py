"""Read usage exports of providers into rows of the ledger: OpenAI's and Anthropic's reports.

Prompt tokens include those read from a cache and those written to it, whatever the export's own
convention is. A row stands for all requests of a model in a span of time.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

from jeton.corpus.bills.rows import MAX_BILL_BYTES, day_of, read_text, rows_of
from jeton.economics.ledger import UsageRows, usage_rows
from jeton.errors import RecordError

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
