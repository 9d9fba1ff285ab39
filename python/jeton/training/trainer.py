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

from jeton._core import Tokenizer
from jeton.errors import JetonWarning, UsageError
from jeton.pretokenizing.segmenters import Segmenter, find_segmenter, segmented_counts
from jeton.progress import OnProgress
from jeton.training.algorithms.base import Learning
from jeton.training.counted import CountedCorpus
from jeton.training.counting import count_pretokens
from jeton.training.languages import count_languages
from jeton.training.merges_so_far import MergesSoFar, merges_path
from jeton.training.settings import (
    DEFAULT_MIN_FREQUENCY,
    DEFAULT_PATTERN,
    DEFAULT_VOCAB_SIZE,
    TrainSettings,
)
from jeton.training.told import (
    check_special_tokens,
    long_words,
    size_words,
    uncovered_words,
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
