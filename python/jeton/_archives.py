"""Archives and other binary files, told by their first bytes, where text was expected."""

from __future__ import annotations

from typing import Final

from jeton.errors import RecordError

HEAD_BYTES: Final = 512
"""Bytes that tell: a tar file has its mark in its first block."""

_TAR_MARK: Final = slice(257, 262)
_MARKS: Final = (
    (b"PK\x03\x04", "a zip archive"),
    (b"PK\x05\x06", "a zip archive"),
    (b"7z\xbc\xaf\x27\x1c", "a 7z archive"),
    (b"Rar!\x1a\x07", "a rar archive"),
    (b"PAR1", "a Parquet file"),
    (b"SQLite format 3\x00", "an SQLite database"),
    (b"%PDF-", "a PDF file"),
)
"""Beginnings of files, as the file formats define them."""

_TAR_NAMES: Final = (
    ".tar", ".tar.gz", ".tgz", ".tar.zst", ".tzst", ".tar.bz2", ".tbz2", ".tar.xz", ".txz",
)  # fmt: skip
_UNPACK: Final = {
    "a tar archive": "unpack it first (tar -xf FILE), and name the file inside",
    "a zip archive": "unpack it first (unzip FILE), and name the file inside",
    "a 7z archive": "unpack it first, and name the file inside",
    "a rar archive": "unpack it first, and name the file inside",
}


def archive_kind(path: str, head: bytes) -> str:
    """Return what a file is in words; empty where it may be text.

    Args:
        path: Name of the file: compressed tar files are told by it.
        head: Its first `HEAD_BYTES` bytes, decompressed where that is possible.
    """
    if head[_TAR_MARK] == b"ustar" or path.lower().endswith(_TAR_NAMES):
        return "a tar archive"
    return next((kind for mark, kind in _MARKS if head.startswith(mark)), "")


def refuse_archive(path: str, head: bytes, *, expected: str, is_text: bool = True) -> None:
    """Raise an error for an archive, or for other binary data where text was expected.

    Args:
        path: Name of the file.
        head: Its first bytes, decompressed where that is possible.
        expected: The expected form, for the message.
        is_text: True if only text can be meant, so that a NUL is an error too.

    Raises:
        RecordError: It is one; the message says what it is and what to do.
    """
    kind = archive_kind(path, head)
    if not kind and is_text and b"\0" in head[:HEAD_BYTES]:
        kind = "not a text file (it has NUL bytes)"
    if kind:
        hint = _UNPACK.get(kind, "check that this is the file you mean")
        raise RecordError(f"{path} is {kind}; expected {expected}\nhint: {hint}", path=path)
