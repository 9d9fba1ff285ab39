"""``"trimmed-bpe"``: byte-level BPE without tokens that only lead to others.

A token that is hardly used itself is taken out and further merges take its place. The result is a
plain list of merges and the rule that a pretoken which is a token is not cut (``ignore_merges`` in
``tokenizer.json``, as Llama 3 has it): no id is kept for what went.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton._core import PretokenCounts, Tokenizer, train_trimmed_bpe
from jeton.errors import UsageError
from jeton.training.algorithms.base import Algorithm, Learning, check_at_least, pattern_counts
from jeton.training.algorithms.bpe import BpeOptions, check_forced, core_options
from jeton.training.settings import DEFAULT_SPECIAL_TOKENS, TrainSettings

_SHOWN = 100
"""Tokens taken out that the card lists; it has the number of all."""


@dataclass(frozen=True, slots=True, kw_only=True)
class TrimmedOptions(BpeOptions):
    """Options besides the shared settings and those of BPE.

    Attributes:
        least_use: A token goes if the text uses it less often than this share of what the last
            tokens are made: what its place is worth.
    """

    least_use: float = 0.5

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant."""
        BpeOptions.check(self, settings)
        check_at_least("least_use", self.least_use, 0)
        if self.least_use > 1:
            raise UsageError(
                f"least_use is {self.least_use}; it should be at most 1: above that, what takes a "
                "token's place would be used less than the token"
            )


def _learn(counts: PretokenCounts, settings: TrainSettings, learning: Learning) -> Tokenizer:
    options: TrimmedOptions = settings.read_options()
    trained = train_trimmed_bpe(
        counts,
        options=core_options(settings, options),
        least_use_per_mille=round(options.least_use * 1000),
        num_threads=learning.num_threads,
        on_progress=learning.report("merge"),
        name=learning.name,
    )
    removed = trained.removed
    learning.facts.update(
        n_removed=len(removed),
        n_removed_listed=min(len(removed), _SHOWN),
        removed=[token.decode("utf-8", "backslashreplace") for token in removed[:_SHOWN]],
        n_whole_words_only=trained.n_whole_only,
        n_training_tokens=trained.n_tokens,
        n_training_tokens_plain_bpe=trained.n_plain_tokens,
    )
    return check_forced(trained.tokenizer, options)


ALGORITHMS = {
    "trimmed-bpe": Algorithm(
        name="trimmed-bpe",
        summary="byte-level BPE without tokens that only lead to others",
        takes=frozenset({"pattern", "normalizer", "min_frequency", "max_token_bytes", "tie_rule"}),
        special_tokens=DEFAULT_SPECIAL_TOKENS,
        options=TrimmedOptions,
        new_counts=pattern_counts,
        learn=_learn,
    )
}
