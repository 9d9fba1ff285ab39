"""Documents and request logs as one kind of portion, whatever they were read from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain
from pathlib import PurePath
from typing import Literal, Protocol, TypeAlias

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch
from jeton.corpus import DocumentStream, DomainsBy, InputFile, RequestBatch, RequestStream
from jeton.corpus.inputs import domain_of_file
from jeton.corpus.names import Names
from jeton.corpus.places import RecordPlaces
from jeton.corpus.requests.blocks import Blocks
from jeton.workload.inputs.requests import RequestCollector

MAX_DOMAINS_OF_ITSELF = 20
"""Without being asked, files or folders are taken for domains where there are 2 to 20 of them: as
many as a table shows on one page."""

MAX_PEEKED_BATCHES = 8
"""Batches that are held back at most while a log is looked through for the names of models."""

Domains: TypeAlias = Literal["auto", "file", "folder", "none"]
"""Rule that makes domains: each input file, its folder, nothing; ``auto``: files or folders where
they are few."""


@dataclass(frozen=True, slots=True, eq=False)
class Portion:
    """Texts of one input.

    Attributes:
        source: Path of the input.
        texts: The documents, or what requests send.
        domains: int32 (n,), the number of each text's domain; -1: none. None: no text has one.
        overhead_tokens: int64 (n,), tokens that a chat format adds to those of the text. None: no
            text has any.
        responses: The answer to each text, empty where that is not known; None: for none.
        places: Line and id of the record that each text comes from; None: not known.
        models: int32 (n,), the number of each text's model; -1: none. None: no text has one.
        blocks: Blocks of each request; None: the texts are documents.
        rows: int64 (n,), the number of each request in the log. None: the texts are documents.
    """

    source: str
    texts: TextBatch
    domains: NDArray[np.int32] | None = None
    overhead_tokens: NDArray[np.int64] | None = None
    responses: TextBatch | None = None
    places: RecordPlaces | None = None
    models: NDArray[np.int32] | None = None
    blocks: Blocks | None = None
    rows: NDArray[np.int64] | None = None


class Portions(Protocol):
    """Portions of text, one after another; the counts are final after the last portion."""

    @property
    def has_domains(self) -> bool:
        """True if texts may have a domain."""

    @property
    def has_overhead(self) -> bool:
        """True if a chat format may add tokens."""

    @property
    def may_lack_text(self) -> bool:
        """True if there is something to say without any text."""

    @property
    def domain_names(self) -> Sequence[str]:
        """Names of the domains, by number."""

    @property
    def model_names(self) -> Sequence[str]:
        """Names of the models, by number."""

    @property
    def skipped(self) -> tuple[InputFile, ...]:
        """Inputs that are not read."""

    @property
    def n_null_documents(self) -> int:
        """Rows without a text."""

    @property
    def n_bad_records(self) -> int:
        """Records that were left out because they cannot be used."""

    @property
    def first_bad_record(self) -> str:
        """The first of them, in words."""

    @property
    def n_cut_documents(self) -> int:
        """Documents that came in pieces."""

    def __iter__(self) -> Iterator[Portion]:
        """Portion after portion, in the order of the inputs."""


class PortionsOfStream:
    """Portions of documents, with the stream that they come from."""

    model_names: Sequence[str] = ()
    may_lack_text = False

    def __init__(self, stream: DocumentStream) -> None:
        self._stream = stream

    @property
    def skipped(self) -> tuple[InputFile, ...]:
        """Inputs that are not read."""
        return self._stream.skipped

    @property
    def n_null_documents(self) -> int:
        """Rows without a text."""
        return self._stream.n_null_documents

    @property
    def n_bad_records(self) -> int:
        """Records that were left out because they cannot be used."""
        return self._stream.n_bad_records

    @property
    def first_bad_record(self) -> str:
        """The first of them, in words."""
        return self._stream.first_bad_record

    @property
    def n_cut_documents(self) -> int:
        """Documents that came in pieces."""
        return self._stream.n_cut_documents


class DocumentPortions(PortionsOfStream):
    """The documents of a stream. A domain is what the stream says, a file, a folder, or nothing."""

    has_overhead = False

    def __init__(self, stream: DocumentStream, *, domains: Domains, by_field: bool) -> None:
        super().__init__(stream)
        self._by_field = by_field
        self._file_domains = {} if by_field else _file_domains(stream.files, domains)
        self._names = Names()
        self.has_domains = by_field or bool(self._file_domains)

    @property
    def domain_names(self) -> Sequence[str]:
        """Names of the domains, by number."""
        return self._stream.domains if self._by_field else self._names.names

    def __iter__(self) -> Iterator[Portion]:
        """Portion after portion, in the order of the inputs."""
        for file, batch in self._stream:
            domains = self._stream.batch_domains if self._by_field else None
            if self._file_domains:
                number, _ = self._names.number(self._file_domains[file.path])
                domains = np.full(len(batch), number, dtype=np.int32)
            yield Portion(file.path, batch, domains, places=self._stream.batch_places)


class RequestPortions:
    """The requests of a log that show what was sent; all of them go to the collector."""

    has_overhead = True
    may_lack_text = True
    n_null_documents = 0
    n_bad_records = 0
    first_bad_record = ""
    n_cut_documents = 0

    def __init__(self, stream: RequestStream, collector: RequestCollector) -> None:
        self._stream = stream
        self._collector = collector
        self._batches = iter(stream)
        self._peeked: list[RequestBatch] = []

    def logged_models(self) -> tuple[str, ...]:
        """Models that the first batch names, the one of the most requests first."""
        for batch in self._batches:
            self._peeked.append(batch)
            numbers, counts = np.unique(batch.columns.model, return_counts=True)
            named = [
                (-count, self._stream.models[number])
                for number, count in zip(numbers.tolist(), counts.tolist(), strict=True)
                if number >= 0
            ]
            if named:
                return tuple(name for _, name in sorted(named))
            if len(self._peeked) >= MAX_PEEKED_BATCHES:
                break
        return ()

    @property
    def has_domains(self) -> bool:
        """Logs may name a domain in any record."""
        return True

    @property
    def domain_names(self) -> Sequence[str]:
        """Names of the domains, by number."""
        return self._stream.domains

    @property
    def model_names(self) -> Sequence[str]:
        """Names of the models, by number."""
        return self._stream.models

    @property
    def skipped(self) -> tuple[InputFile, ...]:
        """Inputs that are not read."""
        return self._stream.skipped

    def __iter__(self) -> Iterator[Portion]:
        """Portion after portion, in the order of the inputs."""
        # Documents that were read beforehand are dropped as they are read.
        peeked = (self._peeked.pop(0) for _ in range(len(self._peeked)))
        for batch in chain(peeked, self._batches):
            self._collector.add(batch, self._stream)
            texts, columns, responses = batch.texts, batch.columns, batch.responses
            places, blocks = batch.places, batch.blocks
            rows = batch.first_row + np.arange(len(columns), dtype=np.int64)
            if not columns.has_text.all():
                # A record of usage alone is no text of length 0: it would falsify every mean.
                kept = np.flatnonzero(columns.has_text)
                if not len(kept):
                    continue
                texts, columns = _taken(texts, kept), columns.take(kept)
                responses = None if responses is None else _taken(responses, kept)
                places = None if places is None else places.take(kept.tolist())
                blocks = None if blocks is None else blocks.take(kept)
                rows = rows[kept]
            yield Portion(
                batch.file.path,
                texts,
                columns.domain,
                columns.overhead_tokens,
                responses,
                places,
                columns.model,
                blocks,
                rows,
            )
        self._collector.finish(self._stream)


def _taken(texts: TextBatch, kept: NDArray[np.intp]) -> TextBatch:
    return TextBatch.from_texts([texts[index] for index in kept.tolist()])


def _file_domains(files: Sequence[InputFile], domains: Domains) -> dict[str, str]:
    """The domain of each file by its path; empty where files and folders are no domains."""
    kind = _few(files) if domains == "auto" else domains
    if kind == "none":
        return {}
    names = {file.path: domain_of_file(file, kind) for file in files}
    if domains == "auto" and len(set(names.values())) < 2:
        # Files of one name in several folders are told apart by their paths.
        names = {path: path if kind == "file" else str(PurePath(path).parent) for path in names}
    return names


def _few(files: Sequence[InputFile]) -> DomainsBy | Literal["none"]:
    if 2 <= len(files) <= MAX_DOMAINS_OF_ITSELF:
        return "file"
    n_folders = len({PurePath(file.path).parent for file in files})
    return "folder" if 2 <= n_folders <= MAX_DOMAINS_OF_ITSELF else "none"
