"""Names that a record's fields have in the logs of the field, and which of them a record has.

Names are compared in small letters with underscores, so that ``usageMetadata``, ``UsageMetadata``
and ``usage_metadata`` are one. A log has few kinds of records and many of each: the names that
matter are looked up once for each set of keys, not for each record.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final, NamedTuple

from jeton.corpus.requests.usage_names import FLAT_PATHS, snake

PROMPT_FIELDS: Final = ("prompt", "input", "query", "question", "text", "instruction", "inputs")
"""Plain records: where what was sent is looked for, in this order."""

RESPONSE_FIELDS: Final = (
    "response", "completion", "output", "answer", "generated_text", "generation", "reply",
    "response_text", "output_text",
)  # fmt: skip
"""Plain records: where what came back is looked for, in this order."""

TIME_FIELDS: Final = (
    "timestamp", "time", "ts", "created_at", "created", "start_time", "request_time",
    "request_timestamp", "datetime", "date", "@timestamp", "starting_at", "start_time_iso",
    "usage_date_utc", "aggregation_timestamp", "time_created", "request_created_at",
    "request_started_at", "event_time", "logging_time", "time_generated", "event_timestamp",
    "create_time", "day", "usage_date", "period_start", "bucket_start",
)  # fmt: skip
"""Where the time is looked for, in this order: of the record, then of the response."""

MODEL_FIELDS: Final = (
    "model", "model_name", "model_id", "model_version", "snapshot_id", "model_permaslug",
    "ls_model_name", "provided_model_name", "internal_model", "response_model", "model_slug",
    "ai_model", "request_model", "deployment",
)  # fmt: skip
ID_FIELDS: Final = (
    "id", "response_id", "request_id", "generation_id", "message_id", "completion_id",
)  # fmt: skip
ROW_FIELDS: Final = ("custom_id", "record_id", "key")
"""Names of rows of batches: each file has its own."""

STATUS_FIELDS: Final = ("status_code", "status", "http_status")
REQUEST_PLACES: Final = (
    "request", "body", "params", "request_body", "kwargs", "model_input",
    "full_request", "request_obj", "request_payload", "request_data",
)  # fmt: skip
RESPONSE_PLACES: Final = (
    "response", "result", "response_body", "model_output", "raw_response", "response_obj",
    "full_response", "response_payload", "completion_response", "response_data",
)  # fmt: skip
STREAM_FIELDS: Final = (
    "chunks", "stream", "events", "pieces", "sse", "stream_chunks", "response_chunks",
    "stream_events", "response_stream", "raw_stream", "streamed_data", "streaming_chunks",
)  # fmt: skip
"""Where a record or a response keeps the pieces of a streamed answer."""

ANSWER_FIELDS: Final = (
    "candidates", "output", "content", "message", "text", "completion", "generation",
    "generated_text",
)  # fmt: skip
"""Where a response object has its text, if it has no ``choices``."""

WRAPPING_FIELDS: Final = ("body", "response_body", "message", "data", "response", "result")

PROVIDER_FIELDS: Final = (
    "custom_llm_provider", "llm_provider", "model_provider", "provider_id", "ls_provider",
    "provider", "provider_name", "ai_provider", "ai_org",
)  # fmt: skip
"""Where the provider is named, in this order; words of gateways that name nobody are passed."""

TIER_FIELDS: Final = ("service_tier", "traffic_type", "processing_tier", "tier")
SPEED_FIELDS: Final = ("speed",)
COST_FIELDS: Final = (
    "spend", "response_cost", "total_cost_usd", "cost_usd", "total_cost", "calculated_total_cost",
    "cost_details", "cost",
)  # fmt: skip
"""Fields that may state the cost, in the order in which they are tried; in USD."""

GATEWAY_CACHE_FIELDS: Final = (
    "cache_hit", "cache_status", "gateway_cache_hit", "gateway_cache", "helicone_cache",
    "cf_aig_cache_status", "x_portkey_cache_status", "response_cache_hit", "from_cache",
    "is_cached", "cached", "x_cache", "cached_response", "response_cached", "cache_result",
)  # fmt: skip
"""True if the gateway answered out of a cache of its own, for which no provider sends a bill."""

CONVERSATION_FIELDS: Final = (
    "conversation_id", "session_id", "thread_id", "chat_id", "litellm_session_id", "trace_id",
)  # fmt: skip

_USAGE: Final = (
    "usage", "usage_metadata", "usage_details", "token_usage", "token_counts", "usage_info",
    "usage_object", "amazon_bedrock_invocation_metrics", "tokens_usage", "token_usage_details",
    "total_usage",
)  # fmt: skip
"""Where a record or a response keeps its usage."""

_LOOSE: Final = ("metrics", "meta")
"""Where a usage stands among figures of other kinds."""

_NESTED: Final = (
    "x_groq", "metadata", "response_metadata", "llm_output", "additional_kwargs", "_hidden_params",
    "hidden_params", "extra_info", "generation_info",
)  # fmt: skip
"""Fields that may hold a usage."""

_BESIDE: Final = ("provider_metadata", "experimental_provider_metadata")
"""Fields that add to a usage that stands elsewhere (AI SDK)."""

FIELD_TABLES: Final[Mapping[str, tuple[str, ...]]] = {
    "what was sent": PROMPT_FIELDS,
    "what came back": RESPONSE_FIELDS,
    "the request": REQUEST_PLACES,
    "the response": (*RESPONSE_PLACES, *STREAM_FIELDS),
    "the usage": (*_USAGE, *_LOOSE, *_NESTED, *_BESIDE),
    "the model": MODEL_FIELDS,
    "the provider": PROVIDER_FIELDS,
    "the tariff": (*TIER_FIELDS, *SPEED_FIELDS),
    "an answer of the gateway's cache": GATEWAY_CACHE_FIELDS,
    "the stated cost": COST_FIELDS,
    "the conversation": CONVERSATION_FIELDS,
    "the time": TIME_FIELDS,
    "the id": ID_FIELDS,
}
"""Names under which each field is looked for, for the documentation."""

_OTHER_FIELDS: Final = (
    "messages", "contents", "conversations", "system", "instructions", "tools", "functions",
    "system_instruction", "choices", "object", "type", "attributes", "name", "events", "error",
    "resource", "context", "span_id", "start_time_unix_nano", "anthropic_version", "stop_reason",
    "payload", "tokens", "project_hash", "last_updated", "run_type", "event_type", "done", "delta",
    "parent_observation_id", "parent_run_id", "results", "batch", "is_batch", "api_base",
    "base_url", "duration", "schema_type", "processed_time", "headers", "response_headers",
    "embedding", "embeddings", "embeddings_by_type", "observation_type", "extra",
    "inputs", "outputs", "chunk", "candidates", "cost", "uuid", "cwd", "prompt_filter_results",
    "model_group", "input", "output",
    "trace_id", "session_id", "data", "event", "server_content", "search_results", "citations",
    "native_tokens_prompt", "native_tokens_completion", "input_text_token_count", "eval_count",
    "prompt_eval_count", "latency_checkpoint", "dotted_order", "parent_id", "thread", "turn_id",
    "response_id", "info", "invocation_params", "parts", "log", "@message", "msg", "line",
    "json_payload", "text_payload", "_raw", "log_events", "gen_ai", "llm", "ai", "openinference",
    "span_attributes", "resource_attributes", "parent_span_id", "tokens_evaluated", "timings",
    "search_type", "route", "plugins", "web_search_options", "observations", "child_runs",
    "model_permaslug", "requests",
)  # fmt: skip
"""Further fields of a record."""

_KNOWN: Final = frozenset(
    (*(name for names in FIELD_TABLES.values() for name in names), *ROW_FIELDS, *STATUS_FIELDS,
     *ANSWER_FIELDS, *WRAPPING_FIELDS, *_OTHER_FIELDS)
)  # fmt: skip

_FLAT_MARKS: Final = frozenset(
    (
        *(path for path, meaning in FLAT_PATHS.items() if meaning.kind in ("in", "out")),
        "total_tokens", "total_token_count", "uncached_input_tokens", "usage_input_tokens_no_cache",
        "results", "details", "timings", "inference_status", "token_metadata",
        "cache_read_input_tokens",        "cache_creation_input_tokens",
    )
)  # fmt: skip
"""Fields that make a record itself a usage."""

EXPORT_MARKS: Final = frozenset(
    {
        "num_model_requests", "n_requests", "num_requests", "n_context_tokens_total",
        "uncached_input_tokens", "usage_input_tokens_no_cache", "request_count", "requests",
        "model_permaslug",
    }
)  # fmt: skip
"""Fields of the rows of usage exports, which add up many requests."""

SPAN_COLUMNS: Final = (
    "attributes.", "span_attributes.", "gen_ai.", "llm.token_count.", "ai.usage.",
)  # fmt: skip
"""Beginnings of the columns of a table of spans."""

_MAX_KINDS: Final = 4096
_MAX_KEYS: Final = 256
_MAX_CHARS: Final = 4096
MAX_NAME_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Fields that the user names, with dots descending; empty: found by their usual names."""

    prompt: str = ""
    response: str = ""
    model: str = ""
    time: str = ""
    domain: str = ""


class UsagePlace(NamedTuple):
    """Where a usage may stand: ``usage``, ``loose``, ``nested`` or ``beside`` others."""

    key: str
    kind: str


class Fields(NamedTuple):
    """Which of the known names a mapping has; each list in the order in which it is looked up.

    Attributes:
        has: All of them, in small letters with underscores.
        keys: The keys as they are written, by those names.
        prompt: Keys of ``PROMPT_FIELDS``; so are the rest.
        response: Of ``RESPONSE_FIELDS``.
        time: Of ``TIME_FIELDS``.
        model: Of ``MODEL_FIELDS``.
        id: Of ``ID_FIELDS``.
        status: Of ``STATUS_FIELDS``.
        request_places: Of ``REQUEST_PLACES``.
        response_places: Of ``RESPONSE_PLACES``.
        streams: Of ``STREAM_FIELDS``.
        answer: Of ``ANSWER_FIELDS``.
        wrapping: Of ``WRAPPING_FIELDS``.
        provider: Of ``PROVIDER_FIELDS``.
        tier: Of ``TIER_FIELDS``.
        speed: Of ``SPEED_FIELDS``.
        gateway_cache: Of ``GATEWAY_CACHE_FIELDS``.
        conversation: Of ``CONVERSATION_FIELDS``.
        cost: Of ``COST_FIELDS``.
        usage: Places of a usage.
        beside: Places of what adds to a usage.
        is_usage: True if token counts are among the fields themselves.
        is_export: True if it is a row that adds up many requests.
        serial: A number of its own.
    """

    has: frozenset[str]
    keys: Mapping[str, str]
    prompt: tuple[str, ...]
    response: tuple[str, ...]
    time: tuple[str, ...]
    model: tuple[str, ...]
    id: tuple[str, ...]
    status: tuple[str, ...]
    request_places: tuple[str, ...]
    response_places: tuple[str, ...]
    streams: tuple[str, ...]
    answer: tuple[str, ...]
    wrapping: tuple[str, ...]
    provider: tuple[str, ...]
    tier: tuple[str, ...]
    speed: tuple[str, ...]
    gateway_cache: tuple[str, ...]
    conversation: tuple[str, ...]
    cost: tuple[str, ...]
    usage: tuple[UsagePlace, ...]
    beside: tuple[str, ...]
    is_usage: bool
    is_export: bool
    serial: int


_serials = itertools.count()
_kinds: dict[tuple[Any, ...], Fields] = {}


def fields_of(mapping: Mapping[str, Any]) -> Fields:
    """Which of the known names a mapping has."""
    keys = tuple(mapping)
    found = _kinds.get(keys)
    if found is None:
        found = _fields(keys)
        texts = [key for key in keys if isinstance(key, str)]
        # Names of a hostile log's own are not kept: the table stays small.
        if len(keys) <= _MAX_KEYS and sum(map(len, texts)) <= _MAX_CHARS:
            if len(_kinds) >= _MAX_KINDS:
                _kinds.clear()
            _kinds[keys] = found
    return found


def _fields(given: tuple[Any, ...]) -> Fields:
    keys: dict[str, str] = {}
    is_usage = is_export = False
    for key in given:
        if not isinstance(key, str) or len(key) > MAX_NAME_CHARS:
            continue
        name = snake(key)
        if name in _FLAT_MARKS or name.startswith(("usage.", "response.usage.", "metadata.usage")):
            is_usage = True
        is_export = is_export or name in EXPORT_MARKS
        if name in _KNOWN:
            keys.setdefault(name, key)

    def of(wanted: Iterable[str]) -> tuple[str, ...]:
        return tuple(keys[name] for name in wanted if name in keys)

    has = frozenset(keys)
    places = [
        UsagePlace(keys[name], kind)
        for kind, names in (("usage", _USAGE), ("loose", _LOOSE), ("nested", _NESTED))
        for name in names
        if name in keys
    ]
    return Fields(
        has, keys, of(PROMPT_FIELDS), of(RESPONSE_FIELDS), of(TIME_FIELDS), of(MODEL_FIELDS),
        of(ID_FIELDS), of(STATUS_FIELDS), of(REQUEST_PLACES), of(RESPONSE_PLACES),
        of(STREAM_FIELDS), of(ANSWER_FIELDS), of(WRAPPING_FIELDS), of(PROVIDER_FIELDS),
        of(TIER_FIELDS), of(SPEED_FIELDS), of(GATEWAY_CACHE_FIELDS), of(CONVERSATION_FIELDS),
        of(COST_FIELDS), tuple(places), of(_BESIDE), is_usage, is_export,
        next(_serials),
    )  # fmt: skip


NO_FIELDS: Final = _fields(())
"""No fields: the record is not a mapping."""


def is_known_column(names: FieldNames, column: str) -> bool:
    """True if a top-level field may be looked at: what to read of a table with many columns."""
    if column in {name.split(".")[0] for name in astuple(names)} or column in astuple(names):
        return True
    name = snake(column)
    if name in ("embedding", "embeddings", "embeddings_by_type"):
        return False  # vectors, of which nothing is counted
    return name in _KNOWN or name.split(".")[0] in _KNOWN or name in FLAT_PATHS
