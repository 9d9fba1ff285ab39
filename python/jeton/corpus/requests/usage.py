"""Token counts that providers return, brought to one convention.

Providers disagree about what "input" and "output" count:

===========================  ==============================  =================================
shape                        input                           output
===========================  ==============================  =================================
OpenAI, LangChain, OTel      cached tokens are in it         reasoning tokens are in it
Anthropic, Bedrock Converse  cached tokens are beside it     thinking is in it
Gemini                       cached tokens are in it         thoughts are beside it
xAI                          cached tokens are in it         reasoning is beside it
===========================  ==============================  =================================

Here input includes what was read from and written to a cache, and output includes reasoning. The
convention is told by the names of the fields, and where a total is stated, by arithmetic: it is
the sum of its parts under one convention only.

Sources (read 2026-11): platform.openai.com/docs/api-reference (objects chat and responses, usage);
docs.anthropic.com, prompt caching, "tracking cache performance"; docs.aws.amazon.com/bedrock,
TokenUsage; ai.google.dev/api/generate-content, UsageMetadata; docs.x.ai, reasoning;
opentelemetry.io, gen_ai.usage.*; python.langchain.com, UsageMetadata.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, Final, NamedTuple

__all__ = [
    "MAX_TOKENS",
    "UNKNOWN_USAGE",
    "USAGE_MARKS",
    "USAGE_NAMES",
    "USAGE_PLACES",
    "Usage",
    "find_usage",
    "normalise_usage",
]

MAX_TOKENS: Final = 100_000_000
"""A count above this is a mistake, in tokens: ten times the longest context window published for a
model in production (Llama 4 Scout, 10 million; ai.meta.com, 2025-04-05)."""

Report = Callable[[str, str], None]
"""Called with the kind of an issue and its detail."""

_UNKNOWN = -1


class Usage(NamedTuple):
    """Tokens of a request; -1 is unknown.

    Attributes:
        input: All input tokens.
        cache_read: Of these, read from a cache.
        cache_write: Of these, written to a cache.
        output: All output tokens.
        reasoning: Of these, reasoning.
        convention: How the log counted: ``inclusive`` (cached tokens in the input), ``exclusive``
            (beside it), ``gemini``, ``lengths``; empty if it does not matter.
    """

    input: int = _UNKNOWN
    cache_read: int = _UNKNOWN
    cache_write: int = _UNKNOWN
    output: int = _UNKNOWN
    reasoning: int = _UNKNOWN
    convention: str = ""

    @property
    def counts(self) -> tuple[int, int, int, int, int]:
        """The five counts."""
        return self[:5]

    @property
    def is_known(self) -> bool:
        """Whether the input or the output is stated."""
        return self.input >= 0 or self.output >= 0


UNKNOWN_USAGE = Usage()

USAGE_PLACES: Final = (
    "usage", "usage_metadata", "usageMetadata", "usage_details", "usageDetails", "token_usage",
    "tokenUsage", "token_counts",
)  # fmt: skip
"""Where a record or a response keeps its usage."""

_FIELDS_OF_INPUT = (
    "prompt_tokens", "input_tokens", "promptTokenCount", "prompt_token_count", "inputTokens",
    "promptTokens", "inputTokenCount", "input_length", "ContextTokens", "num_prefill_tokens",
    "prompt_len", "n_input_tokens",
)  # fmt: skip
_FIELDS_OF_OUTPUT = (
    "completion_tokens", "output_tokens", "candidatesTokenCount", "candidates_token_count",
    "outputTokens", "completionTokens", "outputTokenCount", "output_length", "GeneratedTokens",
    "num_decode_tokens", "output_len", "n_output_tokens",
)  # fmt: skip
# Short names that mean tokens only inside a field for usage (Langfuse).
_SHORT_INPUT, _SHORT_OUTPUT, _SHORT_TOTAL = ("input",), ("output",), ("total",)
_FIELDS_OF_TOTAL = ("total_tokens", "totalTokenCount", "total_token_count", "totalTokens")
# Fields beside the input, in records whose convention they tell.
_READ_BESIDE = ("cache_read_input_tokens", "cacheReadInputTokens", "cacheReadInputTokenCount")
_WRITE_BESIDE = (
    "cache_creation_input_tokens", "cacheWriteInputTokens", "cacheWriteInputTokenCount",
    "cache_write_input_tokens",
)  # fmt: skip
_READ_INSIDE = (
    "prompt_cache_hit_tokens", "cachedContentTokenCount", "cached_content_token_count",
    "cachedInputTokens", "cached_tokens", "cache_read_tokens",
)  # fmt: skip
_WRITE_INSIDE = ("cache_write_tokens",)
_REASONING = ("reasoning_tokens", "reasoningTokens")
_GEMINI_PROMPT = ("promptTokenCount", "prompt_token_count")
_GEMINI_CANDIDATES = ("candidatesTokenCount", "candidates_token_count")
_THOUGHTS = ("thoughtsTokenCount", "thoughts_token_count")
_TOOL_PROMPT = ("toolUsePromptTokenCount", "tool_use_prompt_token_count")
_INPUT_DETAILS = ("prompt_tokens_details", "input_tokens_details", "input_token_details")
_OUTPUT_DETAILS = ("completion_tokens_details", "output_tokens_details", "output_token_details")
_READ_DETAIL = ("cached_tokens", "cache_read", "cache_read_tokens")
_WRITE_DETAIL = ("cache_write_tokens", "cache_creation", "cache_creation_tokens")
_REASONING_DETAIL = ("reasoning_tokens", "reasoning")

USAGE_MARKS: Final = frozenset((*_FIELDS_OF_INPUT, *_FIELDS_OF_OUTPUT, *_FIELDS_OF_TOTAL))

USAGE_NAMES: Final = frozenset(
    (
        *USAGE_PLACES, *USAGE_MARKS, *_READ_BESIDE, *_WRITE_BESIDE, *_READ_INSIDE, *_WRITE_INSIDE,
        *_REASONING, *_THOUGHTS, *_TOOL_PROMPT, *_INPUT_DETAILS, *_OUTPUT_DETAILS,
    )
)  # fmt: skip
"""Every field of a record that usage is read from."""


_ALL_NAMES = USAGE_NAMES | {*_SHORT_INPUT, *_SHORT_OUTPUT, *_SHORT_TOTAL}


class _Names(NamedTuple):
    """Which of the known names a usage has; each list in the order in which it is looked up."""

    input: tuple[str, ...]
    output: tuple[str, ...]
    total: tuple[str, ...]
    input_details: tuple[str, ...]
    output_details: tuple[str, ...]
    read_beside: tuple[str, ...]
    read_inside: tuple[str, ...]
    write_beside: tuple[str, ...]
    write_inside: tuple[str, ...]
    reasoning: tuple[str, ...]
    is_gemini: bool


# Once for each set of names, which are few; keyed by known names alone, so that it stays small.
@lru_cache(maxsize=4096)
def _names_of(given: tuple[str, ...], *, is_nested: bool) -> _Names:
    has = frozenset(given)

    def of(wanted: tuple[str, ...]) -> tuple[str, ...]:
        return tuple(name for name in wanted if name in has)

    short = is_nested
    return _Names(
        of(_FIELDS_OF_INPUT + _SHORT_INPUT * short),
        of(_FIELDS_OF_OUTPUT + _SHORT_OUTPUT * short),
        of(_FIELDS_OF_TOTAL + _SHORT_TOTAL * short),
        of(_INPUT_DETAILS),
        of(_OUTPUT_DETAILS),
        of(_READ_BESIDE),
        of(_READ_INSIDE),
        of(_WRITE_BESIDE),
        of(_WRITE_INSIDE),
        of(_REASONING),
        not has.isdisjoint((*_GEMINI_PROMPT, *_GEMINI_CANDIDATES)),
    )


def find_usage(record: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """The usage that a record or a response holds: in a field of its own, or among its fields."""
    for place in USAGE_PLACES:
        usage = record.get(place)
        if isinstance(usage, dict) and usage:
            return usage
    return None if USAGE_MARKS.isdisjoint(record) else record


def normalise_usage(usage: Mapping[str, Any], report: Report, *, is_nested: bool = True) -> Usage:
    """One convention out of many.

    Args:
        usage: What the provider returned.
        is_nested: Whether it is a field for usage alone, in which short names mean tokens too.
        report: Called for counts that are negative, absurd, no numbers, or contradict each other.
    """
    names = _names_of(tuple(filter(_ALL_NAMES.__contains__, usage)), is_nested=is_nested)
    if names.is_gemini:
        return _gemini(usage, report)
    given_input = _count(usage, names.input, report)
    output = _count(usage, names.output, report)
    total = _count(usage, names.total, report)
    is_inside = "prompt_tokens" in usage
    read = write = reasoning = _UNKNOWN
    for name in names.input_details:
        details = usage[name]
        if isinstance(details, dict):
            is_inside = is_inside or bool(details)
            read = _count(details, _READ_DETAIL, report)
            write = _count(details, _WRITE_DETAIL, report)
            break
    for name in names.output_details:
        details = usage[name]
        if isinstance(details, dict):
            reasoning = _count(details, _REASONING_DETAIL, report)
            break
    if read < 0:
        read = _count(usage, names.read_beside, report)
        if read < 0:
            read = _count(usage, names.read_inside, report)
            is_inside = is_inside or read >= 0
    if write < 0:
        write = _count(usage, names.write_beside, report)
        if write < 0:
            write = _count(usage, names.write_inside, report)
            is_inside = is_inside or write >= 0
    if reasoning < 0:
        reasoning = _count(usage, names.reasoning, report)
    n_cached = max(read, 0) + max(write, 0)
    convention = ""
    if n_cached and given_input >= 0:
        is_inside = _settle(
            given_input, n_cached, max(output, 0), total, is_inside=is_inside, report=report
        )
        convention = "inclusive" if is_inside else "exclusive"
    tokens_in = given_input + (n_cached if convention == "exclusive" else 0)
    output, total_expected = _with_reasoning(tokens_in, output, reasoning, total, report)
    if total >= 0 and tokens_in >= 0 and output >= 0 and total not in total_expected:
        report(
            "inconsistent_usage",
            f"the total is {total:,}, and {tokens_in:,} + {output:,} is {tokens_in + output:,}",
        )
    if total >= 0 and tokens_in >= 0 > output and total >= tokens_in:
        output = total - tokens_in
    return Usage(tokens_in, read, write, output, reasoning, convention)


def _settle(
    given: int, n_cached: int, output: int, total: int, *, is_inside: bool, report: Report
) -> bool:
    """Whether cached tokens are in the stated input: by arithmetic, else by the names."""
    if n_cached > given:
        if is_inside:
            report(
                "inconsistent_usage",
                f"{n_cached:,} cached tokens of {given:,} input tokens; taken as beside them",
            )
        return False
    # A total without the cached tokens proves nothing: those who count them beside the input may
    # leave them out of the total too. The names decide then.
    return is_inside and total != given + n_cached + output


def _with_reasoning(
    tokens_in: int, output: int, reasoning: int, total: int, report: Report
) -> tuple[int, tuple[int, ...]]:
    """The output with reasoning in it, and the totals that would agree with it."""
    if output < 0 or reasoning <= 0:
        return output, (max(tokens_in, 0) + max(output, 0),)
    if total >= 0 and tokens_in >= 0 and total == tokens_in + output + reasoning:
        return output + reasoning, (total,)
    if reasoning > output:
        report(
            "inconsistent_usage",
            f"{reasoning:,} reasoning tokens of {output:,} output tokens; taken as beside them",
        )
        return output + reasoning, (max(tokens_in, 0) + output + reasoning,)
    return output, (max(tokens_in, 0) + output,)


def _gemini(usage: Mapping[str, Any], report: Report) -> Usage:
    """Gemini: cached tokens are in the prompt; thoughts and the prompts of tools are beside."""
    prompt = _count(usage, _GEMINI_PROMPT, report)
    candidates = _count(usage, _GEMINI_CANDIDATES, report)
    thoughts = _count(usage, _THOUGHTS, report)
    tool_prompt = _count(usage, _TOOL_PROMPT, report)
    total = _count(usage, _FIELDS_OF_TOTAL, report)
    tokens_in = prompt + max(tool_prompt, 0) if prompt >= 0 else prompt
    output = candidates
    if thoughts > 0:
        # An answer that was cut while thinking has thoughts and no candidates.
        output = max(candidates, 0) + thoughts
    if total >= 0 and tokens_in >= 0 and output >= 0 and total != tokens_in + output:
        report(
            "inconsistent_usage",
            f"the total is {total:,}, and {tokens_in:,} + {output:,} is {tokens_in + output:,}",
        )
    read = _count(usage, _READ_INSIDE, report)
    return Usage(tokens_in, read, _UNKNOWN, output, thoughts, "gemini")


def _count(fields: Mapping[str, Any], names: tuple[str, ...], report: Report) -> int:
    """The first of the fields that is there, as a whole number; -1 if none is or it is no count."""
    for name in names:
        value = fields.get(name)
        if type(value) is int and 0 <= value <= MAX_TOKENS:
            return value
        if value is not None and not isinstance(value, dict | list):
            return count_of(value, name, report)
    return _UNKNOWN


def count_of(value: Any, name: str, report: Report) -> int:
    """A token count out of JSON: whole, not negative, not absurd; -1 (and a report) otherwise."""
    if type(value) is int:
        number: float = value
    elif isinstance(value, float) and math.isfinite(value) and value == math.floor(value):
        number = value
    elif isinstance(value, str) and len(value) <= 20 and value.strip().lstrip("-").isdecimal():
        number = int(value)  # CSV and OTLP write numbers as strings
    else:
        report("bad_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    if number < 0:
        report("negative_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    if number > MAX_TOKENS:
        report("absurd_count", f"{name} is {_shown(value)}")
        return _UNKNOWN
    return int(number)


def _shown(value: Any) -> str:
    # Not the repr of a whole number of a million digits, which Python refuses to write.
    if type(value) is int:
        text = f"{value:,}" if abs(value) < 10**30 else "a number of more than 30 digits"
    else:
        text = repr(value)
    return text if len(text) <= 40 else text[:40] + "…"
