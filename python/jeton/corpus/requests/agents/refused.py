"""Files of coding agents whose counts are not exact enough to be priced: refused by name."""

from __future__ import annotations

from typing import Final

from jeton.errors import RecordError

REFUSED: Final = (
    (
        b"# aider chat started at",
        "the history of a chat with Aider, which rounds its counts (1.2k sent)",
        "run aider --analytics-log FILE, and read that file",
    ),
)
"""Beginning of a file, what it is, and what to do instead."""


def refuse(head: bytes, path: str) -> None:
    """Refuse a file by its beginning.

    Raises:
        RecordError: It is one that cannot be priced.
    """
    start = head[:256].lstrip()
    for begins, what, hint in REFUSED:
        if start.startswith(begins):
            raise RecordError(f"{path}: {what}\nhint: {hint}", path=path)
