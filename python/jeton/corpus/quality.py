"""Filters for text of low quality, each rule with its origin, and how many documents it took.

A filter is a list of rules; a document that breaks one is left out. The sets that papers published
are here by name; they were made for English web pages, so look at what they take of yours
(``QualityFilter.n_broken``) before you believe them. The figures are computed by the core in one
pass (docs/guides/corpora.md says what each is); the rules are comparisons.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, quality_figures, text_quality
from jeton._nearest import nearest
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
