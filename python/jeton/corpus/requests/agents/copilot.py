"""GitHub Copilot's command line: the sums of a session by model, in ``session.shutdown``.

Each part of a session that was resumed has a sum of its own. A session that was interrupted has
none: its answers state their output alone. Premium requests are no dollars and are not read.

Sources (read 2026-11): github/copilot-cli#1394 and #3994; codeburn#676 and #693; agentsview#577;
copilot-arewecooked#45.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents.base import Agent, FileState, child, summed, text
from jeton.corpus.requests.counts import MAX_SUMMED, Report, count_of
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest

_SHAPE: Final = "copilot"
_TOLD: Final = "events of a session: `data` of `type` `session.shutdown`, with `modelMetrics`"
_EVENTS: Final = (
    "session.", "assistant.", "user.", "tool.", "hook.", "subagent.", "system.", "abort",
)  # fmt: skip


def _is_event(names: frozenset[str]) -> bool:
    return {"type", "data"} <= names


def _event(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    kind, data = record.get("type"), record.get("data")
    if not isinstance(kind, str) or not kind.startswith(_EVENTS) or not isinstance(data, dict):
        return None
    if kind == "session.start":
        state.own[_SHAPE] = text(data.get("sessionId")) or text(data.get("session_id"))
    session = state.own.get(_SHAPE, "") or text(data.get("sessionId"))
    if kind == "session.shutdown":
        state.waiting = [one for one in state.waiting if one.shape != _SHAPE]
        return _sums(record, data, session, report)
    if kind == "assistant.message" and type(data.get("outputTokens")) is int:
        state.waiting.append(state.in_domain(_answer(record, data, session, report), record))
    report("not_a_model_call", f"an event of type {kind}")
    return []


def _sums(
    record: Mapping[str, Any], data: Mapping[str, Any], session: str, report: Report
) -> list[ParsedRequest]:
    """The sums of a part of a session, a request for each model."""
    found = []
    for model, metrics in child(data, "modelMetrics").items():
        usage = child(data, "modelMetrics", model, "usage") if isinstance(metrics, dict) else {}
        if not usage:
            continue
        parsed = ParsedRequest(_SHAPE, is_session=True, model=str(model), conversation=session)
        parsed.time = record.get("timestamp")
        event = text(record.get("id")) or f"{session}/{parsed.time}"
        parsed.id, parsed.is_own_id = f"{event}/{model}", True
        given = child(data, "modelMetrics", model, "requests").get("count", 0)
        n = count_of(given, "requests.count", report, most=MAX_SUMMED)
        parsed.n_requests = max(n, 1)
        known = {
            "input_tokens": usage.get("inputTokens"),
            "prompt_cache_read_tokens": usage.get("cacheReadTokens"),
            "prompt_cache_write_tokens": usage.get("cacheWriteTokens"),
            "output_tokens": usage.get("outputTokens"),
            "reasoning_tokens": usage.get("reasoningTokens"),
        }
        parsed.usage = usage_of_mapping(known, report, parsed, most=MAX_SUMMED)
        if n <= 1:
            parsed.usage = summed(parsed.usage)
        found.append(parsed)
    if not found:
        report("not_a_model_call", "a session.shutdown without modelMetrics")
    return found


def _answer(
    record: Mapping[str, Any], data: Mapping[str, Any], session: str, report: Report
) -> ParsedRequest:
    """An answer of a session that never shut down: its output is all that is known."""
    parsed = ParsedRequest(_SHAPE, is_session=True, conversation=session)
    parsed.model = text(data.get("model"))
    parsed.time = record.get("timestamp")
    parsed.id = text(data.get("messageId")) or text(record.get("id"))
    parsed.is_own_id, parsed.scope = True, session
    parsed.usage = usage_of_mapping({"output_tokens": data["outputTokens"]}, report, parsed)
    return parsed


AGENTS: Final = (Agent("copilot", _SHAPE, _TOLD, _is_event, _event),)
