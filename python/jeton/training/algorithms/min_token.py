"""``"min-token-unigram"``: the vocabulary with which text needs fewest tokens.

Words are cut into as few tokens as can be, and the tokens that are missed least are taken out of
many candidates (PathPiece, arXiv:2402.18376; MinGram, arXiv:2606.27019). Saved as a Unigram model
on bytes, whose scores are whole numbers, so that other libraries cannot but give the same ids.
"""

from __future__ import annotations

from dataclasses import dataclass

from jeton._core import PretokenCounts, Tokenizer, train_fewest_tokens
from jeton.errors import UsageError
from jeton.training.algorithms.base import Algorithm, Learning, check_at_least, pattern_counts
from jeton.training.algorithms.bpe import BpeOptions, check_forced, core_options
from jeton.training.settings import DEFAULT_SPECIAL_TOKENS, TrainSettings

_MOST_CANDIDATES_PER_TOKEN = 100
"""Beyond that candidates are strings that occur once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MinTokenOptions(BpeOptions):
    """Options besides the shared settings and those of BPE, which finds candidates.

    Attributes:
        seed_factor: Candidates for each token wanted. On held-out text of four corpora 1.5 was the
            best of 1.1 to 3.
        shrinking_factor: Share of the tokens that a round of taking out keeps.
        min_saving: Tokens that the text would need more without any one token; those that save
            less go, even if there are then fewer than ``vocab_size``. 0: none goes for that.
    """

    seed_factor: float = 1.5
    shrinking_factor: float = 0.9
    min_saving: int = 0

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant."""
        BpeOptions.check(self, settings)
        check_at_least("seed_factor", self.seed_factor, 1)
        if self.seed_factor > _MOST_CANDIDATES_PER_TOKEN:
            raise UsageError(
                f"seed_factor is {self.seed_factor}; it should be at most "
                f"{_MOST_CANDIDATES_PER_TOKEN}"
            )
        check_at_least("shrinking_factor", self.shrinking_factor, 0)
        if self.shrinking_factor > 0.999:
            raise UsageError(
                f"shrinking_factor is {self.shrinking_factor}; it should be at most 0.999, or "
                "taking out would never end"
            )
        check_at_least("min_saving", self.min_saving, 0)


def _learn(counts: PretokenCounts, settings: TrainSettings, learning: Learning) -> Tokenizer:
    options: MinTokenOptions = settings.read_options()
    trained = train_fewest_tokens(
        counts,
        options=core_options(settings, options),
        seed_per_mille=round(options.seed_factor * 1000),
        shrinking_per_mille=round(options.shrinking_factor * 1000),
        min_saving=options.min_saving,
        num_threads=learning.num_threads,
        on_progress=learning.report("merge"),
        name=learning.name,
    )
    learning.facts["n_training_tokens"] = trained.n_tokens
    return check_forced(trained.tokenizer, options)


ALGORITHMS = {
    "min-token-unigram": Algorithm(
        name="min-token-unigram",
        summary="a Unigram model on bytes with which text needs fewest tokens",
        takes=frozenset({"pattern", "normalizer", "min_frequency", "max_token_bytes", "tie_rule"}),
        special_tokens=DEFAULT_SPECIAL_TOKENS,
        options=MinTokenOptions,
        new_counts=pattern_counts,
        learn=_learn,
    )
}
