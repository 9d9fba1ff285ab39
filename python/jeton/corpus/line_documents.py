"""Lines of a text file as documents, each with its number: for those who have to find it again."""

from __future__ import annotations

from collections.abc import Iterator

from jeton._core import DocumentReader, TextBatch
from jeton.corpus.places import RecordPlaces

PIECE_BYTES = 4 << 20
"""Bytes read at a time."""


class LineDocuments:
    """Iterates over batches of the lines that are not empty, as the core's reader gives them."""

    def __init__(
        self,
        path: str,
        *,
        strict: bool,
        batch_bytes: int,
        max_decompressed_bytes: int | None = None,
    ) -> None:
        """Open the file.

        Raises:
            OSError: The file cannot be read.
        """
        self._batch_bytes = batch_bytes
        self._reader = DocumentReader(
            path,
            format="text",
            strict=strict,
            batch_bytes=PIECE_BYTES,
            max_document_bytes=PIECE_BYTES,
            max_decompressed_bytes=max_decompressed_bytes,
        )
        self.batch_places = RecordPlaces((), ())
        """The lines of the batch handed out last."""

    @property
    def n_bytes_read(self) -> int:
        """Bytes taken from the file so far, as stored."""
        return self._reader.n_bytes_read

    def __iter__(self) -> Iterator[TextBatch]:
        """The batches in the order of the file."""
        waiting: list[bytes] = []
        numbers: list[int] = []
        n_bytes = 0
        for number, line in self._lines():
            waiting.append(line)
            numbers.append(number)
            n_bytes += len(line)
            if n_bytes >= self._batch_bytes:
                yield self._batch(waiting, numbers)
                waiting, numbers, n_bytes = [], [], 0
        if waiting:
            yield self._batch(waiting, numbers)

    def _batch(self, lines: list[bytes], numbers: list[int]) -> TextBatch:
        self.batch_places = RecordPlaces(numbers, [""] * len(numbers))
        return TextBatch.from_texts(lines)

    def _lines(self) -> Iterator[tuple[int, bytes]]:
        """Lines that are not empty, with their numbers from 1."""
        number, rest = 1, b""
        for batch in self._reader:
            # A piece ends within a line only where that is longer than a piece.
            *lines, rest = (rest + batch.data.tobytes()).split(b"\n")
            for line in lines:
                if text := line.removesuffix(b"\r"):
                    yield number, text
                number += 1
        if rest:
            yield number, rest
