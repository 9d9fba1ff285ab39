"""Training text and settings of the page's tokenizers: one recipe for all domains.

A domain's tokenizer learns from the domain, which counts `DOMAIN_WEIGHT` times, and from a little
of everything else, so that ordinary words of a new source are not cut to pieces. The general one
that it is compared with learns from the same and from the other domains, and from nothing of the
domain. Merges nest, so one training to the largest size holds the smaller ones, with superwords
too as long as they begin at one size for all.
"""

from __future__ import annotations

import json
import warnings
from collections.abc import Iterable

from jeton import _core
from jeton.errors import JetonWarning
from jeton.planning import NestedVocabularies
from jeton.training import CountedCorpus, TrainSettings, learn_from_counts
from studies.domain_tokenizers.texts import DOMAINS, GENERAL, HELD_OUT_ONE_IN, MAX_MEASURED, Texts
from studies.domain_tokenizers.work import Work

__all__ = [
    "DOMAIN_WEIGHT",
    "GENERAL_ONE_IN",
    "O200K_SIZE",
    "OTHERS_ONE_IN",
    "SIZES",
    "TARGET_SIZE",
    "TRANSITION_SIZE",
    "described",
    "domain_tokenizers",
    "general_tokenizer",
    "learn",
    "slug",
    "superwords_alone",
]

SIZES = (16_000, 32_000, 64_000, 128_000)

TARGET_SIZE = 64_000
"""The size that the decomposition, the terms and the costs are about."""

O200K_SIZE = 200_019
"""Ids of ``o200k_base`` with its special tokens: at this size our general tokenizer differs from
it in what it was trained on alone."""

DOMAIN_WEIGHT = 4
"""How often a document of the domain counts for one of other text."""

OTHERS_ONE_IN = 8
"""A domain's tokenizer takes one in so many documents of the other domains: prompts hold code,
articles hold law. Without them a new source of prompts needs 13 points more tokens."""

GENERAL_ONE_IN = 2
"""The general tokenizer takes one in so many: enough to learn 200,019 ids from."""

TRANSITION_SIZE = 12_000
"""Tokens at which merges begin to cross the ends of words, for all four sizes. Half of the
vocabulary would be best by up to half a percent (docs/guides/superwords.md), with one training a
size."""


def described() -> str:
    """All that decides what is trained and measured, for the name of the work folder."""
    return json.dumps(
        [
            "jeton.domain-tokenizers/1",
            SIZES,
            O200K_SIZE,
            DOMAIN_WEIGHT,
            OTHERS_ONE_IN,
            GENERAL_ONE_IN,
            TRANSITION_SIZE,
            HELD_OUT_ONE_IN,
            MAX_MEASURED,
            [repr(source) for of in DOMAINS.values() for source in of],
            [repr(source) for source in GENERAL],
        ]
    )


def learn(
    parts: Iterable[tuple[list[str], int]], *, vocab_size: int, transition_size: int | None = None
) -> _core.Tokenizer:
    """Train byte-level BPE on weighted texts, with superwords from ``transition_size`` on.

    Args:
        parts: Documents and how often they count.
        vocab_size: Ids, bytes included; there are no special tokens.
        transition_size: None: words only.
    """
    superwords = transition_size is not None
    settings = TrainSettings(
        algorithm="superbpe" if superwords else "bpe",
        vocab_size=vocab_size,
        special_tokens=(),
        options={"transition_size": transition_size} if superwords else {},
    )
    counts = settings.method.new_counts(settings)
    for texts, weight in parts:
        counts.add(_core.TextBatch.from_texts(texts), weight=weight)
    with warnings.catch_warnings():
        # A text may have too few pairs for the largest size: the sizes reached are looked at.
        warnings.simplefilter("ignore", JetonWarning)
        return learn_from_counts(CountedCorpus(counts, ()), settings=settings).tokenizer


def _general(texts: Texts, domain: str, others_one_in: int) -> list[tuple[list[str], int]]:
    """Texts that belong to no domain, and a part of the other domains."""
    parts = [(texts.trained("", source.name), 1) for source in GENERAL]
    for other, sources in DOMAINS.items():
        if other != domain:
            parts += [
                (texts.trained(other, source.name, one_in=others_one_in), 1) for source in sources
            ]
    return parts


def _domain(texts: Texts, domain: str, left_out: str | None) -> list[tuple[list[str], int]]:
    return [
        (texts.trained(domain, source.name), DOMAIN_WEIGHT)
        for source in DOMAINS[domain]
        if source.name != left_out
    ]


def domain_tokenizers(
    work: Work, texts: Texts, domain: str, *, left_out: str | None = None
) -> dict[str, NestedVocabularies]:
    """``plain`` and ``superwords`` of a domain, without one of its sources or with all."""

    def make(transition_size: int | None) -> _core.Tokenizer:
        parts = [*_domain(texts, domain, left_out), *_general(texts, domain, OTHERS_ONE_IN)]
        return learn(parts, vocab_size=SIZES[-1], transition_size=transition_size)

    name = f"{domain}-{slug(left_out or 'all')}"
    plain = work.tokenizer(f"{name}-plain", lambda: make(None))
    superwords = work.tokenizer(f"{name}-superwords", lambda: make(TRANSITION_SIZE))
    return {
        "plain": NestedVocabularies.of(plain),
        "superwords": NestedVocabularies.of(superwords),
    }


def general_tokenizer(work: Work, texts: Texts, domain: str) -> NestedVocabularies:
    """Words of everything but a domain, as many ids as ``o200k_base`` has."""
    return NestedVocabularies.of(
        work.tokenizer(
            f"general-{domain}",
            lambda: learn(_general(texts, domain, GENERAL_ONE_IN), vocab_size=O200K_SIZE),
        )
    )


def superwords_alone(
    work: Work, texts: Texts, domain: str, *, left_out: str | None = None
) -> NestedVocabularies:
    """Superwords learned from the domain and nothing else."""
    return NestedVocabularies.of(
        work.tokenizer(
            f"{domain}-{slug(left_out or 'all')}-alone",
            lambda: learn(
                _domain(texts, domain, left_out),
                vocab_size=TARGET_SIZE,
                transition_size=TRANSITION_SIZE,
            ),
        )
    )


def slug(name: str) -> str:
    """A name as part of a file's name."""
    return name.lower().replace(" ", "-")
