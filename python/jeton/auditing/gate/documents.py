"""Documents by id, digest and place, without their text: so that a failure can name them.

A large corpus is kept in part: the documents with the smallest keys. A key is the digest of what
the record calls itself, else of its number and the name of its file. It does not depend on the
text, so that two runs over the same records keep the same ones and a changed document is found
again; it does not depend on the order of the inputs; and it merges.
"""

from __future__ import annotations

import heapq
from collections.abc import Mapping
from dataclasses import dataclass, field
from hashlib import blake2b
from pathlib import PurePath
from typing import Any

from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.statistics import counts
from jeton.errors import FormatError

MAX_DOCUMENTS = 10_000
"""Documents kept: about 0.5 MB of the baseline's file at the limit, most of it digests that do not
compress."""


@dataclass(frozen=True, slots=True, order=True)
class Document:
    """One document. The order has no meaning; it decides between two of the same key.

    Attributes:
        source: Where it was read from.
        index: Its number in that source, from 0.
        line: Its line in that source (row of a table), from 1; 0: not known.
        domain: Its domain; empty where there is none.
        record: 64 bits of the digest of what the record calls itself; 0: nothing.
        text: 64 bits of the digest of its text.
        wording: 64 bits of the digest of what is left of it after all rewritings.
        n_bytes: Bytes of its text.
        n_tokens: Tokens of its text and of each rewriting.
    """

    source: str
    index: int
    line: int
    domain: str
    record: int
    text: int
    wording: int
    n_bytes: int
    n_tokens: tuple[int, ...]

    @property
    def key(self) -> int:
        """Key that decides whether the document is kept."""
        return document_key(self.source, self.index, self.record)


def document_key(source: str, index: int, record: int = 0) -> int:
    """64 bits of the digest of a record's id, else of its place.

    Only the name of the source's file counts: the same corpus may lie in another folder.
    """
    place = f"#{record}" if record else f"{index}\0{PurePath(source).name}"
    return text_key(place.encode("utf-8", "surrogateescape"))


def text_key(text: bytes) -> int:
    """64 bits of the digest of a text; never 0, which stands for none."""
    return int.from_bytes(blake2b(text, digest_size=8).digest(), "big") or 1


@dataclass(slots=True)
class DocumentTable:
    """At most ``limit`` documents, those with the smallest keys."""

    limit: int = MAX_DOCUMENTS
    is_complete: bool = True
    """True if every document offered is in it."""
    _heap: list[tuple[int, Document]] = field(default_factory=list)

    def wants(self, key: int) -> bool:
        """True if a document with this key would be kept. False means that one is left out."""
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
    def documents(self) -> list[Document]:
        """The documents in the order of their places."""
        return sorted(document for _, document in self._heap)

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
        documents = self.documents
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
            "line": [d.line for d in documents],
            "domain": [domain_index[d.domain] for d in documents],
            **{name: [f"{getattr(d, name):x}" for d in documents] for name in _DIGESTS},
            "n_bytes": [d.n_bytes for d in documents],
            "n_tokens": [d.n_tokens[0] for d in documents],
            # The part that each step took away: mostly nothing, so these compress well.
            "n_taken_tokens": [
                [d.n_tokens[step] - d.n_tokens[step + 1] for d in documents]
                for step in range(len(STEPS))
            ],
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
            digests = {name: [int(text, 16) for text in plain[name]] for name in _DIGESTS}
            n = len(digests["text"])
            columns = {name: counts(plain[name], n) for name in _COLUMNS}
            n_tokens = [columns["n_tokens"]]
            for taken in plain["n_taken_tokens"]:
                left = [before - less for before, less in zip(n_tokens[-1], taken, strict=True)]
                n_tokens.append(counts(left, n))
            if len(n_tokens) != len(STEPS) + 1:
                raise FormatError("the table of documents of the baseline lacks columns")
            table = cls(limit=max(1, int(plain["limit"])), is_complete=plain["is_complete"] is True)
            is_complete = table.is_complete
            for i in range(n):
                table.add(
                    Document(
                        source=sources[columns["source"][i]],
                        index=columns["index"][i],
                        line=columns["line"][i],
                        domain=domains[columns["domain"][i]],
                        record=digests["record"][i],
                        text=digests["text"][i],
                        wording=digests["wording"][i],
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


_COLUMNS = ("source", "index", "line", "domain", "n_bytes", "n_tokens")
_DIGESTS = ("record", "text", "wording")
