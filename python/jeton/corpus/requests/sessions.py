"""Session files of coding agents: Claude Code, Codex, OpenCode, Gemini CLI.

They log what the provider counted and not all of what was sent: each call is read as a request
without a text. A line that repeats a part of an earlier one is joined: blocks of one answer by its
ids (``joining``), running totals by their difference.

Sources (read 2026-11): ccusage, codex and opencode, their session files; gemini-cli,
chatRecordingService.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, Final

from jeton.corpus.lookup import lookup
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.fields import FieldNames, Fields
from jeton.corpus.requests.parsed import ParsedRequest, Report, first
from jeton.corpus.requests.providers import provider_id, provider_of_answer, provider_of_model

__all__ = ["SESSION_READERS", "FileState"]

_COUNTS: Final = (
    "input_tokens", "cached_input_tokens", "output_tokens", "reasoning_output_tokens",
    "total_tokens",
)  # fmt: skip
_MAX_SESSIONS: Final = 100_000


@dataclass(slots=True)
class FileState:
    """Facts that lines of a file state for those behind them.

    Attributes:
        join: Called with a kind of joining and how many records were joined.
        session: The session of a Codex file.
        model: Its model, as of the last line that states it.
        provider: Its provider.
        totals: Its running totals.
        sessions: Sessions of Claude Code of which an answer was read.
    """

    join: Callable[[str, int], None]
    session: str = ""
    model: str = ""
    provider: str = ""
    totals: dict[str, int] = field(default_factory=dict)
    sessions: set[str] = field(default_factory=set)


Reader = Callable[
    [Mapping[str, Any], Fields, FileState, FieldNames, Report], list[ParsedRequest] | None
]
"""Gives the requests of a record; None: the record is of another kind."""


def _transcript(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """A line of Claude Code: the provider's message inside ``type: assistant``."""
    kind, message = record.get("type"), record.get("message")
    if not isinstance(message, dict):
        return None
    if kind == "progress" or ("message" in message and "type" in message):
        inner = message.get("message")  # a sub-agent's line inside a line
        if isinstance(inner, dict) and isinstance(inner.get("usage"), dict):
            message, kind = inner, "assistant"
    usage = message.get("usage")
    if kind not in ("assistant", "user", "system") or known.has.isdisjoint(
        ("uuid", "session_id", "request_id", "cwd", "timestamp", "parent_uuid")
    ):
        return None
    if kind != "assistant" or not isinstance(usage, dict):
        report("not_a_model_call", f"a line of type {kind}")
        return []
    model = str(message.get("model") or "")
    if model == "<synthetic>":
        report("not_a_model_call", "an answer that the agent wrote itself")
        return []
    session = str(first(record, ("sessionId", "session_id")) or "")
    parsed = ParsedRequest("claude-code", is_session=True)
    parsed.model = model
    parsed.id = str(message.get("id") or "")
    parsed.is_own_id = True
    request = str(first(record, ("requestId", "request_id")) or "")
    parsed.scope = request or session
    parsed.is_strict_scope = bool(request)
    parsed.conversation = session
    parsed.time = first(record, ("timestamp", "time"))
    parsed.provider = provider_of_model(model) or provider_of_answer(parsed.id)
    parsed.usage = usage_of_mapping(usage, report, parsed)
    if session and len(state.sessions) < _MAX_SESSIONS:
        state.sessions.add(session)
    return _with_domain([parsed], record, names)


_SESSION_LINES: Final = frozenset(
    {
        "summary", "system", "progress", "attachment", "queue-operation", "file-history-snapshot",
        "last-prompt", "custom-title", "ai-title", "agent-name", "permission-mode", "pr-link",
        "mode", "result", "user", "tag", "task-summary", "worktree-state",
    }
)  # fmt: skip


def _session_line(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """A line of Claude Code that is no message: titles, snapshots, what tools did."""
    kind = record.get("type")
    has_more = known.usage or known.has & {"prompt", "messages", "request", "response", "tokens"}
    if not isinstance(kind, str) or kind not in _SESSION_LINES or has_more:
        return None
    report("not_a_model_call", f"a line of type {kind}")
    return []


def _transcript_result(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """The last line of a streamed session: the sum of its calls, or of a Codex turn."""
    kind, usage = record.get("type"), record.get("usage")
    if not isinstance(usage, dict) or kind not in ("result", "turn.completed"):
        return None
    session = str(first(record, ("session_id", "sessionId")) or state.session)
    if kind == "result" and session in state.sessions:
        state.join("running_totals", 1)
        return []
    parsed = ParsedRequest("codex" if kind == "turn.completed" else "claude-code", is_session=True)
    parsed.model = str(record.get("model") or state.model)
    if not parsed.model and isinstance(record.get("modelUsage"), dict):
        parsed.model = next(iter(record["modelUsage"]), "")
    parsed.conversation = session
    parsed.time = first(record, ("timestamp", "time"))
    parsed.usage = usage_of_mapping(usage, report, parsed)
    return _with_domain([parsed], record, names)


def _codex(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """A line of Codex: what ``token_count`` adds to the totals before it is one request."""
    payload = record.get("payload")
    if not isinstance(payload, dict):
        return None
    kind = payload.get("type")
    if record.get("type") == "session_meta":
        state.totals = {}
    if record.get("type") in ("session_meta", "turn_context"):
        state.session = str(payload.get("id") or payload.get("session_id") or state.session)
        state.model = str(payload.get("model") or state.model)
        state.provider = str(payload.get("model_provider") or state.provider)
    info = payload.get("info")
    if kind != "token_count":
        if record.get("type") in (
            "session_meta", "turn_context", "event_msg", "response_item", "compacted"
        ):  # fmt: skip
            report("not_a_model_call", f"a line of type {kind or record.get('type')}")
            return []
        return None
    if not isinstance(info, dict):
        report("not_a_model_call", "a token_count without counts")
        return []
    last, total = info.get("last_token_usage"), info.get("total_token_usage")
    usage = _step(last, total, state)
    if usage is None:
        state.join("running_totals", 1)
        return []
    parsed = ParsedRequest("codex", is_session=True)
    parsed.model = str(info.get("model") or payload.get("model") or state.model)
    parsed.provider = provider_id(state.provider) if state.provider else "openai"
    parsed.conversation = state.session
    parsed.time = record.get("timestamp")
    if isinstance(total, dict) and parsed.time is not None:
        # A session that was forked begins with the lines of its parent.
        parsed.id = "codex/" + "/".join(str(total.get(name)) for name in _COUNTS)
        parsed.scope = str(parsed.time)
        parsed.is_own_id = parsed.is_strict_scope = True
    parsed.usage = usage_of_mapping(usage, report, parsed)
    return _with_domain([parsed], record, names)


def _step(last: Any, total: Any, state: FileState) -> Mapping[str, Any] | None:
    """Use since the totals before; None: nothing, they are given again."""
    if not isinstance(total, dict):
        return last if isinstance(last, dict) else None
    now = {name: total[name] for name in _COUNTS if type(total.get(name)) is int}
    before, state.totals = state.totals, now
    if not before:
        # Totals of a resumed session begin with what its file does not show.
        return last if isinstance(last, dict) else total
    step = {name: number - before.get(name, 0) for name, number in now.items()}
    if not any(step.values()):
        return None
    if min(step.values()) < 0:
        return last if isinstance(last, dict) else total  # the totals began anew
    return step


def _opencode(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """A message of OpenCode: each amount stands beside the others."""
    tokens = record.get("tokens")
    if not isinstance(tokens, dict) or not ("input" in tokens or "output" in tokens):
        return None
    cache = tokens.get("cache")
    cache = cache if isinstance(cache, dict) else {}
    usage = {
        "uncached_input_tokens": tokens.get("input"),
        "cache_read_input_tokens": cache.get("read"),
        "cache_creation_input_tokens": cache.get("write"),
        "output_tokens": tokens.get("output"),
        "reasoning_tokens_beside": tokens.get("reasoning"),
        "total_tokens": tokens.get("total"),
    }
    parsed = ParsedRequest("opencode", is_session=True)
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
    parsed.usage = usage_of_mapping(usage, report, parsed)
    return _with_domain([parsed], record, names)


def _opencode_export(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """A message with its parts, or a whole session of such messages (``opencode export``)."""
    messages = record.get("messages")
    found: list[ParsedRequest] = []
    n_others = 0
    for message in messages if isinstance(messages, list) else [record]:
        info = message.get("info") if isinstance(message, dict) else None
        parsed = _opencode(info, known, state, names, report) if isinstance(info, dict) else None
        found += parsed or ()
        n_others += parsed is None
    if not found:
        return None
    if n_others:
        report("not_a_model_call", f"{n_others:,} messages without tokens")
    return _with_domain(found, record, names)


def _gemini_cli(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """A session of Gemini CLI: one object with all of its messages."""
    messages = record.get("messages")
    if not isinstance(messages, list):
        return None
    session = str(first(record, ("sessionId", "session_id")) or "")
    found = []
    for message in messages:
        if isinstance(message, dict) and isinstance(message.get("tokens"), dict):
            found.append(_gemini_message(message, session, report))
        else:
            report("not_a_model_call", "a message without tokens")
    return _with_domain(found, record, names)


def _gemini_cli_message(
    record: Mapping[str, Any], known: Fields, state: FileState, names: FieldNames, report: Report
) -> list[ParsedRequest] | None:
    """A message of Gemini CLI on a line of its own."""
    if record.get("type") not in ("gemini", "model", "assistant") or not isinstance(
        record.get("tokens"), dict
    ):
        return None
    session = str(first(record, ("sessionId", "session_id")) or state.session)
    return _with_domain([_gemini_message(record, session, report)], record, names)


def _gemini_message(message: Mapping[str, Any], session: str, report: Report) -> ParsedRequest:
    tokens = message["tokens"]
    parsed = ParsedRequest("gemini-cli", is_session=True, provider="google")
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


def _with_domain(
    found: list[ParsedRequest], record: Mapping[str, Any], names: FieldNames
) -> list[ParsedRequest]:
    if names.domain:
        for parsed in found:
            parsed.domain = lookup(record, names.domain)
    return found


SESSION_READERS: Final[Mapping[str, Reader]] = {
    "transcript": _transcript,
    "transcript-result": _transcript_result,
    "session-line": _session_line,
    "codex": _codex,
    "opencode": _opencode,
    "opencode-export": _opencode_export,
    "gemini-cli": _gemini_cli,
    "gemini-cli-message": _gemini_cli_message,
}
"""By the kind of a record (``fields.Fields.kinds``)."""
