"""Aider: ``message_send`` of its analytics log (``aider --analytics-log FILE``).

The log has no counts of what a cache served. The history of a chat (``.aider.chat.history.md``)
rounds its counts and is refused (``refused``).

Source (read 2026-11): Aider-AI/aider, analytics.py and base_coder.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents.base import Agent, FileState, child, doubtful, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest

_SHAPE: Final = "aider"
_TOLD: Final = "the analytics log: `event` is `message_send`, the counts in `properties`"


def _is_event(names: frozenset[str]) -> bool:
    return {"event", "properties"} <= names


def _event(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    event, facts = record.get("event"), child(record, "properties")
    if not isinstance(event, str) or not ("aider_version" in facts or "edit_format" in facts
                                          or event.startswith("message_send")):  # fmt: skip
        return None
    if event != "message_send":
        report("not_a_model_call", f"an event of type {event[:40]}")
        return []
    parsed = ParsedRequest(_SHAPE, is_session=True, model=text(facts.get("main_model")))
    parsed.time = record.get("time")
    parsed.conversation = text(record.get("user_id"))
    names = ("prompt_tokens", "completion_tokens", "total_tokens")
    usage = {name: facts[name] for name in names if name in facts}
    parsed.usage = usage_of_mapping(usage, report, parsed, facts.get("cost"))
    parsed.usage = doubtful(parsed.usage, "cache_not_logged", "Aider logs no cached tokens", report)
    return [parsed]


AGENTS: Final = (Agent("aider", _SHAPE, _TOLD, _is_event, _event),)
