"""Documents of JSON lines with their domains and places: more than one field of each record.

The core's reader takes one field; where more is wanted, records are parsed here, with the same
rules and the same errors for the text. A record without the domain's field is in no domain.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jeton import _core
from jeton.corpus.json_records import json_lines
from jeton.corpus.lookup import lookup, text_or_none
from jeton.corpus.places import RecordPlaces, record_id
from jeton.errors import LimitError, RecordError

__all__ = ["JsonlDocuments"]

_PIECE_BYTES = 4 << 20
"""4 MiB of text at a time."""

_MAX_TEXTS_PER_BATCH = 65_536
"""So that batches of empty texts end too."""

MAX_RECORD_BYTES = 1 << 30
"""1 GiB, in bytes: as in the core's reader, a longer line is an error."""


class JsonlDocuments:
    """Iterates over ``(batch, domains)``; a domain is None where the field is not there."""

    def __init__(
        self,
        path: str,
        *,
        field: str,
        domain_field: str,
        strict: bool,
        batch_bytes: int,
        max_decompressed_bytes: int | None = None,
    ) -> None:
        """Open the file.

        Raises:
            OSError: The file cannot be read.
        """
        self._path = path
        self._field = field
        self._domain_field = domain_field
        self._strict = strict
        self._batch_bytes = batch_bytes
        self.batch_places = RecordPlaces((), ())
        """Lines and ids of the records of the batch handed out last."""
        self.n_replacements = 0
        """Characters that were not UTF-8 in the file and were replaced before parsing."""
        self._reader = _core.DocumentReader(
            path,
            format="text",
            strict=strict,
            batch_bytes=_PIECE_BYTES,
            max_document_bytes=_PIECE_BYTES,
            max_decompressed_bytes=max_decompressed_bytes,
        )

    @property
    def n_bytes_read(self) -> int:
        """Bytes taken from the file so far, as stored."""
        return self._reader.n_bytes_read

    def __iter__(self) -> Iterator[tuple[_core.TextBatch, list[str | None]]]:
        """The batches in the order of the file.

        Raises:
            RecordError: A line does not parse, or has no text (path and line).
            InvalidTextError: Under strict reading, a text is not UTF-8.
            LimitError: A line is longer than any document may be.
        """
        texts: list[str] = []
        domains: list[str | None] = []
        lines: list[int] = []
        ids: list[str] = []
        n_chars = 0
        records = json_lines(self._pieces(), max_record_bytes=MAX_RECORD_BYTES, report=self._refuse)
        for line, record in records:
            texts.append(self._text(record, line))
            domain = lookup(record, self._domain_field) if self._domain_field else None
            domains.append(text_or_none(domain))
            lines.append(line)
            ids.append(record_id(record))
            n_chars += len(texts[-1])
            if n_chars >= self._batch_bytes or len(texts) >= _MAX_TEXTS_PER_BATCH:
                self.batch_places = RecordPlaces(lines, ids)
                yield _core.TextBatch.from_texts(texts, strict=self._strict), domains
                texts, domains, lines, ids, n_chars = [], [], [], [], 0
        if texts:
            self.batch_places = RecordPlaces(lines, ids)
            yield _core.TextBatch.from_texts(texts, strict=self._strict), domains

    def _pieces(self) -> Iterator[bytes]:
        for batch in self._reader:
            self.n_replacements += batch.n_replacements
            yield batch.data.tobytes()

    def _text(self, record: Any, line: int) -> str:
        text = lookup(record, self._field)
        if isinstance(text, str):
            return text
        found = "the record is not an object"
        if isinstance(record, dict):
            there = ", ".join(f'"{name}"' for name in list(record)[:20])
            found = f"the fields there are {there or 'none'}"
            if text is not None:
                found = f"it is of type {type(text).__name__}"
        raise RecordError(
            f'{self._path}, line {line}: no string in the field "{self._field}"; {found}',
            path=self._path,
            line=line,
        )

    def _refuse(self, kind: str, line: int, detail: str) -> None:
        if kind == "line_too_long":
            raise LimitError(
                f"{self._path}, line {line}: {detail}; the limit is {MAX_RECORD_BYTES:,}",
                what="line",
                limit=MAX_RECORD_BYTES,
            )
        raise RecordError(
            f"{self._path}, line {line}: not valid JSON: {detail}", path=self._path, line=line
        )
