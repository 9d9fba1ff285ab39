"""The models on characters: the symbols of BPE, single characters, bytes, the longest match.

Cost: linear, the longest match times its longest token.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass

# Words as symbols of characters: the first step of every trainer and encoder on characters.
#
# A vocabulary can mark where in a word a symbol stands: ``##`` in front of what continues a word
# (WordPiece), ``</w>`` behind what ends one (the first BPE). ``spell`` writes the marks, ``joined``
# takes the one in the middle away.


def spell(word: str, *, prefix: str = "", suffix: str = "") -> list[str]:
    """The symbols of a word.

    Example:
        >>> spell("low", prefix="##"), spell("low", suffix="</w>")
        (['l', '##o', '##w'], ['l', 'o', 'w</w>'])
    """
    symbols = [
        character if place == 0 else prefix + character for place, character in enumerate(word)
    ]
    if symbols:
        symbols[-1] += suffix
    return symbols


def joined(left: str, right: str, *, prefix: str = "") -> str:
    """The symbol that two make.

    Example:
        >>> joined("l", "##o", prefix="##")
        'lo'
    """
    return left + right[len(prefix) :]


def spelled_words(
    words: Mapping[str, int], *, known: Collection[str], prefix: str = "", suffix: str = ""
) -> list[tuple[list[str], int]]:
    """Words as symbols; a character outside the alphabet cuts its word in two.

    Example:
        >>> spelled_words({"naïve": 2}, known="naive", prefix="##")
        [(['n', '##a'], 2), (['##v', '##e'], 2)]
    """
    cut: list[tuple[list[str], int]] = []
    for word, count in words.items():
        part: list[str] = []
        for character, symbol in zip(word, spell(word, prefix=prefix, suffix=suffix), strict=True):
            if character in known:
                part.append(symbol)
            elif part:
                cut.append((part, count))
                part = []
        if part:
            cut.append((part, count))
    return cut


def first_ids(
    words: Collection[str],
    *,
    alphabet: Collection[str],
    special_tokens: Collection[str] = (),
    prefix: str = "",
    suffix: str = "",
) -> dict[str, int]:
    """Ids before the first merge, which decide ties.

    Special tokens come first, then bare characters by code point. Marked characters follow as they
    occur: within words, then at the end of words of one character, then at the end of longer ones;
    each group by code point.

    Example:
        >>> first_ids(["bac"], alphabet="abc", special_tokens=["[UNK]"], prefix="##")
        {'[UNK]': 0, 'a': 1, 'b': 2, 'c': 3, '##a': 4, '##c': 5}
    """
    seen = {
        ((place > 0) + 2 * (place + 1 == len(word)), character)
        for word in words
        for place, character in enumerate(word)
        if character in alphabet
    }
    marked = [(prefix if p & 1 else "") + c + (suffix if p & 2 else "") for p, c in sorted(seen)]
    texts = [*special_tokens, *sorted(alphabet), *marked]
    return {text: place for place, text in enumerate(dict.fromkeys(texts))}


@dataclass(frozen=True, slots=True)
class Symbol:
    """A token with the part of the text that it stands for."""

    id: int
    text: bytes


def bpe_symbols(
    word: str,
    ids: Mapping[str, int],
    *,
    unknown: int | None,
    prefix: str = "",
    suffix: str = "",
    byte_fallback: bool = False,
    fuse_unknown: bool = False,
) -> list[Symbol]:
    r"""The symbols with which BPE on characters begins.

    A character that the vocabulary lacks becomes tokens of its bytes (``<0xE2>``) if it has them
    all, or the unknown token; unknown neighbours become one if ``fuse_unknown``. Without an unknown
    token such a character is left out.

    Example:
        >>> [s.id for s in bpe_symbols("aéb", {"a": 1, "b": 2}, unknown=0)]
        [1, 0, 2]
        >>> [s.text for s in bpe_symbols("éè", {}, unknown=0, fuse_unknown=True)]
        [b'\xc3\xa9\xc3\xa8']
    """
    symbols: list[Symbol] = []
    after_unknown = False
    for character, written in zip(word, spell(word, prefix=prefix, suffix=suffix), strict=True):
        text = character.encode()
        if written in ids:
            symbols.append(Symbol(ids[written], text))
            after_unknown = False
            continue
        names = [f"<0x{byte:02X}>" for byte in written.encode()]
        if byte_fallback and all(name in ids for name in names):
            symbols += [
                Symbol(ids[name], bytes([b]))
                for name, b in zip(names, written.encode(), strict=True)
            ]
            continue
        if unknown is None:
            continue
        if fuse_unknown and after_unknown and symbols and symbols[-1].id == unknown:
            symbols[-1] = Symbol(unknown, symbols[-1].text + text)
        else:
            symbols.append(Symbol(unknown, text))
        after_unknown = True
    return symbols


def encode_characters(
    text: str, ids: Mapping[str, int], *, unknown: int | None, byte_ids: tuple[int, ...] = ()
) -> list[Symbol]:
    """One token a character; others are the unknown token, or their bytes.

    Example:
        >>> [s.id for s in encode_characters("ab?", {"a": 1, "b": 2}, unknown=0)]
        [1, 2, 0]
    """
    symbols: list[Symbol] = []
    for character in text:
        bytes_ = character.encode()
        if character in ids:
            symbols.append(Symbol(ids[character], bytes_))
        elif byte_ids:
            symbols += [Symbol(byte_ids[byte], bytes([byte])) for byte in bytes_]
        elif unknown is not None:
            symbols.append(Symbol(unknown, bytes_))
        else:
            raise KeyError(character)
    return symbols


def encode_raw_bytes(text: bytes, *, offset: int) -> list[Symbol]:
    """One token a byte.

    Example:
        >>> [s.id for s in encode_raw_bytes(b"ab", offset=3)]
        [100, 101]
    """
    return [Symbol(byte + offset, bytes([byte])) for byte in text]


def encode_greedy(text: bytes, ids: Mapping[bytes, int]) -> list[Symbol]:
    """The longest token that fits, again and again, as RWKV does.

    Example:
        >>> [s.text for s in encode_greedy(b"abab", {b"a": 0, b"b": 1, b"aba": 2})]
        [b'aba', b'b']
    """
    longest = max(map(len, ids))
    symbols: list[Symbol] = []
    start = 0
    while start < len(text):
        ends = range(min(len(text), start + longest), start, -1)
        end = next(end for end in ends if text[start:end] in ids)
        symbols.append(Symbol(ids[text[start:end]], text[start:end]))
        start = end
    return symbols
