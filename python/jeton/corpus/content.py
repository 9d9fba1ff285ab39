"""Kind of a file by its first bytes: text, records, or something that is no text.

One rule for every command that reads documents. Archives, pictures, documents of office programs
and files of Jeton's own are no text; UTF-16 and UTF-32 with a mark are decoded; an array of JSON
records is read as records.
"""

from __future__ import annotations

import re
import zlib
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from jeton._archives import HEAD_BYTES, archive_kind
from jeton._core import DocumentReader
from jeton.errors import JetonError

SNIFF_BYTES: Final = 8192
"""A file found in a folder is binary if a NUL is among its first bytes, as git and grep judge
(git looks at 8000 bytes: ``buffer_is_binary`` in xdiff-interface.c, git 2.47)."""

_UNPACK: Final = "unpack it first, and name the file inside"
_AS_TEXT: Final = "export its text to a file first"
_NO_TEXT: Final = "name files of text, or leave it out"

_MARKS: Final = (
    (re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"), "compressed with bzip2", "bunzip2 FILE"),
    (re.compile(rb"\xfd7zXZ\x00"), "compressed with xz", "unxz FILE"),
    (re.compile(rb"LZIP[\x00\x01]"), "compressed with lzip", _UNPACK),
    (re.compile(rb"\x04\x22M\x18"), "compressed with lz4", "unlz4 FILE"),
    (re.compile(rb"\x5d\x00\x00[\x00-\xff]{2}"), "compressed with lzma", "unlzma FILE"),
    (re.compile(rb"\x1f[\x9d\xa0]"), "compressed with compress", "uncompress FILE"),
    (re.compile(rb"\xff\x06\x00\x00sNaPpY"), "compressed with snappy", _UNPACK),
    (re.compile(rb"7z\xbc\xaf\x27\x1c"), "a 7z archive", _UNPACK),
    (re.compile(rb"Rar!\x1a\x07"), "a rar archive", _UNPACK),
    (re.compile(rb"MSCF\x00\x00\x00\x00"), "a cabinet archive", _UNPACK),
    (re.compile(rb"!<arch>\n"), "an ar archive", _UNPACK),
    (re.compile(rb"0707(?:01|02|07)[0-9A-Fa-f]{6}"), "a cpio archive", _UNPACK),
    (re.compile(rb"%PDF-"), "a PDF file", "convert it first (pdftotext FILE)"),
    (re.compile(rb"%!PS"), "a PostScript file", _AS_TEXT),
    (re.compile(rb"\{\\rtf"), "an RTF document", _AS_TEXT),
    (re.compile(rb"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"), "a document of Microsoft Office", _AS_TEXT),
    (re.compile(rb"\x89PNG\r\n"), "a PNG picture", _NO_TEXT),
    (re.compile(rb"\xff\xd8\xff"), "a JPEG picture", _NO_TEXT),
    (re.compile(rb"GIF8[79]a"), "a GIF picture", _NO_TEXT),
    (re.compile(rb"(?:II\*\x00|MM\x00\*)"), "a TIFF picture", _NO_TEXT),
    (re.compile(rb"BM.{4}\x00\x00\x00\x00", re.DOTALL), "a BMP picture", _NO_TEXT),
    (re.compile(rb"\x00\x00[\x01\x02]\x00[^\x00]\x00"), "an icon", _NO_TEXT),
    (re.compile(rb"RIFF.{4}WEBP", re.DOTALL), "a WebP picture", _NO_TEXT),
    (re.compile(rb"RIFF.{4}(?:WAVE|AVI )", re.DOTALL), "sound or film", _NO_TEXT),
    (re.compile(rb".{4}ftyp", re.DOTALL), "sound, film or a picture (MP4, HEIC)", _NO_TEXT),
    (re.compile(rb"(?:ID3[\x02-\x04]|OggS|fLaC|\x1aE\xdf\xa3)"), "sound or film", _NO_TEXT),
    (re.compile(rb"\x7fELF"), "a program", _NO_TEXT),
    (re.compile(rb"(?:\xcf\xfa\xed\xfe|\xca\xfe\xba\xbe|\x00asm)"), "a program", _NO_TEXT),
    (re.compile(rb"MZ[\x00-\xff]{6}\x00"), "a program", _NO_TEXT),
    (
        re.compile(rb"SQLite format 3\x00"),
        "an SQLite database",
        "export a table as JSON Lines, or as sqlite3 -json writes it: of Goose 'select * from "
        "sessions', of OpenCode and Kilo 'select * from message'",
    ),
    (re.compile(rb"(?:ARROW1|FEA1)"), "an Arrow file", "write it as Parquet"),
    (re.compile(rb"Obj\x01"), "an Avro file", "write it as JSON Lines or Parquet"),
    (re.compile(rb"ORC"), "an ORC file", "write it as Parquet"),
    (re.compile(rb"\x89HDF\r\n"), "an HDF5 file", "write its text as JSON Lines or Parquet"),
    (re.compile(rb"\x93NUMPY"), "a NumPy array", _NO_TEXT),
    (re.compile(rb"\x80[\x02-\x05][\x8a\x95\x63\x7d\x5d\x28\x58]"), "a Python pickle", _NO_TEXT),
    (re.compile(rb"GGUF"), "a GGUF model", _NO_TEXT),
    (
        re.compile(rb"version https://git-lfs\.github\.com/spec/"),
        "a pointer of Git LFS, not the file itself",
        "fetch the file (git lfs pull)",
    ),
)
"""Beginnings of files, as the file formats define them."""

_ORC_NEEDS_NUL: Final = frozenset({"an ORC file", "a program", "an icon", "a GGUF model"})
"""Kinds whose marks are letters that text may begin with: a NUL has to follow."""

_COUNTS: Final = b"JTCOUNTS"
_OWN_JSON: Final = re.compile(rb'\s*\{\s*"schema_version"\s*:\s*"(jeton\.[a-z0-9_.-]+/\d+)"')
_TOKENIZER_JSON: Final = re.compile(
    rb'\s*\{\s*"version"\s*:\s*"1\.0"\s*,\s*"(?:truncation|padding|added_tokens)"'
)
_CANONICAL: Final = re.compile(rb'\s*\{\s*"jeton"\s*:\s*\d')
_RANKS: Final = re.compile(rb"(?:[A-Za-z0-9+/]+=* \d+\r?\n){2}")
_VOCABULARIES: Final = (
    ("vocab.txt", re.compile(rb"(?:[^\n]*\n){0,200}?\[(?:UNK|PAD|CLS)\]\r?\n")),
    ("vocab.json", re.compile(rb'\s*\{\s*"(?:[^"\\]|\\.)*"\s*:\s*\d+\s*,\s*"')),
    ("merges.txt", re.compile(rb"#version: ?\d")),
)
"""Ends of the names of word lists and merges, and how such files begin."""

_CONTROLS: Final = bytes({*range(32), 127} - {*b"\t\n\r\f\x1b"})

_LEAST_JUDGED_BYTES: Final = 64
"""From so many bytes on, data is told from text by its share of bytes that text has not."""

_MOST_STRANGE_SHARE: Final = 0.25
"""Share of control characters and NULs, or of characters that are not UTF-8: tables of terminals
have some, and text in an older encoding that is mostly ASCII has less."""

_TOKENIZER_NAMES: Final = frozenset(
    {"tokenizer.json", "tokenizer_config.json", "special_tokens_map.json", "training_card.json"}
)
"""Small files beside a saved tokenizer, by which a folder of one is known."""

_LIST_IN_OBJECT: Final = re.compile(rb'(?:\xef\xbb\xbf)?\s*\{\s*"([^"\\]+)"\s*:\s*\[\s*\{')

_ENCODINGS: Final = (
    (b"\xff\xfe\x00\x00", "utf-32"),
    (b"\x00\x00\xfe\xff", "utf-32"),
    (b"\xff\xfe", "utf-16"),
    (b"\xfe\xff", "utf-16"),
)
"""Byte order marks, the longest first."""

_LEAST_UTF16_SHARE: Final = 0.3
"""Share of NULs among the bytes at even or at odd places from which text is UTF-16 without a mark:
English has nearly 1, and text with single NULs has nearly none."""


@dataclass(frozen=True, slots=True)
class Content:
    """Kind of a file.

    Attributes:
        kind: The kind in words, where it is no text; empty: it can be read.
        hint: The remedy.
        is_binary: True if its first bytes hold a NUL that no encoding explains.
        encoding: ``"utf-16"`` or ``"utf-32"`` where a mark says so; empty: UTF-8.
        records: Where a JSON file holds records: ``"array"`` or ``"lines"``; empty: text.
        list_field: Field of a JSON object that holds a list of objects; empty: no such file.
    """

    kind: str = ""
    hint: str = ""
    is_binary: bool = False
    encoding: str = ""
    records: str = ""
    list_field: str = ""


def look_at(path: Path) -> Content:
    """Look at the first bytes of a regular file, as stored and decompressed.

    A file that cannot be read or decompressed is not judged here: reading it says what is wrong.
    """
    try:
        with path.open("rb") as file:
            stored = file.read(SNIFF_BYTES)
    except OSError:
        return Content()
    head = _decompressed(path, stored)
    name = path.name.lower()
    found = _no_text(name, stored) or (_no_text(name, head) if head is not stored else None)
    if found is not None:
        return found
    encoding = next((name for mark, name in _ENCODINGS if head.startswith(mark)), "")
    text = head
    if encoding:
        text = head.decode(encoding, "ignore").encode("utf-8", "ignore")
    elif kind := _unmarked(head):
        return Content(
            kind=f"{kind} without a byte order mark",
            hint=f"convert it first (iconv -f {kind} -t UTF-8 FILE)",
        )
    strange = _strange(text)
    if strange is not None:
        return strange
    is_json = _plain_name(name).endswith(".json")
    records = _records(text) if is_json else ""
    found_list = _LIST_IN_OBJECT.match(text) if is_json and not records else None
    return Content(
        is_binary=b"\0" in text,
        encoding=encoding,
        records=records,
        list_field="" if found_list is None else found_list[1].decode("utf-8", "replace"),
    )


def _strange(text: bytes) -> Content | None:
    """Tell data, and text of another encoding, by how much of the beginning is no text."""
    n = len(text)
    if n < _LEAST_JUDGED_BYTES:
        return None
    if n - len(text.translate(None, _CONTROLS)) > _MOST_STRANGE_SHARE * n:
        return Content(kind="binary data", hint=_NO_TEXT)
    if text.isascii():
        return None
    read = text.decode("utf-8", "replace")
    if read.count("\ufffd") - text.count(b"\xef\xbf\xbd") > _MOST_STRANGE_SHARE * len(read):
        return Content(
            kind="not UTF-8 for the most part",
            hint="convert it first (iconv -f ENCODING -t UTF-8 FILE), or leave it out",
        )
    return None


def _no_text(name: str, head: bytes) -> Content | None:
    for mark, kind, hint in _MARKS:
        if mark.match(head) and (kind not in _ORC_NEEDS_NUL or b"\0" in head[:64]):
            return Content(kind=kind, hint=hint)
    kind = archive_kind(name, head[:HEAD_BYTES])
    if kind:
        is_zip = head.startswith(b"PK")
        office = "; of a document (Word, Excel ...) export the text" if is_zip else ""
        return Content(kind=kind, hint=_UNPACK + office)
    if _COUNTS in head[: 2 * len(_COUNTS)]:
        return Content(
            kind="a file of counts of `jeton count-pretokens`, not text",
            hint="add --from-counts, and name nothing else (Python: load_counts)",
        )
    if own := _OWN_JSON.match(head):
        return Content(kind=f"a file that Jeton wrote ({own[1].decode()}), not text", hint=_NO_TEXT)
    is_json = _plain_name(name).endswith(".json")
    if (is_json and (_TOKENIZER_JSON.match(head) or _CANONICAL.match(head))) or (
        _plain_name(name).endswith(".tiktoken") and _RANKS.match(head)
    ):
        return Content(kind="a tokenizer, not text", hint=_NO_TEXT)
    plain = _plain_name(name)
    if any(plain.endswith(end) and mark.match(head) for end, mark in _VOCABULARIES):
        return Content(kind="the vocabulary of a tokenizer, not text", hint=_NO_TEXT)
    if name in _TOKENIZER_NAMES:
        return Content(kind="a file of a saved tokenizer, not text", hint=_NO_TEXT)
    return None


def _plain_name(name: str) -> str:
    return name.removesuffix(".zst").removesuffix(".gz")


def _decompressed(path: Path, stored: bytes) -> bytes:
    """The first bytes of what is inside; of zstd with bytes replaced that are not UTF-8."""
    if stored.startswith(b"\x1f\x8b"):
        with suppress(zlib.error):
            return zlib.decompressobj(wbits=31).decompress(stored, SNIFF_BYTES)
        return b""
    if not stored.startswith(b"\x28\xb5\x2f\xfd"):
        return stored
    try:
        reader = DocumentReader(
            str(path), format="text", batch_bytes=1, max_document_bytes=SNIFF_BYTES
        )
        batch = next(reader, None)
    except (OSError, JetonError):
        return b""
    if batch is None:
        return b""
    head = batch.data.tobytes()
    # A mark of UTF-16 was replaced: its two bytes are no UTF-8.
    replaced = "\ufffd\ufffd".encode()
    if head.startswith(replaced) and _unmarked(head[len(replaced) :] + b"\0"):
        return (b"\xff\xfe" if head[len(replaced) + 1 :][:1] == b"\0" else b"\xfe\xff") + head[
            len(replaced) :
        ]
    return head


def _unmarked(head: bytes) -> str:
    """The encoding of text in which every second byte, or three of four, is a NUL."""
    if len(head) < 4 or b"\0" not in head:
        return ""
    n_pairs = len(head) // 2
    even, odd = head[0 : 2 * n_pairs : 2], head[1 : 2 * n_pairs : 2]
    shares = even.count(0) / n_pairs, odd.count(0) / n_pairs
    if max(shares) < _LEAST_UTF16_SHARE:
        return ""
    if min(shares) < 0.02:
        return "UTF-16LE" if shares[1] > shares[0] else "UTF-16BE"
    n_quads = len(head) // 4
    zeros = [head[i : 4 * n_quads : 4].count(0) / n_quads for i in range(4)]
    if zeros[2] > 0.9 and zeros[3] > 0.9 and zeros[0] < 0.02:
        return "UTF-32LE"
    if zeros[0] > 0.9 and zeros[1] > 0.9 and zeros[3] < 0.02:
        return "UTF-32BE"
    return ""


def _records(head: bytes) -> str:
    """``"array"`` for ``[{``, ``"lines"`` for an object a line, else empty."""
    start = head.removeprefix(b"\xef\xbb\xbf").lstrip()
    if re.match(rb"\[\s*[{\"]", start):
        return "array"
    first, line_break, after = start.partition(b"\n")
    if first.rstrip()[:1] == b"{" and first.rstrip()[-1:] == b"}" and line_break:
        return "lines" if after.lstrip()[:1] == b"{" else ""
    return ""
