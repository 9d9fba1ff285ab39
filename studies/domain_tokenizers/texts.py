"""Texts of training and measurement: documents by domain and source, and their split.

One pass over all corpora gives every document a source and a side. Exact copies count once. A
document that resembles (``jeton.corpus.NearDuplicateSettings``) one of another source is left out
of everything, and one that resembles another of its own source goes to the side of that one. So
both splits of the page hold at once: no two documents that are found alike are on different sides
of the split by document, and none on different sides of a split by source, whatever source is left
out.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton import _core
from jeton.corpus import NearDuplicateSettings

__all__ = [
    "DOMAINS",
    "GENERAL",
    "HELD_OUT",
    "HELD_OUT_ONE_IN",
    "LEFT_OUT",
    "MAX_MEASURED",
    "TRAINED",
    "Document",
    "Source",
    "Texts",
    "assign_sides",
]

HELD_OUT_ONE_IN = 10
"""One document in ten is kept from training: by a digest of its text, so that nothing moves it."""

MAX_MEASURED = 2_000
"""Documents of a source that are measured at most, those with the smallest digests: an even draw.
More would make the intervals far narrower than sources differ."""

TRAINED, HELD_OUT, LEFT_OUT = 0, 1, 255
"""Sides of a document."""

_MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Documents of one origin.

    Attributes:
        name: As the page has it.
        corpus: File of the shared corpora, without its suffix.
        domains: Domains of its records; one that ends in ``-`` stands for all that begin so.
        ids: What the ids of its records begin with; empty: anything.
        rotated: Whether it is also left out whole, as a new source.
        one_in: Of its documents one in so many is taken, by digest.
    """

    name: str
    corpus: str
    domains: tuple[str, ...]
    ids: tuple[str, ...] = ()
    rotated: bool = True
    one_in: int = 1

    def takes(self, record: Mapping[str, Any]) -> bool:
        """True if a record of the file belongs here."""
        domain = record["domain"]
        if not any(domain == d or (d[-1] == "-" and domain.startswith(d)) for d in self.domains):
            return False
        return not self.ids or str(record["id"]).startswith(self.ids)


def _code(name: str, *ids: str, rotated: bool = True) -> Source:
    return Source(name=name, corpus="code", domains=("code-",), ids=ids, rotated=rotated)


DOMAINS: Mapping[str, tuple[Source, ...]] = {
    "medical": (
        Source(
            name="abstracts",
            corpus="medical",
            domains=("medical-abstract", "medical-abstract-tc", "medical-abstract-pqa"),
        ),
        Source(name="questions and answers", corpus="medical", domains=("medical-qa",)),
        Source(name="articles", corpus="medical", domains=("biomed-fulltext",)),
        Source(
            name="clinical notes", corpus="medical", domains=("clinical-note", "clinical-dialogue")
        ),
    ),
    "legal": (
        Source(name="contracts", corpus="legal", domains=("legal-contract",)),
        Source(name="court opinions", corpus="legal", domains=("legal-court-opinion",)),
        Source(name="privacy policies", corpus="legal", domains=("legal-privacy-policy",)),
        Source(name="statutes", corpus="legal", domains=("legal-statute", "legal-treaty")),
    ),
    "code": (
        _code("redis", "redis/"),
        _code("tokio", "tokio-rs/"),
        _code("commons-lang", "apache/"),
        _code("hugo", "gohugoio/", rotated=False),
        _code("iree", "iree-org/", rotated=False),
        _code("CPython", "cpython-"),
        _code("vue", "vuejs/", rotated=False),
        _code("others", rotated=False),
    ),
    "finance": (
        Source(
            name="earnings calls",
            corpus="finance",
            domains=("earnings-call", "earnings-call-sample"),
        ),
        Source(name="annual reports", corpus="finance", domains=("10k-excerpt",)),
    ),
    "chat": (
        Source(name="bookings", corpus="chat", domains=("chat-task", "chat-task-tm4")),
        Source(name="prompts", corpus="chat", domains=("prompt",)),
        Source(name="school mathematics", corpus="chat", domains=("prompt-math",)),
        Source(name="chat rooms", corpus="chat", domains=("chat-room",)),
    ),
    "multilingual": (
        Source(name="React documentation", corpus="multilingual", domains=("docs-react",)),
        Source(name="tldr pages", corpus="multilingual", domains=("tldr-",)),
        Source(name="Bible", corpus="multilingual", domains=("bible",), rotated=False),
        Source(name="Python documentation", corpus="po_parallel", domains=("docs-python",)),
    ),
}
"""Sources of each domain's tokenizer. All sources that there are, whatever their licence: these
tokenizers are thrown away. A record goes to the first source that takes it."""

GENERAL: tuple[Source, ...] = (
    Source(name="novels", corpus="english", domains=("english-novel",), one_in=3),
    Source(
        name="textbooks, speeches, news",
        corpus="english",
        domains=("english-textbook", "english-speech", "english-news"),
    ),
    Source(name="web", corpus="noisy", domains=("tweet", "social-comment", "webtext")),
    Source(name="logs and JSON", corpus="logs_json", domains=("log-", "json-", "csv"), one_in=3),
    Source(name="declarations", corpus="udhr", domains=("udhr",)),
)
"""Text of no domain: what every tokenizer here learns ordinary words from. A third of the novels
is about as much text as the rest of the English; logs repeat themselves."""


@dataclass(frozen=True, slots=True)
class Document:
    """One document of a source.

    Attributes:
        text: Its text.
        digest: 128 bits of the SHA-256 of it.
        side: ``TRAINED`` or ``HELD_OUT``.
    """

    text: str
    digest: int
    side: int


def _digest(text: str) -> int:
    return int.from_bytes(sha256(text.encode()).digest()[:16], "big")


def assign_sides(
    texts: Sequence[Sequence[str]], *, near: NearDuplicateSettings | None = None
) -> list[NDArray[np.uint8]]:
    """The side of each document of each source.

    Args:
        texts: Documents by source, at most 127 sources.
        near: What counts as nearly alike.

    Returns:
        uint8 (n_documents,) for each source: ``TRAINED``, ``HELD_OUT`` or ``LEFT_OUT``.
    """
    index = (near or NearDuplicateSettings()).new_index()
    seen: set[int] = set()
    found = []
    for number, documents in enumerate(texts):
        sides = np.full(len(documents), LEFT_OUT, dtype=np.uint8)
        first: list[int] = []
        wanted: list[int] = []
        for place, text in enumerate(documents):
            digest = _digest(text)
            if text and digest not in seen:
                seen.add(digest)
                first.append(place)
                wanted.append(2 * number + (digest % HELD_OUT_ONE_IN == 0))
        batch = _core.TextBatch.from_texts([documents[place] for place in first])
        # A side of the index is a source and a side of ours; 255 is neither's.
        _, placed = index.place(batch, sides=np.array(wanted, dtype=np.uint8), keep_all=True)
        own = placed // 2 == number
        sides[np.array(first, dtype=np.int64)[own]] = placed[own] % 2
        found.append(sides)
    return found


@dataclass(frozen=True, slots=True)
class Texts:
    """All documents by source.

    Attributes:
        by_source: Documents of each source that are on a side, by domain (empty: of none) and name.
        n_left_out: Copies, and what resembles documents of another source or of both sides.
    """

    by_source: Mapping[tuple[str, str], tuple[Document, ...]]
    n_left_out: Mapping[tuple[str, str], int]

    @classmethod
    def read(cls, corpora: Path) -> Texts:
        """Read the corpora and assign the sides: about ten seconds for 290 MB.

        Raises:
            OSError: A file is missing.
        """
        names = [(domain, source) for domain, of in DOMAINS.items() for source in of]
        names += [("", source) for source in GENERAL]
        texts: list[list[str]] = [[] for _ in names]
        for corpus in dict.fromkeys(source.corpus for _, source in names):
            mine = [(n, s) for n, (_, s) in enumerate(names) if s.corpus == corpus]
            for record in _records(corpora / f"{corpus}.jsonl.zst"):
                for number, source in mine:
                    if source.takes(record):
                        if _digest(record["text"]) // HELD_OUT_ONE_IN % source.one_in == 0:
                            texts[number].append(record["text"])
                        break
        by_source, n_left_out = {}, {}
        for (domain, source), found, sides in zip(names, texts, assign_sides(texts), strict=True):
            documents = tuple(
                Document(text, _digest(text), int(side))
                for text, side in zip(found, sides, strict=True)
                if side != LEFT_OUT
            )
            by_source[domain, source.name] = documents
            n_left_out[domain, source.name] = len(found) - len(documents)
        return cls(by_source, n_left_out)

    def trained(self, domain: str, name: str, *, one_in: int = 1) -> list[str]:
        """Return the training part of a source, or an even share of it."""
        return [
            document.text
            for document in self.by_source[domain, name]
            if document.side == TRAINED and document.digest // HELD_OUT_ONE_IN % one_in == 0
        ]

    def held_out(self, domain: str, name: str) -> list[str]:
        """Held-out documents of a source, at most `MAX_MEASURED`."""
        return self._drawn(d for d in self.by_source[domain, name] if d.side == HELD_OUT)

    def whole(self, domain: str, name: str) -> list[str]:
        """Documents of a source on either side, at most `MAX_MEASURED`: for one left out whole."""
        return self._drawn(iter(self.by_source[domain, name]))

    @staticmethod
    def _drawn(documents: Iterator[Document]) -> list[str]:
        ordered = sorted(documents, key=lambda document: document.digest)
        return [document.text for document in ordered[:MAX_MEASURED]]


def _records(path: Path) -> Iterator[dict[str, Any]]:
    data = _core.decompress(path.read_bytes(), max_bytes=_MAX_BYTES)
    return (json.loads(line) for line in data.splitlines())
