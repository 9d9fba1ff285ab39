"""Texts on which tokenizers are known to differ: an endless, repeatable stream of them.

Two implementations of one tokenizer agree on ordinary prose. They part where a Unicode class is
read differently, where a split pattern looks ahead, where a cache or an algorithm changes over at
some length, and around whatever the vocabulary itself holds. The stream is made of such places
and of pieces of the vocabularies given, mixed.

The stream is a function of the arguments alone: the same on every machine and under every Python
from 3.11. It draws from ``random.Random.random()`` only (the one method whose sequence Python
promises to keep), and it holds its classes as code point ranges, because ``unicodedata``,
``str.upper`` and ``str.isspace`` follow whichever Unicode version the interpreter was built with.
Ranges are those of Unicode 17.0. They hold no surrogate, so every text is valid UTF-8.
"""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from typing import Final

import numpy as np

from jeton._core import Tokenizer
from jeton.errors import UnknownTokenIdError

__all__ = ["CHARACTER_CLASSES", "FRAGMENTS", "RUN_LENGTHS", "edge_texts"]

_Ranges = tuple[tuple[int, int], ...]

# Half-open would hide what a reader compares with the Unicode charts: both ends belong to a range.
CHARACTER_CLASSES: Final[dict[str, _Ranges]] = {
    # The plain stuff that everything else is set against; fast paths are written for it.
    "ascii letters": ((0x41, 0x5A), (0x61, 0x7A)),
    "ascii": ((0x20, 0x7E),),
    # Digit groups of 1-3, from the left or the right, one by one or whole: patterns disagree.
    "digits": ((0x30, 0x39),),
    # Punctuation followed by letters, newlines or slashes has its own branch in most patterns.
    "punctuation": ((0x21, 0x2F), (0x3A, 0x40), (0x5B, 0x60), (0x7B, 0x7E)),
    # Two-byte letters: the first step off the ASCII fast path, still one code point a letter.
    "latin": ((0xC0, 0x24F), (0x1E00, 0x1EFF)),
    # Every White_Space character: \s, str.isspace, SentencePiece and BERT each have another list.
    "white space": (
        *((0x09, 0x0D), (0x20, 0x20), (0x85, 0x85), (0xA0, 0xA0), (0x1680, 0x1680)),
        *((0x2000, 0x200A), (0x2028, 0x2029), (0x202F, 0x202F), (0x205F, 0x205F)),
        (0x3000, 0x3000),
    ),
    # Look like space but are not White_Space, or were once (U+180E); U+001C..1F split lines only.
    "near spaces": ((0x1C, 0x1F), (0x180E, 0x180E), (0x200B, 0x200D), (0x2060, 0x2060)),
    # C0 and C1: BERT's cleaning deletes them, byte-level models keep them, U+0000 ends C strings.
    "controls": ((0x00, 0x1F), (0x7F, 0x9F)),
    # Default-ignorable format characters, bidi controls, BOM: deleted, kept or treated as space.
    "format": (
        *((0xAD, 0xAD), (0x61C, 0x61C), (0x200B, 0x200F), (0x202A, 0x202E), (0x2060, 0x206F)),
        *((0xFEFF, 0xFEFF), (0xFFF9, 0xFFFB), (0xE0001, 0xE0001), (0xE0020, 0xE007F)),
    ),
    # Marks are letters in some patterns (\p{M}), nothing in others, and reorder under NFC/NFD.
    "combining marks": (
        *((0x300, 0x36F), (0x483, 0x489), (0x591, 0x5BD), (0x610, 0x61A), (0x64B, 0x65F)),
        *((0x1AB0, 0x1ACE), (0x1DC0, 0x1DFF), (0x20D0, 0x20F0), (0x3099, 0x309A)),
        *((0xFE20, 0xFE2F), (0x1E8D0, 0x1E8D6)),
    ),
    # Variation selectors: marks by category, invisible by look, glued to what stands before.
    "variation selectors": ((0xFE00, 0xFE0F), (0x180B, 0x180D), (0xE0100, 0xE01EF)),
    # Spacing marks and viramas inside words: a cluster is cut by one pattern, kept by another.
    "indic": ((0x900, 0x97F), (0x980, 0x9C4), (0xB82, 0xBCD), (0xD00, 0xD4F), (0x1000, 0x109F)),
    # No spaces between words, vowels before and above: long runs that only the model cuts.
    "thai, lao, khmer": ((0xE01, 0xE3A), (0xE40, 0xE5B), (0xE81, 0xEDF), (0x1780, 0x17F9)),
    # Conjoining jamo compose to syllables under NFC, and syllables fall apart under NFD.
    "hangul": ((0x1100, 0x11FF), (0xA960, 0xA97C), (0xAC00, 0xD7A3), (0xD7B0, 0xD7FB)),
    # BERT isolates ideographs by a fixed list of blocks, which is not \p{Han}.
    "ideographs": ((0x4E00, 0x9FFF), (0x3400, 0x4DBF), (0x2E80, 0x2FD5), (0x3005, 0x3007)),
    # Four-byte ideographs, some outside that list; compatibility ones are replaced even by NFC.
    "astral ideographs": ((0x20000, 0x2A6DF), (0x2A700, 0x2CEA1), (0x30000, 0x3134A)),
    "compatibility ideographs": ((0xF900, 0xFAD9), (0x2F800, 0x2FA1D)),
    # Kana with voicing marks that compose; the prolonged sound mark is script Common.
    "kana": ((0x3041, 0x309F), (0x30A0, 0x30FF), (0x31F0, 0x31FF), (0xFF66, 0xFF9F)),
    # Right-to-left letters, presentation forms and digits that are \p{N} but not 0-9.
    "arabic, hebrew": ((0x5D0, 0x5EA), (0x620, 0x64A), (0x660, 0x669), (0xFB50, 0xFBC2)),
    # Case pairs far apart and letters whose case mapping changes length or needs context.
    "greek, cyrillic": ((0x386, 0x3FF), (0x400, 0x45F), (0x48A, 0x52F), (0x1F00, 0x1FFE)),
    # Fold to ASCII under (?i), or change length in lower case: long s, Kelvin, dotted I, sigma.
    "case oddities": (
        *((0x17F, 0x17F), (0x212A, 0x212B), (0x130, 0x131), (0x3C2, 0x3C3), (0x3A3, 0x3A3)),
        *((0xDF, 0xDF), (0x1E9E, 0x1E9E), (0x1C4, 0x1CC), (0x149, 0x149), (0x10A0, 0x10C5)),
        *((0x13A0, 0x13F5), (0xAB70, 0xABBF), (0x1C80, 0x1C8A), (0x2126, 0x2126)),
    ),
    # One code point becomes several under NFKC; U+FDFA becomes eighteen, spaces among them.
    "compatibility forms": (
        *((0xFB00, 0xFB06), (0xFB13, 0xFB17), (0xFDF0, 0xFDFC), (0x3300, 0x33FF)),
        *((0x2100, 0x214F), (0x3200, 0x32FF), (0xFE30, 0xFE4F), (0x1D400, 0x1D7FF)),
    ),
    # NFKC folds them to ASCII, so that an ASCII rule sees what the text did not hold.
    "full-width": ((0xFF01, 0xFF5E), (0xFFE0, 0xFFE6)),
    # Category No and Nl: numbers to \p{N}, not to \d; Roman numerals have case.
    "other numbers": (
        *((0xB2, 0xB3), (0xB9, 0xB9), (0xBC, 0xBE), (0x2070, 0x2089), (0x2150, 0x218B)),
        *((0x2460, 0x249B), (0x2776, 0x2793), (0x3021, 0x3029), (0x10107, 0x10133)),
        *((0x966, 0x96F), (0x1D7CE, 0x1D7FF), (0x1F100, 0x1F10C)),
    ),
    # Symbols: neither letter, number nor punctuation in the ASCII sense; four bytes or three.
    "symbols": ((0x2190, 0x23FF), (0x25A0, 0x27BF), (0x20A0, 0x20C0), (0x2010, 0x2027)),
    "emoji": ((0x1F300, 0x1F64F), (0x1F680, 0x1F6D7), (0x1F900, 0x1F9FF), (0x1F1E6, 0x1F1FF)),
    # Letters outside the BMP: surrogate pairs elsewhere, cut by every 16-bit implementation.
    "astral letters": ((0x10000, 0x1000B), (0x10400, 0x1044F), (0x12000, 0x12399)),
    # Assigned in Unicode 15.0 to 17.0: a letter to one library and unassigned to another.
    "assigned in 15": (
        *((0xCF3, 0xCF3), (0xECE, 0xECE), (0x1123F, 0x11241), (0x11F00, 0x11F10)),
        *((0x11F50, 0x11F59), (0x1D2C0, 0x1D2D3), (0x1E030, 0x1E06D), (0x1E4D0, 0x1E4F9)),
        *((0x31350, 0x323AF), (0x2EBF0, 0x2EE5D), (0x1FAE8, 0x1FAE8), (0x2FFC, 0x2FFF)),
    ),
    "assigned in 16": (
        *((0x897, 0x897), (0x1C89, 0x1C8A), (0xA7CB, 0xA7CD), (0xA7DA, 0xA7DC)),
        *((0x105C0, 0x105F3), (0x10D40, 0x10D65), (0x10D69, 0x10D85), (0x116D0, 0x116E3)),
        *((0x11BC0, 0x11BE1), (0x13460, 0x143FA), (0x16100, 0x16139), (0x16D40, 0x16D79)),
        *((0x18CFF, 0x18CFF), (0x1CCF0, 0x1CCF9), (0x1E5D0, 0x1E5FA), (0x1FAE9, 0x1FAE9)),
    ),
    "assigned in 17": (
        *((0x88F, 0x88F), (0xC5C, 0xC5C), (0xCDC, 0xCDC), (0x1ACF, 0x1AEB), (0x20C1, 0x20C1)),
        *((0xA7CE, 0xA7D4), (0x10940, 0x10959), (0x11DB0, 0x11DE9), (0x16EA0, 0x16ED3)),
        *((0x187F8, 0x187FF), (0x18D09, 0x18D1E), (0x18D80, 0x18DF2), (0x1E6C0, 0x1E6F5)),
        *((0x323B0, 0x33479), (0x2B73A, 0x2B73F), (0x1FAEA, 0x1FAEA)),
    ),
    # Never assigned so far: \p{L} to nobody, yet "not a space, letter or number" to all.
    "unassigned": ((0x378, 0x379), (0x530, 0x530), (0x2FE0, 0x2FEF), (0x50000, 0x5FFFD)),
    # Private use: category Co, which BERT's cleaning counts among the controls.
    "private use": ((0xE000, 0xF8FF), (0xF0000, 0xFFFFD), (0x100000, 0x10FFFD)),
    # Valid UTF-8 that some validators refuse; U+FFFD itself, which others delete.
    "noncharacters": ((0xFDD0, 0xFDEF), (0xFFFD, 0xFFFF), (0x1FFFE, 0x1FFFF), (0x10FFFE, 0x10FFFF)),
    # First and last code point of each UTF-8 length and lead byte: where table bounds are wrong.
    "utf-8 borders": (
        *((0x7E, 0x81), (0xBF, 0xC0), (0x7FF, 0x801), (0xFFF, 0x1001), (0xCFFF, 0xD001)),
        *((0xD7FF, 0xD7FF), (0xE000, 0xE000), (0xFFFF, 0x10001), (0x3FFFF, 0x40001)),
        (0xFFFFF, 0x100001),
    ),
    # Anything at all: what no list foresaw.
    "everything": ((0x00, 0xD7FF), (0xE000, 0x10FFFF)),
}

FRAGMENTS: Final[dict[str, tuple[str, ...]]] = {
    # (?i:'s) matches the long s; curly apostrophes match nothing; case matters in GPT-2 only.
    "contractions": (
        *("'s", "'S", "'\u017f", "'t", "'T", "'re", "'RE", "'rE", "'ve", "'VE", "'m", "'M", "'ll"),
        *("'LL", "'lL", "'d", "'D", "''", "'", "\u2019s", "\u02bcs", "'sx", "'\u017f\u017f", " 's"),
        *("don't", "DON'T", "I'LL", "o'clock", "'tis", "they'd've", "'\u212a", "n't", " n't"),
    ),
    # \s+(?!\S) gives one character back, \s*[\r\n]+ takes the longest: every mixture differs.
    "white space": (
        *(" ", "  ", "   ", "\t", "\t\t", "\n", "\n\n"),
        *("\r\n", "\r", "\n \n", " \n", "\n ", "\r\n\r\n"),
        *("\n\t", "\t-r", "\t\n", " \t", "\t ", "  \x0c", "\x0b", "\x0c", "\xa0", " \xa0", "\xa0 "),
        *("\u3000", " \u3000", "\u2028", "\x85", " \x85\n", "\u1680 ", "\n\x0c", "    ", "\n\n\n"),
    ),
    # One space before something other than an ASCII letter: the prefix class of the pattern.
    "space and": (
        *(" \u2167", " \u00bd", " \u0301", " \u4e2d"),
        *(" \U0001f600", " -", " --", " /", " //", " _"),
        *(" 1", " 123", " 1234", " '", ' "', " (", " \u200d", " \ufe0f", " \ufeff", " \U00018de7"),
    ),
    # Digit groups, and digits beside what may or may not join them.
    "numbers": (
        *("1", "12", "123", "1234", "12345", "123456", "1234567", "12345678", "123456789"),
        *("1234567890", "1,000.50", "3.14", "1e10", "0x1F", "1\u2167", "\u0661\u0662\u0663\u0664"),
        *("\uff11\uff12\uff13\uff14", "1\u00b2", "\u00bd1", "12a34", "\u0967\u0968", "1_000"),
    ),
    # Punctuation with newlines or slashes behind it: [\r\n]* and [\r\n/]* tails.
    "punctuation": (
        *("...", "?!", "--", "->", "//", "/*", "*/", ".\n", ";\n\n", "/\n", "!/", ".\r\n/", ")/\n"),
        *("\u2026", "\u3002", "\uff0c", "\u2014", "\u00ab"),
        *("\u00bf", "$", "^^", "`", "~~", "\\", "|"),
    ),
    # ZWJ sequences, skin tones, flags, keycaps, tag flags: one picture of many code points.
    "emoji": (
        *("\U0001f468\u200d\U0001f469\u200d\U0001f467\u200d\U0001f466", "\U0001f44d\U0001f3fd"),
        *("\U0001f1e9\U0001f1ea", "\U0001f1e9", "1\ufe0f\u20e3", "\u2764\ufe0f", "\u2764\ufe0e"),
        *("\U0001f3f3\ufe0f\u200d\U0001f308", "\U0001f469\U0001f3fb\u200d\U0001f4bb", "\u200d"),
        *("\U0001f3f4\U000e0067\U000e0062\U000e007f", "a\u200db", "\u200d\U0001f600"),
    ),
    # Clusters: base and marks, in composed, decomposed and not canonical order.
    "clusters": (
        *("e\u0301", "\u00e9", "A\u030a", "\u212b", "a\u0323\u0307", "a\u0307\u0323", "\u0344"),
        *("\u1e9b\u0323", "q\u0307\u0323", "o\u0302\u0301", "\u0041\u0300\u0315\u0062", "\u0301"),
        *("\u1112\u1161\u11ab", "\ud55c", "\uac00\u11a8", "\u1100\u1161", "\u0e19\u0e49\u0e33"),
        *("\u0e01\u0e33", "\u0915\u094d\u0937"),
        *("\u0915\u093f", "\u0995\u09cd\u09b7", "\u0bc6\u0bbe"),
        *("\u0b95\u0bca", "\u0915\u093c", "\u0958", "\u304b\u3099", "\u304c", "\uff76\uff9e"),
        *("\u0644\u0627", "\ufefb", "\ufdfa", "\u05e9\u05c1", "\ufb2a", "\u0f71\u0f72\u0f74"),
    ),
    # Case: final sigma, dotted I, sharp s, title-case digraphs; camel case for o200k's letters.
    "case": (
        *("\u039f\u0394\u039f\u03a3", "\u03a3", "\u03c3\u03c2", "\u0130", "i\u0307", "I\u0307"),
        *("\u0131", "STRASSE", "stra\u00dfe", "\u1e9e", "\u01c5", "\u01c6", "\ufb03", "\u212a"),
        *("camelCase", "HTTPServer", "iPhone", "McD", "ABc"),
        *("aB", "\u0414\u0430", "\u1f80", "\u0149"),
    ),
    # Look like special tokens, or the escapes that formats use for a space: text all the same.
    "look-alikes": (
        *("<|endoftext|>", "<|im_start|>", "<|im_end|>", "<s>", "</s>", "<unk>", "<pad>", "[CLS]"),
        *("[SEP]", "[MASK]", "[UNK]", "[PAD]", "##ing"),
        *("##", "\u2581", "\u2581the", "\u2581\u2581"),
        *("<0x0A>", "<0xE2>", "<|endoftext|", "|>", "<|", "<mask>", " <mask>", "<extra_id_0>"),
        *("@@", "</w>", "\u0120", "\u0120the", "\u010a", "[unused1]", "<n>", "<|reserved_200000|>"),
        *("[INST]", "[/INST]", "<|fim_prefix|>", "<bos>", "<ZERO_WIDTH>"),
    ),
    # Code and markup: indentation, operators, escapes; long in whitespace and punctuation.
    "code": (
        *("def f(x):\n    return x", "  if (a==b) {\n\t}", "</div>", "&nbsp;", "\\n", "\\u0041"),
        *("#include <stdio.h>\n", "x+=1;", "https://a.b/c?d=e&f#g", "a@b.co", "{{}}", "==", "!=="),
        *("C:\\Users\\", "$\\alpha$", "<!-- -->", "::", "=>", "0b01", "'''", '"""', "\r\n}\r\n"),
    ),
    # Plain words, so that the odd stands beside the ordinary.
    "words": (
        *("the", " the", "The", " The", "hello", " world", " Hello", "Hello world", " of", "ing"),
        *(" and", "tokenization", " antidisestablishmentarianism", "a", " a", "I", " I", "x", " x"),
        *("\u043f\u0440\u0438\u0432\u0435\u0442",),
        *(" \u043c\u0438\u0440", "\u4f60\u597d", "\u4e16\u754c"),
        *("\u0645\u0631\u062d\u0628\u0627", "na\u00efve"),
        *(" caf\u00e9", "\u3053\u3093\u306b\u3061\u306f"),
        *("\uc548\ub155",),
        *("\u0e2a\u0e27\u0e31\u0e2a\u0e14\u0e35", "\u0928\u092e\u0938\u094d\u0924\u0947"),
    ),
}

# Characters of runs: each has a rule or a merge chain of its own in some vocabulary.
_RUN_UNITS: Final = (
    *("a", " ", "\n", "\t", "^", "1", "-", "=", ".", "A", "'", "\r\n", "\x00", "\u0301", "\u4e2d"),
    *("\u00e9", "\u3000", "\xa0", "\u200d", "\U0001f600", "ab", " a", "\n ", "\u2581", "aaab", "#"),
)
RUN_LENGTHS: Final = (16, 32, 64, 128, 256, 500, 512, 1000, 1024, 4096)
"""Repetitions around which implementations change algorithm, key, buffer or thread."""
_LONG_RUN: Final = 4096
"""Runs from here on are drawn ten times less often: they cost as much as a hundred short texts."""

# Lower and upper case of these (ASCII, Latin-1, Greek, Cyrillic) are 0x20 apart. A table of our
# own, because ``str.upper`` follows the interpreter's Unicode version.
_LOWER: Final = ((0x61, 0x7A), (0xE0, 0xF6), (0x3B1, 0x3C1), (0x430, 0x44F))
_TO_UPPER: Final = {c: c - 0x20 for low, high in _LOWER for c in range(low, high + 1)}
_TO_LOWER: Final = {upper: lower for lower, upper in _TO_UPPER.items()}


def edge_texts(
    *, seed: int, tokenizers: Sequence[Tokenizer] = (), max_chars: int = 64
) -> Iterator[str]:
    """Yield texts without end on which tokenizers are known to differ.

    Args:
        seed: Chooses the stream; equal arguments give equal streams everywhere.
        tokenizers: Their tokens and special tokens go into the texts, whole, cut, doubled, in other
            case, joined with and without spaces.
        max_chars: Code points that a text has at most, from 1. Runs of one character past
            the lengths in ``RUN_LENGTHS`` (about one text in thirty) are longer when this is.

    Yields:
        Texts without surrogates, the empty one among them.

    Raises:
        ValueError: ``max_chars`` is below 1.
    """
    if max_chars < 1:
        raise ValueError(f"max_chars is {max_chars}, expected at least 1")
    return _EdgeTexts(seed, tokenizers, max_chars).stream()


class _Vocabulary:
    """Draws tokens of one tokenizer as text."""

    def __init__(self, tokenizer: Tokenizer) -> None:
        self._tokenizer = tokenizer
        # Long tokens are few and are where merges go deepest: drawn as often as all others.
        self._by_length = np.argsort(tokenizer.token_lengths(), kind="stable")[::-1][:2000]
        self._added = [token.content for token in tokenizer.added_tokens]

    def draw(self, below: _Below) -> str:
        """Return a token as text: bytes of a cut character are left out."""
        if self._added and below(20) == 0:
            return self._added[below(len(self._added))]
        n_ids = len(self._by_length) if below(3) == 0 else 0
        drawn = int(self._by_length[below(n_ids)]) if n_ids else below(self._tokenizer.vocab_size)
        try:
            token = self._tokenizer.id_to_bytes(drawn).decode(errors="ignore")
        except UnknownTokenIdError:  # a hole of the vocabulary
            return ""
        if below(8):
            return token
        # Marks that files write for a space or a continuation, as text.
        name = self._tokenizer.id_to_token(drawn) or ""
        return name if "\u2581" in name or name.startswith("##") else token


class _Below:
    """``below(n)``: an integer from 0 to n - 1, from the only method with a promised sequence."""

    def __init__(self, seed: int) -> None:
        self._random = random.Random(seed).random

    def __call__(self, n: int) -> int:
        return int(self._random() * n)


class _EdgeTexts:
    """The state of one stream."""

    def __init__(self, seed: int, tokenizers: Sequence[Tokenizer], max_chars: int) -> None:
        self._below = _Below(seed)
        self._vocabularies = [_Vocabulary(tokenizer) for tokenizer in tokenizers]
        self._max_chars = max_chars
        self._classes = tuple(CHARACTER_CLASSES.values())
        self._fragments = tuple(FRAGMENTS.values())

    def stream(self) -> Iterator[str]:
        yield ""
        while True:
            yield self._text()

    def _text(self) -> str:
        kind = self._below(30)
        if kind == 0:
            return self._run()
        if kind <= 3:
            return self._all_fragments()
        if kind <= 12 and self._vocabularies:
            return self._tokens()
        return self._mixture()

    def _length(self) -> int:
        """Short texts are the more telling ones: half are below a quarter of the limit."""
        share = self._below(1 << 20) / (1 << 20)
        return 1 + int(share * share * (self._max_chars - 1))

    def _mixture(self) -> str:
        """Two to four sources in turn, so that every class meets every other."""
        sources = [self._below(len(self._classes) + 20) for _ in range(2 + self._below(3))]
        length, text = self._length(), ""
        while len(text) < length:
            text += self._from(sources[self._below(len(sources))])
        return text[: self._max_chars]

    def _from(self, source: int) -> str:
        if source < len(self._classes):
            return "".join(self._character(source) for _ in range(1 + self._below(4)))
        if self._vocabularies and source % 3 == 0:
            return self._token()
        return self._fragment()

    def _all_fragments(self) -> str:
        length, text = self._length(), ""
        while len(text) < length:
            text += self._fragment()
        return text[: self._max_chars]

    def _tokens(self) -> str:
        """Tokens joined as they are, or by one and the same separator."""
        separator = ("", "", "", " ", "  ", "\n", "\u200d", "'")[self._below(8)]
        length, text = self._length(), self._token()
        while len(text) < length:
            text += separator + (self._token() or "x")
        return text[: self._max_chars]

    def _token(self) -> str:
        """One token, as it is or mistreated."""
        below = self._below
        token = self._vocabularies[below(len(self._vocabularies))].draw(below)
        treatment = below(12)
        if treatment == 0:
            return token[: below(len(token) + 1)]
        if treatment == 1:
            return token[below(len(token) + 1) :]
        if treatment == 2:
            return token + token
        if treatment == 3:
            return token.translate(_TO_UPPER)
        if treatment == 4:
            return token.translate(_TO_LOWER)
        if treatment == 5:
            return token[::-1]
        return token

    def _run(self) -> str:
        """One unit many times, about a switch-over length or somewhat past it, within other text.

        A few more than the length would not do: what is left over after tokens of 2, 4, 8 ...
        units is the same, then, for the run in one part or two.
        """
        below = self._below
        length = RUN_LENGTHS[below(len(RUN_LENGTHS))]
        while length >= _LONG_RUN and below(10):
            length = RUN_LENGTHS[below(len(RUN_LENGTHS))]
        choice = below(10)
        if choice < 7:
            unit = _RUN_UNITS[below(len(_RUN_UNITS))]
        elif choice == 7 and self._vocabularies:
            unit = self._token() or "a"
            length = min(length, 512)
        else:
            unit = self._character(below(len(self._classes)))
        before = self._fragment() if below(2) else ""
        after = self._fragment() if below(2) else ""
        length += below(4) - 1 if below(2) else below(length // 4)
        return before + unit * length + after

    def _fragment(self) -> str:
        group = self._fragments[self._below(len(self._fragments))]
        return group[self._below(len(group))]

    def _character(self, source: int) -> str:
        """A code point of a class: ranges are equally likely, so that small ones are not lost."""
        ranges = self._classes[source]
        low, high = ranges[self._below(len(ranges))]
        return chr(low + self._below(high - low + 1))
