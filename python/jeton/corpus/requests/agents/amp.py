"""Amp: a thread with its messages, and with a ledger of its uses in older versions.

A use stands in the message, in the ledger, or in both; it counts once. Credits are no dollars.

Sources (read 2026-11): ccusage#785, #820 and #1138; tokscale, reader of Amp.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents.base import Agent, FileState, child, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest

_SHAPE: Final = "amp"
_TOLD: Final = "threads whose `messages` have a `usage` with a `model`, or with a `usageLedger`"


def _is_thread(names: frozenset[str]) -> bool:
    return "usage_ledger" in names or {"id", "messages", "created"} <= names


def _thread(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    events = child(record, "usageLedger").get("events")
    events = [e for e in events if isinstance(e, dict)] if isinstance(events, list) else []
    messages = record.get("messages")
    messages = [m for m in messages if isinstance(m, dict)] if isinstance(messages, list) else []
    used = [m for m in messages if isinstance(m.get("usage"), dict) and m["usage"].get("model")]
    thread = text(record.get("id"))
    if not used and not events:
        return None
    left = dict(enumerate(events))
    found = []
    for message in used:
        place = _place(message, left)
        event = left.pop(place) if place is not None else {}
        usage = message["usage"]
        time = usage.get("timestamp") or event.get("timestamp") or record.get("created")
        own = f"{thread}/{message.get('messageId')}"
        found.append(_request(usage, time, own, thread, report))
    for number, event in left.items():
        usage = {
            "model": event.get("model"),
            "inputTokens": child(event, "tokens").get("input"),
            "outputTokens": child(event, "tokens").get("output"),
            "cacheReadInputTokens": child(event, "tokens").get("cacheReadInputTokens"),
            "cacheCreationInputTokens": child(event, "tokens").get("cacheCreationInputTokens"),
        }
        own = f"{thread}/ledger/{text(event.get('id')) or number}"
        found.append(_request(usage, event.get("timestamp"), own, thread, report))
    n_others = len(messages) - len(used)
    if n_others:
        report("not_a_model_call", f"{n_others:,} messages without a usage")
    return found


def _place(message: Mapping[str, Any], events: Mapping[int, Mapping[str, Any]]) -> int | None:
    """Number of the ledger's event of a message: by the message's number, else by its counts."""
    number, usage = message.get("messageId"), message["usage"]
    for place, event in events.items():
        if number is not None and event.get("toMessageId") == number:
            return place
    counts = (usage.get("model"), usage.get("inputTokens"), usage.get("outputTokens"))
    for place, event in events.items():
        tokens = child(event, "tokens")
        own = (event.get("model"), tokens.get("input"), tokens.get("output"))
        if own == counts and event.get("toMessageId") is None:
            return place
    return None


def _request(
    usage: Mapping[str, Any], time: Any, own: str, thread: str, report: Report
) -> ParsedRequest:
    parsed = ParsedRequest(_SHAPE, is_session=True, model=text(usage.get("model")))
    parsed.time, parsed.conversation = time, thread
    parsed.id, parsed.scope, parsed.is_own_id = own, thread, True
    known = {
        "uncached_input_tokens": usage.get("inputTokens"),
        "cache_read_input_tokens": usage.get("cacheReadInputTokens"),
        "cache_creation_input_tokens": usage.get("cacheCreationInputTokens"),
        "output_tokens": usage.get("outputTokens"),
    }
    parsed.usage = usage_of_mapping(known, report, parsed)
    return parsed


AGENTS: Final = (Agent("amp", _SHAPE, _TOLD, _is_thread, _thread),)
