"""``"bpe"``: byte-level BPE, and the options that it shares with what is made of it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from jeton._core import BpeOptions as CoreBpeOptions
from jeton._core import PretokenCounts, Tokenizer, train_bpe_with
from jeton.errors import UsageError
from jeton.training.algorithms.base import Algorithm, Learning, check_at_least, pattern_counts
from jeton.training.settings import DEFAULT_SPECIAL_TOKENS, TrainSettings


@dataclass(frozen=True, slots=True, kw_only=True)
class BpeOptions:
    """Options of byte-level BPE besides the shared settings.

    Attributes:
        forced_tokens: Tokens that the vocabulary must have, as text. They are completed at the end
            and change nothing of what the text teaches; the parts they are made of take places too.
        forbidden_tokens: Tokens that must not be made, and so nothing that would be made of them.
        max_alphabet: Learn from this many of the most frequent characters only; the others stay
            bytes. None: from all.
    """

    forced_tokens: Sequence[str] = ()
    forbidden_tokens: Sequence[str] = ()
    max_alphabet: int | None = None

    def check(self, settings: TrainSettings) -> None:
        """Raise ``UsageError`` for what cannot be meant."""
        for name in ("forced_tokens", "forbidden_tokens"):
            tokens = getattr(self, name)
            if isinstance(tokens, str) or not all(isinstance(token, str) for token in tokens):
                raise UsageError(f"{name} is {tokens!r}; expected a list of strings")
        if self.max_alphabet is not None:
            check_at_least("max_alphabet", self.max_alphabet, 0)


def core_options(
    settings: TrainSettings, options: BpeOptions, *, merges: Sequence[tuple[int, int]] = ()
) -> CoreBpeOptions:
    """Settings and options as the core takes them; ``merges``: to go on from."""
    return CoreBpeOptions(
        vocab_size=settings.vocab_size,
        min_frequency=settings.min_frequency,
        special_tokens=settings.special_tokens,
        max_token_bytes=settings.max_token_bytes,
        tie_rule=settings.tie_rule,
        forced_tokens=[token.encode() for token in options.forced_tokens],
        forbidden_tokens=[token.encode() for token in options.forbidden_tokens],
        max_alphabet=options.max_alphabet,
        resume=merges,
    )


def check_forced(tokenizer: Tokenizer, options: BpeOptions) -> Tokenizer:
    """The tokenizer, if each forced token is one token of it.

    Raises:
        UsageError: The pattern cuts one, so that no text can ever become it.
    """
    for token in options.forced_tokens:
        if len(tokenizer.encode(token)) != 1:
            raise UsageError(
                f"the forced token {token!r} can never be one token: the split pattern cuts it\n"
                "hint: leave it out, make it a special token, or choose another pattern"
            )
    return tokenizer


def _learn(counts: PretokenCounts, settings: TrainSettings, learning: Learning) -> Tokenizer:
    options: BpeOptions = settings.read_options()
    tokenizer = train_bpe_with(
        counts,
        options=core_options(settings, options, merges=learning.merges),
        on_progress=learning.report("merge"),
        on_interrupt=learning.on_interrupt,
        name=learning.name,
    )
    return check_forced(tokenizer, options)


ALGORITHMS = {
    "bpe": Algorithm(
        name="bpe",
        summary="byte-level BPE",
        takes=frozenset(
            {
                "pattern",
                "rules",
                "segmenter",
                "indents",
                "normalizer",
                "min_frequency",
                "max_token_bytes",
                "tie_rule",
            }
        ),
        special_tokens=DEFAULT_SPECIAL_TOKENS,
        options=BpeOptions,
        new_counts=pattern_counts,
        learn=_learn,
    )
}
