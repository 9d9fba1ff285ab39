"""Billed tokens, told apart by the part of the request that they are, to the last one.

A provider bills a request as one number; a log shows its text. `decompose` gives each part of a
request its tokens: those of the text as the provider counts them, and the rest as ``unlogged``
(tools, pictures, a chat's frame). A prompt cache holds the beginning of a prompt, and the usage
says how much of it, so each part is read from the cache, written to it, or fresh. The tokens of a
request add up to its bill; the dollars of a table add up to the ledger.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from decimal import Decimal, localcontext
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jeton.economics.ledger.result import Ledger

INPUT_PARTS: Final = (
    "tools", "system", "earlier", "passages", "question", "prompt", "unlogged",
)  # fmt: skip
"""Parts of a prompt. ``prompt`` is text of which the log does not say what it is."""

KINDS: Final = ("fresh", "written", "cached")
"""Kinds of prompt tokens: at the full rate, written to a cache, read from one."""

OUTPUT_PARTS: Final = ("answer", "reasoning")
"""Parts of an answer."""

_FRESH, _WRITTEN, _CACHED = range(3)
_DIGITS = 60

_Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True)
class TextCount:
    """A model's tokens by our own count of text.

    Attributes:
        slope: Tokens that the provider bills for each that we count.
        frame_tokens: Tokens of a request beside its text that stand in front of it, at most.
        is_exact: True if the tokenizer is the model's own.
        low: Least slope that the usage or the source of the factor allows; savings are promised
            with it. Bills are apportioned with ``slope``.
        high: Largest slope that is possible; infinite where the model's tokenizer is published, and
            another one counts.
    """

    slope: float = 1.0
    frame_tokens: int = 0
    is_exact: bool = True
    low: float = 1.0
    high: float = 1.0


@dataclass(frozen=True, slots=True, eq=False)
class BilledTokens:
    """Requests, each with its billed tokens by part.

    Attributes:
        parts: int64 (n, len(INPUT_PARTS), len(KINDS)); sums to the billed input tokens.
        output: int64 (n, len(OUTPUT_PARTS)); sums to the billed output tokens.
        head: int64 (n,), unlogged tokens in front of all text; the others stand behind it.
    """

    parts: _Ints
    output: _Ints
    head: _Ints


def in_proportion(counts: _Ints, totals: _Ints) -> _Ints:
    """Return whole numbers in the proportion of counts, which sum to the totals of their rows.

    Args:
        counts: int64 (n, m), 0 and above.
        totals: int64 (n,); a row of zeros gets nothing.
    """
    sums = counts.sum(axis=1)
    edges = np.cumsum(counts, axis=1, dtype=np.float64)
    share = np.where(sums > 0, totals / np.maximum(sums, 1), 0.0)
    cuts = np.rint(edges * share[:, None]).astype(np.int64)
    return np.diff(cuts, axis=1, prepend=0)


def cut_by_cache(sizes: _Ints, read: _Ints, written: _Ints) -> _Ints:
    """Return how much of each piece of a prompt is fresh, written and read.

    The cache holds the beginning: first what was read, then what was written.

    Args:
        sizes: int64 (n, m), tokens of the pieces of each prompt, in the order sent.
        read: int64 (n,), tokens read from a cache.
        written: int64 (n,), tokens written to one.

    Returns:
        int64 (n, m, len(KINDS)).
    """
    ends = np.cumsum(sizes, axis=1)
    starts = ends - sizes
    until_read, until_written = read[:, None], (read + written)[:, None]
    cached = np.clip(until_read - starts, 0, sizes)
    either = np.clip(until_written - starts, 0, sizes)
    return np.stack([sizes - either, either - cached, cached], axis=2)


def decompose(
    counted: _Ints,
    *,
    input_tokens: _Ints,
    read: _Ints,
    written: _Ints,
    output_tokens: _Ints,
    reasoning: _Ints,
    count: TextCount,
) -> BilledTokens:
    """Return the billed tokens of requests of one model by part.

    Text has the tokens that the provider would bill for it (`TextCount`); the rest of what was
    billed is ``unlogged``. Where the text alone would exceed the bill, its parts share the bill.

    Args:
        counted: int64 (n, len(INPUT_PARTS) - 1), tokens of each part of the text as we count them.
        input_tokens: int64 (n,), as billed, cached ones included; below 0: not known.
        read: int64 (n,), of the input, read from a cache.
        written: int64 (n,), of the input, written to one.
        output_tokens: int64 (n,), as billed, reasoning included.
        reasoning: int64 (n,), of the output.
        count: The model's tokens by our count.
    """
    billed = np.maximum(input_tokens, 0)
    own = np.maximum(counted, 0)
    text = np.rint(own.sum(axis=1) * count.slope).astype(np.int64)
    text = np.minimum(text, billed)
    sizes = in_proportion(own, text)
    unlogged = billed - sizes.sum(axis=1)
    head = np.minimum(unlogged, count.frame_tokens)
    order = np.concatenate([head[:, None], sizes, (unlogged - head)[:, None]], axis=1)
    read = np.clip(read, 0, billed)
    cut = cut_by_cache(order, read, np.clip(written, 0, billed - read))
    parts = cut[:, 1:].copy()
    parts[:, -1] += cut[:, 0]
    out = np.maximum(output_tokens, 0)
    thought = np.clip(reasoning, 0, out)
    return BilledTokens(parts, np.stack([out - thought, thought], axis=1), head)


@dataclass(frozen=True, slots=True, eq=False)
class ModelBilled:
    """Billed tokens of one model's requests.

    Attributes:
        n_requests: Requests.
        n_messages: Messages of earlier turns.
        n_passages: Retrieved passages.
        tokens: int64 (len(INPUT_PARTS), len(KINDS)).
        output: int64 (len(OUTPUT_PARTS),).
        input_usd: Dollars of ``tokens``, the same cells by row; empty: not priced.
        output_usd: Dollars of ``output``.
        other_usd: Dollars of anything else (searches, pictures made, fees).
    """

    n_requests: int = 0
    n_messages: int = 0
    n_passages: int = 0
    tokens: _Ints = field(
        default_factory=lambda: np.zeros((len(INPUT_PARTS), len(KINDS)), dtype=np.int64)
    )
    output: _Ints = field(default_factory=lambda: np.zeros(len(OUTPUT_PARTS), dtype=np.int64))
    input_usd: tuple[tuple[Decimal, ...], ...] = ()
    output_usd: tuple[Decimal, ...] = ()
    other_usd: Decimal = Decimal(0)

    def __eq__(self, other: object) -> bool:
        """True for the same tokens and dollars."""
        return isinstance(other, ModelBilled) and _plain(self) == _plain(other)

    __hash__ = None  # type: ignore[assignment]

    def merge(self, other: ModelBilled) -> ModelBilled:
        """Return the tokens of both; dollars are put to them anew (`BilledTable.priced`)."""
        return ModelBilled(
            self.n_requests + other.n_requests,
            self.n_messages + other.n_messages,
            self.n_passages + other.n_passages,
            self.tokens + other.tokens,
            self.output + other.output,
        )


@dataclass(frozen=True, slots=True)
class BilledTable:
    """Billed tokens of a workload by model, part and kind: integers that merge.

    Attributes:
        by_model: By the model's name as logged; empty for requests that name none.
        is_complete: True if every request of the workload is in it.

    Example:
        >>> table = BilledTable({"m": ModelBilled(n_requests=2)})
        >>> table.n_requests, table.part("system")
        (2, 0)
    """

    by_model: Mapping[str, ModelBilled] = field(default_factory=dict)
    is_complete: bool = True

    @property
    def n_requests(self) -> int:
        """Requests of all models."""
        return sum(own.n_requests for own in self.by_model.values())

    @property
    def n_messages(self) -> int:
        """Messages of earlier turns in all requests."""
        return sum(own.n_messages for own in self.by_model.values())

    @property
    def n_passages(self) -> int:
        """Retrieved passages in all requests."""
        return sum(own.n_passages for own in self.by_model.values())

    @property
    def input_tokens(self) -> int:
        """Billed input tokens, cached ones included."""
        return sum(int(own.tokens.sum()) for own in self.by_model.values())

    @property
    def output_tokens(self) -> int:
        """Billed output tokens, reasoning included."""
        return sum(int(own.output.sum()) for own in self.by_model.values())

    def cell(self, part: str, kind: str) -> int:
        """Return the tokens of a part of the prompt that are of a kind."""
        row, column = INPUT_PARTS.index(part), KINDS.index(kind)
        return sum(int(own.tokens[row, column]) for own in self.by_model.values())

    def kind(self, kind: str) -> int:
        """Return the prompt tokens of a kind."""
        return sum(self.cell(part, kind) for part in INPUT_PARTS)

    def part(self, part: str) -> int:
        """Return the tokens of a part of the prompt or of the answer."""
        if part in OUTPUT_PARTS:
            column = OUTPUT_PARTS.index(part)
            return sum(int(own.output[column]) for own in self.by_model.values())
        return sum(self.cell(part, kind) for kind in KINDS)

    def usd(self, part: str, kind: str | None = None) -> Decimal:
        """Return the dollars of a part; of one kind of its tokens, or of all."""
        total = Decimal(0)
        with localcontext(prec=_DIGITS):
            for own in self.by_model.values():
                if part in OUTPUT_PARTS:
                    total += own.output_usd[OUTPUT_PARTS.index(part)] if own.output_usd else 0
                elif own.input_usd:
                    cells = own.input_usd[INPUT_PARTS.index(part)]
                    total += sum(cells) if kind is None else cells[KINDS.index(kind)]
        return total

    def merge(self, other: BilledTable) -> BilledTable:
        """Return the table of both workloads, without dollars."""
        names = dict.fromkeys((*self.by_model, *other.by_model))
        empty = ModelBilled()
        merged = {
            name: self.by_model.get(name, empty).merge(other.by_model.get(name, empty))
            for name in names
        }
        return BilledTable(merged, self.is_complete and other.is_complete)

    @classmethod
    def of(
        cls,
        entries: Iterable[tuple[str, BilledTokens, int, int]],
        *,
        is_complete: bool = True,
    ) -> BilledTable:
        """Return the table of requests.

        Args:
            entries: Model, requests of that model, their earlier messages and their passages.
            is_complete: True if every request of the workload is among them.
        """
        table = cls({}, is_complete)
        for model, billed, n_messages, n_passages in entries:
            own = ModelBilled(
                len(billed.parts),
                n_messages,
                n_passages,
                billed.parts.sum(axis=0),
                billed.output.sum(axis=0),
            )
            table = table.merge(cls({model: own}, is_complete))
        return table

    def priced(self, ledger: Ledger) -> BilledTable:
        """Return the table with the dollars of a ledger of the same requests.

        The dollars of each kind of token of a model are shared by its parts in the proportion of
        their tokens, so that they add up to the ledger.
        """
        from jeton.economics.waterfall import kind_of

        usd: dict[str, dict[str, Decimal]] = {}
        with localcontext(prec=_DIGITS):
            for use in ledger.by_model:
                own = usd.setdefault(use.logged_as, {})
                for entry in use.dimensions:
                    kind = kind_of(entry.name)
                    own[kind] = own.get(kind, Decimal(0)) + entry.usd
            by_model = {
                name: _with_usd(own, usd.get(name, {})) for name, own in self.by_model.items()
            }
        return BilledTable(by_model, self.is_complete)

    def to_dict(self) -> dict[str, Any]:
        """Return the table as plain values; dollars as decimal strings, rounded to 12 digits."""
        return {
            "n_requests": self.n_requests,
            "n_messages": self.n_messages,
            "n_passages": self.n_passages,
            "is_complete": self.is_complete,
            "input_tokens": self.input_tokens,
            "output_tokens": self.output_tokens,
            "parts": self._parts(),
            "by_model": {name: _plain(own) for name, own in self.by_model.items()},
        }

    def _parts(self) -> list[dict[str, Any]]:
        """Return the parts that have tokens, over all models."""
        rows: list[dict[str, Any]] = []
        is_priced = any(own.input_usd for own in self.by_model.values())
        for part in (*INPUT_PARTS, *OUTPUT_PARTS):
            n_tokens = self.part(part)
            if n_tokens:
                is_input = part in INPUT_PARTS
                kinds = {kind: self.cell(part, kind) if is_input else 0 for kind in KINDS}
                usd = f"{self.usd(part):.12f}" if is_priced else None
                rows.append({"part": part, "n_tokens": n_tokens, **kinds, "usd": usd})
        return rows

    @classmethod
    def from_dict(cls, plain: Mapping[str, Any]) -> BilledTable:
        """Return a table from what `to_dict` wrote; its dollars are left out."""
        by_model = {}
        for name, own in plain["by_model"].items():
            by_model[name] = ModelBilled(
                own["n_requests"],
                own["n_messages"],
                own["n_passages"],
                np.array([[own["tokens"][p][k] for k in KINDS] for p in INPUT_PARTS], np.int64),
                np.array([own["output"][p] for p in OUTPUT_PARTS], np.int64),
            )
        return cls(by_model, plain["is_complete"])


def _with_usd(own: ModelBilled, usd: Mapping[str, Decimal]) -> ModelBilled:
    kinds = [
        _shared(usd.get(kind, Decimal(0)), own.tokens[:, column].tolist())
        for column, kind in enumerate(("full", "write", "read"))
    ]
    output = _shared(usd.get("output", Decimal(0)), own.output.tolist())
    shared = sum((sum(cells) for cells in (*kinds, output)), Decimal(0))
    return ModelBilled(
        own.n_requests,
        own.n_messages,
        own.n_passages,
        own.tokens,
        own.output,
        tuple(zip(*kinds, strict=True)),
        output,
        sum(usd.values(), Decimal(0)) - shared,
    )


def _shared(usd: Decimal, tokens: list[int]) -> tuple[Decimal, ...]:
    total = sum(tokens)
    return tuple(usd * n / total if total else Decimal(0) for n in tokens)


def _plain(own: ModelBilled) -> dict[str, Any]:
    plain: dict[str, Any] = {
        "n_requests": own.n_requests,
        "n_messages": own.n_messages,
        "n_passages": own.n_passages,
        "tokens": {
            part: dict(zip(KINDS, row, strict=True))
            for part, row in zip(INPUT_PARTS, own.tokens.tolist(), strict=True)
        },
        "output": dict(zip(OUTPUT_PARTS, own.output.tolist(), strict=True)),
    }
    if own.input_usd:
        plain["usd"] = {
            part: {kind: f"{cell:.12f}" for kind, cell in zip(KINDS, cells, strict=True)}
            for part, cells in zip(INPUT_PARTS, own.input_usd, strict=True)
        } | {part: f"{cell:.12f}" for part, cell in zip(OUTPUT_PARTS, own.output_usd, strict=True)}
        plain["usd"]["other"] = f"{own.other_usd:.12f}"
    return plain
