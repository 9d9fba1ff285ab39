"""Facts of a request beside its text: amounts, model, provider, tariff, time, ids.

Each is looked for in the response, the request and the record around them, under the names of
``fields``.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.corpus.lookup import lookup, parsed_json, text_or_none
from jeton.corpus.requests.counts import MAX_SUMMED, MAX_TOKENS, Watch, stated_facts
from jeton.corpus.requests.facts_plan import FactsPlan, Places, plan_of
from jeton.corpus.requests.fields import FieldNames, Fields, LogShape, fields_of
from jeton.corpus.requests.messages import text_of
from jeton.corpus.requests.parsed import ParsedRequest, Report
from jeton.corpus.requests.steps import with_steps
from jeton.corpus.requests.tariffs import searches_of_gateway, tariff_of, variant_of, with_geo
from jeton.corpus.requests.usage import UNKNOWN_USAGE, Usage, settle
from jeton.corpus.requests.usage_names import REQUESTS
from jeton.corpus.requests.usage_paths import UsageAmounts, collect, collect_flat
from jeton.dimensions import NOT_BILLED
from jeton.providers import (
    provider_id,
    provider_of_answer,
    provider_of_model,
    provider_of_url,
)

_FIRST_FAILING_STATUS: Final = 400
_FAILED_STATUS: Final = ("error", "failed", "failure")
_FAILED_TYPES: Final = ("errored", "expired", "canceled", "error")
_ID_CHARS: Final = 128
_WITH_VARIANTS: Final = ("perplexity", "openrouter")


def read_facts(
    parsed: ParsedRequest,
    record: Mapping[str, Any],
    places: Places,
    names: FieldNames,
    report: Report,
    shape: LogShape | None = None,
) -> None:
    """Complete a request with everything but its text.

    Args:
        parsed: The prompt and the answer.
        record: As it stands in the log.
        places: Where facts are looked for.
        names: Fields that the user named.
        report: Called with the kind of an issue and its detail.
        shape: The record's entry in the table of shapes, where it has one.
    """
    (response, of_response), (request, of_request), (_, of_record) = places
    plan = plan_of(of_response, of_request, of_record, request is record, response is record)
    things = (response, request, record)
    _take_models(parsed, things, plan, names)
    if plan.ids:
        _take_id(parsed, things, plan)
    if shape is not None and shape.id:
        parsed.id = (text_or_none(lookup(record, shape.id)) or "")[:_ID_CHARS]
    parsed.provider = _provider(parsed, things, plan)
    amounts = UsageAmounts()
    watch = Watch(report)
    if shape is not None and shape.usage:
        _take_place(amounts, lookup(record, shape.usage), "usage", MAX_TOKENS, watch)
    if plan.usage and not amounts.is_settled:
        _find_amounts(amounts, things, plan, watch)
    if not amounts.is_settled and "input" in of_record.has:
        _take_counts_of_bedrock(amounts, record, watch)
    if plan.may_have_fees:
        _take_fees(amounts, response, of_response, parsed.model)
    if parsed.provider == "openrouter" or parsed.model.endswith(":online"):
        n_searches = searches_of_gateway(parsed.provider, parsed.model, places)
        if n_searches:
            amounts.rest.setdefault("web_searches", n_searches)
    usage = usage_of_amounts(amounts, watch, parsed)
    if usage.output < 0 <= usage.input and _has_no_output(parsed.model, of_response, of_record):
        usage = usage._replace(output=0)
    parsed.usage = usage
    if plan.is_export:
        parsed.n_requests = max(amounts.rest.get(REQUESTS, 1), 1)
    if plan.tells_tariff or amounts.words or parsed.id.startswith("batch_req_"):
        _take_tariff(parsed, amounts, places, watch)
    if amounts.words or parsed.provider in _WITH_VARIANTS or "/" in parsed.model:
        variant = variant_of(parsed.provider, parsed.model, amounts.words, places)
        if variant:
            parsed.tariff = f"{parsed.tariff}+{variant}".removeprefix("standard+")
    parsed.time = lookup(record, names.time) if names.time else _time(things, plan)
    if names.domain:
        parsed.domain = lookup(record, names.domain)
    if plan.conversations or plan.has_metadata:
        parsed.conversation = _conversation(record, things, plan)
    if plan.gateway_caches:
        parsed.from_gateway_cache = any(_is_hit(things[i][key]) for i, key in plan.gateway_caches)
    if plan.caches_inside and not parsed.from_gateway_cache:
        parsed.from_gateway_cache = _from_inner_cache(record, plan)
    if plan.may_fail:
        parsed.failed = _failure(record, places)
    if plan.costs or amounts.costs or watch.is_doubtful:
        _take_beside_amounts(parsed, amounts, things, plan, watch)
    if plan.may_refuse and is_unbilled_refusal(response, parsed, report):
        parsed.tariff = NOT_BILLED


def miss_reason_of(answer: Any) -> str:
    """Return the provider's own reason why its cache had no prefix; empty: it states none."""
    diagnostics = answer.get("diagnostics") if isinstance(answer, dict) else None
    reason = diagnostics.get("cache_miss_reason") if isinstance(diagnostics, dict) else None
    if isinstance(reason, dict):
        reason = reason.get("type")
    return reason if isinstance(reason, str) else ""


def is_unbilled_refusal(message: Any, parsed: ParsedRequest, report: Report) -> bool:
    """True if Anthropic refused before any output, for which it sends no bill.

    Source (read 2026-11): platform.claude.com, handling stop reasons.
    """
    if not isinstance(message, dict) or message.get("stop_reason") != "refusal":
        return False
    if parsed.usage.output > 0 or message.get("content") or parsed.provider not in _ANTHROPIC:
        return False
    report("refused_unbilled", parsed.model)
    return True


_ANTHROPIC: Final = ("", "anthropic")
_NO_USD: Final = ("ai_org", "req_units")
"""Fields of a gateway (Portkey) that states costs in cents."""


def _take_beside_amounts(
    parsed: ParsedRequest,
    amounts: UsageAmounts,
    things: tuple[Any, Any, Any],
    plan: FactsPlan,
    watch: Watch,
) -> None:
    """Take the stated cost, and whether the usage is doubtful."""
    record = things[2]
    given = None
    if not any(name in record for name in _NO_USD):
        for place, key in plan.costs:
            given = things[place][key]
            if given is not None:
                break
        if record.get("is_byok") is True:  # a row of OpenRouter's own records
            amounts.costs["own key"] = True
            amounts.costs.setdefault("upstream", record.get("upstream_inference_cost"))
    else:
        amounts.costs.clear()
    parsed.usage = with_facts(parsed.usage, watch, given, amounts, parsed.n_requests)


def with_facts(
    usage: Usage, watch: Watch, given: Any, amounts: UsageAmounts, n_requests: int = 1
) -> Usage:
    """A usage with the facts beside its amounts: the stated cost, and whether it is doubtful."""
    facts: dict[str, int] = {}
    if given is not None or amounts.costs:
        facts = stated_facts(given, amounts.costs, watch, n_requests)
    if watch.is_doubtful:
        facts["doubtful_requests"] = n_requests
    return usage._replace(facts=facts) if facts else usage


def usage_of_amounts(
    amounts: UsageAmounts, report: Report, parsed: ParsedRequest, *, has_no_output: bool = False
) -> Usage:
    """Amounts in one convention; what was not read is reported."""
    for path, number in amounts.unread:
        report("unread_usage", f"{path}={number}")
    if not (amounts.inputs or amounts.outputs or amounts.rest):
        return UNKNOWN_USAGE
    usage = settle(amounts, report, provider=parsed.provider, model=parsed.model)
    if amounts.steps:
        usage = _with_steps(usage, amounts.steps, report, parsed)
    if has_no_output and usage.output < 0 <= usage.input:
        return usage._replace(output=0)
    return usage


def usage_of_mapping(
    usage: Mapping[str, Any],
    report: Report,
    parsed: ParsedRequest,
    cost: Any = None,
    *,
    most: int = MAX_TOKENS,
) -> Usage:
    """Amounts of one usage that was found already; its words decide the tariff.

    Args:
        usage: As the log has it.
        report: Called with the kind of an issue and its detail.
        parsed: Its request, of which model, provider and identity are known.
        cost: The cost that the log states for it, USD; None: the usage may state one.
        most: Counts above this are absurd.
    """
    amounts, watch = UsageAmounts(), Watch(report)
    collect(usage, amounts, watch, most=most)
    words = amounts.words
    parsed.tariff, unknown = tariff_of(words.get("tier"), None, words.get("speed"), is_batch=False)
    parsed.tariff = with_geo(parsed.tariff, words.get("geo", ""))
    if unknown:
        watch("unknown_tariff", unknown)
    found = usage_of_amounts(amounts, watch, parsed)
    return with_facts(found, watch, cost, amounts, parsed.n_requests)


def _with_steps(usage: Usage, steps: list[Any], report: Report, parsed: ParsedRequest) -> Usage:
    """Add the steps that the sum leaves out; calls of other models become requests."""

    def read(step: Mapping[str, Any]) -> Usage:
        amounts = UsageAmounts()
        collect({k: v for k, v in step.items() if k not in ("type", "model")}, amounts, report)
        return settle(amounts, report, provider="anthropic", model=parsed.model)

    whole, others = with_steps(usage, steps, parsed.model, read, report)
    for number, (model, own) in enumerate(others):
        other = ParsedRequest(parsed.shape, is_session=parsed.is_session)
        other.model, other.provider, other.usage = model, parsed.provider, own
        other.tariff = parsed.tariff
        if parsed.id:
            # Each call has an identity of its own, so that repeats of the answer are joined.
            other.id, other.is_own_id = f"{parsed.id}/{number}", parsed.is_own_id
        other.scope, other.is_strict_scope = parsed.scope, parsed.is_strict_scope
        parsed.more.append(other)
    return whole


def _find_amounts(
    amounts: UsageAmounts, things: tuple[Any, Any, Any], plan: FactsPlan, report: Report
) -> None:
    """The usage of the response, of the request, of the record."""
    for place, key, kind, most in plan.usage:
        fields = things[place]
        if kind == "flat":
            amounts.is_strict = False
            collect_flat(fields, amounts, report, most=most)
            if most == MAX_SUMMED:
                given = {name: fields[name] for name in ("seconds", "characters") if name in fields}
                collect(given, amounts, report, most=most)
        else:
            _take_place(amounts, fields[key], kind, most, report)
        if amounts.is_settled:
            break
    for place, key in plan.beside:
        take_beside(amounts, things[place][key], report)


def _take_place(
    amounts: UsageAmounts, value: Any, kind: str, most: int, report: Report, *, depth: int = 0
) -> None:
    if isinstance(value, str):
        value = parsed_json(value)
    if not isinstance(value, dict) or not value:
        return
    if kind != "nested":
        amounts.is_strict = kind == "usage"
        collect(value, amounts, report, most=most)
    elif depth == 0:
        known = fields_of(value)
        for key, inner in known.usage:
            _take_place(amounts, value[key], inner, most, report, depth=1)
            if amounts.is_settled:
                return
        if known.is_usage:
            amounts.is_strict = False
            collect_flat(value, amounts, report, most=most)


def _take_counts_of_bedrock(
    amounts: UsageAmounts, record: Mapping[str, Any], report: Report
) -> None:
    """Counts beside the bodies of a model invocation log."""
    given, answer = record.get("input"), record.get("output")
    if isinstance(given, dict) and isinstance(answer, dict) and "inputTokenCount" in given:
        amounts.is_strict = False
        collect({**answer, **given}, amounts, report)


def take_beside(amounts: UsageAmounts, value: Any, report: Report) -> None:
    """Take the provider's own usage that the AI SDK keeps, by the provider's name."""
    amounts.is_strict = False
    value = parsed_json(value)
    for inner in value.values() if isinstance(value, dict) else ():
        if isinstance(inner, dict):
            collect(inner, amounts, report)
            for key in ("usage", "usageMetadata"):
                if isinstance(inner.get(key), dict):
                    collect(inner[key], amounts, report)


_FEES: Final = {
    "web_search_call": "web_searches",
    "file_search_call": "storage_searches",
    "code_interpreter_call": "code_executions",
}
"""Calls of built-in tools among the outputs of OpenAI's responses, by what they are charged as."""


def _take_fees(amounts: UsageAmounts, response: Any, known: Fields, model: str) -> None:
    """Searches that the answer shows and its usage does not."""
    if not isinstance(response, dict):
        return
    if "output" in known.has and isinstance(response.get("output"), list):
        counts: dict[str, int] = {}
        for item in response["output"]:
            if isinstance(item, dict):
                name = _FEES.get(str(item.get("type")))
                action = item.get("action")
                kind = action.get("type", "search") if isinstance(action, dict) else "search"
                # Opening a page that a search has found is no search.
                if name and (name != "web_searches" or kind == "search"):
                    counts[name] = counts.get(name, 0) + 1
        for name, n in counts.items():
            amounts.rest.setdefault(name, n)
    elif "candidates" in known.has and isinstance(response.get("candidates"), list):
        n_queries = 0
        for candidate in response["candidates"]:
            grounding = candidate.get("groundingMetadata") if isinstance(candidate, dict) else None
            queries = grounding.get("webSearchQueries") if isinstance(grounding, dict) else None
            n_queries += len(queries) if isinstance(queries, list) else 0
        if n_queries:
            # Up to Gemini 2.5 a grounded request is charged once, later each of its queries.
            is_once = any(name in model for name in ("gemini-1", "gemini-2"))
            amounts.rest.setdefault("web_searches", 1 if is_once else n_queries)


def _has_no_output(model: str, of_response: Fields, of_record: Fields) -> bool:
    """True if the call generates nothing, as embeddings and rankings do."""
    has = of_response.has | of_record.has
    return (
        not has.isdisjoint(("embedding", "embeddings", "embeddings_by_type"))
        or "embed" in model
        or "rerank" in model
        or "moderation" in model
    )


def _take_models(
    parsed: ParsedRequest, things: tuple[Any, Any, Any], plan: FactsPlan, names: FieldNames
) -> None:
    """The model that answered, else the one asked for; and the one asked for."""
    record = things[2]
    if names.model:
        parsed.model = text_or_none(lookup(record, names.model)) or ""
        return
    served = _text_at(things, plan.served)
    asked = _text_at(things, plan.asked)
    if plan.is_bedrock_log and asked:
        # The id is what the bill names, not the word of the body; a profile of one's own is not.
        is_own = asked.startswith("arn:") and "/application-inference-profile/" in asked
        parsed.model, parsed.model_asked = (served if is_own and served else asked), asked
        return
    if not asked and not served:
        for place, key in plan.inner_models:
            inner = parsed_json(things[place][key])
            served = _name(inner, fields_of(inner)) if isinstance(inner, dict) else ""
            if served:
                break
    parsed.model, parsed.model_asked = served or asked, asked


def _text_at(things: tuple[Any, Any, Any], sources: tuple[tuple[int, str], ...]) -> str:
    for place, key in sources:
        value = things[place][key]
        if isinstance(value, str) and value:
            return value
    return ""


def _name(fields: Any, known: Fields) -> str:
    for key in known.model:
        value = fields[key]
        if isinstance(value, str) and value:
            return value
    return ""


def _take_id(parsed: ParsedRequest, things: tuple[Any, Any, Any], plan: FactsPlan) -> None:
    for place, key in plan.ids:
        value = things[place][key]
        if isinstance(value, str | int) and not isinstance(value, bool) and value != "":
            found = str(value)[:_ID_CHARS]
            if not parsed.id:
                parsed.id = found
                parsed.is_own_id = place == 0 or (key == plan.request_id and not found.isdecimal())
                if place == 2:
                    break
            elif place == 2:
                parsed.scope = found
                parsed.is_strict_scope = key == plan.request_id
                break
    if not parsed.scope and parsed.id:
        parsed.scope = _text_at(things, plan.sessions)[:_ID_CHARS]


def _provider(parsed: ParsedRequest, things: tuple[Any, Any, Any], plan: FactsPlan) -> str:
    """Return the provider: as ids and the shape prove, else as the log says."""
    proven = provider_of_model(parsed.model) if parsed.model else ""
    if not proven and parsed.id:
        proven = provider_of_answer(parsed.id)
    proven = proven or plan.proven
    if proven:
        return proven
    if parsed.shape in _SHAPE_PROVIDERS:
        return _SHAPE_PROVIDERS[parsed.shape]
    for place, key in plan.providers:
        value = things[place][key]
        if isinstance(value, str):
            own = provider_id(value)
            if own:
                return own
    for place, key in plan.urls:
        value = things[place][key]
        if isinstance(value, str) and value:
            return provider_of_url(value)
    return ""


_SHAPE_PROVIDERS: Final = {"gemini": "google", "bedrock": "aws"}


def _take_tariff(
    parsed: ParsedRequest, amounts: UsageAmounts, places: Places, report: Report
) -> None:
    (response, of_response), (request, of_request), (record, of_record) = places
    words = amounts.words
    served = words.get("tier")
    speed = words.get("speed")
    asked: Any = None
    if of_response.tier:
        served = _word(response, of_response.tier) or served
    if of_request.tier and request is not response:
        asked = _word(request, of_request.tier)
    if of_record.tier and record is not request and record is not response:
        served = served or _word(record, of_record.tier)
    for fields, known in places:
        for key in known.speed:
            value = fields[key]
            speed = speed or (value if isinstance(value, str) else None)
    parsed.tariff, unknown = tariff_of(
        served, asked, speed, is_batch=_is_batch(record, of_record, of_response, parsed)
    )
    parsed.tariff = with_geo(parsed.tariff, words.get("geo", ""))
    if unknown:
        report("unknown_tariff", unknown)


def _word(fields: Mapping[str, Any], keys: tuple[str, ...]) -> Any:
    for key in keys:
        value = fields[key]
        if isinstance(value, dict):
            value = value.get("type")
        if isinstance(value, str) and value:
            return value
    return None


def _is_batch(
    record: Mapping[str, Any], known: Fields, of_response: Fields, parsed: ParsedRequest
) -> bool:
    """True if a record is a row of a file of batches, or of an export of them."""
    has = known.has
    if "batch" in has or "is_batch" in has:
        value = record.get("batch", record.get("is_batch"))
        if value is True or (isinstance(value, str) and value.lower() == "true"):
            return True
    if "custom_id" in has:
        return not has.isdisjoint(("response", "result", "body"))
    if "record_id" in has:
        return "model_output" in has
    if "key" in has or "processed_time" in has:
        return "response" in has and "candidates" in of_response.has
    return parsed.id.startswith("batch_req_")


def _conversation(record: Mapping[str, Any], things: tuple[Any, Any, Any], plan: FactsPlan) -> str:
    for place, key in plan.conversations:
        value = things[place][key]
        if isinstance(value, str | int) and value and not isinstance(value, bool):
            return str(value)[:_ID_CHARS]
    if plan.has_metadata:
        metadata = parsed_json(record.get("metadata"))
        if isinstance(metadata, dict):
            for key in fields_of(metadata).conversation:
                value = metadata[key]
                if isinstance(value, str) and value:
                    return value[:_ID_CHARS]
    return ""


def _from_inner_cache(record: Mapping[str, Any], plan: FactsPlan) -> bool:
    for name in plan.caches_inside:
        inner = parsed_json(record.get(name))
        if isinstance(inner, dict):
            known = fields_of(inner)
            if any(_is_hit(inner[key]) for key in known.gateway_cache):
                return True
    return False


def _is_hit(value: Any) -> bool:
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        folded = value.strip().lower()
        return folded in ("true", "1", "yes") or (
            "hit" in folded.replace("_", " ").split() and "miss" not in folded
        )
    return type(value) is int and value == 1


def _time(things: tuple[Any, Any, Any], plan: FactsPlan) -> Any:
    """Time of the record, of the request, of the response."""
    for place, key in plan.times:
        value = things[place][key]
        if value is not None and not isinstance(value, dict | list):
            return value
    return None


def _failure(record: Mapping[str, Any], places: Places) -> str:
    """Why the request failed, as far as the record says."""
    seen = [places[2], places[0]]
    for name in ("response", "result"):
        outer = record.get(name)
        if isinstance(outer, dict) and outer is not places[0][0]:
            seen.append((outer, fields_of(outer)))
    for fields, known in seen:
        for name in known.status:
            status = fields[name]
            if type(status) is int and status >= _FIRST_FAILING_STATUS:
                return f"status {status}"
            if isinstance(status, str) and status[:10].lower() in _FAILED_STATUS:
                return f"status {status[:10]}"
        if "error" in known.has and fields[known.keys["error"]]:
            text, _ = text_of(fields[known.keys["error"]])
            return f"error {text[:80]}".strip()
        if "type" in known.has and fields[known.keys["type"]] in _FAILED_TYPES:
            return str(fields[known.keys["type"]])
    return ""
