"""Training the bundled tokenizers: one pass over the text for all of them, then the merges.

Deterministic: text, ``sources.toml`` and the settings below decide everything.
"""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from jeton import _core
from jeton._files import write_whole
from jeton.training import (
    DEFAULT_PATTERN,
    CountedCorpus,
    HeldOut,
    TrainingCard,
    TrainingSource,
    TrainSettings,
    train_from_counts,
)
from scripts.vocabularies.reading import HELDOUT_ONE_IN, read_documents
from scripts.vocabularies.sources import SourceText, catalogue

__all__ = [
    "ARTEFACT_SUFFIX",
    "CARD_SUFFIX",
    "COMMAND",
    "PATTERN",
    "Built",
    "Corpus",
    "build",
    "card_data",
    "held_out",
    "read_corpus",
    "settings_of",
    "write",
]

COMMAND = "python scripts/build_vocabularies.py"

VOCAB_SIZE = 32_000

SPECIAL_TOKENS = ("<|endoftext|>",)
"""Id 0. Padding needs no token of its own: it is masked, so any id can stand in its place."""

MAX_TOKEN_BYTES = 64
"""Deep indentation and most ruled lines fit; without a limit, training made tokens of 256 dashes.
It costs the total of a tokenizer's sources under 0.1% of held-out bytes per token, the worst
source, ``code-javascript``, 0.7% (measured 2026-11-21)."""

PATTERN = DEFAULT_PATTERN
"""No other published pattern is clearly better: vocabularies.md tells what they gave."""

_BATCH_CHARS = 8 << 20

ARTEFACT_SUFFIX = ".jeton.json.zst"
CARD_SUFFIX = ".card.json"


def settings_of(name: str, *, pattern: str = PATTERN) -> TrainSettings:
    """Return the settings of a tokenizer's training."""
    recipe = catalogue().recipes[name]
    return TrainSettings(
        algorithm=recipe.algorithm,
        vocab_size=VOCAB_SIZE,
        pattern=pattern,
        special_tokens=SPECIAL_TOKENS,
        max_token_bytes=MAX_TOKEN_BYTES,
        options=recipe.options,
    )


@dataclass(slots=True)
class Corpus:
    """Text read from the sources: counts for the trainers, and the documents held out.

    Attributes:
        counts: By tokenizer and split pattern.
        trained: By tokenizer: its sources by name, as the card tells them.
        heldout: By source: the documents held out.
    """

    counts: dict[tuple[str, str], _core.PretokenCounts] = field(default_factory=dict)
    trained: dict[str, dict[str, TrainingSource]] = field(default_factory=dict)
    heldout: dict[str, _core.TextBatch] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Built:
    """One tokenizer and its card."""

    tokenizer: _core.Tokenizer
    card: TrainingCard


def read_corpus(
    data: Path,
    tokenizers: list[str],
    *,
    patterns: dict[str, list[str]],
    sources: set[str] | None = None,
    on_file: Callable[[str], None] | None = None,
) -> Corpus:
    """Read the sources once, count for every tokenizer, keep what is held out.

    Args:
        data: The folder with ``corpora/`` and ``terms/``.
        tokenizers: Names of tokenizers, as in ``sources.toml``; none: only what is held out.
        patterns: Split patterns to count with, by tokenizer.
        sources: Sources to read; None: those of the tokenizers.
        on_file: Called with the name of each source when it begins.

    Raises:
        OSError: A file is missing or cannot be read.
    """
    mixes = {name: catalogue().mixes[name] for name in tokenizers}
    wanted = sources or {source for mix in mixes.values() for source in mix}
    corpus = Corpus()
    pending: dict[str, list[str]] = {name: [] for name in tokenizers}
    n_chars = dict.fromkeys(tokenizers, 0)
    heldout: dict[str, list[str]] = {}

    def flush(tokenizer: str) -> None:
        batch = _core.TextBatch.from_texts(pending[tokenizer], strict=True)
        for pattern in patterns[tokenizer]:
            key = (tokenizer, pattern)
            if key not in corpus.counts:
                settings = settings_of(tokenizer, pattern=pattern)
                corpus.counts[key] = settings.method.new_counts(settings)
            corpus.counts[key].add(batch)
        pending[tokenizer] = []
        n_chars[tokenizer] = 0

    current = ""
    for document in read_documents(data, wanted):
        name = document.source.name
        if name != current and on_file is not None:
            if name.split("#")[0] != current.split("#")[0]:
                on_file(name.split("#")[0])
            current = name
        if document.heldout:
            heldout.setdefault(name, []).append(document.text)
            continue
        for tokenizer, mix in mixes.items():
            if document.draw >= mix.get(name, 0):
                continue
            by_name = corpus.trained.setdefault(tokenizer, {})
            before = by_name.get(name, TrainingSource(name, 0, 0))
            by_name[name] = TrainingSource(
                name, before.n_documents + 1, before.n_bytes + len(document.text.encode())
            )
            pending[tokenizer].append(document.text)
            n_chars[tokenizer] += len(document.text)
            if n_chars[tokenizer] >= _BATCH_CHARS:
                flush(tokenizer)
    for tokenizer in tokenizers:
        flush(tokenizer)
    corpus.heldout = {
        name: _core.TextBatch.from_texts(texts, strict=True) for name, texts in heldout.items()
    }
    return corpus


def build(
    corpus: Corpus, name: str, *, pattern: str = PATTERN, date: datetime.date | None = None
) -> Built:
    """Train one tokenizer on its counts and write down how it does on what is held out.

    ``date`` is what its card bears; None: that of its recipe.
    """
    settings = settings_of(name, pattern=pattern)
    mix = catalogue().mixes[name]
    by_name = corpus.trained[name]
    counted = CountedCorpus(
        counts=corpus.counts[name, pattern],
        sources=tuple(by_name[source] for source in mix if source in by_name),
    )
    tokenizer = train_from_counts(counted, settings=settings, name=name)
    card = TrainingCard.of(
        tokenizer,
        corpus=counted,
        settings=settings,
        date=date or catalogue().recipes[name].date,
        command=COMMAND,
        heldout=held_out(tokenizer, corpus, list(mix)),
    )
    return Built(tokenizer, card)


def held_out(tokenizer: _core.Tokenizer, corpus: Corpus, names: list[str]) -> tuple[HeldOut, ...]:
    """Measure a tokenizer on the documents held out, by source; none for those without any."""
    found = []
    for name in names:
        batch = corpus.heldout.get(name)
        if batch is not None:
            n_tokens = int(tokenizer.count_batch(batch).sum())
            found.append(HeldOut(name, len(batch), batch.n_bytes, n_tokens))
    return tuple(found)


def card_data(card: TrainingCard) -> dict[str, Any]:
    """The card as it is written: with licence, origin and decision of every source."""
    if card.name is None:
        raise ValueError("the card of a bundled tokenizer needs a name")
    mix = catalogue().mixes[card.name]

    def decision(source: SourceText) -> dict[str, Any]:
        return {
            "source": source.name,
            "origin": source.origin,
            "licence": source.licence,
            "why": source.why,
        }

    sources = catalogue().sources
    return {
        **card.to_dict(),
        "split": {
            "heldout_one_in": HELDOUT_ONE_IN,
            "rule": "the first 8 bytes of the SHA-256 of the text, big-endian, modulo "
            f"{HELDOUT_ONE_IN}: 0 is held out; the quotient modulo 100 is below the percentage "
            "of the source: trained on; texts that a source repeats count once",
        },
        "provenance": [
            {**decision(sources[name]), "percent_of_training_documents": percent}
            for name, percent in mix.items()
        ],
        "not_used": [decision(source) for source in sources.values() if not source.usable],
    }


def write(built: Built, folder: Path) -> tuple[Path, Path]:
    """Write a tokenizer and its card; return the two paths.

    Raises:
        OSError: The folder is missing, the disk is full ...
    """
    name = built.card.name
    artefact = folder / f"{name}{ARTEFACT_SUFFIX}"
    card = folder / f"{name}{CARD_SUFFIX}"
    write_whole(artefact, _core.compress_zstd(built.tokenizer.to_canonical(), level=19))
    write_whole(card, json.dumps(card_data(built.card), ensure_ascii=False, indent=2) + "\n")
    return artefact, card
