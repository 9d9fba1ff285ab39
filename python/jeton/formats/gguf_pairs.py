"""Pairs of key and value that are put behind those of a GGUF file without tensors.

Layout: <https://github.com/ggml-org/ggml/blob/master/docs/gguf.md>, version 3, little-endian, as
the core writes it. Keys are those of llama.cpp's converter.
"""

from __future__ import annotations

import struct
from collections.abc import Mapping

ROLES_IN_GGUF = {
    "bos": "bos",
    "eos": "eos",
    "unk": "unknown",
    "sep": "seperator",  # spelled so
    "pad": "padding",
    "cls": "cls",
    "mask": "mask",
}
"""Names of roles in llama.cpp: ``tokenizer.ggml.{name}_token_id``."""

Value = int | str | list[str]
"""An id, a text, or several texts."""

_UINT32, _STRING, _ARRAY = 4, 8, 9
_N_PAIRS_AT = 16
"""Where the number of pairs stands: behind the magic, the version and the number of tensors."""


def with_pairs(data: bytes, pairs: Mapping[str, Value]) -> bytes:
    """A file's bytes with further pairs, which it must not have yet.

    Args:
        data: A GGUF file that ends with its metadata.
        pairs: Keys and values.
    """
    out = bytearray(data)
    (n_pairs,) = struct.unpack_from("<Q", out, _N_PAIRS_AT)
    struct.pack_into("<Q", out, _N_PAIRS_AT, n_pairs + len(pairs))
    for key, value in pairs.items():
        out += _text(key)
        if isinstance(value, int):
            out += struct.pack("<II", _UINT32, value)
        elif isinstance(value, str):
            out += struct.pack("<I", _STRING) + _text(value)
        else:
            out += struct.pack("<IIQ", _ARRAY, _STRING, len(value))
            out += b"".join(map(_text, value))
    return bytes(out)


def _text(text: str) -> bytes:
    data = text.encode("utf-8")
    return struct.pack("<Q", len(data)) + data
