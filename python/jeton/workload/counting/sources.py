"""The inputs of a workload with their sizes, and its text before any tokenizer."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

MAX_SOURCES = 1_000
"""Sources listed one by one; the rest is one entry. A folder may have a million files."""

MAX_SKIPPED = 20
"""Files that were not read, named one by one; the others are counted."""


@dataclass(frozen=True, slots=True)
class SkippedFile:
    """A file found in a folder that was not read.

    Attributes:
        path: Its path.
        reason: Why it was not read.
    """

    path: str
    reason: str


@dataclass(frozen=True, slots=True)
class Source:
    """One input as it was read."""

    path: str
    n_documents: int
    n_bytes: int


@dataclass(frozen=True, slots=True)
class CorpusSummary:
    """The workload's text before any tokenizer sees it. One document stands for one request.

    Attributes:
        sources: The inputs in the order read; beyond 1,000 the last one stands for all others.
        n_documents: Documents; a piece of a cut document is one.
        n_bytes: Bytes as UTF-8.
        n_chars: Code points.
        n_words: Words as ``word_splitter`` finds them.
        word_splitter: How words are found.
        n_replaced_documents: Documents with bytes that are not UTF-8.
        n_replacements: U+FFFD written in place of such bytes.
        n_repeated_whitespace_bytes: Bytes of white space that follows other white space.
        n_cut_documents: Text documents above the reader's size limit, read in pieces.
        n_null_documents: Records and rows whose text is null, which were skipped.
        n_skipped_files: Files found in folders that are not text.
        n_bad_records: Records that cannot be used and were left out, as ``on_bad_record`` has it.
        n_sources: How many inputs there were, listed or not.
        skipped_files: The first `MAX_SKIPPED` of the files that were not read.
    """

    sources: tuple[Source, ...]
    n_documents: int
    n_bytes: int
    n_chars: int
    n_words: int
    word_splitter: str
    n_replaced_documents: int
    n_replacements: int
    n_repeated_whitespace_bytes: int
    n_cut_documents: int
    n_null_documents: int = 0
    n_skipped_files: int = 0
    n_bad_records: int = 0
    n_sources: int = 0
    skipped_files: tuple[SkippedFile, ...] = ()


class SourceList:
    """The inputs with their documents and bytes, in the order read."""

    def __init__(self) -> None:
        self._sources: dict[str, tuple[int, int]] = {}
        self._n_more = 0
        self._last = ""
        self.skipped: tuple[SkippedFile, ...] = ()

    def add(self, source: str, n_documents: int, n_bytes: int) -> None:
        """Count documents of an input."""
        is_new = source != self._last
        self._last = source
        if source not in self._sources and len(self._sources) >= MAX_SOURCES:
            # Sources come one after another, so a change of name is a further source.
            self._n_more += is_new
            source = ""
        documents_before, bytes_before = self._sources.get(source, (0, 0))
        self._sources[source] = (documents_before + n_documents, bytes_before + n_bytes)

    def __len__(self) -> int:
        """How many inputs there were, those beyond the limit too."""
        return len(self._sources) - ("" in self._sources) + self._n_more

    def merge(self, other: Self) -> SourceList:
        """The inputs of both, this one's first."""
        merged = SourceList()
        merged.skipped = (self.skipped + other.skipped)[:MAX_SKIPPED]
        for part in (self, other):
            for source, (n_documents, n_bytes) in part._sources.items():
                if source:
                    merged.add(source, n_documents, n_bytes)
        for part in (self, other):
            if part._n_more:
                merged._n_more += part._n_more
                documents_before, bytes_before = merged._sources.get("", (0, 0))
                n_documents, n_bytes = part._sources[""]
                merged._sources[""] = (documents_before + n_documents, bytes_before + n_bytes)
        return merged

    def sources(self) -> tuple[Source, ...]:
        """One entry for each source; a last one for all beyond the limit."""
        listed = sorted(self._sources.items(), key=lambda item: item[0] == "")
        return tuple(
            Source(path or f"({self._n_more:,} more)", n_documents, n_bytes)
            for path, (n_documents, n_bytes) in listed
        )
