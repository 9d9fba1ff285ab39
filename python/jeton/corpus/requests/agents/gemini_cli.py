"""Gemini CLI, and Qwen's: sessions whose messages have ``tokens``, whole or line by line.

Source (read 2026-11): google-gemini/gemini-cli, chatRecordingService.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents.base import Agent, FileState, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest, first

_SHAPE: Final = "gemini-cli"
_TOLD: Final = "sessions whose `messages` have `tokens`, and such messages one a line"


def _is_message(names: frozenset[str]) -> bool:
    return {"tokens", "type"} <= names


def _is_session(names: frozenset[str]) -> bool:
    return {"session_id", "messages"} <= names and bool(names & {"project_hash", "last_updated"})


def _session(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """One object with all messages."""
    messages = record.get("messages")
    if not isinstance(messages, list):
        return None
    session = str(first(record, ("sessionId", "session_id")) or "")
    found = []
    for message in messages:
        if isinstance(message, dict) and isinstance(message.get("tokens"), dict):
            found.append(_read(message, session, report))
        else:
            report("not_a_model_call", "a message without tokens")
    return found


def _message(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A message on a line of its own; the session stands on the first line."""
    if record.get("type") not in ("gemini", "model", "assistant") or not isinstance(
        record.get("tokens"), dict
    ):
        return None
    return [_read(record, text(first(record, ("sessionId", "session_id"))), report)]


def _read(message: Mapping[str, Any], session: str, report: Report) -> ParsedRequest:
    tokens = message["tokens"]
    parsed = ParsedRequest(_SHAPE, is_session=True, provider="google")
    parsed.model = str(message.get("model") or "")
    parsed.id = str(message.get("id") or "")
    parsed.is_own_id = True
    parsed.scope = parsed.conversation = session
    parsed.time = message.get("timestamp")
    usage = {
        "promptTokenCount": tokens.get("input"),
        "candidatesTokenCount": tokens.get("output"),
        "cachedContentTokenCount": tokens.get("cached"),
        "thoughtsTokenCount": tokens.get("thoughts"),
        "toolUsePromptTokenCount": tokens.get("tool"),
        "totalTokenCount": tokens.get("total"),
    }
    parsed.usage = usage_of_mapping(usage, report, parsed)
    return parsed


AGENTS: Final = (
    Agent("gemini-cli-message", _SHAPE, _TOLD, _is_message, _message),
    Agent("gemini-cli", _SHAPE, _TOLD, _is_session, _session),
)
