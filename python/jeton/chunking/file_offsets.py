"""Bytes of a document as bytes of the file that it was decoded from."""

from __future__ import annotations

import codecs
from bisect import bisect_right
from pathlib import Path
from threading import Lock

from jeton.errors import UsageError

_MARKS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_REPLACEMENT_BYTES = 3


class FileOffsets:
    """Places of a text file, by those of its document.

    A byte order mark stands before the document, and bytes that are not UTF-8 became U+FFFD.
    """

    def __init__(self, path: str, text: str) -> None:
        """Read the file that the text is of.

        Raises:
            UsageError: It is compressed, or holds more than the text: records have no place of
                their own in it.
            OSError: The file cannot be read.
        """
        data = Path(path).read_bytes()
        mark, encoding = next(((m, e) for m, e in _MARKS if data.startswith(m)), (b"", "utf-8"))
        self._first, self._encoding, self._text = len(mark), encoding, text
        body = data[len(mark) :]
        if body.decode(encoding, "replace") != text:
            raise UsageError(
                f"{path} is no text file of one document, so that its bytes are not those of the "
                "chunks\nhint: leave --offsets out: they are then of the decoded document"
            )
        self._ends, self._shifts = _replaced(body) if encoding == "utf-8" else ([], [])

    def of(self, at: int, at_bytes: int) -> int:
        """The byte of the file of a place of the document, in code points and in bytes."""
        if self._encoding != "utf-8":
            return self._first + len(self._text[:at].encode(self._encoding))
        place = bisect_right(self._ends, at_bytes)
        return self._first + at_bytes + (self._shifts[place - 1] if place else 0)


def _replaced(body: bytes) -> tuple[list[int], list[int]]:
    """Ends of replaced stretches in the document, and how far the file is ahead from there on."""
    ends: list[int] = []
    shifts: list[int] = []
    shift = 0
    with _NOTING:
        _found.clear()
        body.decode("utf-8", _HANDLER)
        for start, end in _found:
            ends.append(start - shift + _REPLACEMENT_BYTES)
            shift += end - start - _REPLACEMENT_BYTES
            shifts.append(shift)
    return ends, shifts


_HANDLER = "jeton.noted"
_NOTING = Lock()
_found: list[tuple[int, int]] = []


def _note(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    _found.append((error.start, error.end))
    return "\ufffd", error.end


codecs.register_error(_HANDLER, _note)
