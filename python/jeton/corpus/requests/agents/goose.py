"""Goose: rows of its table of sessions, and the heads of its older session files.

The sums of a session run on. Versions before the columns of the cache count cached tokens in the
input or leave them out, depending on the provider.

Sources (read 2026-11): aaif-goose/goose#2136 and #9752; tokscale, reader of Goose.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import PurePath
from typing import Any, Final

from jeton.corpus.lookup import parsed_json
from jeton.corpus.requests.agents.base import Agent, FileState, child, doubtful, summed, text
from jeton.corpus.requests.counts import Report
from jeton.corpus.requests.facts import usage_of_mapping
from jeton.corpus.requests.parsed import ParsedRequest, first
from jeton.providers import provider_id

_SHAPE: Final = "goose"
_TOLD: Final = "rows of `sessions` with `accumulated_input_tokens`, as `sqlite3 -json` writes them"
_READ: Final = ("accumulated_cache_read_input_tokens", "accumulated_cache_read_tokens")
_WRITTEN: Final = ("accumulated_cache_write_input_tokens", "accumulated_cache_write_tokens")


def _is_session(names: frozenset[str]) -> bool:
    return "accumulated_input_tokens" in names or (
        {"working_dir", "accumulated_total_tokens"} <= names
    )


def _session(
    record: Mapping[str, Any], state: FileState, report: Report
) -> list[ParsedRequest] | None:
    config = parsed_json(record.get("model_config_json") or record.get("model_config"))
    model = text(child({"config": config}, "config").get("model_name"))
    parsed = ParsedRequest(_SHAPE, is_session=True, model=model or text(record.get("model")))
    parsed.provider = provider_id(text(record.get("provider_name")))
    parsed.time = first(record, ("updated_at", "created_at"))
    own = text(record.get("id")) or f"{PurePath(state.path).name}/{record.get('working_dir')}"
    # The larger sums of one session hold, in whatever file they stand.
    parsed.id = parsed.scope = parsed.conversation = f"goose/{own}"
    parsed.is_own_id = True
    read, written = first(record, _READ), first(record, _WRITTEN)
    usage = {
        "input_tokens": record.get("accumulated_input_tokens"),
        "prompt_cache_read_tokens": read,
        "prompt_cache_write_tokens": written,
        "output_tokens": record.get("accumulated_output_tokens"),
        "total_tokens": record.get("accumulated_total_tokens"),
    }
    if usage["input_tokens"] is None and usage["output_tokens"] is None:
        report("not_a_model_call", "a session without counts")
        return []
    cost = record.get("accumulated_cost")
    parsed.usage = summed(usage_of_mapping(usage, report, parsed, cost))
    if read is None and written is None:
        parsed.usage = doubtful(
            parsed.usage, "cache_not_logged", "Goose of this version logs no cached tokens", report
        )
    return [parsed]


AGENTS: Final = (Agent("goose", _SHAPE, _TOLD, _is_session, _session),)
