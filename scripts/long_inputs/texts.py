"""Hostile texts of any size, the same ones every time.

Sizes are UTF-8 bytes and are met to within one repetition of the text's smallest part.
"""

from __future__ import annotations

import string
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

import numpy as np

__all__ = ["TEXTS", "Text"]

_SEED = 20261121

Builder = Callable[[int], str]
"""Makes a text of about so many UTF-8 bytes."""


@dataclass(frozen=True, slots=True)
class Text:
    """One kind of text.

    Attributes:
        name: as the tables say it.
        build: makes one of about so many UTF-8 bytes.
        allow_special: encoded once more with all special tokens allowed.
    """

    name: str
    build: Builder
    allow_special: bool = False


def _repeated(part: str, n_bytes: int) -> str:
    return part * (n_bytes // len(part.encode()))


def _random_ascii(alphabet: str, n_bytes: int) -> str:
    chosen = np.random.default_rng(_SEED).integers(0, len(alphabet), n_bytes, dtype=np.uint8)
    table = np.frombuffer(alphabet.encode("ascii"), dtype=np.uint8)
    return table[chosen].tobytes().decode("ascii")


def _random_characters(first: int, last: int, width_bytes: int, n_bytes: int) -> str:
    """Characters of one width in UTF-8, drawn evenly from a range."""
    generator = np.random.default_rng(_SEED)
    chosen = generator.integers(first, last + 1, n_bytes // width_bytes, dtype="<u4")
    return chosen.tobytes().decode("utf-32-le")


def _random_bytes(encoding: str, n_bytes: int) -> str:
    # Bytes of UTF-8 for each random byte: half are above 0x7F, which Latin-1 makes two; of those
    # that are not UTF-8, most become a U+FFFD of three each (measured).
    share = {"latin-1": 1.5, "utf-8": 1.81}[encoding]
    data = np.random.default_rng(_SEED).bytes(int(n_bytes / share))
    return data.decode(encoding, errors="replace")


def _in_front(part: str, start: str, n_bytes: int) -> str:
    return start + _repeated(part, n_bytes - len(start.encode()))


_SINGLE = {
    "a": "a",
    "capital A": "A",
    "spaces": " ",
    "newlines": "\n",
    "tabs": "\t",
    "apostrophes": "'",
    "U+0301": "\u0301",
    "U+2581": "\u2581",
    "U+4E2D": "\u4e2d",
    "emoji": "\U0001f600",
    "ZWJ": "\u200d",
    "NUL": "\0",
    "U+FFFD": "\ufffd",
    "U+0130": "\u0130",
    "U+FDFA": "\ufdfa",
    "regional indicators": "\U0001f1e6",
    "virama": "\u094d",
}
_ALTERNATING = {
    "a, b": "ab",
    "a, space": "a ",
    "a, newline": "a\n",
    "space, newline": " \n",
    "carriage return, newline": "\r\n",
    "a, accent": "a\u0301",
    "two accents out of order": "\u0301\u0323",
    "emoji, ZWJ": "\U0001f600\u200d",
    "ka, virama": "\u0915\u094d",
    "a, U+2581": "a\u2581",
    "U+4E2D, space": "\u4e2d ",
}
_LOOK_ALIKES = {
    "<|endo": "<|endo",
    "<s": "<s",
    "[MAS": "[MAS",
    "<0x": "<0x",
    "##": "##",
    "<mask>": "<mask>",
    "<|endoftext|>": "<|endoftext|>",
    "[MASK], spaces": "[MASK]   ",
    "</s><s>": "</s><s>",
}

TEXTS: tuple[Text, ...] = (
    *(Text(f"only {name}", partial(_repeated, part)) for name, part in _SINGLE.items()),
    *(Text(f"alternating {name}", partial(_repeated, part)) for name, part in _ALTERNATING.items()),
    Text("one letter, then accents", partial(_in_front, "\u0301\u0323", "e")),
    Text("spaces, then a letter", lambda n_bytes: " " * (n_bytes - 1) + "a"),
    Text("random letters", partial(_random_ascii, string.ascii_letters)),
    Text("random small letters", partial(_random_ascii, string.ascii_lowercase)),
    Text("random digits", partial(_random_ascii, string.digits)),
    Text("random ASCII", partial(_random_ascii, "".join(map(chr, range(128))))),
    Text("random bytes as Latin-1", partial(_random_bytes, "latin-1")),
    Text("random bytes, replaced", partial(_random_bytes, "utf-8")),
    Text("random Chinese", partial(_random_characters, 0x4E00, 0x9FA5, 3)),
    Text("random Thai", partial(_random_characters, 0x0E01, 0x0E3A, 3)),
    Text("random marks", partial(_random_characters, 0x0300, 0x036F, 2)),
    *(
        Text(f"look-alikes {name}", partial(_repeated, part), allow_special=True)
        for name, part in _LOOK_ALIKES.items()
    ),
)
