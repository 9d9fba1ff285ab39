r"""``"superbpe"``: byte-level BPE whose later tokens may be several words.

Text is cut into phrases, within which tokens may span words, and phrases into words by the split
pattern. Merges are learned from words until the vocabulary has ``transition_size`` tokens, then
across the ends of words (SuperBPE: Liu et al. 2025, arXiv:2503.13423). The tokenizer that comes out
has one split, that into phrases, and one list of merges: any library that reads ``tokenizer.json``
gives the same ids.
"""

from __future__ import annotations

from dataclasses import dataclass
from types import MappingProxyType

from jeton._core import PretokenCounts, Tokenizer, train_superwords
from jeton.errors import UsageError
from jeton.training.algorithms.base import (
    Algorithm,
    Learning,
    check_at_least,
    check_choice,
    pattern_counts,
)
from jeton.training.algorithms.bpe import BpeOptions, check_forced, core_options
from jeton.training.settings import DEFAULT_SPECIAL_TOKENS, TrainSettings

PHRASE_PATTERNS = MappingProxyType(
    {
        "sentence": r"\p{N}{1,3}|[^\r\n\p{N}.!?]+[.!?]*[\r\n]*|[.!?]+[\r\n]*|[\r\n]+",
        "line": r"\p{N}{1,3}|[^\r\n\p{N}]+[\r\n]*|[\r\n]+",
        "words": (
            r"[^\r\n\p{L}\p{N}]?\p{L}+(?: \p{L}+)*|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*"
            r"|\s*[\r\n]+|\s+(?!\S)|\s+"
        ),
    }
)
"""Spans of a token, by name. All leave numbers alone (groups of three digits) and end at the end of
a line. ``"sentence"``: words and punctuation up to a full stop, exclamation or question mark;
``"line"``: these marks too; ``"words"``: words with single spaces between, no punctuation."""


@dataclass(frozen=True, slots=True, kw_only=True)
class SuperBpeOptions(BpeOptions):
    """Options of superword BPE besides the shared settings, of which ``pattern`` cuts words.

    Attributes:
        phrases: Span of a token: a name from ``PHRASE_PATTERNS`` or a regular expression, whose
            matches are phrases.
        transition_size: Tokens at which merges begin to cross the ends of words, special tokens and
            bytes included. None: half of ``vocab_size``, the best of 6k to 48k for 64k on
            held-out medical and legal text.
        max_words: Most words of a token. On the same texts 4 save as much as 6 do, 2 save less.
        whole_words: Learn superwords from sequences of whole words only (arXiv:2604.05192): no
            superword from the beginning of a longer word; about as much memory.
    """

    phrases: str = "sentence"
    transition_size: int | None = None
    max_words: int = 4
    whole_words: bool = False

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant."""
        # Not super(): slots make the class anew, and super() would mean the old one.
        BpeOptions.check(self, settings)
        check_at_least("max_words", self.max_words, 1)
        if self.transition_size is not None:
            check_at_least("transition_size", self.transition_size, 1)
            if self.transition_size > settings.vocab_size:
                raise UsageError(
                    f"transition_size is {self.transition_size}; it should be at most the "
                    f"vocab_size {settings.vocab_size}"
                )
        if self.phrases.replace("_", "").replace("-", "").isalnum():
            check_choice("phrases", self.phrases, tuple(PHRASE_PATTERNS))

    @property
    def phrase_pattern(self) -> str:
        """The pattern that cuts phrases."""
        return PHRASE_PATTERNS.get(self.phrases, self.phrases)

    def size_at_transition(self, settings: TrainSettings) -> int:
        """Tokens at which merges begin to cross the ends of words."""
        if self.transition_size is not None:
            return self.transition_size
        n_bytes_and_special = 256 + len(settings.special_tokens)
        return min(max(settings.vocab_size // 2, n_bytes_and_special), settings.vocab_size)


def _new_counts(settings: TrainSettings) -> PretokenCounts:
    options: SuperBpeOptions = settings.read_options()
    return pattern_counts(settings, pattern=options.phrase_pattern)


def _learn(counts: PretokenCounts, settings: TrainSettings, learning: Learning) -> Tokenizer:
    options: SuperBpeOptions = settings.read_options()
    trained = train_superwords(
        counts,
        options=core_options(settings, options, merges=learning.merges),
        word_pattern=settings.pattern,
        transition_size=options.size_at_transition(settings),
        max_words=options.max_words,
        whole_words=options.whole_words,
        num_threads=learning.num_threads,
        on_progress=learning.report("merge"),
        on_interrupt=learning.on_interrupt,
        name=learning.name,
    )
    return check_forced(trained.tokenizer, options)


ALGORITHMS = {
    "superbpe": Algorithm(
        name="superbpe",
        summary="byte-level BPE with tokens of several words",
        takes=frozenset(
            {"pattern", "normalizer", "indents", "min_frequency", "max_token_bytes", "tie_rule"}
        ),
        special_tokens=DEFAULT_SPECIAL_TOKENS,
        options=SuperBpeOptions,
        new_counts=_new_counts,
        learn=_learn,
    )
}
