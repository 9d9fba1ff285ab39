"""Whole corpora: counts by domain and a digest of all ids, as the shared data tells them."""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np

import jeton
from jeton import Tokenizer
from jeton._core import DocumentReader, TokenBatch
from scripts.conformance.sets import stored

__all__ = ["VOCABULARIES", "corpus_differences", "read_expected"]

VOCABULARIES = ("cl100k_base", "llama3", "o200k_base", "r50k_base")
"""Vocabularies whose digests corpus_scale.json has."""


def read_expected(shared: Path) -> dict[str, Any]:
    """Read what the reference gave: corpus file -> facts and vocabulary -> facts.

    Raises:
        OSError: The shared data is not there.
        ValueError: It is damaged.
    """
    path = shared / "data" / "golden" / "corpus_scale.json"
    corpora = json.loads(path.read_text(encoding="utf-8"))["corpora"]
    assert isinstance(corpora, dict)
    return corpora


def corpus_differences(shared: Path, file: str, vocabulary: str) -> tuple[int, list[str]]:
    """Encode one corpus and compare.

    Returns:
        The number of documents, and which facts differ, in words; empty where all are equal.
    """
    path = shared / "data" / "corpora" / file
    facts = read_expected(shared)[file]
    tokenizer = jeton.load(stored(shared, f"{vocabulary}.tiktoken"))
    domains = [d for b in DocumentReader(str(path), format="jsonl", field="domain") for d in b]
    expected = {**facts[vocabulary], "documents": facts["docs"], "bytes": facts["bytes"]}
    found = _measure(tokenizer, path, domains)
    different = [
        f"{key} is {found.get(key)}, expected {value}"
        for key, value in expected.items()
        if found.get(key) != value
    ]
    different += [f"{key} is not in the shared data" for key in found.keys() - expected.keys()]
    if len(domains) != facts["docs"]:
        different.append(f"{len(domains)} domains, expected {facts['docs']}")
    return facts["docs"], different


def _measure(tokenizer: Tokenizer, path: Path, domains: list[str]) -> dict[str, Any]:
    digest = hashlib.blake2b(digest_size=16)
    by_domain: Counter[str] = Counter()
    n_tokens = n_bytes = n_documents = n_other_counts = 0
    for texts in DocumentReader(str(path), format="jsonl"):
        batch = tokenizer.encode_batch(texts)
        lengths = np.diff(batch.offsets)
        # Counting goes another way through the core than encoding: both must agree.
        n_other_counts += int((tokenizer.count_batch(texts) != lengths).sum())
        for domain, length in zip(
            domains[n_documents : n_documents + len(texts)], lengths.tolist(), strict=True
        ):
            by_domain[domain] += length
        digest.update(_with_lengths(batch))
        n_documents += len(texts)
        n_tokens += len(batch.ids)
        n_bytes += texts.n_bytes
    measured: dict[str, Any] = {
        "tokens": n_tokens,
        "blake2b16": digest.hexdigest(),
        "by_domain": dict(by_domain),
        "documents": n_documents,
        "bytes": n_bytes,
    }
    if n_other_counts:
        measured["documents whose count is not the number of ids"] = n_other_counts
    return measured


def _with_lengths(batch: TokenBatch) -> bytes:
    """For each document its number of ids, then the ids, all as little-endian uint32."""
    lengths = np.diff(batch.offsets)
    is_length = np.zeros(len(batch.ids) + len(lengths), dtype=bool)
    is_length[batch.offsets[:-1] + np.arange(len(lengths))] = True
    words = np.empty(len(is_length), dtype="<u4")
    words[is_length] = lengths
    words[~is_length] = batch.ids
    return words.tobytes()
