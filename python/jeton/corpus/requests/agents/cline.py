"""Cline and its forks Roo Code and Kilo Code: ``ui_messages.json`` of a task, and Cline's sessions.

The counts stand as JSON in the ``text`` of a message (``api_req_started``). The model stands in the
message, or in a file beside it in the folder of the task. Cline counts cached tokens beside the
input. Roo counts them in it for OpenAI's protocol; for Anthropic's it did both at different times.

Sources (read 2026-11): cline/cline and RooCodeInc/Roo-Code, getApiMetrics and ExtensionMessage;
tokscale, readers of Cline and Roo Code.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from jeton.corpus.lookup import parsed_json
from jeton.corpus.requests.agents.base import (
    MAX_KEPT,
    Agent,
    FileState,
    child,
    doubtful,
    summed,
    text,
)
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest
from jeton.providers import provider_id

_SHAPE: Final = "cline"
_TOLD: Final = (
    "`ui_messages.json` of Cline, Roo Code and Kilo Code (`say` is `api_req_started`, the counts "
    "as JSON in `text`), and `messages` with `metrics` of Cline's sessions"
)
_CALLS: Final = ("api_req_started",)
_SUMS: Final = ("deleted_api_reqs", "subagent_usage")
"""Messages that add up calls, of which the number is not known."""

HISTORY: Final = "api_conversation_history.json"
"""File of a task with the conversation, which is no request of its own."""

_MODEL: Final = re.compile(r"<model>\s*([^<\s]{1,120})\s*</model>")
_MAX_TEXT: Final = 1 << 20


def _is_message(names: frozenset[str]) -> bool:
    return "ts" in names and bool(names & {"say", "ask"})


def _is_metadata(names: frozenset[str]) -> bool:
    return "model_usage" in names and "files_in_context" in names


def _is_history(names: frozenset[str]) -> bool:
    return {"role", "content"} <= names


def _is_session(names: frozenset[str]) -> bool:
    return {"messages", "session_id"} <= names


def _folder(state: FileState) -> str:
    return str(PurePath(state.path).parent)


def _remember(state: FileState, model: str, provider: str = "") -> None:
    kept = state.shared.setdefault(_SHAPE, {})
    if model and (_folder(state) in kept or len(kept) < MAX_KEPT):
        kept[_folder(state)] = (model, provider)


def _metadata(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """The file that names the models of a task; where there are several, messages must say."""
    uses = record.get("model_usage")
    entries = [entry for entry in uses if isinstance(entry, dict)] if isinstance(uses, list) else []
    models = {text(e.get("model_id")): text(e.get("model_provider_id")) for e in entries}
    if len(models) == 1:
        _remember(state, *next(iter(models.items())))
    report("not_a_model_call", "the metadata of a task")
    return []


def _history(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A message of the conversation's own file: it tells the model, and repeats no counts."""
    if PurePath(state.path).name != HISTORY:
        return None
    content = record.get("content")
    parts = content if isinstance(content, list) else [content]
    for part in parts:
        words = part.get("text") if isinstance(part, dict) else part
        if isinstance(words, str):
            models = set(_MODEL.findall(words[:_MAX_TEXT]))
            seen = state.own.setdefault("cline-models", set())
            seen.update(models)
            if len(seen) == 1:
                _remember(state, next(iter(seen)))
            elif len(seen) > 1:
                state.shared.get(_SHAPE, {}).pop(_folder(state), None)
    report("not_a_model_call", "a message of a conversation whose counts stand beside it")
    return []


def _message(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A message of a task's file; each call has one."""
    say = record.get("say")
    if record.get("type") not in ("say", "ask", None) or not (
        isinstance(say, str) or isinstance(record.get("ask"), str)
    ):
        return None
    if say not in (*_CALLS, *_SUMS):
        report("not_a_model_call", f"a message of type {say or 'ask'}")
        return []
    counts = parsed_json(record.get("text"))
    parsed = ParsedRequest(_SHAPE, is_session=True)
    parsed.time = record.get("ts")
    info = child(record, "modelInfo")
    model, provider = state.shared.get(_SHAPE, {}).get(_folder(state), ("", ""))
    parsed.model = text(info.get("modelId")) or text(record.get("model")) or model
    parsed.provider = provider_id(text(info.get("providerId")) or provider)
    parsed.conversation = PurePath(state.path).parent.name if state.path else ""
    parsed.id = f"cline/{parsed.conversation}/{record.get('ts')}"
    parsed.is_own_id = True
    if isinstance(counts, dict):
        _count(parsed, counts, report)
        if say in _SUMS:
            parsed.usage = summed(parsed.usage)
    return [parsed]


def _count(parsed: ParsedRequest, counts: Mapping[str, Any], report: Report) -> None:
    read, written = counts.get("cacheReads"), counts.get("cacheWrites")
    given = counts.get("tokensIn")
    cached = sum(n for n in (read, written) if type(n) is int and n > 0)
    protocol = text(counts.get("apiProtocol"))
    is_inside = bool(protocol) and type(given) is int and cached <= given
    names = (
        ("input_tokens", "prompt_cache_read_tokens", "prompt_cache_write_tokens")
        if is_inside
        else ("uncached_input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
    )
    usage = dict(zip(names, (given, read, written), strict=True))
    usage["output_tokens"] = counts.get("tokensOut")
    cost = counts.get("cost", counts.get("totalCost"))
    parsed.usage = usage_of_mapping(usage, report, parsed, cost)
    if is_inside and cached and protocol == "anthropic":
        parsed.usage = doubtful(
            parsed.usage,
            "convention_undecided",
            f"{cached:,} cached tokens in or beside {given:,} input tokens; taken as in them",
            report,
        )


def _session(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A session of Cline's command line: messages with ``metrics``, cached tokens in the input."""
    messages = record.get("messages")
    if not isinstance(messages, list) or not any(
        isinstance(m, dict) and isinstance(m.get("metrics"), dict) for m in messages
    ):
        return None
    session = text(record.get("sessionId")) or text(record.get("session_id"))
    model = provider = ""
    found = []
    for message in messages:
        metrics = child(message, "metrics") if isinstance(message, dict) else {}
        info = child(message, "modelInfo") if isinstance(message, dict) else {}
        model, provider = text(info.get("id")) or model, text(info.get("provider")) or provider
        if not metrics:
            report("not_a_model_call", "a message without counts")
            continue
        parsed = ParsedRequest(_SHAPE, is_session=True, model=model, conversation=session)
        parsed.provider = provider_id(provider)
        parsed.time = message.get("ts")
        parsed.id, parsed.scope, parsed.is_own_id = text(message.get("id")), session, True
        usage = {
            "input_tokens": metrics.get("inputTokens"),
            "prompt_cache_read_tokens": metrics.get("cacheReadTokens"),
            "prompt_cache_write_tokens": metrics.get("cacheWriteTokens"),
            "output_tokens": metrics.get("outputTokens"),
        }
        parsed.usage = usage_of_mapping(usage, report, parsed, metrics.get("cost"))
        found.append(parsed)
    return found


AGENTS: Final = (
    Agent("cline", _SHAPE, _TOLD, _is_message, _message),
    Agent("cline-metadata", _SHAPE, _TOLD, _is_metadata, _metadata),
    Agent("cline-history", _SHAPE, _TOLD, _is_history, _history),
    Agent("cline-session", _SHAPE, _TOLD, _is_session, _session),
)
