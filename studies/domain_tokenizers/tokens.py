"""Tokens of every vocabulary on both splits: unseen documents of the same sources, and new sources.

One case is one set of trainings (a domain, and the source left out of it, if any) and the
documents it is measured on. Of a case the work folder keeps tokens by document, from which all
figures follow.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from studies.claims.data import Data
from studies.claims.figures import Figure, ratio
from studies.domain_tokenizers.recipes import (
    SIZES,
    TARGET_SIZE,
    domain_tokenizers,
    slug,
    superwords_alone,
)
from studies.domain_tokenizers.texts import DOMAINS, Texts
from studies.domain_tokenizers.work import Work

__all__ = [
    "BASE",
    "PUBLISHED",
    "TARGET_CHANGE",
    "WEIGHED_DOMAINS",
    "Case",
    "cases",
    "change",
    "measure_alone",
    "measure_case",
    "measure_tokens",
]

PUBLISHED = ("r50k_base", "cl100k_base", "o200k_base", "llama3")
BASE = "o200k_base"

TARGET_CHANGE = -0.25
"""Target of superwords of `TARGET_SIZE` on the same sources; on a new one, less than 0."""

WEIGHED_DOMAINS = ("finance", "chat")
"""Domains of which superwords without any other text are measured, too."""


@dataclass(frozen=True, slots=True)
class Case:
    """Tokens of documents under all vocabularies.

    Attributes:
        n_bytes: int64 (n_documents,).
        source: int64 (n_documents,), the number of each document's source in its domain.
        tokens: int64 (n_documents,) by vocabulary: ``o200k_base``, ``plain.64000`` ...
    """

    n_bytes: NDArray[np.int64]
    source: NDArray[np.int64]
    tokens: Mapping[str, NDArray[np.int64]]


def change(new: NDArray[np.int64], old: NDArray[np.int64]) -> Figure:
    """``sum(new) / sum(old) - 1``, with its interval by document."""
    found = ratio(new, old, unit="share")
    low = None if found.low is None else found.low - 1
    high = None if found.high is None else found.high - 1
    return Figure(found.value - 1, "share", low, high, found.n)


def cases() -> list[tuple[str, str | None]]:
    """Every domain with all of its sources, then without each of those that are rotated."""
    found: list[tuple[str, str | None]] = []
    for domain, sources in DOMAINS.items():
        found.append((domain, None))
        found += [(domain, source.name) for source in sources if source.rotated]
    return found


def _documents(texts: Texts, domain: str, left_out: str | None) -> tuple[list[str], list[int]]:
    documents: list[str] = []
    sources: list[int] = []
    for number, source in enumerate(DOMAINS[domain]):
        if left_out is None:
            found = texts.held_out(domain, source.name)
        elif source.name == left_out:
            found = texts.whole(domain, source.name)
        else:
            continue
        documents += found
        sources += [number] * len(found)
    return documents, sources


def measure_case(work: Work, texts: Texts, data: Data, domain: str, left_out: str | None) -> Case:
    """Train (or take what was trained) and count."""

    def make() -> Mapping[str, NDArray[np.int64]]:
        documents, sources = _documents(texts, domain, left_out)
        batch = _core.TextBatch.from_texts(documents)
        found = {name: data.counts(name, batch) for name in PUBLISHED}
        made = domain_tokenizers(work, texts, domain, left_out=left_out)
        for kind, nested in made.items():
            # A text may have too few pairs for the largest size.
            reached = [min(size, nested.vocab_size) for size in SIZES]
            columns = nested.tokens_of_documents(nested.tokenizer.encode_batch(batch), reached)
            found |= {f"{kind}.{s}": c for s, c in zip(SIZES, columns.T, strict=True)}
        return {
            **found,
            "n_bytes": np.diff(batch.offsets).astype(np.int64),
            "source": np.array(sources, dtype=np.int64),
        }

    arrays = dict(work.arrays(f"case-{domain}-{slug(left_out or 'all')}", make))
    n_bytes, source = arrays.pop("n_bytes"), arrays.pop("source")
    return Case(n_bytes, source, arrays)


def measure_tokens(domain: str, found: Mapping[str | None, Case]) -> dict[str, Figure]:
    """All figures of a domain's tokens, from its cases by the source left out."""
    figures: dict[str, Figure] = {}
    same = found[None]
    new = [case for left_out, case in found.items() if left_out is not None]
    pooled = {name: np.concatenate([case.tokens[name] for case in new]) for name in same.tokens}
    for name, counts in same.tokens.items():
        figures[f"bytes-per-token.{domain}.same.{name}"] = ratio(same.n_bytes, counts)
        figures[f"change.{domain}.same.{name}"] = change(counts, same.tokens[BASE])
        figures[f"change.{domain}.new.{name}"] = change(pooled[name], pooled[BASE])
    shown = [name for name in same.tokens if name in PUBLISHED or name.endswith(f".{TARGET_SIZE}")]
    for number, source in enumerate(DOMAINS[domain]):
        of = same.source == number
        for name in shown:
            key = f"by-source.{domain}.{source.name}"
            figures[f"{key}.same.{name}"] = change(same.tokens[name][of], same.tokens[BASE][of])
            if source.name in found:
                case = found[source.name]
                figures[f"{key}.new.{name}"] = change(case.tokens[name], case.tokens[BASE])
    return figures


def measure_alone(work: Work, texts: Texts, data: Data, domain: str) -> dict[str, Figure]:
    """Measure superwords of `TARGET_SIZE` that were learned from the domain alone."""
    rotated = [source.name for source in DOMAINS[domain] if source.rotated]

    def make(left_out: Sequence[str | None]) -> Mapping[str, NDArray[np.int64]]:
        ours, base = [], []
        for source in left_out:
            batch = _core.TextBatch.from_texts(_documents(texts, domain, source)[0])
            tokenizer = superwords_alone(work, texts, domain, left_out=source).tokenizer
            ours.append(tokenizer.count_batch(batch))
            base.append(data.counts(BASE, batch))
        return {"ours": np.concatenate(ours), "base": np.concatenate(base)}

    figures = {}
    for split, left_out in (("same", [None]), ("new", rotated)):
        arrays = work.arrays(f"alone-{domain}-{split}", lambda o=left_out: make(o))  # type: ignore[misc]
        figures[f"alone.{domain}.{split}"] = change(arrays["ours"], arrays["base"])
    return figures
