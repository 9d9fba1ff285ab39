"""Continuing a tokenizer on the text of a domain: more tokens after those that it has.

Old ids keep their meaning. New merges come after all old ones, so an encoder first does what it did
and then only joins: no text needs more tokens than before.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from jeton._core import BpeOptions, Tokenizer, continue_bpe
from jeton.errors import JetonWarning, UsageError
from jeton.progress import OnProgress, Progress
from jeton.registry import TokenizerLike, resolve
from jeton.training.algorithms.base import check_at_least
from jeton.training.counted import CountedCorpus
from jeton.training.counting import count_pretokens, counts_like
from jeton.training.settings import DEFAULT_MIN_FREQUENCY

_N_ON_CARD = 100
"""New tokens that the card lists, the best first; it has the number of all."""


@dataclass(frozen=True, slots=True)
class NewToken:
    """A token that was added.

    Attributes:
        id: Its id; ids follow one another after the last one taken before.
        token_bytes: Its bytes.
        n_saved: Tokens of the text that its merge saved when it was chosen.
        n_uses: How often the text has it now that all merges are made.
        n_old_tokens: Tokens of the old tokenizer that one use replaces.
    """

    id: int
    token_bytes: bytes
    n_saved: int
    n_uses: int
    n_old_tokens: int

    @property
    def n_saved_in_use(self) -> int:
        """Tokens of the text that the uses left to it save, against the old tokenizer."""
        return self.n_uses * (self.n_old_tokens - 1)


@dataclass(frozen=True, slots=True)
class ContinuedTokenizer:
    """Continued tokenizer, and the figures of continuing.

    Tokens are counted as often as their documents weigh, and rounded where weights are fractions.

    Attributes:
        tokenizer: The tokenizer with its new tokens.
        new_tokens: Ranked by tokens saved for the place that each takes, the best first: the order
            of their ids.
        n_tokens_before: Tokens of the text as the old tokenizer cuts it.
        n_tokens_after: Tokens of the text as the new one cuts it.
    """

    tokenizer: Tokenizer
    new_tokens: tuple[NewToken, ...]
    n_tokens_before: int
    n_tokens_after: int

    @property
    def facts(self) -> dict[str, Any]:
        """Plain JSON values for the training card."""
        return {
            "n_new_tokens": len(self.new_tokens),
            "n_tokens_before": self.n_tokens_before,
            "n_tokens_after": self.n_tokens_after,
            "new_tokens": [
                new.token_bytes.decode("utf-8", "backslashreplace")
                for new in self.new_tokens[:_N_ON_CARD]
            ],
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class ContinueSettings:
    """Hyper-parameters of continuing; what cuts the text is the tokenizer's own.

    Attributes:
        vocab_size: Ids of the whole, old and new, special and added tokens included.
        min_frequency: Pairs that occur less often are not merged.
        max_token_bytes: Longest token that is made; None: any.
        tie_rule: As in ``TrainSettings``.
        forbidden_tokens: Tokens that must not be made.
    """

    vocab_size: int
    min_frequency: int = DEFAULT_MIN_FREQUENCY
    max_token_bytes: int | None = None
    tie_rule: Literal["hf", "bytes", "sentencepiece"] = "hf"
    forbidden_tokens: Sequence[str] = ()

    def check(self) -> None:
        """Raise ``UsageError`` for what cannot be meant."""
        check_at_least("vocab_size", self.vocab_size, 1)
        check_at_least("min_frequency", self.min_frequency, 1)
        if self.max_token_bytes is not None:
            check_at_least("max_token_bytes", self.max_token_bytes, 1)
        if isinstance(self.forbidden_tokens, str):
            raise UsageError(
                f"forbidden_tokens is {self.forbidden_tokens!r}; expected a list of strings"
            )

    def to_card(self) -> dict[str, Any]:
        """As plain JSON values, for a training card."""
        return self.to_dict()

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {**asdict(self), "forbidden_tokens": list(self.forbidden_tokens)}


def continue_training(
    inputs: Any,
    *,
    base: TokenizerLike,
    vocab_size: int,
    min_frequency: int = DEFAULT_MIN_FREQUENCY,
    max_token_bytes: int | None = None,
    tie_rule: Literal["hf", "bytes", "sentencepiece"] = "hf",
    forbidden_tokens: Sequence[str] = (),
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    num_threads: int | None = None,
    name: str | None = None,
    on_progress: OnProgress | None = None,
) -> ContinuedTokenizer:
    """Add tokens to a byte-level BPE tokenizer, learned from text.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts, as ``train`` takes them.
        base: The tokenizer to continue: its name, its path, or an object, which stays as it is.
        vocab_size: Ids of the whole, old and new, special and added tokens included.
        min_frequency: Pairs that occur less often are not merged.
        max_token_bytes: Longest token that is made; None: any.
        tie_rule: As in ``train``.
        forbidden_tokens: Tokens that must not be made.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        num_threads: Threads that count; None: all there are. Does not change the result.
        name: Name of the new tokenizer.
        on_progress: Called now and then, first with stage ``"count"``, then ``"merge"``.

    Warns:
        JetonWarning: The text is not enough for a vocabulary of the size asked.

    Raises:
        TrainingError: ``base`` is not byte-level BPE, or has as many ids already.
        EmptyCorpusError: There is no text.
        UsageError: Arguments that cannot be meant.

    Example:
        >>> import jeton
        >>> base = jeton.train(iter(["low lower lowest"] * 9), vocab_size=261)
        >>> more = continue_training(iter(["lowest slowest"] * 9), base=base, vocab_size=263)
        >>> [new.token_bytes for new in more.new_tokens], more.n_tokens_before, more.n_tokens_after
        ([b'lowe', b'st'], 81, 45)
    """
    settings = ContinueSettings(
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        max_token_bytes=max_token_bytes,
        tie_rule=tie_rule,
        forbidden_tokens=tuple(forbidden_tokens)
        if not isinstance(forbidden_tokens, str)
        else forbidden_tokens,
    )
    settings.check()
    base = resolve(base, argument="base")
    corpus = count_pretokens(
        inputs,
        base=base,
        field=field,
        documents=documents,
        strict=strict,
        num_threads=num_threads,
        on_progress=on_progress,
    )
    return _continue(base, corpus, settings, name, on_progress, stacklevel=3)


def continue_from_counts(
    corpus: CountedCorpus,
    *,
    base: TokenizerLike,
    settings: ContinueSettings,
    name: str | None = None,
    on_progress: OnProgress | None = None,
) -> ContinuedTokenizer:
    """Continue a tokenizer from counts: the part of ``continue_training`` after reading.

    Args:
        corpus: Counts of ``count_pretokens(..., base=base)``, or of files of such counts.
        base: The tokenizer to continue: its name, its path, or an object, which stays as it is.
        settings: Hyper-parameters.
        name: Name of the new tokenizer.
        on_progress: Called now and then with stage ``"merge"``.

    Warns:
        JetonWarning: The text is not enough for a vocabulary of the size asked.

    Raises:
        TrainingError: See ``continue_training``; also counts that do not fit in memory.
        UsageError: The counts were not cut as ``base`` cuts text.
    """
    settings.check()
    base = resolve(base, argument="base")
    return _continue(base, corpus, settings, name, on_progress, stacklevel=3)


def _continue(
    base: Tokenizer,
    corpus: CountedCorpus,
    settings: ContinueSettings,
    name: str | None,
    on_progress: OnProgress | None,
    *,
    stacklevel: int,
) -> ContinuedTokenizer:
    if corpus.counts.cutting != counts_like(base).cutting:
        raise UsageError(
            "these counts were not cut as the tokenizer to continue cuts text\n"
            "hint: count with that tokenizer (base, --base)"
        )
    unit = corpus.unit
    options = BpeOptions(
        vocab_size=settings.vocab_size,
        # Weights were made whole by the unit: how often is meant in documents of weight 1.
        min_frequency=settings.min_frequency * unit,
        max_token_bytes=settings.max_token_bytes,
        tie_rule=settings.tie_rule,
        forbidden_tokens=[token.encode() for token in settings.forbidden_tokens],
    )

    def on_merge(done: int, total: int) -> None:
        if on_progress is not None:
            on_progress(Progress("merge", done, total, "tokens"))

    continued = continue_bpe(
        corpus.counts, base=base, options=options, on_progress=on_merge, name=name
    )
    tokenizer = continued.tokenizer
    if tokenizer.vocab_size < settings.vocab_size:
        warnings.warn(
            f"the text is enough for {tokenizer.vocab_size:,} tokens only, not for "
            f"vocab_size={settings.vocab_size:,}\n"
            f"hint: continue on more text, or ask for vocab_size={tokenizer.vocab_size}",
            JetonWarning,
            stacklevel=stacklevel,
        )
    return ContinuedTokenizer(
        tokenizer=tokenizer,
        new_tokens=tuple(
            NewToken(
                new.id,
                tokenizer.id_to_bytes(new.id),
                round(new.n_saved / unit),
                round(new.n_uses / unit),
                new.n_old_tokens,
            )
            for new in continued.new_tokens
        ),
        n_tokens_before=round(continued.n_tokens_before / unit),
        n_tokens_after=round(continued.n_tokens_after / unit),
    )
