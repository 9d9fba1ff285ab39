"""``"bpe"``: byte-level BPE."""

from __future__ import annotations

from jeton import _core
from jeton.training.algorithms.base import Algorithm, Learning, NoOptions
from jeton.training.settings import DEFAULT_SPECIAL_TOKENS, TrainSettings

__all__ = ["ALGORITHMS"]


def _new_counts(settings: TrainSettings) -> _core.PretokenCounts:
    return _core.PretokenCounts(pattern=settings.pattern, normalizer=settings.normalizer)


def _learn(
    counts: _core.PretokenCounts, settings: TrainSettings, learning: Learning
) -> _core.Tokenizer:
    return _core.train_bpe(
        counts,
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_frequency,
        special_tokens=settings.special_tokens,
        max_token_bytes=settings.max_token_bytes,
        tie_rule=settings.tie_rule,
        on_progress=learning.report("merge"),
        name=learning.name,
    )


ALGORITHMS = {
    "bpe": Algorithm(
        name="bpe",
        summary="byte-level BPE",
        takes=frozenset({"pattern", "normalizer", "min_frequency", "max_token_bytes", "tie_rule"}),
        special_tokens=DEFAULT_SPECIAL_TOKENS,
        options=NoOptions,
        new_counts=_new_counts,
        learn=_learn,
    )
}
