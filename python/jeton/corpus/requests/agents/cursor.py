"""Cursor: the usage export of its dashboard, as CSV.

Each column of tokens stands beside the others, as the total proves. ``Cost`` is an amount, or a
word where a plan includes the request. ``auto`` is no model that a list can price.

Sources (read 2026-11): tokscale#1154, t3code#6046, agent-walker#18.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents.base import Agent, FileState, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest, first
from jeton.dimensions import NOT_BILLED

_SHAPE: Final = "cursor"
_TOLD: Final = "the usage export: columns `Input (w/ Cache Write)`, `Cache Read`, `Output Tokens`"


def _is_row(names: frozenset[str]) -> bool:
    return {"input_(w/_cache_write)", "output_tokens"} <= names


def _row(record: Mapping[str, Any], state: FileState, report: Report) -> list[ParsedRequest] | None:
    parsed = ParsedRequest(_SHAPE, is_session=True, model=text(record.get("Model")).strip())
    parsed.time = record.get("Date")
    usage = {
        "uncached_input_tokens": _count(record.get("Input (w/o Cache Write)")),
        "cache_creation_input_tokens": _count(record.get("Input (w/ Cache Write)")),
        "cache_read_input_tokens": _count(record.get("Cache Read")),
        "output_tokens": _count(record.get("Output Tokens")),
        "total_tokens": _count(first(record, ("Total Tokens", "Tokens"))),
    }
    parsed.usage = usage_of_mapping(usage, report, parsed, record.get("Cost"))
    if "no charge" in text(record.get("Kind")).lower():
        parsed.tariff = NOT_BILLED
    return [parsed]


def _count(value: Any) -> Any:
    return None if value in (None, "", "-") else value


AGENTS: Final = (Agent("cursor", _SHAPE, _TOLD, _is_row, _row),)
