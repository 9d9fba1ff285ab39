"""Amounts of requests made whole and summed by key: what follows from what is stated."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Generic, TypeVar

import numpy as np
from numpy.typing import NDArray

from jeton.dimensions import DIMENSIONS, FACTS, MODALITIES
from jeton.economics.ledger.cells import LedgerCell
from jeton.economics.ledger.rows import UNKNOWN, UsageColumns

MOST_UNITS = 10**9
"""More units in one request than this are no count but a mistake: a thousand times the longest
context that anyone offers. It also keeps sums of 64 bits from running over."""

_Ints = NDArray[np.int64]
_Bools = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class Amounts:
    """Amounts of requests by dimension; all arrays have shape (n,).

    Attributes:
        units: Stored units by dimension, 0 where not stated.
        knows_input: True if the input tokens are stated.
        knows_output: True if the output tokens are stated.
        contradicts: True if a part is larger than its whole, or a count is no count.
        assumes_overlap: True if cached input of one kind (audio, images) had to be assumed.
        prompt_tokens: Length of prompt that decides the step of a price.
        is_mean_prompt: True if that is a mean over several requests, or not known of a sum of them.
        all_prompts: Input tokens of all requests of the row together.
        facts: Facts beside the units (`jeton.dimensions.FACTS`), 0 where not stated.
    """

    units: dict[str, _Ints]
    knows_input: _Bools
    knows_output: _Bools
    contradicts: _Bools
    assumes_overlap: _Bools
    prompt_tokens: _Ints
    is_mean_prompt: _Bools
    all_prompts: _Ints
    facts: dict[str, _Ints]

    def fact(self, name: str) -> _Ints:
        """Return a fact of each row; zeros where none has it."""
        values = self.facts.get(name)
        return np.zeros(len(self.prompt_tokens), dtype=np.int64) if values is None else values


def amounts_of(columns: UsageColumns) -> Amounts:
    """Return the amounts of rows.

    A whole that is not stated is the sum of its stated parts. Input that is both cached and audio
    (or image, video) and not stated as such is taken to be the least that the counts allow: that
    is the dearest reading, so that a sum is rather too high than too low.
    """
    n = len(columns)
    zeros = np.zeros(n, dtype=np.int64)
    units: dict[str, _Ints] = {
        "input_tokens": columns.input_tokens,
        "output_tokens": columns.output_tokens,
        "cache_read_tokens": columns.cache_read_tokens,
        "cache_write_tokens": columns.cache_write_tokens,
        "cache_write_1h_tokens": columns.cache_write_1h_tokens,
        "output_reasoning_tokens": columns.reasoning_tokens,
    }
    units.update((k, v) for k, v in columns.extras.items() if k in DIMENSIONS)
    units = {name: np.asarray(v, dtype=np.int64) for name, v in units.items() if v.any()}
    n_requests = np.asarray(columns.n_requests, dtype=np.int64)
    most = MOST_UNITS * np.maximum(n_requests, 1)
    contradicts = (n_requests < 1) | (n_requests > MOST_UNITS)
    for values in units.values():
        contradicts |= (values < UNKNOWN) | (values > most)
    knows_input = columns.input_tokens >= 0
    knows_output = columns.output_tokens >= 0
    units = {name: np.maximum(values, 0) for name, values in units.items()}

    def get(name: str) -> _Ints:
        return units.get(name, zeros)

    def at_least(whole: str, *parts: str) -> None:
        stated = [units[part] for part in parts if part in units]
        if stated:
            units[whole] = np.where(get(whole) > 0, get(whole), sum(stated, zeros))

    _fill_wholes(at_least)
    # A whole that is not known holds its stated parts at least.
    for whole, is_known, ways in (
        ("input_tokens", knows_input, _WAYS_IN), ("output_tokens", knows_output, _WAYS_OUT),
    ):  # fmt: skip
        least = zeros
        for parts in ways:
            least = np.maximum(least, sum((get(part) for part in parts), zeros))
        if (least[~is_known] > 0).any():
            units[whole] = np.where(is_known, get(whole), least)
    assumes = _fill_cached_kinds(units, get)
    contradicts |= _contradictions(get, knows_input, knows_output)
    prompt = get("input_tokens")
    stated = getattr(columns, "prompt_tokens", None)
    several = n_requests > 1
    # The mean is rounded up: a step holds above its start.
    prompt = np.where(several, -(-prompt // np.maximum(n_requests, 1)), prompt)
    is_mean = several
    if stated is not None:
        prompt = np.where(stated >= 0, stated, prompt)
        is_mean = several & (stated < 0)
    facts = {
        k: np.asarray(v, np.int64) for k, v in columns.extras.items() if k in FACTS and v.any()
    }
    if "summed_requests" in facts:
        # How many requests the row adds up is not known: no prompt is taken to be a long one.
        is_sum = (facts["summed_requests"] > 0) & ~several
        prompt, is_mean = np.where(is_sum, 0, prompt), is_mean | is_sum
    units["requests"] = n_requests
    return Amounts(
        units={name: values for name, values in units.items() if values.any()},
        knows_input=knows_input,
        knows_output=knows_output,
        contradicts=contradicts,
        assumes_overlap=assumes,
        prompt_tokens=prompt,
        is_mean_prompt=is_mean,
        all_prompts=get("input_tokens"),
        facts=facts,
    )


_WAYS_IN = (
    ("cache_read_tokens", "cache_write_tokens", "input_tool_tokens"),
    tuple(f"input_{kind}_tokens" for kind in MODALITIES),
)
_WAYS_OUT = (
    ("output_reasoning_tokens", "output_citation_tokens"),
    tuple(f"output_{kind}_tokens" for kind in MODALITIES),
)
"""Ways in which the input and the output are split; each may be stated in part."""


def _fill_wholes(at_least: Callable[..., None]) -> None:
    for lifetime in ("5m", "1h"):
        kinds = [f"cache_{kind}_write_{lifetime}_tokens" for kind in MODALITIES]
        at_least(f"cache_write_{lifetime}_tokens", *kinds)
    at_least("cache_write_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
    for cached in ("read", "write"):
        kinds = [f"cache_{kind}_{cached}_tokens" for kind in MODALITIES]
        at_least(f"cache_{cached}_tokens", *kinds)
    for kind in MODALITIES:
        at_least(f"input_{kind}_tokens", f"cache_{kind}_read_tokens", f"cache_{kind}_write_tokens")
    for kind in ("reasoning", "citation"):
        at_least(f"output_{kind}_tokens", *(f"output_{m}_{kind}_tokens" for m in MODALITIES))
    at_least("input_tool_tokens", *(f"input_{m}_tool_tokens" for m in MODALITIES))
    at_least("audio_seconds", "input_audio_seconds", "output_audio_seconds")
    at_least("input_document_pages", "input_annotated_document_pages")


_PRICED_KINDS = ("audio", "image", "video")


def _fill_cached_kinds(units: dict[str, _Ints], get: Callable[[str], _Ints]) -> _Bools:
    """State the overlap of cached and other-than-text input where the log does not."""
    read = get("cache_read_tokens")
    assumes = np.zeros(len(read), dtype=np.bool_)
    kinds = [kind for kind in _PRICED_KINDS if f"input_{kind}_tokens" in units]
    if not kinds or not read.any():
        return assumes
    stated = sum((get(f"cache_{kind}_read_tokens") for kind in MODALITIES), np.zeros_like(read))
    # Tokens that are neither, were nothing of both: where that is below 0, some must be both.
    other = sum((get(f"input_{kind}_tokens") for kind in kinds), np.zeros_like(read))
    taken = get("cache_write_tokens") + get("input_tool_tokens")
    both = sum((get(f"cache_{kind}_read_tokens") for kind in kinds), np.zeros_like(read))
    missing = np.maximum(other + read + taken - both - get("input_tokens"), 0)
    # Where a part is stated, the others are text, as far as the counts allow.
    is_open = (read > stated) & (other > both) & ((stated == 0) | (missing > 0))
    missing = np.where(is_open, np.minimum(missing, read - stated), 0)
    for kind in kinds:
        own = get(f"cache_{kind}_read_tokens")
        more = np.minimum(missing, np.maximum(get(f"input_{kind}_tokens") - own, 0))
        if more.any():
            units[f"cache_{kind}_read_tokens"] = own + more
            missing = missing - more
    return np.asarray(is_open)


def _contradictions(
    get: Callable[[str], _Ints], knows_input: _Bools, knows_output: _Bools
) -> _Bools:
    """Tell where a part is larger than its whole, along each way of splitting it."""

    def over(whole: str, *parts: str) -> _Bools:
        total = sum((get(part) for part in parts), np.zeros_like(get(whole)))
        return np.asarray(total > get(whole))

    wrong = knows_input & (over("input_tokens", *_WAYS_IN[0]) | over("input_tokens", *_WAYS_IN[1]))
    wrong |= over("cache_write_tokens", "cache_write_5m_tokens", "cache_write_1h_tokens")
    for cached in ("read", "write"):
        kinds = [f"cache_{kind}_{cached}_tokens" for kind in MODALITIES]
        wrong |= over(f"cache_{cached}_tokens", *kinds)
    for kind in MODALITIES:
        name = f"input_{kind}_tokens"
        wrong |= over(name, f"cache_{kind}_read_tokens", f"cache_{kind}_write_tokens")
    wrong |= knows_output & (
        over("output_tokens", *_WAYS_OUT[0]) | over("output_tokens", *_WAYS_OUT[1])
    )
    wrong |= over("input_document_pages", "input_annotated_document_pages")
    return wrong


Key = TypeVar("Key", bound=Hashable)


class SumTable(Generic[Key]):
    """Amounts by key and dimension."""

    def __init__(self) -> None:
        self._rows: dict[Key, int] = {}
        self._columns: dict[str, int] = {}
        self._sums = np.zeros((64, 8), dtype=np.int64)

    def add(self, keys: Sequence[Key], dims: Sequence[str], sums: NDArray[np.int64]) -> None:
        """Add sums (keys x dimensions); a key may stand there more than once."""
        rows = [self._rows.setdefault(key, len(self._rows)) for key in keys]
        columns = [self._columns.setdefault(name, len(self._columns)) for name in dims]
        n_rows, n_columns = self._sums.shape
        if len(self._rows) > n_rows or len(self._columns) > n_columns:
            shape = (max(2 * len(self._rows), n_rows), max(2 * len(self._columns), n_columns))
            grown = np.zeros(shape, dtype=np.int64)
            grown[:n_rows, :n_columns] = self._sums
            self._sums = grown
        np.add.at(self._sums, np.ix_(rows, columns), sums)

    def cells(self) -> Iterator[tuple[Key, LedgerCell]]:
        """Yield what is not empty."""
        for key, row in self._rows.items():
            values = self._sums[row]
            if values.any():
                numbers = values.tolist()
                amounts = {name: numbers[at] for name, at in self._columns.items() if numbers[at]}
                yield key, LedgerCell(amounts.get("requests", 0), amounts)

    def merge(self, keys: Sequence[Key], other: SumTable[Key]) -> None:
        """Add another table, whose keys are called ``keys`` here."""
        dims = list(other._columns)
        self.add(keys, dims, other._sums[: len(other._rows), : len(dims)])

    def known(self) -> list[Key]:
        """All keys, empty ones too, in the order of their first row."""
        return list(self._rows)


def grouped_sums(
    first: NDArray[np.int64], second: NDArray[np.int64], matrix: NDArray[np.int64]
) -> tuple[list[tuple[int, int]], NDArray[np.int64]]:
    """Return the different pairs of numbers, and the sums of their rows."""
    if not len(first):
        return [], matrix[:0]
    order = np.lexsort((second, first))
    a, b = first[order], second[order]
    is_first = np.ones(len(a), dtype=np.bool_)
    is_first[1:] = (a[1:] != a[:-1]) | (b[1:] != b[:-1])
    starts = np.flatnonzero(is_first)
    sums = np.add.reduceat(matrix[order], starts, axis=0)
    return list(zip(a[starts].tolist(), b[starts].tolist(), strict=True)), sums
