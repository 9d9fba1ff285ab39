"""Inputs become weighted pretokens: the one pass over the text that every trainer starts from.

Cost: O(bytes) on all threads; memory of the distinct pretokens (about 45 MB for 1 GB of English)
and one batch. The counts do not depend on threads, batches or the order of documents.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

from jeton import _core
from jeton.corpus import InputFile, open_documents, require_text
from jeton.corpus import Progress as ReadProgress
from jeton.training.settings import TrainProgress, TrainSettings

__all__ = ["CountedCorpus", "Source", "count_pretokens"]


@dataclass(frozen=True, slots=True)
class Source:
    """One input that was trained on.

    Attributes:
        name: Its path as given, ``"-"`` for standard input, ``"<texts>"`` for Python objects.
        n_documents: Documents read from it, empty ones too.
        n_bytes: Bytes of their text, UTF-8.
        n_replaced_documents: Documents in which bytes that are not UTF-8 were replaced.
    """

    name: str
    n_documents: int
    n_bytes: int
    n_replaced_documents: int = 0


@dataclass(frozen=True, slots=True)
class CountedCorpus:
    """The pretokens of a corpus, and where they come from.

    Attributes:
        counts: The weighted pretokens.
        sources: Every input that was read, in order.
        skipped: Inputs that were not read; each says why.
    """

    counts: _core.PretokenCounts
    sources: tuple[Source, ...]
    skipped: tuple[InputFile, ...] = ()


def count_pretokens(
    inputs: Any,
    *,
    settings: TrainSettings | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    num_threads: int | None = None,
    on_progress: Callable[[TrainProgress], None] | None = None,
) -> CountedCorpus:
    """Read inputs and count their pretokens.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts, as ``open_documents`` has
            it: a list of ``str`` is paths, so pass ``iter(texts)`` for texts.
        settings: Of these, only what decides how text is cut matters here.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        num_threads: Threads that count; None: all there are.
        on_progress: Called after each batch, with stage ``"count"``.

    Raises:
        EmptyCorpusError: There is no text.
        PatternError: The split pattern cannot be compiled.
        CorpusError: Or what else ``open_documents`` raises.
    """
    settings = settings or TrainSettings()
    settings.check()
    counts = settings.method.new_counts(settings)

    def on_read(progress: ReadProgress) -> None:
        if on_progress is not None:
            done, total = progress.bytes_done, progress.bytes_total
            on_progress(TrainProgress("count", done, total, "bytes"))

    stream = open_documents(
        inputs, field=field, documents=documents, strict=strict, on_progress=on_read
    )
    sources: dict[str, Source] = {}
    for file, batch in stream:
        counts.add(batch, num_threads=num_threads)
        before = sources.get(file.path, Source(file.path, 0, 0))
        sources[file.path] = Source(
            name=file.path,
            n_documents=before.n_documents + len(batch),
            n_bytes=before.n_bytes + batch.n_bytes,
            n_replaced_documents=before.n_replaced_documents + batch.n_replaced_documents,
        )
    require_text(
        n_documents=stream.n_documents,
        n_bytes=stream.n_bytes,
        skipped=stream.skipped,
        n_null_documents=stream.n_null_documents,
    )
    return CountedCorpus(counts=counts, sources=tuple(sources.values()), skipped=stream.skipped)
