"""Kinds of records that have a reader of their own, told by the names of their fields.

A log has few combinations of names: each is looked at once.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.requests.agents import AGENTS
from jeton.corpus.requests.fields import MAX_NAME_CHARS, SPAN_COLUMNS, Fields
from jeton.corpus.requests.usage_names import snake

AGENTS_BY_KIND: Final = {agent.kind: agent for agent in AGENTS}

STATEFUL: Final = frozenset({"piece", "bedrock-event", *AGENTS_BY_KIND})
"""Kinds of records that are read with what came before in the file."""

_BEDROCK_EVENTS: Final = frozenset(
    {
        "message_start", "content_block_start", "content_block_delta", "content_block_stop",
        "message_stop", "metadata",
    }
)  # fmt: skip

_MAX_KINDS: Final = 4096
_kinds: dict[int, tuple[str, ...]] = {}


def kinds_of(record: Mapping[str, Any], known: Fields) -> tuple[str, ...]:
    """Kinds that a record may be, to be asked in this order; the values decide.

    Args:
        record: The record.
        known: Its known names.
    """
    found = _kinds.get(known.serial)
    if found is None:
        if len(_kinds) >= _MAX_KINDS:
            _kinds.clear()
        found = _kinds[known.serial] = _of_names(
            known.has,
            frozenset(
                snake(key) for key in record if isinstance(key, str) and len(key) <= MAX_NAME_CHARS
            ),
        )
    return found


def _of_names(has: frozenset[str], names: frozenset[str]) -> tuple[str, ...]:
    kinds = []
    if names and names <= _BEDROCK_EVENTS:
        kinds.append("bedrock-event")
    if has & {"attributes", "span_attributes"} or any(n.startswith(SPAN_COLUMNS) for n in names):
        kinds.append("span")
    kinds += [agent.kind for agent in AGENTS if agent.is_it(names)]
    if "run_type" in has or ("parent_run_id" in has and "trace_id" in has):
        kinds.append("langsmith")
    if has & {"parent_observation_id", "observation_type"} or (
        {"trace_id", "type"} <= has and has & {"usage_details", "usage"}
    ):
        kinds.append("langfuse")
    if "results" in has and has & {"start_time", "starting_at"}:
        kinds.append("bucket")
    if has & {"object", "type", "event_type", "done", "chunk", "delta"}:
        kinds.append("piece")
    return tuple(kinds)
