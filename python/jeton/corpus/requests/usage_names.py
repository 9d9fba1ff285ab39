"""Names that token counts and other amounts have in usages: one table, from paths to meanings.

A path is what leads to a number inside a usage, in small letters with underscores, whatever the log
writes: ``inputTokenDetails.cacheReadTokens``, ``gen_ai.usage.details.cache_read_tokens`` and
``InputTokenCount`` are ``input_token_details.cache_read_tokens``, ``details.cache_read_tokens`` and
``input_token_count``. docs/reference/inputs.md shows the table, made by ``python -m
scripts.inputs_page``.

Sources (read 2026-11): platform.openai.com/docs/api-reference (chat, responses, realtime, images,
audio, usage); docs.anthropic.com (messages, prompt caching, usage report); docs.aws.amazon.com
(Bedrock, TokenUsage, model parameters); ai.google.dev/api (UsageMetadata, Live); docs.x.ai;
docs.cohere.com; ollama and llama.cpp, API; opentelemetry.io, gen_ai.usage.*; openinference, spec;
sdk.vercel.ai (5 and 6); langfuse.com, usage details; python.langchain.com, UsageMetadata; the
extractors of genai-prices 0.2.3.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import lru_cache
from typing import Final, NamedTuple


class Scheme(NamedTuple):
    """A pair of names that belong together: who writes them, input and output."""

    id: str
    source: str
    input: tuple[str, ...]
    output: tuple[str, ...]


SCHEMES: Final = (
    Scheme(
        "native", "OpenRouter, as billed", ("native_tokens_prompt",), ("native_tokens_completion",)
    ),
    Scheme(
        "billed",
        "Cohere, as billed",
        ("billed_units.input_tokens",),
        ("billed_units.output_tokens",),
    ),
    Scheme(
        "prompt",
        "OpenAI chat and most gateways",
        ("prompt_tokens",),
        ("completion_tokens", "generation_tokens"),
    ),
    Scheme(
        "input",
        "OpenAI responses, Anthropic, Bedrock Converse, AI SDK, OpenTelemetry",
        ("input_tokens", "input_tokens.total"),
        ("output_tokens", "output_tokens.total"),
    ),
    Scheme("gemini", "Gemini", ("prompt_token_count",), ("candidates_token_count",
           "response_token_count")),
    Scheme("llama", "Llama on Bedrock", (), ("generation_token_count",)),
    Scheme(
        "count",
        "Bedrock logs, .NET, watsonx, Replicate",
        ("input_token_count", "results.input_token_count"),
        (
            "output_token_count", "generated_token_count",
            "results.generated_token_count",
        ),
    ),
    Scheme("titan", "Titan on Bedrock", ("input_text_token_count",), ("results.token_count",)),
    Scheme("openrouter", "OpenRouter", ("tokens_prompt",), ("tokens_completion",)),
    Scheme("tokens", "Cohere, Gemini CLI", ("tokens.input_tokens",), ("tokens.output_tokens",)),
    Scheme(
        "openinference",
        "OpenInference",
        ("llm.token_count.prompt",),
        ("llm.token_count.completion",),
    ),
    Scheme(
        "gateway",
        "gateways of Cloudflare and Portkey",
        ("tokens_in", "req_units", "request_units"),
        ("tokens_out", "res_units", "response_units"),
    ),
    Scheme("ollama", "Ollama", ("prompt_eval_count",), ("eval_count",)),
    Scheme("llama.cpp", "llama.cpp", ("tokens_evaluated",), ("tokens_predicted",)),
    Scheme("timings", "llama.cpp, timings", (), ("timings.predicted_n",)),
    Scheme(
        "tgi",
        "Text Generation Inference",
        ("details.prefill", "details.input_length"),
        ("details.generated_tokens",),
    ),
    Scheme(
        "vertex",
        "Vertex AI, PaLM",
        (
            "token_metadata.input_token_count.total_tokens",
            "metadata.token_metadata.input_token_count.total_tokens",
        ),
        (
            "token_metadata.output_token_count.total_tokens",
            "metadata.token_metadata.output_token_count.total_tokens",
        ),
    ),
    Scheme("deepinfra", "DeepInfra", ("inference_status.tokens_input",),
           ("inference_status.tokens_generated",)),
    Scheme(
        "lengths",
        "engines and published traces",
        (
            "input_length", "context_tokens", "num_prefill_tokens", "prompt_len", "n_input_tokens",
            "num_prompt_tokens", "num_input_tokens", "n_context_tokens_total", "prompt_length",
        ),
        (
            "output_length", "generated_tokens", "num_decode_tokens", "output_len",
            "n_output_tokens", "num_completion_tokens", "num_generated_tokens",
            "num_output_tokens", "n_generated_tokens_total", "num_generation_tokens",
        ),
    ),
    Scheme(
        "short",
        "Langfuse, inside a usage alone",
        ("input", "prompt"),
        ("output", "completion"),
    ),
)  # fmt: skip
"""Names of the input and the output, in the order in which they are preferred."""

TOTAL: Final = "total"
FRESH: Final = "fresh"
READ_INSIDE: Final = "read inside"
READ_BESIDE: Final = "read beside"
READ_EITHER: Final = "read"
WRITE_INSIDE: Final = "write inside"
WRITE_BESIDE: Final = "write beside"
WRITE_EITHER: Final = "write"
WRITE_5M: Final = "write 5m"
WRITE_1H: Final = "write 1h"
REASONING: Final = "reasoning"
REASONING_BESIDE: Final = "reasoning beside"
TOOL_PROMPT: Final = "tool prompt"
SECONDS: Final = "seconds"
REQUESTS: Final = "requests"

CONVENTIONS: Final = frozenset(
    {
        TOTAL, FRESH, READ_BESIDE, READ_EITHER, READ_INSIDE, REASONING, REASONING_BESIDE,
        REQUESTS, TOOL_PROMPT, WRITE_1H, WRITE_5M, WRITE_BESIDE, WRITE_EITHER, WRITE_INSIDE,
    }
)  # fmt: skip
"""Amounts that are brought to one convention; all others are amounts by themselves."""

_INPUT_DETAILS: Final = (
    "prompt_tokens_details", "input_tokens_details", "input_token_details",
    "prompt_token_details", "input_tokens", "llm.token_count.prompt_details",
    "additional_counts.input_token_details",
)  # fmt: skip
_OUTPUT_DETAILS: Final = (
    "completion_tokens_details", "output_tokens_details", "output_token_details",
    "completion_token_details", "output_tokens", "llm.token_count.completion_details",
    "additional_counts.output_token_details",
)  # fmt: skip

_INPUT_PARTS: Final = {
    "cached_tokens": READ_INSIDE, "cache_read": READ_INSIDE, "cache_read_tokens": READ_INSIDE,
    "cached": READ_INSIDE, "cache_read_input_tokens": READ_INSIDE,
    "cached_token_count": READ_INSIDE, "flex_cache_read": READ_INSIDE,
    "priority_cache_read": READ_INSIDE,
    "cache_write_tokens": WRITE_INSIDE, "cache_creation": WRITE_INSIDE,
    "cache_creation_tokens": WRITE_INSIDE, "cache_write": WRITE_INSIDE,
    "cache_creation_input_tokens": WRITE_INSIDE,
    "ephemeral_5m_input_tokens": WRITE_5M, "ephemeral_1h_input_tokens": WRITE_1H,
    "cache_creation_token_details.ephemeral_5m_input_tokens": WRITE_5M,
    "cache_creation_token_details.ephemeral_1h_input_tokens": WRITE_1H,
    "no_cache_tokens": FRESH, "no_cache": FRESH,
    "audio_tokens": "input_audio_tokens", "audio": "input_audio_tokens",
    "audio_token_count": "input_audio_tokens",
    "image_tokens": "input_image_tokens", "image": "input_image_tokens",
    "video_tokens": "input_video_tokens", "video": "input_video_tokens",
    "video_length_seconds": None,
    "cached_tokens_details.audio_tokens": "cache_audio_read_tokens",
    "cached_tokens_details.image_tokens": "cache_image_read_tokens",
    "cached_tokens_details.video_tokens": "cache_video_read_tokens",
}  # fmt: skip
_OUTPUT_PARTS: Final = {
    "reasoning_tokens": REASONING, "reasoning": REASONING, "thinking_tokens": REASONING,
    "reasoning_token_count": REASONING, "flex_reasoning": REASONING,
    "priority_reasoning": REASONING,
    "audio_tokens": "output_audio_tokens", "audio": "output_audio_tokens",
    "audio_token_count": "output_audio_tokens",
    "image_tokens": "output_image_tokens", "image": "output_image_tokens",
    "video_tokens": "output_video_tokens", "video": "output_video_tokens",
    "accepted_prediction_tokens": None, "rejected_prediction_tokens": None,
}  # fmt: skip

_SINGLE: Final[dict[str, str | None]] = {
    # the sum
    "total_tokens": TOTAL, "total_token_count": TOTAL, "total": TOTAL, "tokens.total": TOTAL,
    "llm.token_count.total": TOTAL,
    # neither read nor written
    "prompt_cache_miss_tokens": FRESH, "uncached_input_tokens": FRESH,
    "usage_input_tokens_no_cache": FRESH, "input_uncached_tokens": FRESH,
    # read from a cache
    "cache_read_input_tokens": READ_BESIDE, "cache_read_input_token_count": READ_BESIDE,
    "usage_input_tokens_cache_read": READ_BESIDE, "anthropic.cache_read_input_tokens": READ_BESIDE,
    "prompt_cache_hit_tokens": READ_INSIDE, "cached_content_token_count": READ_INSIDE,
    "cached_tokens": READ_INSIDE, "cached_prompt_tokens": READ_INSIDE,
    "prompt_cached_tokens": READ_INSIDE, "cached_prompt_text_tokens": READ_INSIDE,
    "prompt_cache_read_tokens": READ_INSIDE,
    "native_tokens_cached": READ_INSIDE, "cached_input_token_count": READ_INSIDE,
    "cache_read_tokens": READ_INSIDE, "details.cache_read_tokens": READ_INSIDE,
    "cache_read.input_tokens": READ_INSIDE, "details.cache_read_input_tokens": READ_INSIDE,
    "details.cached_tokens": READ_INSIDE, "tokens.cached_tokens": READ_INSIDE,
    "cached_input_tokens": READ_EITHER,
    "cache_read_token_count": READ_INSIDE,
    # written to a cache
    "cache_creation_input_tokens": WRITE_BESIDE, "cache_write_input_tokens": WRITE_BESIDE,
    "cache_write_input_token_count": WRITE_BESIDE,
    "cache_write_tokens": WRITE_INSIDE, "cache_creation_tokens": WRITE_INSIDE,
    "details.cache_write_tokens": WRITE_INSIDE, "cache_write.input_tokens": WRITE_INSIDE,
    "cache_creation.input_tokens": WRITE_INSIDE, "prompt_cache_creation_tokens": WRITE_INSIDE,
    "details.cache_creation_input_tokens": WRITE_INSIDE,
    "prompt_cache_write_tokens": WRITE_INSIDE,
    "cache_creation.ephemeral_5m_input_tokens": WRITE_5M,
    "cache_creation.ephemeral_1h_input_tokens": WRITE_1H,
    "cache_creation_token_details.ephemeral_5m_input_tokens": WRITE_5M,
    "cache_creation_token_details.ephemeral_1h_input_tokens": WRITE_1H,
    "cache_creation_5m_input_tokens": WRITE_5M, "cache_creation_1h_input_tokens": WRITE_1H,
    "cache_write_5m_input_tokens": WRITE_5M, "cache_write_1h_input_tokens": WRITE_1H,
    "ephemeral_5m_input_tokens": WRITE_5M, "ephemeral_1h_input_tokens": WRITE_1H,
    "usage_input_tokens_cache_write_5m": WRITE_5M,
    "usage_input_tokens_cache_write_1h": WRITE_1H,
    # reasoning
    "reasoning_tokens": REASONING, "reasoning_output_tokens": REASONING,
    "reasoning.output_tokens": REASONING, "details.reasoning_tokens": REASONING,
    "completion_reasoning_tokens": REASONING, "native_tokens_reasoning": REASONING,
    "reasoning_token_count": REASONING, "tokens_reasoning": REASONING,
    "thoughts_token_count": REASONING_BESIDE, "reasoning_tokens_beside": REASONING_BESIDE,
    # what built-in tools put into the prompt
    "tool_use_prompt_token_count": TOOL_PROMPT,
    # kinds of tokens
    "input_audio_tokens": "input_audio_tokens", "output_audio_tokens": "output_audio_tokens",
    "input_image_tokens": "input_image_tokens", "output_image_tokens": "output_image_tokens",
    "input_video_tokens": "input_video_tokens", "output_video_tokens": "output_video_tokens",
    "details.input_audio_tokens": "input_audio_tokens",
    "details.output_audio_tokens": "output_audio_tokens",
    "cache_audio_read_tokens": "cache_audio_read_tokens",
    "details.cache_audio_read_tokens": "cache_audio_read_tokens",
    "input_cached_audio_tokens": "cache_audio_read_tokens",
    "input_cached_image_tokens": "cache_image_read_tokens",
    "prompt_audio_tokens": "input_audio_tokens", "completion_audio_tokens": "output_audio_tokens",
    "prompt_image_tokens": "input_image_tokens",
    "citation_tokens": "output_citation_tokens",
    # fees
    "server_tool_use.web_search_requests": "web_searches",
    "server_tool_use_details.web_search_calls": "web_searches",
    "server_side_tool_usage_details.web_search_calls": "web_searches",
    "server_side_tool_usage_details.x_search_calls": "social_searches",
    "server_side_tool_usage_details.file_search_calls": "storage_searches",
    "server_side_tool_usage_details.document_search_calls": "storage_searches",
    "server_side_tool_usage_details.code_interpreter_calls": "code_executions",
    "server_side_tool_usage.server_side_tool_web_search": "web_searches",
    "server_side_tool_usage.server_side_tool_x_search": "social_searches",
    "web_search_requests": "web_searches", "web_search_count": "web_searches",
    "web_searches": "web_searches", "num_search_queries": "web_searches",
    "prompt_tokens_details.web_search_requests": "web_searches",
    "tool_calls_details.search_web.invocation": "web_searches",
    "billed_units.search_units": "rerank_searches", "search_units": "rerank_searches",
    "pages_processed": "input_document_pages",
    "usage_web_search_requests": "web_searches",
    # time
    "seconds": SECONDS, "audio_seconds": SECONDS, "billable_audio_seconds": SECONDS,
    "input_text_messages": "input_text_messages",
    "input_characters": "input_characters", "character_count": "input_characters",
    "characters": "input_characters",
    # another naming of the same
    "usage_output_tokens": "out:input",
    # rows of exports
    "num_model_requests": REQUESTS, "n_requests": REQUESTS, "num_requests": REQUESTS,
    # words
    "service_tier": "word:tier", "traffic_type": "word:tier", "speed": "word:speed",
    "search_type": "word:search", "search_context_size": "word:context",
    "inference_geo": "word:geo", "service_tier.type": "word:tier",
    "timings.cache_n": READ_INSIDE, "timings.prompt_n": FRESH,
    # steps of one answer, some of which the sum leaves out
    "iterations": "steps:iterations", "raw.iterations": "steps:iterations",
    # the provider's own usage inside that of the AI SDK: what its sums leave out
    "raw.server_tool_use.web_search_requests": "web_searches",
    "raw.cache_creation.ephemeral_5m_input_tokens": WRITE_5M,
    "raw.cache_creation.ephemeral_1h_input_tokens": WRITE_1H,
}  # fmt: skip

SHORT: Final[dict[str, str | None]] = {
    # Langfuse: each amount stands beside the others
    "input_cached_tokens": READ_BESIDE, "input_cache_read": READ_BESIDE,
    "input_cached": READ_BESIDE, "cache_read": READ_BESIDE, "cached": READ_INSIDE,
    "input_cache_creation": WRITE_BESIDE, "input_cache_write": WRITE_BESIDE,
    "cache_creation": WRITE_BESIDE, "cache_write": WRITE_BESIDE,
    "input_cache_creation_5m": WRITE_5M, "input_cache_creation_1h": WRITE_1H,
    "output_reasoning_tokens": REASONING_BESIDE, "output_reasoning": REASONING_BESIDE,
    "reasoning": REASONING, "input_audio": "input_audio_tokens",
    "output_audio": "output_audio_tokens", "input_image": "input_image_tokens",
}  # fmt: skip
"""Names that mean amounts only inside a usage, not among the fields of a record."""

COSTS: Final[Mapping[str, str]] = {
    "cost": "total", "total_cost": "total", "estimated_cost": "total", "cost_usd": "total",
    "total_cost_usd": "total", "response_cost": "total", "cost.total": "total",
    "cost.total_cost": "total", "cost_in_usd_ticks": "ticks",
    "cost_details.upstream_inference_cost": "upstream", "upstream_inference_cost": "upstream",
    "is_byok": "own key",
}  # fmt: skip
"""Costs that a usage states, in USD (ticks of xAI: ten billion a USD), by their meaning. With a key
of one's own at OpenRouter, the cost is its fee and the upstream cost is the provider's bill."""

_COUNTED_ALREADY: Final = (
    # the rest of the tokens, the same tokens in other units, and parts of the output
    r"text(_tokens)?|.*text_tokens|total_input_tokens_text|.*billable_characters|modality"
    r"|(accepted|rejected)_prediction(_tokens)?|prediction_tokens|tokens_cached"
    r"|tokens\.(input|output)_tokens|total_input_tokens|raw(\..*)?|x_details"
    r"|billable_prompt_usage(\..*)?"
    r"|details\.(input|output|thoughts|tool_use_prompt|cached_content)_tokens"
    r"|details\.(audio|text|image|video)_\w+_tokens"
)
_NOT_CHARGED: Final = (
    r"web_fetch_requests|type|ttl|unit|units|context_window|max_output_tokens|doc_size_bytes"
    r"|details\.(tokens|top_tokens|best_of_sequences|seed|prefill)"
    r"|timestamp|created(_at)?|version|index|(.*_)?id|num_turns|(.*_)?rank"
)
_SPEED: Final = (
    r".*duration(_ms|_api_ms)?|.*_time(_.*)?|time_to_.*|.*latency.*|.*_per_sec(ond)?(_.*)?"
    r"|.*_ms|.*_rate"
)
_MONEY: Final = r"cost.*|.*_costs?|cost_usd|credits"
"""A part of a cost, or one in a unit of its own; the whole is read (`COSTS`)."""

IGNORED: Final = re.compile(rf"(^|\.)({_COUNTED_ALREADY}|{_NOT_CHARGED}|{_SPEED}|{_MONEY})$")
"""Paths that hold no tokens and no money that is not counted elsewhere. Every other number under a
name that is not known makes a request's price an estimate, and is named."""

LISTS: Final = {
    "prompt_tokens_details": "input", "candidates_tokens_details": "output",
    "response_tokens_details": "output", "cache_tokens_details": "cache",
    "tool_use_prompt_tokens_details": "",
}  # fmt: skip
"""Lists of ``{modality, tokenCount}`` (Gemini), by what they split."""


class Meaning(NamedTuple):
    """Meaning of a usage path.

    ``in`` or ``out`` of a scheme, an ``amount``, a ``word``, a ``cost``, ``steps``; empty: not
    counted.
    """

    kind: str
    name: str


def _paths() -> dict[str, Meaning]:
    paths: dict[str, Meaning] = {}
    for scheme in SCHEMES:
        for path in scheme.input:
            paths[path] = Meaning("in", scheme.id)
        for path in scheme.output:
            paths[path] = Meaning("out", scheme.id)
    for roots, parts in ((_INPUT_DETAILS, _INPUT_PARTS), (_OUTPUT_DETAILS, _OUTPUT_PARTS)):
        for root in roots:
            for part, name in parts.items():
                paths.setdefault(f"{root}.{part}", Meaning("amount" if name else "", name or ""))
    paths.update((path, Meaning("cost", name)) for path, name in COSTS.items())
    for table in (_SINGLE, SHORT):
        for path, name in table.items():
            if name and ":" in name:
                kind, _, word = name.partition(":")
                paths.setdefault(path, Meaning(kind, word))
            else:
                paths.setdefault(path, Meaning("amount" if name else "", name or ""))
    return paths


PATHS: Final[Mapping[str, Meaning]] = _paths()
"""Every path that is read, inside a usage."""

_SHORT_ONLY: Final = frozenset(
    (
        *SHORT, *(path for scheme in SCHEMES if scheme.id == "short"
                  for path in (*scheme.input, *scheme.output)),
        "total", "seconds", "characters", "audio_seconds",
    )
)  # fmt: skip

FLAT_PATHS: Final[Mapping[str, Meaning]] = {
    **{
        path: meaning
        for path, meaning in PATHS.items()
        if path not in _SHORT_ONLY and meaning.kind not in ("word", "cost", "steps")
    },
    # A bucket of OpenAI's usage API.
    "input_cached_tokens": Meaning("amount", READ_INSIDE),
    # Rows of an export.
    "requests": Meaning("amount", REQUESTS),
    "request_count": Meaning("amount", REQUESTS),
}
"""Paths that are read among the fields of a record too."""

_HUMP: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")


@lru_cache(maxsize=8192)
def snake(name: str) -> str:
    """A name in small letters with underscores; dots stay."""
    if name.islower() and "-" not in name and " " not in name:
        return name
    return _HUMP.sub("_", name).replace("-", "_").replace(" ", "_").lower()
