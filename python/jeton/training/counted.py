"""Result of counting: weighted pretokens, their origin, and their language."""

from __future__ import annotations

import errno
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from typing import Any

from jeton._core import PretokenCounts
from jeton.corpus import InputFile
from jeton.corpus.care import CareTally
from jeton.errors import UsageError


@dataclass(frozen=True, slots=True)
class TrainingSource:
    """One input that was trained on.

    Attributes:
        name: Its path as given, ``"-"`` for standard input, ``"<texts>"`` for Python objects.
        n_documents: Documents that count, empty ones too.
        n_bytes: Bytes of their text, UTF-8, without weights.
        n_replaced_documents: Documents in which bytes that are not UTF-8 were replaced.
        weight: How much they count, a number such as ``2`` or ``5/2``.
        n_left_out_documents: Documents that did not count: copies, low quality, held out.
        sha256: SHA-256 of the file as stored; empty where it is no file or was not asked for.
    """

    name: str
    n_documents: int
    n_bytes: int
    n_replaced_documents: int = 0
    weight: str = "1"
    n_left_out_documents: int = 0
    sha256: str = ""

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values, without a weight of 1 and without nothing left out."""
        values = asdict(self)
        if self.weight == "1":
            del values["weight"]
        if not self.n_left_out_documents:
            del values["n_left_out_documents"]
        if not self.sha256:
            del values["sha256"]
        return values


@dataclass(frozen=True, slots=True)
class LanguageCounts:
    """The pretokens of one language.

    Attributes:
        name: The language.
        counts: The counts to learn from.
        n_documents: Documents of that.
        n_bytes: Bytes of their text, UTF-8, without weights.
        development: The measured text; None: the text of the training.
    """

    name: str
    counts: PretokenCounts
    n_documents: int
    n_bytes: int
    development: PretokenCounts | None = None

    @property
    def measured(self) -> PretokenCounts:
        """The text that tells what the language pays."""
        return self.counts if self.development is None else self.development


@dataclass(frozen=True, slots=True)
class RareCounts:
    """The pretokens that were left out because they are rare.

    Attributes:
        n_distinct: Distinct pretokens.
        n_pretokens: Pretokens.
        n_bytes: Their bytes.
    """

    n_distinct: int = 0
    n_pretokens: int = 0
    n_bytes: int = 0


@dataclass(frozen=True, slots=True)
class CountedCorpus:
    """The pretokens of a corpus, and where they come from.

    Attributes:
        counts: The weighted pretokens.
        sources: Every input that was read, in order.
        skipped: Inputs that were not read; each says why.
        unit: Counts of a document of weight 1: weights are made whole by it.
        left_out: Documents that did not count.
        n_cut_documents: Text documents (or lines) of more than 64 MiB, counted in pieces.
        languages: Counts by language, by name; empty for algorithms that do not ask.
        indents: True if indentation was taken out of the text, for tokens that stand for it.
        n_null_documents: Records whose text is null.
        n_bad_records: Records that cannot be used and were left out.
        first_bad_record: The first of them, in words.
        pattern: The split pattern as it was named; empty where that is not known.
        reading: How inputs were read (field, documents ...), as plain JSON values.
        care: The care of documents, as plain JSON values (``CorpusCare.to_dict``).
        min_count: Pretokens that occur less often were left out.
        rare: Counts that this left out.
    """

    counts: PretokenCounts
    sources: tuple[TrainingSource, ...]
    skipped: tuple[InputFile, ...] = ()
    unit: int = 1
    left_out: CareTally = field(default_factory=CareTally)
    n_cut_documents: int = 0
    languages: tuple[LanguageCounts, ...] = ()
    indents: bool = False
    n_null_documents: int = 0
    n_bad_records: int = 0
    first_bad_record: str = ""
    pattern: str = ""
    reading: Mapping[str, Any] = field(default_factory=dict)
    care: Mapping[str, Any] = field(default_factory=dict)
    min_count: int = 1
    rare: RareCounts = RareCounts()


# Counts within a limit of memory: what has no room goes to disk, which may be full.

MIN_MEMORY_BYTES = 16 << 20
"""16 MiB: below that, tables are so small that everything is on disk all the time."""


def limit_memory(
    counts: PretokenCounts,
    max_memory: int | None,
    temp_dir: str | os.PathLike[str] | None,
    *,
    shares: int = 1,
) -> None:
    """Bound the memory of counts to one of `shares` equal parts.

    Raises:
        UsageError: Less than 16 MiB in all.
    """
    if max_memory is None:
        return
    if max_memory < MIN_MEMORY_BYTES:
        raise UsageError(
            f"max_memory is {max_memory:,} bytes; expected at least {MIN_MEMORY_BYTES:,}"
        )
    folder = None if temp_dir is None else os.fspath(temp_dir)
    counts.limit_memory(max_memory // shares, temp_dir=folder)


class explained_full_disk:
    """Says of a full disk what was being written there."""

    def __init__(self, temp_dir: str | os.PathLike[str] | None) -> None:
        self._temp_dir = temp_dir

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if (
            isinstance(error, OSError)
            and error.errno == errno.ENOSPC
            and "temporary files" in str(error.filename)
        ):
            raise OSError(
                errno.ENOSPC,
                "the disk is full of counts that have no room in memory\n"
                "hint: name a folder with more room by temp_dir, or allow more memory by "
                "max_memory",
                error.filename,
            ) from error
