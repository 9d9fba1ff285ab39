"""Usage of every provider comes out in one convention."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus.requests.counts import MAX_TOKENS
from jeton.corpus.requests.usage import Usage, settle
from jeton.corpus.requests.usage_paths import UsageAmounts, collect, collect_flat


def normalise(usage: dict[str, Any]) -> tuple[tuple[int, ...], str, list[str]]:
    kinds: list[str] = []
    amounts = UsageAmounts()
    collect(usage, amounts, lambda kind, _detail: kinds.append(kind))
    result = settle(amounts, lambda kind, _detail: kinds.append(kind))
    counts = (
        result.input, result.cache_read, result.cache_write, result.output, result.reasoning
    )  # fmt: skip
    return counts, result.convention, kinds


CASES: dict[str, tuple[dict[str, Any], tuple[int, ...], str]] = {
    # input, cache read, cache write, output, reasoning
    "openai chat": (
        {
            "prompt_tokens": 2006,
            "completion_tokens": 300,
            "total_tokens": 2306,
            "prompt_tokens_details": {"cached_tokens": 1920, "audio_tokens": 0},
            "completion_tokens_details": {"reasoning_tokens": 192},
        },
        (2006, 1920, -1, 300, 192),
        "inclusive",
    ),
    "openai responses": (
        {
            "input_tokens": 328,
            "input_tokens_details": {"cached_tokens": 100},
            "output_tokens": 52,
            "output_tokens_details": {"reasoning_tokens": 10},
            "total_tokens": 380,
        },
        (328, 100, -1, 52, 10),
        "inclusive",
    ),
    "anthropic": (
        {
            "input_tokens": 21,
            "cache_creation_input_tokens": 188_086,
            "cache_read_input_tokens": 1_000,
            "output_tokens": 393,
            "cache_creation": {"ephemeral_5m_input_tokens": 188_086},
            "service_tier": "standard",
        },
        (189_107, 1_000, 188_086, 393, -1),
        "exclusive",
    ),
    "anthropic, more fresh than cached": (
        {
            "input_tokens": 5_000,
            "cache_creation_input_tokens": 0,
            "cache_read_input_tokens": 1_000,
            "output_tokens": 9,
        },
        (6_000, 1_000, 0, 9, -1),
        "exclusive",
    ),
    "anthropic without a cache": (
        {"input_tokens": 12, "output_tokens": 6},
        (12, -1, -1, 6, -1),
        "",
    ),
    "bedrock converse": (
        {
            "inputTokens": 30,
            "outputTokens": 5,
            "totalTokens": 1_135,
            "cacheReadInputTokens": 1_100,
            "cacheWriteInputTokens": 0,
        },
        (1_130, 1_100, 0, 5, -1),
        "exclusive",
    ),
    "gemini": (
        {
            "promptTokenCount": 1_000,
            "cachedContentTokenCount": 600,
            "candidatesTokenCount": 50,
            "thoughtsTokenCount": 70,
            "totalTokenCount": 1_120,
        },
        (1_000, 600, -1, 120, 70),
        "gemini",
    ),
    "gemini, cut while thinking": (
        {"prompt_token_count": 10, "thoughts_token_count": 99, "total_token_count": 109},
        (10, -1, -1, 99, 99),
        "gemini",
    ),
    "xai: reasoning beside the completion, told by the total": (
        {
            "prompt_tokens": 32,
            "completion_tokens": 9,
            "total_tokens": 135,
            "completion_tokens_details": {"reasoning_tokens": 94},
        },
        (32, -1, -1, 103, 94),
        "",
    ),
    "deepseek": (
        {
            "prompt_tokens": 100,
            "completion_tokens": 7,
            "total_tokens": 107,
            "prompt_cache_hit_tokens": 64,
            "prompt_cache_miss_tokens": 36,
        },
        (100, 64, -1, 7, -1),
        "inclusive",
    ),
    "langchain": (
        {
            "input_tokens": 350,
            "output_tokens": 240,
            "total_tokens": 590,
            "input_token_details": {"cache_creation": 200, "cache_read": 100},
            "output_token_details": {"reasoning": 200},
        },
        (350, 100, 200, 240, 200),
        "inclusive",
    ),
    "litellm in front of anthropic": (
        {
            "prompt_tokens": 1_205,
            "completion_tokens": 7,
            "total_tokens": 1_212,
            "cache_read_input_tokens": 1_000,
            "cache_creation_input_tokens": 200,
        },
        (1_205, 1_000, 200, 7, -1),
        "inclusive",
    ),
    "langfuse": (
        {"input": 12, "output": 3, "total": 15, "unit": "TOKENS"},
        (12, -1, -1, 3, -1),
        "",
    ),
    "azure trace": ({"ContextTokens": "4808", "GeneratedTokens": "10"}, (4808, -1, -1, 10, -1), ""),
    "mooncake trace": ({"input_length": 6758, "output_length": 500}, (6758, -1, -1, 500, -1), ""),
    "whole floats": ({"prompt_tokens": 12.0, "completion_tokens": 3.0}, (12, -1, -1, 3, -1), ""),
    "the total tells the output": (
        {"prompt_tokens": 12, "total_tokens": 15},
        (12, -1, -1, 3, -1),
        "",
    ),
    "nulls": ({"prompt_tokens": 12, "completion_tokens": None}, (12, -1, -1, -1, -1), ""),
}


@pytest.mark.parametrize("name", CASES)
def test_one_convention(name: str) -> None:
    usage, counts, convention = CASES[name]
    assert normalise(usage) == (counts, convention, [])


@pytest.mark.parametrize(
    ("usage", "counts", "kinds"),
    [
        ({"prompt_tokens": -5, "completion_tokens": 3}, (-1, -1, -1, 3, -1), ["negative_count"]),
        (
            {"prompt_tokens": MAX_TOKENS + 1, "completion_tokens": 3},
            (-1, -1, -1, 3, -1),
            ["absurd_count"],
        ),
        ({"prompt_tokens": 10**400}, (-1,) * 5, ["absurd_count"]),
        ({"prompt_tokens": 1e308}, (-1,) * 5, ["absurd_count"]),
        ({"prompt_tokens": float("nan")}, (-1,) * 5, ["bad_count"]),
        ({"prompt_tokens": 1.5}, (-1,) * 5, ["bad_count"]),
        ({"prompt_tokens": "many"}, (-1,) * 5, ["bad_count"]),
        ({"prompt_tokens": True}, (-1,) * 5, ["bad_count"]),
        (
            {"prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 99},
            (10, -1, -1, 5, -1),
            ["inconsistent_usage"],
        ),
        (
            # Inclusive by its names, and cannot be.
            {"prompt_tokens": 10, "prompt_tokens_details": {"cached_tokens": 90}},
            (100, 90, -1, -1, -1),
            ["inconsistent_usage"],
        ),
    ],
)
def test_what_cannot_be_is_reported(
    usage: dict[str, Any], counts: tuple[int, ...], kinds: list[str]
) -> None:
    found, _, reported = normalise(usage)
    assert (found, reported) == (counts, kinds)


def test_short_names_mean_tokens_only_inside_a_usage() -> None:
    record = {"input": "How many?", "output": "Three", "prompt_tokens": 4}
    amounts = UsageAmounts()
    collect_flat(record, amounts, lambda *_: pytest.fail("reported"))
    result = settle(amounts, lambda *_: pytest.fail("reported"))
    assert result == Usage(input=4)


counts = st.integers(0, 1_000_000)


@given(fresh=counts, read=counts, write=counts, output=counts, reasoning_share=st.floats(0, 1))
def test_conventions_agree(
    fresh: int, read: int, write: int, output: int, reasoning_share: float
) -> None:
    """One request told by three providers gives equal numbers."""
    reasoning = int(output * reasoning_share)
    total_in = fresh + read + write
    openai = {
        "prompt_tokens": total_in,
        "completion_tokens": output,
        "prompt_tokens_details": {"cached_tokens": read, "cache_write_tokens": write},
        "completion_tokens_details": {"reasoning_tokens": reasoning},
    }
    anthropic = {
        "input_tokens": fresh,
        "cache_read_input_tokens": read,
        "cache_creation_input_tokens": write,
        "output_tokens": output,
    }
    expected = (total_in, read, write, output)
    assert normalise(openai)[0][:4] == expected
    assert normalise(anthropic)[0][:4] == expected
    with_total = {**openai, "total_tokens": total_in + output}
    assert normalise(with_total) == (*normalise(openai)[:2], [])
    gemini = {
        "promptTokenCount": total_in,
        "cachedContentTokenCount": read,
        "candidatesTokenCount": output - reasoning,
        "thoughtsTokenCount": reasoning,
        "totalTokenCount": total_in + output,
    }
    found = normalise(gemini)
    assert (found[0][0], found[0][1], found[0][3], found[2]) == (total_in, read, output, [])
