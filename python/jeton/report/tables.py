"""Tables of tokenizers: which numbers stand side by side, and which value is the best."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from decimal import Decimal
from typing import Any, Literal

from jeton.metrics.round_trips import loses_text
from jeton.report.numbers import Numbers, Shown
from jeton.report.tree import ALL, PAPER, Column, Marked, Table, TableRow, tokenizer_name

_TOKENS = (
    Column("n_tokens", "Tokens", "tokens of the whole corpus", "count", "less"),
    Column("change", "Change", "tokens against the tokenizer in use", "change"),
    Column("bytes_per_token", "Bytes per token", "text that one token holds", "ratio", "more"),
    Column("chars_per_token", "Chars per token", "code points in one token", "ratio", "more"),
    Column("tokens_per_word", "Tokens per word", "also called fertility", "ratio", "less"),
    Column("tokens_per_document.mean", "Mean", "tokens of a document, mean", "count", "less"),
    Column("tokens_per_document.p50", "p50", "half of the documents have at most", "count", "less"),
    Column("tokens_per_document.p95", "p95", "95% of the documents have at most", "count", "less"),
    Column("tokens_per_document.p99", "p99", "99% of the documents have at most", "count", "less"),
    Column("tokens_per_document.max", "Max", "tokens of the longest document", "count", "less"),
)

_FIDELITY = (
    Column("vocab_size", "Vocabulary", "ids of the tokenizer", "count"),
    Column("vocab_used", "Used", "different ids that occurred", "count"),
    Column("vocab_used_share", "Used share", "used ids of all ids", "share"),
    Column("single_byte_token_share", "Single bytes", "tokens of one byte", "share", "less"),
    Column(
        "partial_character_token_share",
        "Partial characters",
        "tokens that hold only a part of a character",
        "share",
        "less",
    ),
    Column("whitespace_token_share", "White space", "tokens of white space alone", "share"),
    Column(
        "n_round_trip_failures",
        "Not restored",
        "documents whose ids do not decode to the document",
        "count",
        "less",
    ),
    Column(
        "n_normalized_documents",
        "Normalized",
        "documents that the tokenizer's own normalization changed",
        "count",
    ),
)

ECONOMICS = (
    Column("usd_per_request", "Per request", "price of one request", "usd", "less"),
    Column("usd_per_day", "Per day", "price of a day's requests", "usd", "less"),
    Column("usd_per_month", "Per month", "price of a month's requests", "usd", "less"),
    Column("usd_per_year", "Per year", "price of a year's requests", "usd", "less"),
    Column("kv_bytes_per_token", "KV per token", "cache that one token takes", "bytes"),
    Column("kv_bytes_per_request_mean", "KV, mean", "cache of the mean request", "bytes", "less"),
    Column("kv_bytes_per_request_p95", "KV, p95", "cache of the p95 request", "bytes", "less"),
    Column(
        "kv_bytes_per_request_full_pages",
        "KV, all paged",
        "cache of the mean request where an engine gives every layer pages for all tokens",
        "bytes",
        "less",
    ),
    Column("weights_bytes", "Weights", "weights with this vocabulary", "bytes", "less"),
    Column("embedding_bytes", "Embeddings", "embedding tables in the weights", "bytes", "less"),
    Column("n_gpus", "GPUs", "GPUs together, for which all that fits is counted", "count", "less"),
    Column("gpus_needed", "GPUs needed", "fewest GPUs that hold the model", "count", "less"),
    Column("kv_cache_tokens", "Cache", "tokens that these GPUs cache", "count", "more"),
    Column(
        "longest_context_tokens",
        "Longest context",
        "tokens of one request that has these GPUs to itself",
        "count",
        "more",
    ),
    Column(
        "concurrent_requests_mean",
        "Fit, mean",
        "requests of mean length beside the weights on these GPUs",
        "count",
        "more",
    ),
    Column(
        "concurrent_requests_p95",
        "Fit, p95",
        "requests of p95 length beside the weights on these GPUs",
        "count",
        "more",
    ),
    Column(
        "prefill_linear_flops_per_request",
        "Prefill, linear",
        "work of matrix products with the weights",
        "flops",
        "less",
    ),
    Column(
        "prefill_attention_flops_per_request",
        "Prefill, attention",
        "work of attention, which grows with the square of the length",
        "flops",
        "less",
    ),
    Column("prefill_seconds_per_request", "Prefill time", "on these GPUs", "seconds", "less"),
    Column(
        "concurrent_requests_safe",
        "Fit safely",
        "requests of the measured lengths that fit in 99 of 100 draws",
        "count",
        "more",
    ),
    Column("own_gpu_seconds_per_request", "Latency", "prefill and output", "seconds", "less"),
    Column("own_gpu_usd_per_request", "A request", "at full load", "usd", "less"),
    Column("own_gpu_usd_per_mtok", "A million tokens", "at full load", "usd", "less"),
    Column("own_gpu_usd_per_month", "A month", "whole GPUs rented", "usd", "less"),
    Column("own_gpu_watt_hours_per_request", "Wh a request", "energy", "rate", "less"),
    Column("own_gpu_grams_co2_per_request", "g CO2 a request", "carbon", "rate", "less"),
)

_QUALITY = (
    Column(
        "bits_per_byte",
        "Bits per byte",
        "of held-out text under an n-gram model of the tokens",
        "rate",
        "less",
    ),
    Column("words_kept_share", "Words kept", "words that are one token", "share", "more"),
    Column("continued_word_share", "Words cut", "words of several tokens", "share", "less"),
    Column(
        "renyi_efficiency_2_5_full",
        "Rényi 2.5",
        "efficiency at power 2.5 over the whole vocabulary",
        "rate",
        "more",
    ),
    Column(
        "renyi_efficiency_3_0_observed",
        "Rényi 3.0",
        "efficiency at power 3.0 over the ids that occurred, as tokenization-scorer has it",
        "rate",
        "more",
    ),
    Column("gini", "Gini", "inequality of the use of ids: 0 all alike, 1 one id alone", "rate"),
    Column("n_unreachable", "Unreachable", "tokens that no text gives", "count", "less"),
    Column(
        "n_undertrained",
        "Under-trained",
        "tokens that vocabulary and corpus say a model has hardly seen",
        "count",
        "less",
    ),
)

_INTERVALS = {
    "change": "tokens_change_interval",
    "bytes_per_token": "bytes_per_token_interval",
    "tokens_per_document.mean": "tokens_per_document_interval",
    "bits_per_byte": "quality.bits_per_byte_interval",
}
"""The interval of a number, beside it in the report."""

_NARROW = frozenset(
    {
        *("n_tokens", "change", "bytes_per_token", "tokens_per_document.mean"),
        *("tokens_per_document.p95", "usd_per_request", "usd_per_day", "usd_per_month"),
        *("usd_per_year", "kv_bytes_per_request_mean", "weights_bytes", "n_gpus"),
        *("longest_context_tokens", "concurrent_requests_mean", "own_gpu_seconds_per_request"),
        *("own_gpu_usd_per_mtok", "own_gpu_usd_per_month"),
    }
)
"""Columns that a terminal of 80 columns holds."""
_NOT_IN_A_TERMINAL = frozenset({"embedding_bytes", "gpus_needed", "concurrent_requests_safe"})

EconomicsPart = Literal["money", "memory", "compute", "own"]

PARTS: dict[EconomicsPart, tuple[str, tuple[str, ...]]] = {
    "money": ("Cost with each tokenizer", ("usd_",)),
    "memory": (
        "Memory with each tokenizer",
        ("kv_", "weights_", "embedding_", "n_gpus", "gpus_", "longest_", "concurrent_"),
    ),
    "compute": ("Reading the prompt (prefill)", ("prefill_",)),
    "own": ("On your own GPUs", ("own_gpu_",)),
}
"""Title of a part, and beginnings of the keys of its columns."""


def tokens_table(numbers: Numbers, *, current: int) -> Table:
    """Tokens, compression and document lengths of every tokenizer."""
    is_choice = len(numbers.data["tokenizers"]) > 1
    columns = _TOKENS if is_choice else tuple(c for c in _TOKENS if c.key != "change")

    def cell(index: int, column: Column) -> Shown | None:
        path = f"tokenizers[{index}]"
        if column.key == "change":
            if index == current:
                return None
            return numbers.change(f"{path}.n_tokens", f"tokenizers[{current}].n_tokens")
        return numbers.show(f"{path}.{column.key}", column.kind)

    return table_of(numbers, "Tokens of the workload", columns, cell, heading="Tokens")


def quality_table(numbers: Numbers) -> Table | None:
    """Quality beside the number of cuts; None where it was not measured."""
    tokenizers = numbers.data["tokenizers"]
    columns = tuple(
        column
        for column in _QUALITY
        if any((t.get("quality") or {}).get(column.key) is not None for t in tokenizers)
    )
    if not columns:
        return None

    def cell(index: int, column: Column) -> Shown | None:
        found = (tokenizers[index].get("quality") or {}).get(column.key)
        path = f"tokenizers[{index}].quality.{column.key}"
        return None if found is None else numbers.at(path, column.kind)

    return table_of(numbers, "Other quality measures", columns, cell, forms=PAPER)


def fidelity_table(numbers: Numbers) -> Table:
    """Vocabulary use, and whether the text survives."""
    return table_of(
        numbers,
        "Vocabulary, and whether the text survives",
        _FIDELITY,
        lambda index, column: numbers.show(f"tokenizers[{index}].{column.key}", column.kind),
        forms=PAPER,
    )


def economics_table(numbers: Numbers, *, part: EconomicsPart) -> Table | None:
    """Money, memory or compute; None where nothing of it was asked for or is known."""
    tokenizers = numbers.data["tokenizers"]
    title, prefixes = PARTS[part]
    columns = tuple(
        column
        for column in ECONOMICS
        if column.key.startswith(prefixes)
        and any(t["economics"][column.key] is not None for t in tokenizers)
    )
    if not columns:
        return None

    def cell(index: int, column: Column) -> Shown | None:
        return numbers.figure(f"tokenizers[{index}].economics.{column.key}", column.kind)

    forms = PAPER if part == "compute" else ALL
    return table_of(numbers, title, columns, cell, forms=forms)


def table_of(
    numbers: Numbers,
    title: str,
    columns: tuple[Column, ...],
    cell: Callable[[int, Column], Shown | None],
    *,
    forms: str = ALL,
    heading: str = "",
) -> Table:
    """A table of any columns: one row for each tokenizer, the best of each column marked."""
    tokenizers = numbers.data["tokenizers"]
    current = next((i for i, item in enumerate(tokenizers) if item["is_current"]), 0)
    indices = range(len(tokenizers))
    values = {column: [cell(index, column) for index in indices] for column in columns}
    best = {column: _best(numbers, column, values[column]) for column in columns}
    rows = (
        TableRow(
            tokenizer_name(numbers, index, current),
            tuple(
                Marked(
                    values[column][index], index in best[column], _interval(numbers, index, column)
                )
                for column in columns
            ),
        )
        for index in indices
    )
    return Table(
        title,
        "Tokenizer",
        tuple(replace(column, forms=_forms(column)) for column in columns),
        tuple(rows),
        forms=forms,
        heading=heading,
        has_meanings=True,
    )


def _forms(column: Column) -> str:
    if column.key in _NARROW:
        return ALL
    return PAPER if column.key in _NOT_IN_A_TERMINAL else "wmh"


def _interval(numbers: Numbers, index: int, column: Column) -> tuple[Shown, Shown] | None:
    key = _INTERVALS.get(column.key)
    place: Any = numbers.data["tokenizers"][index]
    for step in key.split(".") if key else ():
        place = (place or {}).get(step)
    if key is None or not place:
        return None
    path = f"tokenizers[{index}].{key}"
    low = numbers.show(f"{path}.low", column.kind)
    high = numbers.show(f"{path}.high", column.kind)
    return None if low is None or high is None else (low, high)


def _best(numbers: Numbers, column: Column, values: list[Shown | None]) -> frozenset[int]:
    """Rows that hold the best value; none where all are equal.

    A tokenizer that loses text cannot be best: it needs few tokens because it encodes less.
    """
    tokenizers = numbers.data["tokenizers"]
    known = {
        index: Decimal(shown.raw)
        for index, shown in enumerate(values)
        if shown is not None
        and (
            column.key == "n_round_trip_failures"
            or not loses_text(tokenizers[index]["unreturned_by_cause"])
        )
    }
    if not column.better or len({Decimal(s.raw) for s in values if s is not None}) < 2 or not known:
        return frozenset()
    pick = min if column.better == "less" else max
    best = pick(known.values())
    return frozenset(index for index, value in known.items() if value == best)
