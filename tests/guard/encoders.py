"""Encoders of the published techniques that hide text, written anew for the tests.

Each takes a payload and gives the characters that carry it, as garak, promptfoo and PyRIT describe
theirs; ``place`` puts them into ordinary text.
"""

from __future__ import annotations

import binascii
import codecs
import random
from base64 import a85encode, b32encode, b64encode
from collections.abc import Callable

Encoder = Callable[[str], str]


def tags(payload: str) -> str:
    return "".join(chr(0xE0000 + ord(char)) for char in payload if " " <= char <= "~")


def tags_with_ends(payload: str) -> str:
    return "\U000e0001" + tags(payload) + "\U000e007f"


def selectors(payload: str) -> str:
    return "".join(
        chr(0xFE00 + byte) if byte < 16 else chr(0xE0100 + byte - 16) for byte in payload.encode()
    )


def bits(zero: str, one: str, *, width: int = 8) -> Encoder:
    def encode(payload: str) -> str:
        return "".join(
            one if byte >> shift & 1 else zero
            for byte in payload.encode()
            for shift in range(width - 1, -1, -1)
        )

    return encode


def bits_with_marks(zero: str, one: str, mark: str) -> Encoder:
    def encode(payload: str) -> str:
        return mark.join(
            format(ord(char), "b").replace("0", zero).replace("1", one) for char in payload
        )

    return encode


def pairs(payload: str) -> str:
    symbols = "\u200b\u200c\u200d\u2060"
    return "".join(
        symbols[byte >> shift & 3] for byte in payload.encode() for shift in (6, 4, 2, 0)
    )


def full_width(payload: str) -> str:
    return "".join(chr(ord(c) + 0xFEE0) if "!" <= c <= "~" else c for c in payload)


def mathematical(payload: str) -> str:
    def letter(char: str) -> str:
        if "a" <= char <= "z":
            return chr(0x1D41A + ord(char) - 97)
        if "A" <= char <= "Z":
            return chr(0x1D400 + ord(char) - 65)
        return char

    return "".join(map(letter, payload))


def circled(payload: str) -> str:
    return "".join(chr(0x24D0 + ord(c) - 97) if "a" <= c <= "z" else c for c in payload.lower())


_MORSE_SIGNS = (
    ".- -... -.-. -.. . ..-. --. .... .. .--- -.- .-.. -- -. --- .--. --.- .-. ... - ..- ...- "
    ".-- -..- -.-- --.."
)
_MORSE = dict(zip("abcdefghijklmnopqrstuvwxyz", _MORSE_SIGNS.split(" "), strict=True))


def morse(payload: str) -> str:
    words = "".join(c if c.isalpha() else " " for c in payload.lower()).split()
    return " / ".join(" ".join(_MORSE[c] for c in word) for word in words)


def braille(payload: str) -> str:
    letters = "⠁⠃⠉⠙⠑⠋⠛⠓⠊⠚⠅⠇⠍⠝⠕⠏⠟⠗⠎⠞⠥⠧⠺⠭⠽⠵"
    return "".join(letters[ord(c) - 97] if "a" <= c <= "z" else "⠀" for c in payload.lower())


def private_use(payload: str) -> str:
    return "".join(chr(0xE000 + ord(c)) for c in payload)


HIDDEN: dict[str, tuple[Encoder, str]] = {
    "tags (PyRIT AsciiSmuggler, promptfoo, garak)": (tags, "tag-payload"),
    "tags with their ends (PyRIT)": (tags_with_ends, "tag-payload"),
    "variation selectors (PyRIT, promptfoo)": (selectors, "selector-payload"),
    "sneaky bits U+2062/2064 (PyRIT)": (bits("\u2062", "\u2064"), "hidden-bits"),
    "zero-width bits 200B/200C": (bits("\u200b", "\u200c"), "hidden-bits"),
    "zero-width bits 200C/200D": (bits("\u200c", "\u200d"), "hidden-bits"),
    "zero-width bits 200B/FEFF": (bits("\u200b", "\ufeff"), "hidden-bits"),
    "bits in direction marks": (bits("\u200e", "\u200f"), "hidden-bits"),
    "bits with marks between": (bits_with_marks("\u200b", "\u200c", "\u200d"), "hidden-bits"),
    "pairs of bits, four characters": (pairs, "hidden-bits"),
}
"""Techniques whose text no person sees: the encoder and the kind of the finding."""

ENCODED: dict[str, tuple[Encoder, str]] = {
    "base64": (lambda p: b64encode(p.encode()).decode(), "encoded-text"),
    "base64 in lines (MIME)": (
        lambda p: codecs.encode(p.encode(), "base64").decode(),
        "encoded-text",
    ),
    "base32": (lambda p: b32encode(p.encode()).decode(), "encoded-text"),
    "base16": (lambda p: p.encode().hex(), "encoded-text"),
    "ascii85": (lambda p: a85encode(p.encode()).decode(), "encoded-text"),
    "uuencode": (
        lambda p: (
            "begin 644 x\n"
            + "".join(
                binascii.b2a_uu(p.encode()[i : i + 45]).decode()
                for i in range(0, len(p.encode()), 45)
            )
            + " \nend"
        ),
        "encoded-text",
    ),
    "percent": (lambda p: "".join(f"%{byte:02X}" for byte in p.encode()), "encoded-text"),
    "quoted-printable": (lambda p: "".join(f"={byte:02X}" for byte in p.encode()), "encoded-text"),
    "\\x escapes": (lambda p: "".join(f"\\x{byte:02x}" for byte in p.encode()), "encoded-text"),
    "\\u escapes (PyRIT)": (lambda p: "".join(f"\\u{ord(c):04x}" for c in p), "encoded-text"),
    "character references": (lambda p: "".join(f"&#{ord(c)};" for c in p), "encoded-text"),
    "zeros and ones (PyRIT)": (
        lambda p: " ".join(format(b, "08b") for b in p.encode()),
        "encoded-text",
    ),
    "Morse": (morse, "encoded-text"),
    "braille": (braille, "encoded-text"),
    "rot13": (lambda p: codecs.encode(p, "rot13"), "spelled-text"),
    "atbash (PyRIT)": (
        lambda p: "".join(chr(219 - ord(c)) if "a" <= c <= "z" else c for c in p),
        "spelled-text",
    ),
    "backwards": (lambda p: p[::-1], "spelled-text"),
    "digits for letters (leet)": (
        lambda p: p.translate(str.maketrans("oies", "0135")),
        "spelled-text",
    ),
    "full width": (full_width, "compatible-letters"),
    "mathematical letters": (mathematical, "compatible-letters"),
    "letters in circles": (circled, "compatible-letters"),
    "private use": (private_use, "private-use"),
}
"""Techniques whose text is seen and not read: for an ASCII payload."""


def between(symbols: str, text: str, random_: random.Random) -> str:
    """Symbols one by one behind the characters of a text, repeated where it is too short."""
    start = random_.randrange(max(1, len(text) // 4))
    while len(text) < start + len(symbols) + 1:
        text += " " + text
    middle = "".join(
        a + b for a, b in zip(text[start : start + len(symbols)], symbols, strict=True)
    )
    return text[:start] + middle + text[start + len(symbols) :]


def placed(symbols: str, text: str, random_: random.Random, *, at_space: bool = False) -> str:
    """Symbols at one random place of a text."""
    places = [at for at, char in enumerate(text) if char == " "] if at_space else []
    at = random_.choice(places) if places else random_.randrange(len(text) + 1)
    pad = " " if at_space else ""
    return text[:at] + pad + symbols + pad + text[at:]
