"""The texts that trainers learn from: 100 MB of English, 100 MB of languages, code and chats."""

from __future__ import annotations

import random
from pathlib import Path

from benches import texts
from benches.texts import CORPORA, Sample

__all__ = ["FULL_BYTES", "QUICK_BYTES", "TEXTS", "lines_apart", "text"]

FULL_BYTES = 100_000_000
QUICK_BYTES = 1_000_000
TEXTS = {
    "english": ("english", "legal", "medical"),
    "mixed": ("multilingual", "code", "chat", "po_parallel"),
}
"""Text -> the corpora whose documents it is made of, shuffled with seed 0."""


def text(name: str, *, max_bytes: int, corpora: Path = CORPORA) -> Sample:
    """Documents of one of ``TEXTS``, up to the first that completes so many bytes.

    Where there are no corpora: what comes with Python, which is less (under 20 MB).
    """
    paths = [corpora / f"{corpus}.jsonl.zst" for corpus in TEXTS[name]]
    if all(path.is_file() for path in paths):
        documents = [record["text"] for path in paths for record in texts.records(path)]
        documents = [document for document in documents if texts.is_plain(document)]
    else:
        sample = texts.samples(max_bytes=2**30, corpora=corpora / "none")[name == "mixed"]
        name, documents = sample.name, list(sample.documents)
    random.Random(0).shuffle(documents)
    taken: list[str] = []
    n_bytes = 0
    for document in documents:
        if n_bytes >= max_bytes:
            break
        taken.append(document)
        n_bytes += len(document.encode())
    return Sample(name, tuple(taken), n_bytes)


def lines_apart(sample: Sample, *, held_out_bytes: int) -> tuple[list[str], list[str]]:
    """Lines to learn from, and those of the last documents, which are kept apart."""
    n_kept = len(sample.documents)
    left = held_out_bytes
    while left > 0 and n_kept > 1:
        n_kept -= 1
        left -= len(sample.documents[n_kept].encode())
    halves = sample.documents[:n_kept], sample.documents[n_kept:]
    learned, apart = ([line for text in half for line in text.splitlines()] for half in halves)
    return learned, apart
