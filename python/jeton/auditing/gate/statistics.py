"""Statistics that a gate keeps of a corpus: integers that merge, by domain, part and language.

A document is a request. A `BlockSums` holds the sums of its blocks (`corpus.requests.blocks`) of
one domain, one part of the request and one language class, for the text and for each text that
`rewriting` makes of it: so the figures of two corpora can be compared feature by feature without
either text. Histograms of lengths give the quantiles. Merging is adding; any order of documents and
of shards gives the same sums.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

from jeton.auditing.gate.rewriting import STEPS
from jeton.errors import FormatError

ALL = ""
"""The domain of documents that have none, and the name of all domains together."""

MAX_DOMAINS = 1_000
"""Domains kept apart; a field with a million values is no domain. Further ones are one entry."""

OTHER_DOMAINS = "(other domains)"

CLASSES = ("letters", "digits", "white space", "other ASCII", "beyond ASCII")
"""Classes of bytes of the wording: what it consists of, for the words about a change of it."""

_N_TEXTS = len(STEPS) + 1


def _zeros() -> list[int]:
    return [0] * _N_TEXTS


@dataclass(slots=True)
class BlockSums:
    """Sums over blocks, or over whole documents. Lists: the text, then each rewriting.

    Attributes:
        n: Blocks, or documents.
        n_bytes: UTF-8 bytes of each text.
        n_chars: Code points of each text.
        n_tokens: Tokens of each text, under the tokenizer of the statistics.
        n_class_bytes: Bytes of the last text by `CLASSES`.
    """

    n: int = 0
    n_bytes: list[int] = field(default_factory=_zeros)
    n_chars: list[int] = field(default_factory=_zeros)
    n_tokens: list[int] = field(default_factory=_zeros)
    n_class_bytes: list[int] = field(default_factory=lambda: [0] * len(CLASSES))

    def add(self, other: BlockSums) -> None:
        """Add the sums of another cell."""
        self.n += other.n
        for name in ("n_bytes", "n_chars", "n_tokens", "n_class_bytes"):
            mine, theirs = getattr(self, name), getattr(other, name)
            setattr(self, name, [a + b for a, b in zip(mine, theirs, strict=True)])

    def to_plain(self) -> dict[str, Any]:
        """As JSON values."""
        return {name: getattr(self, name) for name in _CELL_FIELDS}

    @classmethod
    def from_plain(cls, plain: Any) -> BlockSums:
        """From JSON values.

        Raises:
            FormatError: They are no cell.
        """
        if not isinstance(plain, Mapping):
            raise FormatError(
                f"a cell of the baseline is {type(plain).__name__}; expected an object"
            )
        lengths = {"n_class_bytes": len(CLASSES)}
        values: dict[str, Any] = {"n": counts([plain.get("n")], 1)[0]}
        for name in _CELL_FIELDS[1:]:
            values[name] = counts(plain.get(name), lengths.get(name, _N_TEXTS))
        return cls(**values)


_CELL_FIELDS = ("n", "n_bytes", "n_chars", "n_tokens", "n_class_bytes")


def counts(value: Any, length: int | None = None) -> list[int]:
    """Check a list of counts out of a file.

    Raises:
        FormatError: It is something else.
    """
    if not isinstance(value, list) or (length is not None and len(value) != length):
        raise FormatError(f"a list of {length} counts is missing in the baseline")
    for item in value:
        # bool is an int for Python; a float or a string is a damaged file.
        if type(item) is not int or not 0 <= item < 1 << 63:
            raise FormatError(f"the baseline holds {item!r} where a count should be")
    return value


@dataclass(slots=True)
class Statistics:
    """All sums of a corpus under one tokenizer.

    Attributes:
        cells: Sums of blocks by (domain, part of the request, language class).
        wholes: Sums of whole documents by domain, with what a chat format adds.
        lengths: By domain: for each text, how many documents have how many tokens.
        text_digest: The sum of the 128-bit digests of all documents, modulo 2^128: equal for the
            same documents in any order.
    """

    cells: dict[tuple[str, str, str], BlockSums] = field(default_factory=dict)
    wholes: dict[str, BlockSums] = field(default_factory=dict)
    lengths: dict[str, list[Counter[int]]] = field(default_factory=dict)
    text_digest: int = 0

    def cell(self, domain: str, part: str, language: str) -> BlockSums:
        """The cell of a domain, part and language, made where it is not there yet."""
        return self.cells.setdefault((domain, part, language), BlockSums())

    def whole(self, domain: str) -> BlockSums:
        """The documents of a domain, made where they are not there yet."""
        return self.wholes.setdefault(domain, BlockSums())

    def lengths_of(self, domain: str) -> list[Counter[int]]:
        """The histograms of a domain, made where they are not there yet."""
        return self.lengths.setdefault(domain, [Counter() for _ in range(_N_TEXTS)])

    @property
    def domains(self) -> tuple[str, ...]:
        """The domains, sorted; documents without one are of the domain ``""``."""
        return tuple(sorted(self.wholes))

    def total(self, domain: str | None = None) -> BlockSums:
        """The sums over the whole documents of one domain, or of all."""
        total = BlockSums()
        for name, own in self.wholes.items():
            if domain is None or name == domain:
                total.add(own)
        return total

    def without_domains(self) -> Statistics:
        """The sums of all domains together; histograms and digest are left out."""
        found = Statistics()
        for (_, part, language), cell in self.cells.items():
            found.cell(ALL, part, language).add(cell)
        found.whole(ALL).add(self.total())
        return found

    def of_part(self, part: str, domain: str | None = None) -> BlockSums:
        """The sums over the blocks of a part, of one domain or of all."""
        total = BlockSums()
        for (name, own, _), cell in self.cells.items():
            if own == part and (domain is None or name == domain):
                total.add(cell)
        return total

    def histogram(self, step: int = 0, *, domain: str | None = None) -> Counter[int]:
        """How many documents have how many tokens, after ``step`` rewritings."""
        whole: Counter[int] = Counter()
        for name, steps in self.lengths.items():
            if domain is None or name == domain:
                whole.update(steps[step])
        return whole

    def merge(self, other: Statistics) -> Statistics:
        """The statistics of both corpora together. Further domains than the limit become one."""
        merged = Statistics(text_digest=(self.text_digest + other.text_digest) % (1 << 128))
        names = _kept_domains(self.domains + other.domains)
        for side in (self, other):
            for (domain, part, language), cell in side.cells.items():
                merged.cell(names[domain], part, language).add(cell)
            for domain, own in side.wholes.items():
                merged.whole(names[domain]).add(own)
            for domain, steps in side.lengths.items():
                for mine, theirs in zip(merged.lengths_of(names[domain]), steps, strict=True):
                    mine.update(theirs)
        return merged

    def to_plain(self) -> dict[str, Any]:
        """As JSON values, in one order whatever the order of the documents was."""
        return {
            "text_digest": f"{self.text_digest:032x}",
            "cells": [
                {"domain": domain, "part": part, "language": language, **cell.to_plain()}
                for (domain, part, language), cell in sorted(self.cells.items())
            ],
            "wholes": [
                {"domain": domain, **own.to_plain()} for domain, own in sorted(self.wholes.items())
            ],
            "lengths": [
                {"domain": domain, "steps": _histograms_to_plain(steps)}
                for domain, steps in sorted(self.lengths.items())
            ],
        }

    @classmethod
    def from_plain(cls, plain: Any) -> Statistics:
        """From JSON values.

        Raises:
            FormatError: They are no statistics, or the sums do not agree with one another.
        """
        if not isinstance(plain, Mapping):
            raise FormatError("the baseline has no statistics")
        found = cls()
        try:
            found.text_digest = int(plain["text_digest"], 16) % (1 << 128)
            for entry in plain["cells"]:
                key = (_text(entry["domain"]), _text(entry["part"]), _text(entry["language"]))
                found.cells[key] = BlockSums.from_plain(entry)
            for entry in plain["wholes"]:
                found.wholes[_text(entry["domain"])] = BlockSums.from_plain(entry)
            for entry in plain["lengths"]:
                steps: list[Counter[int]] = []
                for step in entry["steps"]:
                    # A step that changed nothing has no histogram of its own.
                    steps.append(steps[-1].copy() if step is None else _histogram_from_plain(step))
                if len(steps) != _N_TEXTS:
                    raise FormatError(f"the baseline has {len(steps)} histograms for a domain")
                found.lengths[_text(entry["domain"])] = steps
        except (KeyError, TypeError, ValueError, AttributeError, IndexError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(f"the statistics of the baseline are damaged: {error!r}") from None
        whole = found.total()
        histogram = found.histogram()
        if histogram.total() != whole.n:
            raise FormatError(
                f"the baseline counts {whole.n} documents in its sums and "
                f"{histogram.total()} in its histograms; expected the same number"
            )
        if sum(length * n for length, n in histogram.items()) != whole.n_tokens[0]:
            raise FormatError("the histograms of the baseline do not give its number of tokens")
        return found


def _kept_domains(domains: Iterable[str]) -> dict[str, str]:
    """Every domain's name after the limit: the first in the alphabet keep theirs."""
    names = sorted(set(domains) - {OTHER_DOMAINS})
    kept = set(names if len(names) <= MAX_DOMAINS else names[: MAX_DOMAINS - 1])
    return {name: name if name in kept else OTHER_DOMAINS for name in [*names, OTHER_DOMAINS]}


def _histograms_to_plain(steps: list[Counter[int]]) -> list[list[list[int]] | None]:
    return [
        None if i and step == steps[i - 1] else _histogram_to_plain(step)
        for i, step in enumerate(steps)
    ]


def _histogram_to_plain(histogram: Counter[int]) -> list[list[int]]:
    lengths = sorted(histogram)
    return [lengths, [histogram[length] for length in lengths]]


def _histogram_from_plain(plain: Any) -> Counter[int]:
    lengths, documents = plain
    values = counts(documents, len(counts(lengths)))
    if any(a >= b for a, b in pairwise(lengths)):
        raise FormatError("the lengths of a histogram of the baseline do not ascend")
    return Counter(dict(zip(lengths, values, strict=True)))


def _text(value: Any) -> str:
    if not isinstance(value, str):
        raise FormatError(f"the baseline holds {value!r} where a name should be")
    return value
