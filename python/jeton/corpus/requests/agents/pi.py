"""Pi and OpenClaw: lines of a session with the answer in ``message``, amounts side by side.

Sources (read 2026-11): earendil-works/pi, session format; openclaw#65109; ccusage, adapter of pi.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents.base import Agent, FileState, child, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest
from jeton.providers import provider_id

_SHAPE: Final = "pi"
_TOLD: Final = (
    "lines of a session of pi or OpenClaw: `message` with `role` and a `usage` of `input`, "
    "`output`, `cacheRead`, `cacheWrite`"
)
_LINES: Final = frozenset(
    {
        "session", "message", "model_change", "thinking_level_change", "compaction",
        "branch_summary", "custom", "custom_message", "label", "session_info", "leaf",
    }
)  # fmt: skip
_OWN_ANSWERS: Final = ("openclaw", "delivery-mirror", "synthetic")
"""Providers and models of answers that no model gave."""


def _is_line(names: frozenset[str]) -> bool:
    return "message" in names and "messages" not in names


def _is_other(names: frozenset[str]) -> bool:
    return {"type", "id", "timestamp"} <= names and bool(
        names & {"parent_id", "cwd", "parent_session"}
    )


def _line(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A line with a message; the answers of models have a usage."""
    message = record.get("message")
    if not isinstance(message, dict) or record.get("type") not in ("message", None):
        return None
    usage, role = message.get("usage"), message.get("role")
    if not isinstance(role, str):
        return None
    if not isinstance(usage, dict) or "output" not in usage or role != "assistant":
        if "pi" in state.own or "parentId" in record:
            report("not_a_model_call", f"a message of role {role}")
            return []
        return None
    state.own.setdefault(_SHAPE, "")
    model, provider = text(message.get("model")), text(message.get("provider"))
    if model in _OWN_ANSWERS or provider in _OWN_ANSWERS[:1]:
        report("not_a_model_call", "an answer that the agent wrote itself")
        return []
    parsed = ParsedRequest(_SHAPE, is_session=True, model=model)
    parsed.provider = provider_id(provider)
    parsed.time = record.get("timestamp")
    if parsed.time is None:
        parsed.time = message.get("timestamp")
    parsed.conversation = state.own[_SHAPE]
    own = text(message.get("responseId")) or text(record.get("id"))
    if own:
        # A fork takes the lines of its parent over as they are.
        parsed.id, parsed.is_own_id = f"pi/{own}", True
        parsed.scope, parsed.is_strict_scope = str(message.get("timestamp") or parsed.time), True
    parsed.usage = usage_of_mapping(_amounts(usage), report, parsed, usage.get("cost"))
    return [parsed]


def _amounts(usage: Mapping[str, Any]) -> dict[str, Any]:
    names = {
        "input": "uncached_input_tokens", "cacheRead": "cache_read_input_tokens",
        "cacheWrite": "cache_creation_input_tokens", "cacheWrite1h": "ephemeral_1h_input_tokens",
        "output": "output_tokens", "reasoning": "reasoning_tokens", "totalTokens": "total_tokens",
    }  # fmt: skip
    return {names.get(key, key): value for key, value in usage.items() if key != "cost"}


def _other(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """The head of a session, and lines without a message."""
    kind = text(record.get("type"))
    if kind not in _LINES or child(record, "usage"):
        return None
    if kind == "session":
        state.own[_SHAPE] = text(record.get("id"))
    report("not_a_model_call", f"a line of type {kind}")
    return []


AGENTS: Final = (
    Agent("pi", _SHAPE, _TOLD, _is_line, _line),
    Agent("pi-line", _SHAPE, _TOLD, _is_other, _other),
)
