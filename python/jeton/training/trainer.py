"""From text to a tokenizer.

The algorithms are in ``jeton.training.algorithms``. This module has their common parts: counting,
learning, and the message when the text was not enough. The result depends on text and settings
only: not on threads, batches, the order of documents, or the machine.
"""

from __future__ import annotations

import os
import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np

from jeton._core import PretokenCounts, Tokenizer
from jeton.errors import JetonWarning, TrainingError, UsageError
from jeton.pretokenizing.segmenters import Segmenter, find_segmenter, segmented_counts
from jeton.progress import OnProgress
from jeton.training.algorithms.base import Learning
from jeton.training.checkpoints import MergesSoFar, merges_path
from jeton.training.counted import CountedCorpus
from jeton.training.counting import count_pretokens
from jeton.training.languages import count_languages
from jeton.training.settings import (
    DEFAULT_MIN_FREQUENCY,
    DEFAULT_PATTERN,
    DEFAULT_VOCAB_SIZE,
    TrainSettings,
)

# Remarks after training: tokens that text spells, characters that are lost, a text that ends.
#
# Checks of the result, so that they hold for every algorithm alike.

_BY_CHARACTERS = frozenset(
    {
        "unigram",
        "sentencepiece-bpe",
        "sentencepiece-char",
        "char-bpe",
        "wordpiece",
        "wordpiece-likelihood",
        "char",
    }
)
"""Algorithms with an alphabet: a character outside it becomes unknown."""

_N_SHOWN = 10


def check_special_tokens(tokenizer: Tokenizer, settings: TrainSettings) -> None:
    """Refuse a special token that ordinary text becomes.

    Raises:
        TrainingError: Text that spells it gets its id, though nobody allowed special tokens.
    """
    unknown = getattr(settings.read_options(), "unk_token", None)
    for text, number in tokenizer.special_tokens.items():
        if text != unknown and text.isalnum() and number in tokenizer.encode(text):
            raise TrainingError(
                f"the special token {text!r} is a token of ordinary text, which would become it\n"
                "hint: special tokens are strings that ordinary text does not hold, like "
                f"<|{text}|>"
            )


def uncovered_words(tokenizer: Tokenizer, counts: PretokenCounts, settings: TrainSettings) -> str:
    """Which characters of the text are in no token, in words; empty: all are in one, or bytes."""
    options: Any = settings.read_options()
    if settings.algorithm not in _BY_CHARACTERS or getattr(options, "byte_fallback", False):
        return ""
    special = {*tokenizer.special_tokens.values()}
    special |= {
        number
        for name in ("unk_id", "bos_id", "eos_id", "pad_id")
        if (number := getattr(options, name, -1)) >= 0
    }
    known: set[str] = set()
    for number in range(tokenizer.vocab_size):
        if number not in special:
            known.update(tokenizer.id_to_bytes(number).decode("utf-8", "ignore"))
    known |= {" ", "\u2581"}
    table = counts.characters()
    code_points, numbers = table.code_points, table.counts
    lost = np.asarray([chr(point) not in known for point in code_points.tolist()], dtype=np.bool_)
    n_lost = int(lost.sum())
    if not n_lost:
        return ""
    order = np.argsort(-numbers[lost].astype(np.int64), kind="stable")
    shown = " ".join(_shown(chr(point)) for point in code_points[lost][order][:_N_SHOWN].tolist())
    share = float(numbers[lost].sum() / numbers.sum())
    are = "is in no token and becomes" if n_lost == 1 else "are in no token and become"
    characters = "1 character" if n_lost == 1 else f"{n_lost:,} characters"
    is_sentencepiece = hasattr(options, "byte_fallback")
    hint = "character_coverage=1" + (" or byte_fallback=true" if is_sentencepiece else "")
    if getattr(options, "limit_alphabet", None) is not None:
        hint = "a larger limit_alphabet"
    elif settings.algorithm in ("char", "sentencepiece-char"):
        hint = "a larger vocab_size, and " + hint
    return (
        f"{characters} of the text (share {share:.2g}) {are} the unknown "
        f"token: {shown}\nhint: {hint} keeps them (on the command line -O NAME=VALUE)"
    )


def _shown(char: str) -> str:
    """A character as it is, or its escape where it would not be seen."""
    return char if char.isprintable() and not char.isspace() else ascii(char)[1:-1]


def long_words(facts: Mapping[str, Any]) -> str:
    """Sentence on words that were too long to become pieces; empty: none."""
    n_words, n_uses = facts.get("n_long_words", 0), facts.get("n_long_word_uses", 0)
    if not n_words:
        return ""
    words = "1 word" if n_words == 1 else f"{n_words:,} different words"
    times = "once" if n_uses == 1 else f"{n_uses:,} times"
    was = "was" if n_words == 1 else "were"
    return (
        f"{words} of 8,000 bytes or more (counted {times}) {was} left out: a piece may have "
        "7,999 bytes\nhint: take such data (base64, long runs) out of the text"
    )


def size_words(n_tokens: int, settings: TrainSettings) -> str:
    """Why a vocabulary is smaller than was asked for, and what to do about it."""
    options: Any = settings.read_options()
    causes = []
    if settings.min_frequency > 1:
        causes.append(f"min_frequency={settings.min_frequency}")
    if settings.max_token_bytes is not None:
        causes.append(f"max_token_bytes={settings.max_token_bytes}")
    for name in ("max_token_length", "limit_alphabet", "max_alphabet"):
        if getattr(options, name, None) is not None:
            causes.append(f"{name}={getattr(options, name)}")
    if getattr(options, "forbidden_tokens", ()):
        causes.append("forbidden_tokens")
    with_these = f" with {' and '.join(causes)}" if causes else ""
    better = f"relax {' and '.join(causes)}, or train" if causes else "train"
    return (
        f"the text is enough for {n_tokens:,} tokens only{with_these}, not for "
        f"vocab_size={settings.vocab_size:,}\n"
        f"hint: {better} on more text, or ask for vocab_size={n_tokens}"
    )


@dataclass(frozen=True, slots=True)
class Learned:
    """A tokenizer, and what the algorithm has to say of how it was learned.

    Attributes:
        tokenizer: The tokenizer.
        facts: Plain JSON values for the training card: languages and what they pay, tokens that
            were taken out ... Empty for most algorithms.
    """

    tokenizer: Tokenizer
    facts: Mapping[str, Any]


def train(
    inputs: Any,
    *,
    algorithm: str = "bpe",
    vocab_size: int = DEFAULT_VOCAB_SIZE,
    min_frequency: int = DEFAULT_MIN_FREQUENCY,
    pattern: str = DEFAULT_PATTERN,
    rules: Sequence[str] = (),
    segmenter: str | Segmenter | None = None,
    indents: bool = False,
    special_tokens: Sequence[str] | None = None,
    max_token_bytes: int | None = None,
    tie_rule: Literal["hf", "bytes", "sentencepiece"] = "hf",
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    seed: int = 0,
    strict: bool = False,
    num_threads: int | None = None,
    normalizer: str | Sequence[str] | None = None,
    name: str | None = None,
    on_progress: OnProgress | None = None,
    **options: Any,
) -> Tokenizer:
    """Train a tokenizer.

    Args:
        inputs: Paths, folders, globs, ``"-"`` for standard input, or an iterable of texts. A list
            of ``str`` is paths: for texts pass ``iter(texts)``. For ``"parity-bpe"`` also a mapping
            from languages to these.
        algorithm: One of ``ALGORITHMS``; ``"bpe"``: byte-level BPE.
        vocab_size: Tokens wanted, special tokens (and the 256 bytes, if there are some) included.
        min_frequency: Least occurrences of a token.
        pattern: Split pattern: the name of a published one, ``"code"``, or a regular expression.
        rules: Names from ``jeton.pretokenizing.RULES``: what is cut out before the pattern cuts,
            such as URLs or single digits.
        segmenter: Cuts pretokens further before they count, so that no token crosses the end of a
            word or morpheme: ``"jieba"``, ``"morphemes:FILE"``, ``"morfessor"`` ..., or a function
            from a pretoken to its parts.
        indents: Learn from source whose indentation became tokens, for
            ``jeton.pretokenizing.IndentationTokenizer``.
        special_tokens: Take the ids 0, 1 ... in this order; text never becomes one unless allowed.
            None: those usual with the algorithm.
        max_token_bytes: Longest token that is made; None: any.
        tie_rule: Rule for two pairs with equal counts. ``"hf"`` merges the one with the lower ids
            first, as the ``tokenizers`` library does. ``"bytes"`` merges the one whose bytes come
            first. ``"sentencepiece"`` merges the one with fewer characters, then whose bytes come
            first.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        seed: Reserved for algorithms that sample; those there are do not.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        num_threads: Threads; None: all there are. Does not change the result.
        normalizer: Names from ``jeton.pretokenizing.NORMALIZERS``, one or several: what is done to
            text before it is cut, in training and in use: ``"nfc"``, ``"arabic-diacritics"`` ...
        name: Name of the tokenizer.
        on_progress: Called now and then, first with stage ``"count"``, then with that of learning.
        **options: What only this algorithm has: the fields of its options.

    Raises:
        EmptyCorpusError: There is no text.
        TrainingError: The vocabulary has no room for what it must hold, a special token is given
            twice ...
        UsageError: Arguments that cannot be meant.
        CorpusError: Or what else ``jeton.corpus.open_documents`` raises.

    Example:
        >>> texts = ["low lower lowest"] * 9
        >>> tok = train(iter(texts), vocab_size=261, special_tokens=())
        >>> [tok.id_to_bytes(id) for id in tok.encode(" lowest")]
        [b' lowe', b'st']
    """
    settings = TrainSettings(
        algorithm=algorithm,
        vocab_size=vocab_size,
        min_frequency=min_frequency,
        pattern=pattern,
        rules=rules,
        segmenter=segmenter,
        indents=indents,
        normalizer=normalizer,
        special_tokens=special_tokens,  # type: ignore[arg-type]  # None: the algorithm's own
        max_token_bytes=max_token_bytes,
        tie_rule=tie_rule,
        seed=seed,
        options=options,
    )
    if isinstance(inputs, Mapping):
        corpus = count_languages(
            inputs,
            settings=settings,
            field=field,
            documents=documents,
            strict=strict,
            num_threads=num_threads,
        )
    else:
        corpus = count_pretokens(
            inputs,
            settings=settings,
            field=field,
            documents=documents,
            strict=strict,
            num_threads=num_threads,
            on_progress=on_progress,
        )
    return train_from_counts(
        corpus, settings=settings, name=name, num_threads=num_threads, on_progress=on_progress
    )


def train_from_counts(
    corpus: CountedCorpus,
    *,
    settings: TrainSettings,
    name: str | None = None,
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> Tokenizer:
    """Train on counts: what ``train`` does after reading. Counts may be used again.

    Args:
        corpus: Result of ``count_pretokens`` for settings that cut text in this way.
        settings: Hyper-parameters.
        name: Name of the tokenizer.
        num_threads: Threads; None: all there are. Does not change the result.
        on_progress: Called now and then with the stage of learning.

    Warns:
        JetonWarning: The text is not enough for a vocabulary of the size asked, or characters
            of it are in no token.

    Raises:
        TrainingError: See ``train``.
        UsageError: Settings that cannot be meant.
    """
    return _learn(corpus, settings, name, num_threads, on_progress, stacklevel=4).tokenizer


def learn_from_counts(
    corpus: CountedCorpus,
    *,
    settings: TrainSettings,
    name: str | None = None,
    num_threads: int | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    on_progress: OnProgress | None = None,
) -> Learned:
    """As ``train_from_counts``, with what the algorithm has to say of its work.

    Args:
        corpus: See there, as the other arguments.
        settings: Hyper-parameters.
        name: Name of the tokenizer.
        num_threads: Threads; None: all there are. Does not change the result.
        checkpoint: Name of the checkpoint of counting: with ``bpe`` and ``superbpe`` Ctrl-C writes
            the merges so far beside it, to ``CHECKPOINT.merges``. They are removed when learning is
            done. Other algorithms learn from the counts anew, to the same result.
        resume: Go on from these merges if they are there.
        on_progress: Called now and then with the stage of learning.

    Raises:
        KeyboardInterrupt: After writing the merges.
        UsageError: Also: merges of a run with other text or settings.
        FormatError: The file of merges is damaged.
    """
    return _learn(
        corpus,
        settings,
        name,
        num_threads,
        on_progress,
        checkpoint=checkpoint,
        resume=resume,
        stacklevel=4,
    )


def _learn(
    corpus: CountedCorpus,
    settings: TrainSettings,
    name: str | None,
    num_threads: int | None,
    on_progress: OnProgress | None,
    *,
    checkpoint: str | os.PathLike[str] | None = None,
    resume: bool = False,
    stacklevel: int,
) -> Learned:
    settings.check()
    if resume and checkpoint is None:
        raise UsageError("resume needs the checkpoint to go on from")
    if settings.method.new_counts(settings).cutting != corpus.counts.cutting:
        raise UsageError(
            f"these counts were cut in another way than algorithm {settings.algorithm!r} with "
            "these settings cuts text\n"
            "hint: count again with the same settings "
            f"(jeton count-pretokens --algorithm {settings.algorithm}, and its options)"
        )
    if settings.indents != corpus.indents:
        had, wanted = ("without", "with") if settings.indents else ("with", "without")
        raise UsageError(
            f"these counts were made {had} indents, and the settings are {wanted} them\n"
            "hint: count as you train, with --indents or without"
        )
    counts = corpus.counts
    if settings.segmenter is not None:
        counts = segmented_counts(counts, find_segmenter(settings.segmenter, counts=counts))
    so_far = None
    if checkpoint is not None:
        so_far = MergesSoFar(merges_path(checkpoint), settings, counts, corpus.unit)
    learning = Learning(
        name=name,
        on_progress=on_progress,
        num_threads=num_threads,
        languages=corpus.languages,
        merges=so_far.read() if so_far is not None and resume else (),
        on_interrupt=so_far.write if so_far is not None else None,
    )
    # Weights were made whole by the unit: how often is meant in documents of weight 1.
    counted = replace(settings, min_frequency=settings.min_frequency * corpus.unit)
    tokenizer = settings.method.learn(counts, counted, learning)
    if so_far is not None:
        so_far.remove()
    check_special_tokens(tokenizer, settings)
    if tokenizer.vocab_size < settings.vocab_size:
        words = size_words(tokenizer.vocab_size, settings)
        warnings.warn(words, JetonWarning, stacklevel=stacklevel)
    if too_long := long_words(learning.facts):
        warnings.warn(too_long, JetonWarning, stacklevel=stacklevel)
    if lost := uncovered_words(tokenizer, counts, settings):
        warnings.warn(lost, JetonWarning, stacklevel=stacklevel)
    return Learned(tokenizer, learning.facts)
