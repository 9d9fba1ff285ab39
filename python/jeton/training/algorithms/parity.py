"""``"parity-bpe"``: byte-level BPE whose merges go to the language that is worst off.

Foroutan et al. 2025, arXiv:2508.04796. Each step asks which language needs most tokens for a unit
of content and merges the pair that occurs most in its text. The result is a plain list of merges:
any library that reads byte-level BPE gives the same ids.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jeton._core import PretokenCounts, Tokenizer, train_parity_bpe
from jeton.errors import UsageError
from jeton.training.algorithms.base import (
    Algorithm,
    Learning,
    check_at_least,
    check_choice,
    pattern_counts,
)
from jeton.training.algorithms.bpe import BpeOptions, check_forced, core_options
from jeton.training.counted import LanguageCounts
from jeton.training.languages import LanguageSource
from jeton.training.settings import DEFAULT_SPECIAL_TOKENS, TrainSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class ParityOptions(BpeOptions):
    """Options of parity-aware BPE besides the shared settings.

    Attributes:
        language_by: The language of a document is the name of its ``"file"`` or its ``"folder"``.
        language_field: JSONL and Parquet: the field that names the language instead.
        default_language: Language of records without that field; empty: they are an error.
        development: Paths of the text on which each language's cost is measured, with languages in
            the same way. Empty: the text that is learned from.
        units: The unit that makes languages comparable. ``"aligned"``: the development texts are
            translations of one another, so tokens are compared as they are; ``"characters"``,
            ``"bytes"``: tokens for each of these. None: ``"aligned"`` with development text, else
            ``"characters"``.
        global_merges: Merges that are learned from all text first, as plain BPE would (the paper's
            hybrid).
        window: Steps that the choice of a language is remembered (the paper's moving window, 100
            there); 0: none is.
        alpha: Within the window a language is chosen at most so many times as often as its even
            share is, and once more, as the authors' program has it.
    """

    language_by: Literal["file", "folder"] = "file"
    language_field: str = ""
    default_language: str = ""
    development: Sequence[str] = ()
    units: Literal["aligned", "characters", "bytes"] | None = None
    global_merges: int = 0
    window: int = 0
    alpha: float = 2.0

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant."""
        BpeOptions.check(self, settings)
        check_choice("language_by", self.language_by, ("file", "folder"))
        if self.units is not None:
            check_choice("units", self.units, ("aligned", "characters", "bytes"))
        check_at_least("global_merges", self.global_merges, 0)
        check_at_least("window", self.window, 0)
        check_at_least("alpha", self.alpha, 0)
        if isinstance(self.development, str):
            raise UsageError(
                f"development is the string {self.development!r}; expected a list of paths\n"
                f"hint: development='[\"{self.development}\"]'"
            )
        if self.max_alphabet is not None:
            raise UsageError("algorithm 'parity-bpe' does not have max_alphabet")

    def most_in_window(self, n_languages: int) -> int:
        """Most choices of one language within the window."""
        return int(self.alpha * self.window / n_languages) + 1


def _languages(settings: TrainSettings) -> LanguageSource:
    options: ParityOptions = settings.read_options()
    return LanguageSource(
        by=options.language_by,
        field=options.language_field,
        default=options.default_language,
        development=tuple(options.development),
    )


def _units(language: LanguageCounts, units: str) -> int:
    if units == "aligned":
        return 1
    if units == "bytes":
        return language.measured.n_bytes
    table = language.measured.characters()
    return int(table.counts.sum()) + table.n_bad_bytes


def _learn(counts: PretokenCounts, settings: TrainSettings, learning: Learning) -> Tokenizer:
    options: ParityOptions = settings.read_options()
    languages = learning.languages
    if not languages:
        raise UsageError(
            "these counts do not say of which language the text is\n"
            "hint: train from text; with texts in memory, give a mapping from languages to them"
        )
    is_developed = languages[0].development is not None
    units = options.units or ("aligned" if is_developed else "characters")
    if units == "aligned" and not is_developed:
        raise UsageError(
            "units is 'aligned', but there is no development text whose parts are translations of "
            "one another\nhint: give development, or compare by characters"
        )
    n_units = [_units(language, units) for language in languages]
    trained = train_parity_bpe(
        [
            (language.counts, language.development, max(1, n))
            for language, n in zip(languages, n_units, strict=True)
        ],
        options=core_options(settings, options),
        n_global_merges=options.global_merges,
        window=options.window,
        max_in_window=options.most_in_window(len(languages)),
        on_progress=learning.report("merge"),
        name=learning.name,
    )
    learning.facts["units"] = units
    learning.facts["languages"] = [
        {
            "name": language.name,
            "n_documents": language.n_documents,
            "n_bytes": language.n_bytes,
            "n_merges": merges,
            "n_measured_bytes": language.measured.n_bytes,
            "n_measured_tokens": tokens,
            "bytes_per_token": language.measured.n_bytes / tokens if tokens else None,
            "tokens_per_unit": tokens / max(1, n),
        }
        for language, n, merges, tokens in zip(
            languages, n_units, trained.n_merges_of, trained.n_tokens_of, strict=True
        )
    ]
    return check_forced(trained.tokenizer, options)


ALGORITHMS = {
    "parity-bpe": Algorithm(
        name="parity-bpe",
        summary="byte-level BPE whose merges go to the language that is worst off",
        takes=frozenset({"pattern", "normalizer", "min_frequency", "max_token_bytes", "tie_rule"}),
        special_tokens=DEFAULT_SPECIAL_TOKENS,
        options=ParityOptions,
        new_counts=pattern_counts,
        learn=_learn,
        languages=_languages,
    )
}
