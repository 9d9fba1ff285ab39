"""Documents by place and digest, without their text: so that a failure can name them.

Of a large corpus a part is kept: the documents whose *places* (source and number in it) have the
smallest digests. That choice does not depend on the text, so that two runs over the same files keep
the same places and a changed document is found again; it does not depend on the order of the
inputs; and it merges.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from typing import Any

from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.statistics import counts
from jeton.errors import FormatError

__all__ = ["MAX_DOCUMENTS", "Document", "DocumentTable", "place_key", "text_key"]

MAX_DOCUMENTS = 10_000
"""Documents kept: about 0.5 MB of the baseline's file at the limit, most of it digests that do not
compress."""

_N_TEXTS = len(STEPS) + 1


@dataclass(frozen=True, slots=True, order=True)
class Document:
    """One document. The order has no meaning; it decides between two at one place.

    Attributes:
        source: Where it was read from.
        index: Its number in that source, from 0.
        domain: Its domain; empty where there is none.
        text: 64 bits of the digest of its text.
        n_bytes: Bytes of its text.
        n_tokens: Tokens of its text and of each rewriting.
    """

    source: str
    index: int
    domain: str
    text: int
    n_bytes: int
    n_tokens: tuple[int, ...]

    @property
    def key(self) -> int:
        """The digest of its place."""
        return place_key(self.source, self.index)

    @property
    def place(self) -> str:
        """Its place in words: the source, and the number of a document that is not the first."""
        return f"{self.source}#{self.index + 1}"


def place_key(source: str, index: int) -> int:
    """64 bits of the digest of a place."""
    place = f"{index}\0{source}".encode("utf-8", "surrogateescape")
    return int.from_bytes(blake2b(place, digest_size=8).digest(), "big")


def text_key(digest: bytes) -> int:
    """64 bits of a longer digest of a text."""
    return int.from_bytes(digest[:8], "big")


@dataclass(slots=True)
class DocumentTable:
    """At most ``limit`` documents, those with the smallest keys."""

    limit: int = MAX_DOCUMENTS
    is_complete: bool = True
    """Whether every document offered is in it."""
    _heap: list[tuple[int, Document]] = field(default_factory=list)

    def wants(self, key: int) -> bool:
        """Whether a document with this key would be kept. False means that one is left out."""
        if len(self._heap) < self.limit or -self._heap[0][0] > key:
            return True
        self.is_complete = False
        return False

    def add(self, document: Document) -> None:
        """Keep a document if its key is small enough."""
        key = document.key
        if not self.wants(key):
            return
        entry = (-key, document)
        if len(self._heap) < self.limit:
            heapq.heappush(self._heap, entry)
        else:
            heapq.heappushpop(self._heap, entry)
            self.is_complete = False

    @property
    def documents(self) -> dict[int, Document]:
        """The documents by key; of several at one place (two texts in memory), one."""
        return {-key: document for key, document in sorted(self._heap)}

    @property
    def largest_key(self) -> int | None:
        """Places with keys up to this are all in the table; None: all places are."""
        return None if self.is_complete or not self._heap else -self._heap[0][0]

    def merge(self, other: DocumentTable) -> DocumentTable:
        """The table of both together."""
        merged = DocumentTable(
            limit=min(self.limit, other.limit), is_complete=self.is_complete and other.is_complete
        )
        for entry in [*self._heap, *other._heap]:
            merged.add(entry[1])
        return merged

    def to_plain(self) -> dict[str, Any]:
        """As JSON values: columns, sorted by place."""
        documents = sorted(document for _, document in self._heap)
        sources = sorted({d.source for d in documents})
        domains = sorted({d.domain for d in documents})
        source_index = {name: i for i, name in enumerate(sources)}
        domain_index = {name: i for i, name in enumerate(domains)}
        return {
            "limit": self.limit,
            "is_complete": self.is_complete,
            "sources": sources,
            "domains": domains,
            "source": [source_index[d.source] for d in documents],
            "index": [d.index for d in documents],
            "domain": [domain_index[d.domain] for d in documents],
            "text": [f"{d.text:016x}" for d in documents],
            "n_bytes": [d.n_bytes for d in documents],
            "n_tokens": [[d.n_tokens[step] for d in documents] for step in range(_N_TEXTS)],
        }

    @classmethod
    def from_plain(cls, plain: Any) -> DocumentTable:
        """From JSON values.

        Raises:
            FormatError: They are no table of documents.
        """
        if not isinstance(plain, Mapping):
            raise FormatError("the baseline has no table of documents")
        try:
            sources, domains = list(map(str, plain["sources"])), list(map(str, plain["domains"]))
            texts = [int(text, 16) for text in plain["text"]]
            n = len(texts)
            columns = {name: counts(plain[name], n) for name in _COLUMNS}
            n_tokens = [counts(step, n) for step in plain["n_tokens"]]
            if len(n_tokens) != _N_TEXTS:
                raise FormatError("the table of documents of the baseline lacks columns")
            table = cls(limit=max(1, int(plain["limit"])), is_complete=plain["is_complete"] is True)
            is_complete = table.is_complete
            for i in range(n):
                table.add(
                    Document(
                        source=sources[columns["source"][i]],
                        index=columns["index"][i],
                        domain=domains[columns["domain"][i]],
                        text=texts[i],
                        n_bytes=columns["n_bytes"][i],
                        n_tokens=tuple(step[i] for step in n_tokens),
                    )
                )
            table.is_complete = is_complete
        except (KeyError, TypeError, ValueError, IndexError, AttributeError) as error:
            if isinstance(error, FormatError):
                raise
            raise FormatError(
                f"the table of documents of the baseline is damaged: {error!r}"
            ) from None
        return table


_COLUMNS = ("source", "index", "domain", "n_bytes")
