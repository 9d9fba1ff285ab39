"""Where the facts of a record stand, worked out once for each combination of fields.

A log has few combinations of response, request and record, and many records of each.
"""

from __future__ import annotations

from typing import Any, Final, NamedTuple, TypeAlias

from jeton.corpus.requests.counts import MAX_SUMMED, MAX_TOKENS
from jeton.corpus.requests.fields import Fields

Places: TypeAlias = tuple[tuple[Any, Fields], tuple[Any, Fields], tuple[Any, Fields]]
"""Response, request and record, each with the known names that it has."""

Source: TypeAlias = tuple[int, str]
"""A place (0 response, 1 request, 2 record) and a key in it."""

_MAX_PLANS: Final = 4096


class FactsPlan(NamedTuple):
    """Sources of each fact, in the order in which they are looked up.

    Attributes:
        served: Paths of the model that answered.
        asked: Paths of the model asked for.
        inner_models: Paths of mappings that may name the model where nothing else does.
        is_bedrock_log: True if the id of the model is the record's own.
        ids: Paths of the id; the record's own last.
        request_id: The record's key of a request's id; empty: it has none.
        sessions: Paths of the session, conversation or trace, in the record.
        proven: The provider that the fields prove.
        providers: Paths of the provider's name.
        urls: Paths of the address that was called.
        usage: Places of usages: place, key, kind, and above which number a count is absurd.
        beside: Paths of amounts that add to a usage.
        may_have_fees: True if the response may list outputs or candidates.
        is_export: True if the record adds up many requests.
        tells_tariff: True if a field of a tariff is there.
        times: Paths of the time.
        conversations: Paths of the conversation.
        gateway_caches: Paths of the gateway's cache.
        caches_inside: Keys of the record in which such fields may stand.
        has_metadata: True if the record has metadata.
        may_fail: True if a status, an error or a type is there.
        costs: Paths of the stated cost; the record's own first.
        may_refuse: True if the response says why it stopped.
    """

    served: tuple[Source, ...]
    asked: tuple[Source, ...]
    inner_models: tuple[Source, ...]
    is_bedrock_log: bool
    ids: tuple[Source, ...]
    request_id: str
    sessions: tuple[Source, ...]
    proven: str
    providers: tuple[Source, ...]
    urls: tuple[Source, ...]
    usage: tuple[tuple[int, str, str, int], ...]
    beside: tuple[Source, ...]
    may_have_fees: bool
    is_export: bool
    tells_tariff: bool
    times: tuple[Source, ...]
    conversations: tuple[Source, ...]
    gateway_caches: tuple[Source, ...]
    caches_inside: tuple[str, ...]
    has_metadata: bool
    may_fail: bool
    costs: tuple[Source, ...]
    may_refuse: bool


_plans: dict[tuple[int, int, int, bool, bool], FactsPlan] = {}


def plan_of(
    response: Fields,
    request: Fields,
    record: Fields,
    is_request: bool,  # noqa: FBT001 - called for each record, and faster so
    is_response: bool,  # noqa: FBT001
) -> FactsPlan:
    """The plan of a combination.

    Args:
        response: Fields of the response.
        request: Fields of the request.
        record: Fields of the record.
        is_request: True if the record is the request itself.
        is_response: True if the record is the response itself.
    """
    key = (response.serial, request.serial, record.serial, is_request, is_response)
    plan = _plans.get(key)
    if plan is None:
        if len(_plans) >= _MAX_PLANS:
            _plans.clear()
        plan = _plans[key] = _plan(response, request, record, is_request, is_response)
    return plan


def _plan(
    response: Fields,
    request: Fields,
    record: Fields,
    is_request: bool,  # noqa: FBT001
    is_response: bool,  # noqa: FBT001
) -> FactsPlan:
    # Each thing once: the record may be the request, the response or both.
    places = [(0, response)]
    if not (is_request and is_response):
        places.append((1, request))
    if not is_request and not is_response:
        places.append((2, record))

    def sources(kind: str, *, backwards: bool = False) -> tuple[Source, ...]:
        order = reversed(places) if backwards else places
        return tuple((place, key) for place, known in order for key in getattr(known, kind))

    served = [(0, key) for key in response.model]
    asked = [(1, key) for key in request.model] if not (is_request and is_response) else []
    is_bedrock_log = False
    if not is_request and not is_response:
        asked += [(2, key) for key in record.model]
        is_bedrock_log = record.keys.get("model_id") in record.model
    if is_request and not response.model:
        served, asked = asked, []  # one name, of which nothing says whose it is
    ids = [(0, key) for key in response.id]
    if not is_response:
        ids += [(2, key) for key in record.id]
    usage = []
    for place, known in places:
        most = MAX_SUMMED if known.is_export else MAX_TOKENS
        usage += [(place, key, kind, most) for key, kind in known.usage]
        if known.is_usage:
            usage.append((place, "", "flat", most))
    has = record.has | response.has | request.has
    inside = ("metadata", "headers", "response_headers", "_hidden_params")
    return FactsPlan(
        served=tuple(served),
        asked=tuple(asked),
        inner_models=tuple(
            (place, known.keys[name])
            for place, known in places
            for name in _INNER_MODELS
            if name in known.keys
        ),
        is_bedrock_log=is_bedrock_log,
        ids=tuple(ids),
        request_id=record.keys.get("request_id", ""),
        sessions=tuple((2, key) for key in record.conversation),
        proven=_proven(response, record),
        providers=sources("provider", backwards=True),
        urls=tuple(
            (2, record.keys[name]) for name in ("api_base", "base_url") if name in record.keys
        ),
        usage=tuple(usage),
        beside=sources("beside"),
        may_have_fees=not response.has.isdisjoint(("output", "candidates")),
        is_export=any(known.is_export for _, known in places),
        tells_tariff=any(known.tier or known.speed for _, known in places)
        or not record.has.isdisjoint(_BATCH_FIELDS),
        times=sources("time", backwards=True),
        conversations=tuple((2, key) for key in record.conversation)
        + tuple((1, key) for key in request.conversation if not is_request),
        gateway_caches=sources("gateway_cache"),
        caches_inside=tuple(record.keys[name] for name in inside if name in record.keys),
        has_metadata="metadata" in record.has,
        may_fail=not has.isdisjoint(("error", "type", "status", "status_code", "http_status"))
        or not record.has.isdisjoint(("result",))
        or "response" in record.has,
        costs=sources("cost", backwards=True),
        may_refuse="stop_reason" in response.has,
    )


_INNER_MODELS: Final = (
    "response_metadata", "generation_info", "llm_output", "metadata", "invocation_params", "meta",
)  # fmt: skip

_BATCH_FIELDS: Final = ("batch", "is_batch", "custom_id", "record_id", "key", "processed_time")


def _proven(response: Fields, record: Fields) -> str:
    """The provider whose fields these are; empty: they are many providers'."""
    has = response.has | record.has
    if "x_groq" in has:
        return "groq"
    if "schema_type" in has or "model_input" in has or "input_text_token_count" in has:
        return "aws"
    if has & {"native_tokens_prompt", "native_tokens_completion", "model_permaslug"}:
        return "openrouter"
    if (
        "candidates" in has
        or "usageMetadata" in response.keys.values()
        or ("usageMetadata" in record.keys.values())
    ):
        return "google"
    if "prompt_filter_results" in has:
        return "azure"
    if "stop_reason" in response.has and response.keys["stop_reason"] == "stopReason":
        return "aws"
    if "prompt_eval_count" in has or "eval_count" in has:
        return "ollama"
    if has & {"tokens_evaluated", "timings"}:
        return "llama-cpp"
    return ""
