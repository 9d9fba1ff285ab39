"""Rows of CSV and TSV out of text that comes in pieces."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Final

PIECE_BYTES: Final = 4 << 20
"""4 MiB: a longer line comes in parts."""

Report = Callable[[str, int, str], None]
"""Called with the kind of an issue, the line, and a detail."""


_DELIMITERS: Final = ",\t;|"


def delimiter_of(first: bytes) -> str:
    """The sign between the cells: the one that is most in the header."""
    header = first.partition(b"\n")[0].decode("utf-8", "replace").strip()
    return max(_DELIMITERS, key=header.count)


def csv_rows(
    pieces: Iterable[bytes], delimiter: str, max_record_bytes: int, report: Report
) -> Iterator[tuple[int, Mapping[str, str]]]:
    """Rows by the names of the header; cells that are empty are left out."""
    reader = csv.reader(_lines(pieces), delimiter=delimiter)
    header: list[str] | None = None
    while True:
        # The limit belongs to the module, so it is set for no longer than a row takes.
        limit = csv.field_size_limit(max_record_bytes)
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            report("not_json", line, f"not valid CSV: {error}; the rest of the file is left out")
            return
        finally:
            csv.field_size_limit(limit)
        if row is None:
            return
        if not any(row):
            continue
        if header is None:
            header = [name.strip() for name in row]
        else:
            yield line, {name: cell for name, cell in zip(header, row, strict=False) if cell}


def _lines(pieces: Iterable[bytes]) -> Iterator[str]:
    """Lines with their ends, as the reader of CSV wants them.

    A line longer than a piece comes in parts: the reader joins them inside quotes, and refuses a
    field beyond its limit.
    """
    waiting = ""
    for piece in pieces:
        *lines, waiting = (waiting + str(piece, "utf-8")).split("\n")
        yield from (line + "\n" for line in lines)
        if len(waiting) > PIECE_BYTES:
            yield waiting
            waiting = ""
    if waiting:
        yield waiting
