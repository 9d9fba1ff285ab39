"""The texts that are timed: real ones where there are some, hostile ones made from a seed."""

from __future__ import annotations

import io
import json
import random
import sysconfig
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from benches.script_text import language_of, pure_text

__all__ = [
    "CORPORA",
    "HOSTILE",
    "KINDS",
    "Sample",
    "chunks",
    "hostile_text",
    "is_plain",
    "language_sample",
    "language_samples",
    "random_words",
    "records",
    "sample",
    "samples",
]

CORPORA = Path(__file__).resolve().parents[2] / "shared" / "data" / "corpora"
CORPUS_NAMES = ("english", "code", "multilingual", "medical", "chat")
DEFAULT_SAMPLE_BYTES = 4_000_000
"""Enough that the slowest peer (about 3 MB/s) takes a second, little enough for five rounds."""

# Text that looks like a special token is one to some libraries and text to others: a difference
# of policy, not of speed. Documents that hold such text are left out of all samples.
SPECIAL_LOOKALIKES = ("<|", "[INST]", "</s>", "<s>", "<unk>", "<pad>")

HOSTILE = ("a", "spaces", "cjk", "letters", "digits", "newlines", "carets")

KINDS = {"english": "english", "code": "code", "medical": "medical", "logs": "logs_json"}
"""Kind of text -> corpus, of the documents of 2 to 3 KB."""
LEAST_CHUNK_BYTES = 2_000
MOST_CHUNK_BYTES = 3_000
LANGUAGE_CORPORA = ("po_parallel", "multilingual", "udhr")


@dataclass(frozen=True, slots=True)
class Sample:
    """Documents of one kind.

    Attributes:
        name: what they are.
        documents: the texts, none empty.
        n_bytes: their UTF-8 bytes together.
    """

    name: str
    documents: tuple[str, ...]
    n_bytes: int

    @classmethod
    def of(cls, name: str, documents: list[str]) -> Sample:
        """Build a sample and count its bytes."""
        return cls(name, tuple(documents), sum(len(text.encode()) for text in documents))


def is_plain(text: str) -> bool:
    """True if there is text, and nothing in it that looks like a special token."""
    return bool(text) and not any(mark in text for mark in SPECIAL_LOOKALIKES)


def _pieces(document: str) -> Iterator[str]:
    """Lines; those beyond the size of a chunk in parts that end at spaces where there are any."""
    for line in document.splitlines(keepends=True):
        rest = line
        while len(rest.encode()) > MOST_CHUNK_BYTES:
            # In characters: a text of three bytes for each is cut at a third of the size.
            most = LEAST_CHUNK_BYTES * len(rest) // len(rest.encode())
            cut = rest.rfind(" ", 1, most) + 1 or most
            yield rest[:cut]
            rest = rest[cut:]
        yield rest


def chunks(document: str) -> Iterator[str]:
    """Cut a document as users do: chunks of 2 to 3 KB that end with lines; the last is shorter."""
    held: list[str] = []
    n_bytes = 0
    for piece in _pieces(document):
        size = len(piece.encode())
        if held and n_bytes + size > MOST_CHUNK_BYTES:
            yield "".join(held)
            held, n_bytes = [], 0
        held.append(piece)
        n_bytes += size
        if n_bytes >= LEAST_CHUNK_BYTES:
            yield "".join(held)
            held, n_bytes = [], 0
    if held:
        yield "".join(held)


def _take(documents: list[str], max_bytes: int) -> list[str]:
    """Take documents spread over the whole list, the same ones every time, up to a budget."""
    order = list(range(len(documents)))
    random.Random(0).shuffle(order)
    taken: list[str] = []
    size = 0
    for index in order:
        size += len(documents[index].encode())
        if taken and size > max_bytes:
            break
        taken.append(documents[index])
    return taken


def records(path: Path) -> Iterator[dict[str, str]]:
    """Read the records of a compressed corpus."""
    from jeton._core import decompress

    for line in io.BytesIO(decompress(path.read_bytes(), max_bytes=2**30, path=str(path))):
        yield json.loads(line)


def _corpus(name: str, folder: Path, max_bytes: int) -> Sample | None:
    path = folder / f"{name}.jsonl.zst"
    if not path.is_file():
        return None
    documents = [record["text"] for record in records(path)]
    return Sample.of(name, _take([text for text in documents if is_plain(text)], max_bytes))


@lru_cache(maxsize=8)
def sample(kind: str, *, max_bytes: int, corpora: Path = CORPORA) -> Sample:
    """Documents of 2 to 3 KB of one of ``KINDS``; Python's own texts where there is no corpus."""
    path = corpora / f"{KINDS[kind]}.jsonl.zst"
    if path.is_file():
        documents = [record["text"] for record in records(path)]
    elif kind == "code":
        documents = list(_standard_library(2**30).documents)
    else:
        documents = list(_language_documentation(2**30).documents)
    pieces = [piece for text in documents if is_plain(text) for piece in chunks(text)]
    kept = [piece for piece in pieces if len(piece.encode()) >= LEAST_CHUNK_BYTES]
    return Sample.of(kind, _take(kept or pieces, max_bytes))


@lru_cache(maxsize=16)
def language_sample(language: str, *, max_bytes: int, corpora: Path = CORPORA) -> Sample | None:
    """Documents of 2 to 3 KB in one language, without ASCII padding; None without the corpora."""
    paths = [corpora / f"{name}.jsonl.zst" for name in LANGUAGE_CORPORA]
    texts = [
        record["text"]
        for path in paths
        if path.is_file()
        for record in records(path)
        if language_of(record) == language
    ]
    if not texts:
        return None
    pieces = [piece for piece in chunks(pure_text(texts, language)) if is_plain(piece)]
    return Sample.of(language, _take(pieces, max_bytes))


def language_samples(languages: Iterable[str], *, max_bytes: int) -> Iterator[Sample]:
    """Samples of the languages that there are corpora of."""
    for language in languages:
        found = language_sample(language, max_bytes=max_bytes)
        if found is not None:
            yield found


def _standard_library(max_bytes: int) -> Sample:
    folder = Path(sysconfig.get_path("stdlib"))
    paths = sorted(path for path in folder.glob("*.py"))
    documents = [path.read_text(encoding="utf-8", errors="replace") for path in paths]
    return Sample.of("python-sources", _take([t for t in documents if is_plain(t)], max_bytes))


def _language_documentation(max_bytes: int) -> Sample:
    from pydoc_data.topics import topics

    documents = [topics[name] for name in sorted(topics)]
    return Sample.of(
        "python-documentation", _take([t for t in documents if is_plain(t)], max_bytes)
    )


def samples(*, max_bytes: int = DEFAULT_SAMPLE_BYTES, corpora: Path = CORPORA) -> list[Sample]:
    """Return the samples of this machine: shared corpora, else what comes with Python."""
    found = [_corpus(name, corpora, max_bytes) for name in CORPUS_NAMES]
    real = [sample for sample in found if sample is not None]
    return real or [_language_documentation(max_bytes), _standard_library(max_bytes)]


def hostile_text(kind: str, n_bytes: int) -> str:
    """Return a text without a single friendly boundary, of about ``n_bytes`` UTF-8 bytes.

    Raises:
        ValueError: ``kind`` is not in ``HOSTILE``.
    """
    generator = random.Random(0)
    if kind == "a":
        return "a" * n_bytes
    if kind == "spaces":
        return " " * n_bytes
    if kind == "newlines":
        return "\n" * n_bytes
    if kind == "digits":
        return "".join(generator.choices("0123456789", k=n_bytes))
    if kind == "carets":
        return "^" * n_bytes
    if kind == "letters":
        return "".join(generator.choices("abcdefghijklmnopqrstuvwxyz", k=n_bytes))
    if kind == "cjk":
        return "".join(map(chr, generator.choices(range(0x4E00, 0x9FA6), k=n_bytes // 3)))
    raise ValueError(f"unknown kind of hostile text {kind!r}; expected one of {', '.join(HOSTILE)}")


def random_words(seed: int, *, n_bytes: int) -> Iterator[str]:
    """Texts of 1 MB in random words of lower case letters: no two alike, as many as asked for."""
    import numpy as np

    # A seventh of the bytes are spaces: words of six letters in the mean.
    table = np.frombuffer((b"abcdefghijklmnopqrstuvwxyz" * 10)[:219] + b" " * 37, np.uint8)
    generator = np.random.default_rng(seed)
    size = 1_000_000
    for start in range(0, n_bytes, size):
        raw = np.frombuffer(generator.bytes(min(size, n_bytes - start)), np.uint8)
        yield table[raw].tobytes().decode("ascii")
