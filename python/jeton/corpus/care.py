"""Care of documents before they count: quality, copies, hold-out, weights.

In this order: a document of low quality stands for no other, and copies are gone before anything
is held out. Everything depends on documents and settings only, in the order of the inputs.

Filters for text of low quality, each rule with its origin, and how many documents it took.

A filter is a list of rules; a document that breaks one is left out. The sets that papers published
are here by name; they were made for English web pages, so look at what they take of yours
(``QualityFilter.n_broken``) before you believe them. The figures are computed by the core in one
pass (docs/guides/corpora.md says what each is); the rules are comparisons.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field
from fractions import Fraction
from typing import Any, Final

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, quality_figures, text_quality
from jeton._nearest import nearest
from jeton.corpus.dedup import Deduplicator, NearDuplicateSettings
from jeton.corpus.holdout import BETWEEN, HELD_OUT, TRAINED, HoldOut, HoldOutSplit
from jeton.corpus.inputs import InputFile
from jeton.corpus.weights import integer_weights, weight_of_file
from jeton.errors import UsageError

_GOPHER = "Rae et al. 2021 (Gopher, arXiv:2112.11446), appendix A1.1, quality filtering"
_GOPHER_REPETITION = "Rae et al. 2021 (Gopher, arXiv:2112.11446), table A1, repetition removal"
_C4 = "Raffel et al. 2020 (T5 and C4, arXiv:1910.10683), section 2.2"


@dataclass(frozen=True, slots=True, kw_only=True)
class Rule:
    """A figure that has to stay within bounds.

    Attributes:
        name: Name in counts.
        figure: The figure, one of ``quality_figures()`` of the core.
        at_least: Less is too little; None: no bound.
        at_most: More is too much; None: no bound.
        origin: Publisher and place.
    """

    name: str
    figure: str
    at_least: float | None = None
    at_most: float | None = None
    origin: str = ""


def _repetition(figure: str, at_most: float) -> Rule:
    return Rule(name=figure, figure=figure, at_most=at_most, origin=_GOPHER_REPETITION)


RULE_SETS: Final[dict[str, tuple[Rule, ...]]] = {
    "gopher": (
        Rule(name="words", figure="n_words", at_least=50, at_most=100_000, origin=_GOPHER),
        Rule(name="mean_word", figure="mean_word_chars", at_least=3, at_most=10, origin=_GOPHER),
        Rule(name="hashes", figure="hashes_per_word", at_most=0.1, origin=_GOPHER),
        Rule(name="ellipses", figure="ellipses_per_word", at_most=0.1, origin=_GOPHER),
        Rule(name="bullet_lines", figure="bullet_lines", at_most=0.9, origin=_GOPHER),
        Rule(name="ellipsis_lines", figure="ellipsis_lines", at_most=0.3, origin=_GOPHER),
        Rule(name="alphabetic", figure="alphabetic_words", at_least=0.8, origin=_GOPHER),
        Rule(name="stop_words", figure="n_stop_words", at_least=2, origin=_GOPHER),
    ),
    "gopher-repetition": (
        _repetition("duplicate_lines", 0.30),
        _repetition("duplicate_paragraphs", 0.30),
        _repetition("duplicate_line_chars", 0.20),
        _repetition("duplicate_paragraph_chars", 0.20),
        _repetition("top_2_gram_chars", 0.20),
        _repetition("top_3_gram_chars", 0.18),
        _repetition("top_4_gram_chars", 0.16),
        _repetition("duplicate_5_gram_chars", 0.15),
        _repetition("duplicate_6_gram_chars", 0.14),
        _repetition("duplicate_7_gram_chars", 0.13),
        _repetition("duplicate_8_gram_chars", 0.12),
        _repetition("duplicate_9_gram_chars", 0.11),
        _repetition("duplicate_10_gram_chars", 0.10),
    ),
    "c4": (
        Rule(name="sentences", figure="n_sentences", at_least=3, origin=_C4),
        Rule(name="curly_brackets", figure="n_curly_brackets", at_most=0, origin=_C4),
        Rule(name="lorem_ipsum", figure="n_lorem_ipsum", at_most=0, origin=_C4),
    ),
}
"""Published rules by name. C4 has only the rules on whole pages here: its rules on lines rewrite
documents. They count ``{`` and ``}``; C4 looks at ``{`` alone."""


class QualityFilter:
    """Keeps documents that break no rule, and counts what each rule took."""

    def __init__(self, rules: Sequence[str | Rule]) -> None:
        """A filter of rules and of rule sets by name.

        Raises:
            UsageError: There is no set or figure of that name.
        """
        figures = {name: index for index, name in enumerate(quality_figures())}
        self.rules: tuple[Rule, ...] = tuple(rule for item in rules for rule in _rules(item))
        """All rules, in order."""
        for rule in self.rules:
            if rule.figure not in figures:
                offered = nearest(rule.figure, figures) or tuple(figures)
                raise UsageError(
                    f"no figure is called {rule.figure!r}; the nearest are {', '.join(offered)}"
                )
        self._columns = [figures[rule.figure] for rule in self.rules]
        self.n_broken = dict.fromkeys((rule.name for rule in self.rules), 0)
        """Documents that broke each rule; one may break several."""
        self.n_left_out = 0
        """Documents that broke any."""

    def keep(
        self,
        batch: TextBatch,
        *,
        among: NDArray[np.bool_] | None = None,
        num_threads: int | None = None,
    ) -> NDArray[np.bool_]:
        """Which documents of a batch to keep: bool (n_documents,); ``among`` limits all counts."""
        kept = np.ones(len(batch), dtype=np.bool_) if among is None else among.copy()
        if not self.rules:
            return kept
        figures = text_quality(batch, num_threads=num_threads)
        looked_at = kept.copy()
        for rule, column in zip(self.rules, self._columns, strict=True):
            values = figures[:, column]
            broken = np.zeros(len(batch), dtype=np.bool_)
            if rule.at_least is not None:
                broken |= values < rule.at_least
            if rule.at_most is not None:
                broken |= values > rule.at_most
            self.n_broken[rule.name] += int((broken & looked_at).sum())
            kept &= ~broken
        self.n_left_out += int(looked_at.sum() - kept.sum())
        return kept


def _rules(item: str | Rule) -> tuple[Rule, ...]:
    if isinstance(item, Rule):
        return (item,)
    found = RULE_SETS.get(item)
    if found is None:
        raise UsageError(
            f"no quality rules are called {item!r}; expected one of {', '.join(RULE_SETS)}"
        )
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class CorpusCare:
    """How to care for a corpus; by default nothing is changed.

    Attributes:
        weights: By name (a path, a file's or folder's name, a glob): how much documents count.
        temperature: Balance sources by their size instead; see ``balanced_weights``.
        exact_duplicates: Leave out copies of documents.
        near_duplicates: Leave out what is nearly alike; None: do not look.
        quality: Rules, or names of published sets (``jeton.corpus.care.RULE_SETS``).
        holdout: Keep documents apart; None: train on all.
    """

    weights: Mapping[str, Fraction] = field(default_factory=dict)
    temperature: float | None = None
    exact_duplicates: bool = False
    near_duplicates: NearDuplicateSettings | None = None
    quality: Sequence[str | Rule] = ()
    holdout: HoldOut | None = None

    def __post_init__(self) -> None:
        if self.weights and self.temperature is not None:
            raise UsageError(
                "weights and temperature contradict one another\n"
                "hint: a temperature makes the weights by itself"
            )

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "weights": {name: str(weight) for name, weight in self.weights.items()},
            "temperature": None if self.temperature is None else str(self.temperature),
            "exact_duplicates": self.exact_duplicates,
            "near_duplicates": asdict(self.near_duplicates) if self.near_duplicates else None,
            "quality": [r if isinstance(r, str) else asdict(r) for r in self.quality],
            "holdout": asdict(self.holdout) if self.holdout else None,
        }

    @classmethod
    def from_dict(cls, values: Mapping[str, Any]) -> CorpusCare:
        """The care that ``to_dict`` told of."""
        near, held, temperature = (
            values.get(k) for k in ("near_duplicates", "holdout", "temperature")
        )
        held = dict(held) if held else None
        if held and held.get("near"):
            held["near"] = NearDuplicateSettings(**held["near"])
        return cls(
            weights={name: Fraction(weight) for name, weight in values.get("weights", {}).items()},
            temperature=None if temperature is None else float(temperature),
            exact_duplicates=bool(values.get("exact_duplicates")),
            near_duplicates=NearDuplicateSettings(**near) if near else None,
            quality=[r if isinstance(r, str) else Rule(**r) for r in values.get("quality", ())],
            holdout=HoldOut(**held) if held else None,
        )


@dataclass(frozen=True, slots=True)
class CareTally:
    """Documents left out.

    Attributes:
        n_low_quality: Broke a rule of quality.
        n_broken: By rule; one document may break several.
        n_exact_duplicates: Copies of earlier documents.
        n_near_duplicates: Nearly alike to earlier documents.
        n_held_out: Kept apart.
        n_between: Nearly alike to documents on both sides.
        n_weightless: Documents of sources with the weight 0.
    """

    n_low_quality: int = 0
    n_broken: Mapping[str, int] = field(default_factory=dict)
    n_exact_duplicates: int = 0
    n_near_duplicates: int = 0
    n_held_out: int = 0
    n_between: int = 0
    n_weightless: int = 0

    @property
    def n_left_out(self) -> int:
        """Documents that did not count."""
        return (
            self.n_low_quality
            + self.n_exact_duplicates
            + self.n_near_duplicates
            + self.n_held_out
            + self.n_between
            + self.n_weightless
        )

    def why_nothing_is_left(self, n_documents: int) -> str:
        """A message for a corpus of which no text is left, with the cause and what helps."""
        causes = [
            (self.n_held_out, "held out", "keep less apart (--hold-out), or add documents"),
            (self.n_between, "nearly alike to documents on both sides", "add other documents"),
            (self.n_low_quality, "of low quality", "leave out a rule (--quality)"),
            (self.n_weightless, "of weight 0", "give a weight above 0 (--weight)"),
            (self.n_exact_duplicates, "copies of others", "add other documents"),
            (self.n_near_duplicates, "nearly alike to others", "add other documents"),
        ]
        empty = n_documents - self.n_left_out
        causes.append((empty, "empty for this algorithm", "give documents that hold text"))
        found = sorted((cause for cause in causes if cause[0] > 0), key=lambda cause: -cause[0])
        told = ", ".join(f"{number:,} {words}" for number, words, _ in found)
        documents = "1 document" if n_documents == 1 else f"{n_documents:,} documents"
        hint = found[0][2] if found else "give text"
        return f"no text is left to train on: of {documents}, {told}\nhint: {hint}"

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**asdict(self), "n_broken": dict(self.n_broken), "n_left_out": self.n_left_out}


@dataclass(frozen=True, slots=True, eq=False)
class CaredBatch:
    """One batch after care.

    Attributes:
        weights: uint64 (n_documents,), how often each document counts; 0 leaves it out.
        held_out: bool (n_documents,), which are kept apart.
    """

    weights: NDArray[np.uint64]
    held_out: NDArray[np.bool_]


class CorpusCarer:
    """Cares for a corpus, batch by batch, in order."""

    def __init__(
        self,
        care: CorpusCare,
        files: Sequence[InputFile],
        *,
        balanced: Mapping[str, Fraction] | None = None,
    ) -> None:
        """Begin with the files that there are; ``balanced``: their weights by path, if known.

        Raises:
            UsageError: A weight matches no file, or several that differ match one.
        """
        self._deduplicator = Deduplicator(exact=care.exact_duplicates, near=care.near_duplicates)
        self._looks_for_copies = care.exact_duplicates or care.near_duplicates is not None
        self._quality = QualityFilter(care.quality)
        self._split = HoldOutSplit(care.holdout) if care.holdout is not None else None
        self._n_weightless = 0
        matched = {file.path: weight_of_file(file, care.weights) for file in files}
        used = {name for names, _ in matched.values() for name in names}
        for name in care.weights:
            if name not in used:
                raise UsageError(
                    f"the weight of {name!r} matches no input\n"
                    "hint: a name is a path, the name of a file or folder, or a glob of one"
                )
        self.weights: dict[str, Fraction] = {path: weight for path, (_, weight) in matched.items()}
        self.weights.update(balanced or {})
        """By path: how much its documents count."""
        integer_weights(self.weights)  # refuses weights of which all are 0
        self._whole, self.unit = integer_weights({**self.weights, "": Fraction(1)})
        """A document of weight 1 counts ``unit`` times."""

    def care(
        self, file: InputFile, batch: TextBatch, *, num_threads: int | None = None
    ) -> CaredBatch:
        """Return the documents of a batch with their care."""
        weight = self._whole.get(file.path, self.unit)
        held_out = np.zeros(len(batch), dtype=np.bool_)
        if not weight:
            self._n_weightless += len(batch)
            return CaredBatch(np.zeros(len(batch), dtype=np.uint64), held_out)
        kept = self._quality.keep(batch, num_threads=num_threads)
        if self._looks_for_copies:
            kept = self._deduplicator.keep(batch, among=kept, num_threads=num_threads)
        if self._split is not None:
            sides = self._split.sides(batch, source=file.path, among=kept, num_threads=num_threads)
            held_out = kept & (sides == HELD_OUT)
            kept = kept & (sides == TRAINED)
        return CaredBatch(kept * np.uint64(weight), held_out)

    def tally(self) -> CareTally:
        """Documents left out so far."""
        split = self._split.n_documents if self._split is not None else {}
        return CareTally(
            n_low_quality=self._quality.n_left_out,
            n_broken=dict(self._quality.n_broken),
            n_exact_duplicates=self._deduplicator.n_exact_duplicates,
            n_near_duplicates=self._deduplicator.n_near_duplicates,
            n_held_out=split.get(HELD_OUT, 0),
            n_between=split.get(BETWEEN, 0),
            n_weightless=self._n_weightless,
        )
