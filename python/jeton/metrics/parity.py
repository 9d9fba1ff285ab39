"""Parity between languages: what the same content costs in each, on aligned text.

The premium of a language is the tokens of its texts over the tokens of the same texts in the
reference language (A. Petrov et al., NeurIPS 2023, arXiv:2305.15425). Only translations can be
compared: bytes or characters per token say nothing across scripts. Beside it stands the same ratio
in bytes, the part of the premium that comes from UTF-8 and not from the tokenizer.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.errors import EmptyCorpusError, UsageError
from jeton.metrics.bootstrap import SEED, Interval, bootstrap_ratio
from jeton.metrics.vocabulary import gini
from jeton.registry import TokenizerLike, resolve


@dataclass(frozen=True, slots=True)
class AlignedText:
    """A text and the same in the reference language."""

    language: str
    text: str
    reference: str


@dataclass(frozen=True, slots=True)
class LanguageParity:
    """One language beside the reference.

    Attributes:
        language: Its name as given.
        n_texts: Aligned texts.
        n_tokens: Tokens of the texts in this language.
        n_reference_tokens: Tokens of the same texts in the reference language.
        premium: The first over the second: 2.0 costs twice.
        premium_interval: By aligned text; None with fewer than two.
        byte_premium: Ratio of UTF-8 bytes.
        tokens_per_char: Tokens over code points.
    """

    language: str
    n_texts: int
    n_tokens: int
    n_reference_tokens: int
    premium: float
    premium_interval: Interval | None
    byte_premium: float
    tokens_per_char: float


@dataclass(frozen=True, slots=True)
class ParityReport:
    """All languages of an aligned text under one tokenizer.

    Attributes:
        reference: The reference language, whose premium is 1.
        languages: By falling premium; equal ones by name.
        gini: The Gini coefficient of the premiums, the reference among them: 0 is equal.
        max_premium: The greatest.
        median_premium: The middle one, the reference left out.
    """

    reference: str
    languages: tuple[LanguageParity, ...]
    gini: float
    max_premium: float
    median_premium: float


def parity(
    tokenizer: TokenizerLike,
    aligned: Iterable[AlignedText | tuple[str, str, str]],
    *,
    reference: str = "en",
    num_threads: int | None = None,
    seed: int = SEED,
) -> ParityReport:
    """Count aligned texts in each language and in the reference.

    Args:
        tokenizer: The tokenizer, or its name or path.
        aligned: ``(language, text, text in the reference language)``, in any order. A text of the
            reference language itself is left out.
        reference: The name of the reference language.
        num_threads: Threads of the core; None: all.
        seed: Seed of the intervals.

    Raises:
        EmptyCorpusError: No text of another language, or the texts of one have no token.
        UsageError: An aligned text is not a triple of str.
    """
    tokenizer = resolve(tokenizer)
    by_language: dict[str, tuple[list[str], list[str]]] = {}
    for item in aligned:
        language, text, same = _triple(item)
        if language == reference:
            continue
        texts, references = by_language.setdefault(language, ([], []))
        texts.append(text)
        references.append(same)
    if not by_language:
        raise EmptyCorpusError(f"no aligned text of another language than {reference!r}")
    languages = [
        _language(tokenizer, language, *texts, num_threads=num_threads, seed=seed)
        for language, texts in sorted(by_language.items())
    ]
    languages.sort(key=lambda item: (-item.premium, item.language))
    premiums = np.array([item.premium for item in languages])
    return ParityReport(
        reference=reference,
        languages=tuple(languages),
        gini=gini(np.append(premiums, 1.0)),
        max_premium=float(premiums.max()),
        median_premium=float(np.median(premiums)),
    )


def _triple(item: AlignedText | tuple[str, str, str]) -> tuple[str, str, str]:
    triple = (
        (item.language, item.text, item.reference) if isinstance(item, AlignedText) else tuple(item)
    )
    if len(triple) != 3 or not all(isinstance(part, str) for part in triple):
        raise UsageError(
            f"an aligned text is {str(item)[:200]}; expected (language, text, text in the "
            "reference language)"
        )
    return triple


def _language(
    tokenizer: Tokenizer,
    language: str,
    texts: list[str],
    references: list[str],
    *,
    num_threads: int | None,
    seed: int,
) -> LanguageParity:
    def counts(documents: list[str]) -> tuple[NDArray[np.int64], TextBatch]:
        batch = TextBatch.from_texts(documents)
        return tokenizer.count_batch(batch, num_threads=num_threads), batch

    tokens, batch = counts(texts)
    reference_tokens, reference_batch = counts(references)
    n_tokens, n_reference_tokens = int(tokens.sum()), int(reference_tokens.sum())
    if not n_reference_tokens or not n_tokens:
        raise EmptyCorpusError(f"the aligned texts of {language!r} have no tokens")
    return LanguageParity(
        language=language,
        n_texts=len(texts),
        n_tokens=n_tokens,
        n_reference_tokens=n_reference_tokens,
        premium=n_tokens / n_reference_tokens,
        premium_interval=bootstrap_ratio(tokens, reference_tokens, seed=seed),
        byte_premium=batch.n_bytes / max(reference_batch.n_bytes, 1),
        tokens_per_char=n_tokens / max(sum(map(len, texts)), 1),
    )
