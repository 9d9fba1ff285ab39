"""Lists of terms: the words of a trade whose pieces the audit counts.

One term a line, CSV or TSV, or JSONL; compressed or not. Cost: the whole file is in memory, which
the limits below keep small.
"""

from __future__ import annotations

import csv
import io
import json
import os
from collections.abc import Iterable, Iterator
from pathlib import Path

from jeton._archives import HEAD_BYTES, refuse_archive
from jeton._core import decompress
from jeton._foreign import json_of
from jeton.errors import EmptyCorpusError, InvalidTextError, LimitError, RecordError

MAX_TERMS = 100_000
"""Terms: more would make the report's table and the search for them unreasonable, and point to a
corpus given in place of a list. The largest word list of the field known to us has 98,119."""

MAX_TERM_CHARS = 1_000
"""Characters: a longer one is a paragraph, not a term."""

MAX_FILE_BYTES = 256 << 20
"""256 MiB decompressed: 100,000 terms with a long definition beside each fit well."""

HEADER_NAMES = frozenset({"term", "terms", "name", "word", "words", "phrase", "token", "text"})
"""First cells that make the first row of a table a header (in any case)."""

_CORRECT = "correct that line, or take it out"


def read_terms(path: str | os.PathLike[str], *, column: str | int | None = None) -> list[str]:
    """Read a list of terms, in the order of the file.

    The suffix (before ``.zst`` or ``.gz``) tells the format. ``.csv`` and ``.tsv``: the first row
    is a header if one of its cells is ``term``, whose column is then read, or if its first cell is
    one of ``HEADER_NAMES``; otherwise the first column is read from the first row on. ``.jsonl``
    and ``.ndjson``: one object a line with the term under ``term``. Anything else: one a line.

    White space around terms and empty terms are dropped; of terms that differ only in case the
    first is kept.

    Args:
        path: The file.
        column: The column by its name in the header or by its 0-based number (then the first row
            is data); for JSONL the name of the field.

    Raises:
        OSError: The file cannot be read.
        RecordError: A row has no such column, a line does not parse (path and line), or a term is
            longer than 1,000 characters.
        InvalidTextError: The file is not UTF-8.
        LimitError: More than 100,000 terms, or more than 256 MiB.
        EmptyCorpusError: There is no term.
    """
    name = os.fspath(path)
    with Path(name).open("rb") as file:
        stored = file.read(MAX_FILE_BYTES + 1)
    if len(stored) > MAX_FILE_BYTES:
        raise LimitError(
            f"{name}: a list of terms exceeds the limit of {MAX_FILE_BYTES:,} bytes",
            what="list of terms",
            limit=MAX_FILE_BYTES,
        )
    data = decompress(stored, max_bytes=MAX_FILE_BYTES, path=name)
    refuse_archive(name, bytes(data[:HEAD_BYTES]), expected="a list of terms")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidTextError(
            f"{name}: not valid UTF-8 at byte {error.start}\nhint: save the list as UTF-8",
            byte_offset=error.start,
        ) from None
    return _distinct(_rows(name, text, column), name)


def _rows(name: str, text: str, column: str | int | None) -> Iterable[tuple[int, str]]:
    """Line numbers and terms."""
    plain_name = name.lower().removesuffix(".zst").removesuffix(".gz")
    if plain_name.endswith((".jsonl", ".ndjson")):
        return _from_jsonl(name, text, "term" if column is None else str(column))
    if plain_name.endswith((".csv", ".tsv")):
        return _from_table(name, text, "\t" if plain_name.endswith(".tsv") else ",", column)
    # Not `splitlines`, which also splits at form feeds and the like.
    return enumerate(text.split("\n"), start=1)


def _from_table(
    name: str, text: str, delimiter: str, column: str | int | None
) -> Iterator[tuple[int, str]]:
    # In TSV a quotation mark is a character like any other (IANA text/tab-separated-values).
    file = io.StringIO(text, newline="")
    if delimiter == "\t":
        reader = csv.reader(file, delimiter=delimiter, quoting=csv.QUOTE_NONE)
    else:
        reader = csv.reader(file, delimiter=delimiter)
    index: int | None = None
    while True:
        line = reader.line_num + 1
        try:
            row = next(reader, None)
        except csv.Error as error:
            raise RecordError(
                f"{name}, line {line}: {error}\nhint: {_CORRECT}", path=name, line=line
            ) from None
        if row is None:
            return
        if not any(cell.strip() for cell in row):
            continue
        if index is None:
            index, is_header = _column_of(name, line, row, column)
            if is_header:
                continue
        if index >= len(row):
            raise RecordError(
                f"{name}, line {line}: the row has {len(row)} columns; "
                f"terms are expected in column {index + 1}\nhint: {_CORRECT}",
                path=name,
                line=line,
            )
        yield line, row[index]


def _column_of(
    name: str, line: int, first_row: list[str], column: str | int | None
) -> tuple[int, bool]:
    """The column to read, and whether the first row is a header."""
    cells = [cell.strip().lower() for cell in first_row]
    if isinstance(column, int):
        if column < 0:
            raise RecordError(f"{name}: column {column} should be 0 or more", path=name, line=line)
        return column, False
    if column is not None:
        if column.strip().lower() not in cells:
            there = ", ".join(repr(cell) for cell in first_row)
            raise RecordError(
                f"{name}, line {line}: no column {column!r}; the header has {there}\n"
                "hint: name one of them, or the number of the column",
                path=name,
                line=line,
            )
        return cells.index(column.strip().lower()), True
    if "term" in cells:
        return cells.index("term"), True
    return 0, cells[0] in HEADER_NAMES


def _from_jsonl(name: str, text: str, field: str) -> Iterator[tuple[int, str]]:
    for line, content in enumerate(text.split("\n"), start=1):
        if not content.strip():
            continue
        try:
            record = json_of(content, any_integer=True)
        except (json.JSONDecodeError, RecursionError) as error:
            reason = getattr(error, "msg", "nested too deeply")
            raise RecordError(
                f"{name}, line {line}: not valid JSON: {reason}\nhint: {_CORRECT}",
                path=name,
                line=line,
            ) from None
        term = record.get(field) if isinstance(record, dict) else None
        if not isinstance(term, str):
            found = "it is not an object"
            if isinstance(record, dict):
                found = f"the fields there are {', '.join(map(repr, record)) or 'none'}"
            raise RecordError(
                f"{name}, line {line}: no string in the field {field!r}; {found}\nhint: {_CORRECT}",
                path=name,
                line=line,
            )
        yield line, term


def _distinct(rows: Iterable[tuple[int, str]], name: str) -> list[str]:
    terms: dict[str, str] = {}
    for line, cell in rows:
        term = cell.strip()
        if not term:
            continue
        if len(term) > MAX_TERM_CHARS:
            raise RecordError(
                f"{name}, line {line}: {len(term):,} characters; a term has at most "
                f"{MAX_TERM_CHARS:,}\nhint: is this a corpus rather than a list of terms?",
                path=name,
                line=line,
            )
        terms.setdefault(term.lower(), term)
        if len(terms) > MAX_TERMS:
            raise LimitError(
                f"{name}: more than {MAX_TERMS:,} terms\n"
                "hint: give the terms that matter most; a corpus is not a list of terms",
                what="terms",
                limit=MAX_TERMS,
            )
    if not terms:
        raise EmptyCorpusError(f"{name}: the list holds no term")
    return list(terms.values())
