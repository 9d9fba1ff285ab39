"""OpenCode, and Kilo's command line, made of it: messages with amounts side by side.

Sources (read 2026-11): sst/opencode, session messages; ccusage, adapters of OpenCode and Kilo.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.lookup import parsed_json
from jeton.corpus.requests.agents.base import Agent, FileState, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest, first
from jeton.providers import provider_id

_SHAPE: Final = "opencode"
_TOLD: Final = "messages with `tokens`, `modelID` and `providerID`; sessions of `opencode export`"


def _is_message(names: frozenset[str]) -> bool:
    return "tokens" in names and bool(
        names & {"model_id", "provider_id", "session_id", "message_id"}
    )


def _is_export(names: frozenset[str]) -> bool:
    return "info" in names and bool(names & {"parts", "messages"})


def _is_row(names: frozenset[str]) -> bool:
    return {"session_id", "time_created", "data"} <= names


def _message(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A message with its counts."""
    tokens = record.get("tokens")
    if not isinstance(tokens, dict) or not ("input" in tokens or "output" in tokens):
        return None
    if "thoughts" in tokens or "cached" in tokens:
        return None  # a message of Gemini CLI
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    usage = {
        "uncached_input_tokens": tokens.get("input"),
        "cache_read_input_tokens": cache.get("read"),
        "cache_creation_input_tokens": cache.get("write"),
        "output_tokens": tokens.get("output"),
        _reasoning_name(tokens, cache): tokens.get("reasoning"),
        "total_tokens": tokens.get("total"),
    }
    parsed = ParsedRequest(_SHAPE, is_session=True)
    inner = record.get("model")
    model = inner if isinstance(inner, dict) else {}
    parsed.model = str(
        first(record, ("modelID", "model_id"))
        or first(model, ("modelID", "id"))
        or (inner if isinstance(inner, str) else "")
    )
    given = first(record, ("providerID", "provider_id")) or first(model, ("providerID",))
    parsed.provider = provider_id(str(given or ""))
    # A part of a message repeats the counts of its message.
    parsed.id = str(first(record, ("messageID", "id")) or "")
    parsed.is_own_id = True
    parsed.conversation = str(first(record, ("sessionID", "session_id")) or "")
    time = record.get("time")
    parsed.time = (
        first(time, ("created", "start", "completed"))
        if isinstance(time, dict)
        else first(record, ("timestamp", "time_created", "created_at")) or time
    )
    parsed.usage = usage_of_mapping(usage, report, parsed, record.get("cost"))
    return [parsed]


def _reasoning_name(tokens: Mapping[str, Any], cache: Mapping[str, Any]) -> str:
    """Name of the reasoning: beside the output, or in it where only then the total is right."""
    parts = [tokens.get("input"), tokens.get("output"), cache.get("read"), cache.get("write")]
    without = sum(part for part in parts if isinstance(part, int))
    return "reasoning_tokens" if tokens.get("total") == without else "reasoning_tokens_beside"


def _export(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A message with its parts, or a whole session of such messages (``opencode export``)."""
    messages = record.get("messages")
    found: list[ParsedRequest] = []
    n_others = 0
    for message in messages if isinstance(messages, list) else [record]:
        info = message.get("info") if isinstance(message, dict) else None
        parsed = _message(info, state, report) if isinstance(info, dict) else None
        found += parsed or ()
        n_others += parsed is None
    if not found:
        return None
    if n_others:
        report("not_a_model_call", f"{n_others:,} messages without tokens")
    return found


def _row(record: Mapping[str, Any], state: FileState, report: Report) -> list[ParsedRequest] | None:
    """A row of the database, with the message as JSON in ``data``."""
    data = parsed_json(record.get("data"))
    if not isinstance(data, dict):
        return None
    names = {"id": record.get("id"), "session_id": record.get("session_id")}
    found = _message({**names, **data}, state, report)
    if found is None:
        report("not_a_model_call", f"a row of role {text(data.get('role')) or 'unknown'}")
        return []
    return found


AGENTS: Final = (
    Agent("opencode", _SHAPE, _TOLD, _is_message, _message),
    Agent("opencode-export", _SHAPE, _TOLD, _is_export, _export),
    Agent("opencode-row", _SHAPE, _TOLD, _is_row, _row),
)
