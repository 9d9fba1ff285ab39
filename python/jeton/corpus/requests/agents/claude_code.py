"""Claude Code: lines of a session, and the results of ``claude -p``.

Sources (read 2026-11): ccusage and codeburn, session files; docs.claude.com, headless mode;
RobertTLange/headless-cli#5 (several models), meawoppl/rust-code-agent-sdks#250 (running sums).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents.base import MAX_KEPT, Agent, FileState, child, summed, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import is_unbilled_refusal, miss_reason_of, usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest, first
from jeton.dimensions import NOT_BILLED
from jeton.providers import provider_of_answer, provider_of_model

_SHAPE: Final = "claude-code"
_TOLD: Final = (
    "lines of a session (`message` inside `type` `assistant`), and results of `claude -p` "
    "(`type` `result` with `modelUsage`)"
)
_LINES: Final = frozenset(
    {
        "summary", "system", "progress", "attachment", "queue-operation", "file-history-snapshot",
        "last-prompt", "custom-title", "ai-title", "agent-name", "permission-mode", "pr-link",
        "mode", "result", "user", "tag", "task-summary", "worktree-state",
    }
)  # fmt: skip
_MARKS: Final = frozenset({"leaf_uuid", "snapshot", "parent_uuid", "operation"})
_SUMS: Final = (
    "inputTokens", "outputTokens", "cacheReadInputTokens", "cacheCreationInputTokens",
)  # fmt: skip


def _is_message(names: frozenset[str]) -> bool:
    return {"message", "type"} <= names and not names & {"messages", "request", "prompt"}


def _is_result(names: frozenset[str]) -> bool:
    return {"type", "usage"} <= names and bool(names & {"session_id", "thread_id", "uuid"})


def _is_line(names: frozenset[str]) -> bool:
    return "type" in names and bool(names & {"uuid", "session_id"} or names & _MARKS)


def _message(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """The provider's message inside ``type: assistant``."""
    kind, message = record.get("type"), record.get("message")
    if not isinstance(message, dict):
        return None
    if kind == "progress" or ("message" in message and "type" in message):
        inner = message.get("message")  # a sub-agent's line inside a line
        if isinstance(inner, dict) and isinstance(inner.get("usage"), dict):
            message, kind = inner, "assistant"
    usage = message.get("usage")
    names = ("uuid", "sessionId", "session_id", "requestId", "request_id", "cwd", "timestamp",
             "parentUuid", "parent_uuid")  # fmt: skip
    if kind not in ("assistant", "user", "system") or not any(name in record for name in names):
        return None
    if kind != "assistant" or not isinstance(usage, dict):
        report("not_a_model_call", f"a line of type {kind}")
        return []
    model = str(message.get("model") or "")
    if model == "<synthetic>":
        report("not_a_model_call", "an answer that the agent wrote itself")
        return []
    session = str(first(record, ("sessionId", "session_id")) or "")
    parsed = ParsedRequest(_SHAPE, is_session=True, model=model)
    parsed.id = str(message.get("id") or "")
    parsed.is_own_id = True
    request = str(first(record, ("requestId", "request_id")) or "")
    parsed.scope = request or session
    parsed.is_strict_scope = bool(request)
    parsed.conversation = session
    parsed.time = first(record, ("timestamp", "time"))
    parsed.provider = provider_of_model(model) or provider_of_answer(parsed.id)
    parsed.usage = usage_of_mapping(usage, report, parsed, record.get("costUSD"))
    parsed.miss_reason = miss_reason_of(message)
    parsed.agent = str(first(record, ("agentId", "agent_id")) or "")
    if not parsed.agent and record.get("isSidechain") is True:
        parsed.agent = "sidechain"
    if is_unbilled_refusal(message, parsed, report):
        parsed.tariff = NOT_BILLED
    seen = state.shared.setdefault(_SHAPE, {})
    if session and (session in seen or len(seen) < MAX_KEPT):
        seen.setdefault(session, set()).update(
            (_base(model), *(_base(m.model) for m in parsed.more))
        )
    return [parsed]


def _base(model: str) -> str:
    """A model's name without the size of its context (``claude-opus-4-8[1m]``)."""
    return model.partition("[")[0]


def _line(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """A line that is no message: titles, snapshots, what tools did."""
    kind = record.get("type")
    has_more = any(
        name in record for name in ("usage", "prompt", "messages", "request", "response", "tokens")
    )
    if not isinstance(kind, str) or kind not in _LINES or has_more:
        return None
    report("not_a_model_call", f"a line of type {kind}")
    return []


def _result(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    """The last line of a run: its sum, by model; models that no line of the run has still count."""
    usage = record.get("usage")
    if record.get("type") != "result" or not isinstance(usage, dict):
        return None
    session = text(first(record, ("session_id", "sessionId")))
    seen = state.shared.get(_SHAPE, {}).get(session) if session else None
    by_model = {m: own for m, own in child(record, "modelUsage").items() if isinstance(own, dict)}
    if seen is not None:
        state.join("running_totals", 1)
        by_model = {model: own for model, own in by_model.items() if _base(model) not in seen}
        if not by_model:
            return []
    elif not by_model:
        return [_run(record, session, text(record.get("model")), usage, None, report)]
    steps = _since_before(by_model, usage, session, state)
    words = {key: usage[key] for key in ("service_tier", "speed", "inference_geo") if key in usage}
    found = []
    for model, own in steps.items():
        parts = {**own, **words, **_lifetimes(own, steps, usage)}
        found.append(_run(record, session, model, parts, own.get("costUSD"), report))
    return found


def _run(
    record: Mapping[str, Any],
    session: str,
    model: str,
    usage: Mapping[str, Any],
    cost: Any,
    report: Report,
) -> ParsedRequest:
    parsed = ParsedRequest(_SHAPE, is_session=True, model=model, conversation=session)
    parsed.provider = provider_of_model(model)
    parsed.time = first(record, ("timestamp", "time"))
    own = text(record.get("uuid")) or session
    if own:
        parsed.id, parsed.is_own_id = f"{own}/{model}", True
    if cost is None and "modelUsage" not in record:
        cost = record.get("total_cost_usd")
    parsed.usage = summed(usage_of_mapping(usage, report, parsed, cost))
    return parsed


def _since_before(
    by_model: Mapping[str, Any], usage: Mapping[str, Any], session: str, state: FileState
) -> Mapping[str, Any]:
    """Amounts by model since the result before it of one running process, whose sums run on."""
    kept = state.own.setdefault("claude-results", {})
    before = kept.get(session)
    kept[session] = by_model
    if not before:
        return by_model
    total, past = _tokens(by_model), _tokens(before)
    turn = sum(
        n for name, n in usage.items()
        if type(n) is int and name in ("input_tokens", "output_tokens", "cache_read_input_tokens",
                                       "cache_creation_input_tokens")
    )  # fmt: skip
    runs_on = all(
        _count(by_model.get(model, {}), name) >= _count(own, name)
        for model, own in before.items()
        for name in _SUMS
    )
    if not runs_on or abs(total - past - turn) >= abs(total - turn):
        return by_model
    state.join("running_totals", 1)
    steps: dict[str, Any] = {}
    for model, own in by_model.items():
        earlier = before.get(model, {})
        step = {name: _count(own, name) - _count(earlier, name) for name in _SUMS}
        costs = own.get("costUSD"), earlier.get("costUSD", 0)
        if all(isinstance(cost, int | float) for cost in costs):
            step["costUSD"] = max(costs[0] - costs[1], 0)
        step["webSearchRequests"] = max(
            _count(own, "webSearchRequests") - _count(earlier, "webSearchRequests"), 0
        )
        if any(step[name] for name in _SUMS):
            steps[model] = step
    return steps


def _count(own: Any, name: str) -> int:
    value = own.get(name) if isinstance(own, dict) else None
    return value if type(value) is int and value > 0 else 0


def _tokens(by_model: Mapping[str, Any]) -> int:
    return sum(_count(own, name) for own in by_model.values() for name in _SUMS)


def _lifetimes(
    own: Mapping[str, Any], by_model: Mapping[str, Any], usage: Mapping[str, Any]
) -> dict[str, Any]:
    """Lifetimes of the written tokens, which only the sum of all models states."""
    split = child(usage, "cache_creation")
    hour = _count(split, "ephemeral_1h_input_tokens")
    minutes = _count(split, "ephemeral_5m_input_tokens")
    written = _count(own, "cacheCreationInputTokens")
    writers = [m for m, other in by_model.items() if _count(other, "cacheCreationInputTokens")]
    if not hour or not written:
        return {}
    if not minutes:
        return {"ephemeral_1h_input_tokens": written}
    if len(writers) == 1 and hour + minutes == written:
        return {"ephemeral_1h_input_tokens": hour, "ephemeral_5m_input_tokens": minutes}
    # Nothing tells which model wrote for how long.
    return {"written_for_an_hour_or_less_tokens": min(hour, written)}


AGENTS: Final = (
    Agent("claude-code", _SHAPE, _TOLD, _is_message, _message),
    Agent("claude-code-result", _SHAPE, _TOLD, _is_result, _result),
    Agent("claude-code-line", _SHAPE, _TOLD, _is_line, _line),
)
