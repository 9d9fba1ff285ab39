"""Logs of mixed providers and shapes, each request with what the price list asks for it."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any, Final

from genai_prices import Usage, calc_price

FIRST: Final = datetime(2026, 11, 3, 7, tzinfo=UTC)
"""Tariffs of the list begin in October 2026."""


@dataclass(frozen=True)
class Call:
    """One request: its counts, and when, by whom and at which tariff it was answered."""

    number: int
    model: str
    provider: str
    fresh: int
    read: int
    written: int
    written_1h: int
    output: int
    reasoning: int
    searches: int
    tier: str
    at: datetime
    with_text: bool

    @property
    def prompt(self) -> int:
        return self.fresh + self.read + self.written

    def usd(self) -> Decimal:
        """The list's own reckoning."""
        context = {"batch": {"processing": "batch"}, "": {}}.get(
            self.tier, {"service_tier": self.tier}
        )
        counts = {
            "input_tokens": self.prompt,
            "cache_read_tokens": self.read,
            "cache_write_tokens": self.written,
            "cache_write_1h_tokens": self.written_1h,
            "output_tokens": self.output,
            "web_searches": self.searches,
        }
        return calc_price(
            Usage(**{name: n for name, n in counts.items() if n}),
            self.model,
            provider_id=self.provider,
            genai_request_timestamp=self.at,
            price_context=context or None,
        ).total_price


@dataclass
class MixedLog:
    """Records in the order in which they stand, and what they cost.

    Attributes:
        records: Of several shapes; some say again what an earlier one said.
        calls: Requests with a price.
        n_unknown: Requests of models that no list has.
    """

    records: list[dict[str, Any]] = field(default_factory=list)
    calls: list[Call] = field(default_factory=list)
    n_unknown: int = 0

    @property
    def usd(self) -> Decimal:
        return sum((call.usd() for call in self.calls), Decimal(0))


def _stamp(call: Call) -> str:
    return call.at.isoformat().replace("+00:00", "Z")


def _asked(call: Call) -> list[dict[str, Any]]:
    return [{"role": "user", "content": f"Question {call.number}: name a lake and a hill."}]


def _openai(call: Call) -> list[dict[str, Any]]:
    answer = {
        "id": f"chatcmpl-{call.number}",
        "object": "chat.completion",
        "created": int(call.at.timestamp()),
        "model": call.model,
        "choices": [{"message": {"role": "assistant", "content": "Lake Ohrid."}}],
        "usage": {
            "prompt_tokens": call.prompt,
            "completion_tokens": call.output,
            "total_tokens": call.prompt + call.output,
            "prompt_tokens_details": {"cached_tokens": call.read},
            "completion_tokens_details": {"reasoning_tokens": call.reasoning},
        },
    }
    if call.tier == "batch":
        row = {"id": f"batch_req_{call.number}", "custom_id": f"row-{call.number}", "error": None}
        return [{**row, "response": {"status_code": 200, "body": answer}}]
    if call.tier:
        answer["service_tier"] = call.tier
    if call.with_text:
        return [{"request": {"model": call.model, "messages": _asked(call)}, "response": answer}]
    return [answer]


def _pieces(call: Call) -> list[dict[str, Any]]:
    """Returns the answer as a stream, one piece a line; only the last has the usage."""
    whole = _openai(call)[0]
    whole = whole.get("response", whole)
    if call.tier == "batch":
        return _openai(call)
    head = {k: whole[k] for k in ("id", "created", "model", "service_tier") if k in whole}
    head["object"] = "chat.completion.chunk"
    return [
        {**head, "choices": [{"index": 0, "delta": {"content": "Lake "}}], "usage": None},
        {**head, "choices": [{"index": 0, "delta": {"content": "Ohrid."}}], "usage": None},
        {**head, "choices": [], "usage": whole["usage"]},
    ]


def _anthropic(call: Call) -> list[dict[str, Any]]:
    message = {
        "id": f"msg_{call.number}",
        "type": "message",
        "role": "assistant",
        "model": call.model,
        "content": [{"type": "text", "text": "Lake Ohrid."}],
        "usage": {
            "input_tokens": call.fresh,
            "cache_read_input_tokens": call.read,
            "cache_creation_input_tokens": call.written,
            "cache_creation": {
                "ephemeral_5m_input_tokens": call.written - call.written_1h,
                "ephemeral_1h_input_tokens": call.written_1h,
            },
            "output_tokens": call.output,
            "server_tool_use": {"web_search_requests": call.searches},
            "service_tier": call.tier or "standard",
        },
    }
    if call.with_text:
        request = {"model": call.model, "max_tokens": 90, "messages": _asked(call)}
        return [{"timestamp": _stamp(call), "request": request, "response": message}]
    # A session of a coding agent: each block of the answer is a line, the last has its output.
    line = {
        "type": "assistant",
        "timestamp": _stamp(call),
        "sessionId": "s",
        "requestId": f"req_{call.number}",
    }
    early = {**message, "usage": {**message["usage"], "output_tokens": 1}}  # type: ignore[dict-item]
    return [{**line, "message": early}, {**line, "message": message}]


def _gemini(call: Call) -> list[dict[str, Any]]:
    usage = {
        "promptTokenCount": call.prompt,
        "cachedContentTokenCount": call.read,
        "candidatesTokenCount": call.output - call.reasoning,
        "thoughtsTokenCount": call.reasoning,
        "totalTokenCount": call.prompt + call.output,
    }
    answer = {
        "modelVersion": call.model,
        "responseId": f"g{call.number}",
        "createTime": _stamp(call),
        "candidates": [{"content": {"role": "model", "parts": [{"text": "Lake Ohrid."}]}}],
        "usageMetadata": usage,
    }
    if call.tier == "batch":
        return [{"key": f"k{call.number}", "response": answer}]
    return [answer]


def _bedrock(call: Call) -> list[dict[str, Any]]:
    usage = {
        "inputTokens": call.fresh,
        "outputTokens": call.output,
        "totalTokens": call.prompt + call.output,
        "cacheReadInputTokens": call.read,
        "cacheWriteInputTokens": call.written,
        "cacheDetails": [
            {"ttl": "1h", "inputTokens": call.written_1h},
            {"ttl": "5m", "inputTokens": call.written - call.written_1h},
        ],
    }
    record = {
        "schemaType": "ModelInvocationLog",
        "timestamp": _stamp(call),
        "requestId": f"b{call.number}",
        "operation": "Converse",
        "modelId": call.model,
        "input": {"inputBodyJson": {}, "inputTokenCount": call.fresh},
        "output": {
            "outputBodyJson": {
                "output": {"message": {"role": "assistant", "content": [{"text": "Ohrid."}]}},
                "stopReason": "end_turn",
                "usage": usage,
            },
            "outputTokenCount": call.output,
        },
    }
    return [record, record] if call.number % 3 == 0 else [record]


def _span(call: Call) -> list[dict[str, Any]]:
    prefix = "gen_ai.usage."
    attributes = {
        "gen_ai.operation.name": "chat",
        "gen_ai.provider.name": call.provider,
        "gen_ai.response.model": call.model,
        f"{prefix}input_tokens": call.prompt,
        f"{prefix}output_tokens": call.output,
        f"{prefix}cache_read.input_tokens": call.read,
        f"{prefix}cache_creation.input_tokens": call.written,
        f"{prefix}cache_creation.ephemeral_1h_input_tokens": call.written_1h,
        f"{prefix}cache_creation.ephemeral_5m_input_tokens": call.written - call.written_1h,
    }
    trace = {"traceId": f"t{call.number}", "startTimeUnixNano": int(call.at.timestamp()) * 10**9}
    agent = {
        "gen_ai.operation.name": "invoke_agent",
        f"{prefix}input_tokens": call.prompt,
        f"{prefix}output_tokens": call.output,
    }
    return [
        {**trace, "spanId": "a", "attributes": agent},
        {**trace, "spanId": "c", "parentSpanId": "a", "attributes": attributes},
    ]


def _gateway(call: Call) -> list[dict[str, Any]]:
    """A spend log of a gateway: the prompt has everything in it."""
    usage = {
        "prompt_tokens": call.prompt,
        "completion_tokens": call.output,
        "total_tokens": call.prompt + call.output,
        "prompt_tokens_details": {"cached_tokens": call.read},
        "cache_creation_input_tokens": call.written,
        "cache_creation_token_details": {
            "ephemeral_5m_input_tokens": call.written - call.written_1h,
            "ephemeral_1h_input_tokens": call.written_1h,
        },
    }
    return [
        {
            "request_id": f"l{call.number}",
            "model": call.model,
            "custom_llm_provider": call.provider,
            "startTime": _stamp(call),
            "prompt_tokens": call.prompt,
            "completion_tokens": call.output,
            "total_tokens": call.prompt + call.output,
            "cache_hit": "False",
            "metadata": {"usage_object": usage},
        }
    ]


Write = Callable[[Call], list[dict[str, Any]]]
_KINDS: Final[tuple[tuple[str, str, tuple[Write, ...], tuple[str, ...], str], ...]] = (
    # provider, model, shapes, tariffs, what it has: r(ead), w(rite), s(earch), t(hinking)
    ("openai", "gpt-4o-mini-2024-07-18", (_openai, _pieces, _span, _gateway), ("",), "r"),
    ("openai", "gpt-4.1", (_openai, _pieces), ("", "priority", "batch"), "r"),
    ("openai", "gpt-5-mini", (_openai, _pieces), ("", "flex", "batch"), "rt"),
    ("anthropic", "claude-haiku-4-5", (_anthropic,), ("", "batch"), "rws"),
    ("anthropic", "claude-opus-4-8", (_anthropic, _span, _gateway), ("",), "rw"),
    ("google", "gemini-2.5-pro", (_gemini,), ("", "batch"), "rt"),
    ("google", "gemini-2.5-flash", (_gemini, _gateway), ("",), "rt"),
    ("aws", "us.anthropic.claude-haiku-4-5-20251001-v1:0", (_bedrock,), ("",), "rw"),
    ("groq", "llama-3.3-70b-versatile", (_gateway,), ("",), ""),
)


def mixed_log(seed: int, n: int = 60) -> MixedLog:
    """A log of some requests of many kinds, some without a price, some written twice."""
    rng = random.Random(seed)
    log = MixedLog()
    groups: list[list[dict[str, Any]]] = []
    for number in range(n):
        provider, model, shapes, tariffs, has = rng.choice(_KINDS)
        written = rng.randrange(0, 9_000) if "w" in has else 0
        output = rng.randrange(1, 3_000)
        write = rng.choice(shapes)
        call = Call(
            number=number,
            model=model,
            provider=provider,
            fresh=rng.choice([rng.randrange(60, 4_000), rng.randrange(60, 400_000)]),
            read=rng.randrange(0, 50_000) if "r" in has else 0,
            written=written,
            written_1h=rng.randrange(0, written + 1),
            output=output,
            reasoning=rng.randrange(0, output) if "t" in has and write is not _gateway else 0,
            searches=rng.randrange(0, 4) if write is _anthropic and "s" in has else 0,
            tier=rng.choice(tariffs),
            at=FIRST + timedelta(minutes=17 * number),
            with_text=rng.random() < 0.5,
        )
        if call.tier and write in (_span, _gateway):
            continue
        if rng.random() < 0.05:
            log.n_unknown += 1
            unknown = Call(**{**call.__dict__, "model": "house-model-2", "tier": ""})
            groups.append(_gateway(unknown))
            continue
        log.calls.append(call)
        groups.append(write(call))
    for group in groups:
        log.records += group
    if seed % 2:
        # A file that was resumed begins with what the one before it ended with.
        log.records += [row for group in groups[-5:] for row in group if "traceId" not in row]
    return log
