"""Observations of Langfuse and runs of LangSmith: calls of models and the steps around them.

Both tell which step stands in which, so that a step's sum is not counted beside its calls
(``joining``).

Sources (read 2026-11): langfuse.com, observations and usage details; docs.smith.langchain.com, run
data format.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.lookup import lookup, parsed_json
from jeton.corpus.requests.fields import FieldNames, Fields, fields_of
from jeton.corpus.requests.parsed import ParsedRequest, Report, SpanPlace, first
from jeton.corpus.requests.shapes import parse_record
from jeton.providers import provider_id

_CALLS: Final = ("generation", "embedding", "llm")


def parse_langfuse(
    record: Mapping[str, Any], known: Fields, names: FieldNames, report: Report
) -> ParsedRequest:
    """The request of an observation; a step without counts has only its place."""
    kind = str(first(record, ("type", "observation_type", "observationType")) or "").lower()
    if "usage" in record and first(record, ("usageDetails", "usage_details")):
        # The older field has the sums alone.
        record = {key: value for key, value in record.items() if key != "usage"}
        known = fields_of(record)
    parsed = _parsed(record, known, names, report, is_call=kind in _CALLS)
    parsed.shape = "langfuse"
    parsed.place = SpanPlace(
        trace=str(first(record, ("traceId", "trace_id")) or ""),
        span=str(record.get("id") or ""),
        parent=str(first(record, ("parentObservationId", "parent_observation_id")) or ""),
        is_call=kind in _CALLS,
        answer="",
    )
    session = first(record, ("sessionId", "session_id"))
    parsed.conversation = str(session or parsed.place.trace)
    return parsed


def parse_langsmith(
    record: Mapping[str, Any], known: Fields, names: FieldNames, report: Report
) -> ParsedRequest:
    """The request of a run; a step without counts has only its place."""
    kind = str(record.get("run_type") or "llm").lower()
    extra = parsed_json(record.get("extra"))
    metadata = extra.get("metadata") if isinstance(extra, dict) else None
    facts = metadata if isinstance(metadata, dict) else {}
    params = extra.get("invocation_params") if isinstance(extra, dict) else None
    params = params if isinstance(params, dict) else {}
    sent, received = parsed_json(record.get("inputs")), parsed_json(record.get("outputs"))
    inner = dict(record)
    if isinstance(sent, dict):
        inner["request"] = {k: v for k, v in sent.items() if k != "usage_metadata"}
    if isinstance(received, dict):
        inner["response"] = _answer(received)
    parsed = _parsed(inner, fields_of(inner), names, report, is_call=kind in _CALLS)
    parsed.shape = "langsmith"
    asked = first(params, ("model", "model_name")) or ""
    parsed.model = str(facts.get("ls_model_name") or parsed.model or asked)
    parsed.provider = provider_id(str(facts.get("ls_provider") or "")) or parsed.provider
    trace = str(record.get("trace_id") or "")
    parsed.place = SpanPlace(
        trace=trace,
        span=str(record.get("id") or ""),
        parent=str(record.get("parent_run_id") or ""),
        is_call=kind in _CALLS,
        answer="",
    )
    # `session_id` is LangSmith's word for a project.
    thread = first(facts, ("thread_id", "session_id", "conversation_id"))
    parsed.conversation = str(thread or trace)
    return parsed


def _answer(outputs: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the answer, with the usage that LangChain keeps inside its first message."""
    generations = outputs.get("generations")
    while isinstance(generations, list) and generations:
        generations = generations[0]
    if not isinstance(generations, dict):
        return outputs
    message = generations.get("message")
    inner = message.get("kwargs", message) if isinstance(message, dict) else {}
    found = dict(outputs)
    if isinstance(generations.get("text"), str):
        found["text"] = generations["text"]
    for key in ("usage_metadata", "response_metadata"):
        if isinstance(inner, dict) and isinstance(inner.get(key), dict):
            found.setdefault(key, inner[key])
    return found


def _parsed(
    record: Mapping[str, Any],
    known: Fields,
    names: FieldNames,
    report: Report,
    *,
    is_call: bool,
) -> ParsedRequest:
    """The record by its fields; of a step that calls no model, only the counts."""

    def quiet(kind: str, detail: str) -> None:
        if kind != "not_a_request":
            report(kind, detail)

    found, _ = parse_record(record, known, names, quiet)
    parsed = found if found is not None else ParsedRequest("plain")
    if not is_call and not parsed.usage.is_known:
        parsed = ParsedRequest("plain", time=parsed.time)
    if names.domain:
        parsed.domain = lookup(record, names.domain)
    parsed.id = ""
    return parsed
