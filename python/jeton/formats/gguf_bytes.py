"""Bytes of a GGUF file's metadata, in order and within limits."""

from __future__ import annotations

from pathlib import Path
from typing import BinaryIO

from jeton.errors import FormatError, LimitError

MAX_METADATA_BYTES = 512 << 20
"""Most bytes of metadata that are read; the largest published vocabularies take 20 MB."""
MAX_PAIRS = 1 << 16
MAX_TENSORS = 1 << 20
MAX_ITEMS = 1 << 24

_STEP_BYTES = 1 << 20
"""Bytes that are asked of a file at once."""


class GgufBytes:
    """Takes bytes from the beginning of a file; its errors name the file and the place."""

    def __init__(self, stream: BinaryIO, file: Path) -> None:
        self._stream = stream
        self._file = file
        self._at = 0

    def _bad(self, reason: str) -> FormatError:
        return FormatError(
            f"{self._file} {reason}\nhint: fetch or copy it again",
            path=str(self._file),
            format="GGUF",
            offset=self._at,
        )

    def _take(self, n: int) -> bytes:
        if self._at + n > MAX_METADATA_BYTES:
            raise LimitError(
                f"{self._file} has more than {MAX_METADATA_BYTES:,} bytes of metadata\n"
                "hint: no model has so much: fetch or copy the file again",
                what="GGUF metadata",
                limit=MAX_METADATA_BYTES,
            )
        data = self._stream.read(min(n, _STEP_BYTES))
        if n > _STEP_BYTES and len(data) == _STEP_BYTES:
            data = self._long(data, n)
        if len(data) != n:
            raise self._bad(f"is cut off within its metadata, at byte {self._at + len(data):,}")
        self._at += n
        return data

    def _long(self, start: bytes, n: int) -> bytes:
        """Reads on in steps: a stream makes room for all that is asked for, there or not."""
        parts = [start]
        left = n - len(start)
        while left:
            part = self._stream.read(min(left, _STEP_BYTES))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)
