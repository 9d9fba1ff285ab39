"""Layout and values in cheaper forms: lines, spaces, Unicode forms, numbers, identifiers, links.

Each function is a `rewriting.Rewrite`. Their losses: the composed Unicode form loses nothing that
Unicode calls different. Invisible characters that shape scripts (joiners, direction marks) and
emoji (variation selectors) stay. Compatibility characters lose their look.

Needless white space is three rewrites, none of which touches indentation: runs of spaces and tabs
inside a line become one space, spaces and tabs at line ends go, and three or more line ends in a
row become two. This loses alignment in columns, Markdown's two-space line break, and the size of
gaps.
"""

from __future__ import annotations

import math
import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

from jeton._core import TextBatch, Tokenizer
from jeton.auditing.analyses.rewriting import MAX_UTF8_BYTES, substitute
from jeton.guard import mojibake
from jeton.guard.cleaning import without_waste
from jeton.workload.sampling.deep_sample import DeepSample

MIN_SEPARATOR_CHARS = 8
"""Equal signs in a row from which they only separate: Markdown needs three, code fences too."""

SEPARATOR_CHARS = 3
"""Characters of a separator that the rewrite leaves."""

MIN_SPACED_SHARE = 0.5
"""Share of commas and full stops with a space before them from which a text was cut into words by
a program: in ordinary text it is nearly none."""

MIN_PUNCTUATION = 4

MIN_UPPER_WORDS = 6
"""Words of capitals in a row that are a passage, not a heading or a name."""

_SEPARATOR = re.compile(r"([-=_*#~.·•…─━═+^<>|/\\])\1{7,}+")
_SPACED_DOTS = re.compile(r"(?:[.·•_-] ){7,}+")
_PUNCTUATION = re.compile(r"(?<=\S)( ?)[,.](?=\s|\Z)")
_SPACE_BEFORE = re.compile(r"(?<=[\w)\]\"']) (?=[,.;:!?%)\]](?:\s|\Z))|(?<=[(\[]) (?=\w)")
_SPLIT_CONTRACTION = re.compile(
    r"(?<=[A-Za-z]) (?=(?:n't|n\u2019t|'s|'re|'ve|'ll|'d|'m|\u2019s|\u2019re|\u2019ve)\b)"
)
_QUOTES = re.compile(r"`` | ''(?!')")
# The sign is found before it is asked what stands in front of it, which is far faster.
_HYPHENATED = re.compile(r"[-\u00ad¬](?<=[a-zà-ÿа-я][-\u00ad¬])[ \t]*\r?\n[ \t]*(?=[a-zà-ÿа-я])")
_CRLF = re.compile(r"\r\n?")
_INDENTATION = re.compile(r"^( +|\t+)(?=\S)", re.MULTILINE)
# In any passage of capitals; far faster than the search for a whole one.
_TWO_UPPER = re.compile(r"[A-Z]{2}[^A-Za-z\n]{1,3}[A-Z]{2}")
_UPPER = re.compile(r"\b[A-Z]{2,}+(?![a-z])(?:[^A-Za-z\n]{1,3}+[A-Z]{2,}+(?![a-z])){5,}+")


def with_short_separators(text: str) -> tuple[str, int]:
    """Three signs in place of long lines of the same sign."""
    new, n_bytes = substitute(_SEPARATOR, lambda match: match.group(1) * SEPARATOR_CHARS, text)
    if ". . . ." in new or "_ _ _ _" in new or "- - - -" in new or "· · · ·" in new:
        new, more = substitute(
            _SPACED_DOTS, lambda match: match.group()[: 2 * SEPARATOR_CHARS], new
        )
        n_bytes += more
    return new, n_bytes


def with_plain_line_ends(text: str) -> tuple[str, int]:
    r"""``\n`` in place of ``\r\n``."""
    if "\r" not in text:
        return text, 0
    new, n_bytes = substitute(_CRLF, lambda match: "\n", text)
    # A line end may be one token with the blank lines and indentation around it.
    return new, 3 * n_bytes


def with_narrow_indentation(text: str) -> tuple[str, int]:
    """One space for each level of indentation, where all lines keep to one width of 2 to 8.

    Texts that align by single spaces stay as they are: there the width is meaning.
    """
    if "\n  " not in text:
        return text, 0
    widths = Counter(len(match.group(1)) for match in _INDENTATION.finditer(text))
    step = math.gcd(*widths) if widths else 0
    if step < 2 or "\n\t" in text:
        return text, 0
    step = min(step, 8)
    new, n_bytes = substitute(_INDENTATION, lambda match: " " * (len(match.group(1)) // step), text)
    return new, n_bytes


def has_spaced_punctuation(text: str) -> bool:
    """True if most commas and full stops stand by themselves, as programs write cut text."""
    # Counting substrings first: ordinary text is passed over at the speed of memory.
    n_spaced = text.count(" ,") + text.count(" .")
    if not n_spaced or n_spaced < MIN_SPACED_SHARE * (text.count(", ") + text.count(". ")):
        return False
    found = [match.group(1) for match in _PUNCTUATION.finditer(text)]
    return len(found) >= MIN_PUNCTUATION and sum(map(bool, found)) >= MIN_SPACED_SHARE * len(found)


def with_usual_spacing(text: str) -> tuple[str, int]:
    """No space before punctuation and inside contractions, where a program put them."""
    if not has_spaced_punctuation(text):
        return text, 0
    new, first = substitute(_SPACE_BEFORE, lambda match: "", text)
    new, second = substitute(_SPLIT_CONTRACTION, lambda match: "", new)
    new, third = substitute(_QUOTES, lambda match: '"', new)
    # The sign after a space that goes was a token of its own.
    return new, 4 * (first + second + third)


def with_joined_lines(text: str) -> tuple[str, int]:
    """Words that a line break tore apart, in one piece."""
    if not any(mark in text for mark in ("-\n", "-\r", "- ", "\u00ad", "¬")):
        return text, 0
    new, n_bytes = substitute(_HYPHENATED, lambda match: "", text)
    # The two parts of a word become one: all of it is at stake, which is seldom over 24 bytes.
    return new, 12 * n_bytes


def with_lower_case(text: str) -> tuple[str, int]:
    """Passages in capitals as ordinary sentences."""
    if not _TWO_UPPER.search(text):
        return text, 0
    return substitute(_UPPER, lambda match: match.group().capitalize(), text)


# Letters and digits of full width (not the punctuation, which Chinese and Japanese use), letters
# and digits of mathematical alphabets and in circles, ligatures, and spaces that are not U+0020.
_COMPATIBILITY = re.compile(
    "[\uff10-\uff19\uff21-\uff3a\uff41-\uff5a\U0001d400-\U0001d7ff\u2460-\u2473\u24b6-\u24e9"
    "\ufb00-\ufb06\u00a0\u2000-\u200a\u202f\u205f\u3000]+"
)
_IDEOGRAPHIC_SPACE = "\u3000"


def composed(text: str) -> tuple[str, int]:
    """NFC: accents in one character with their letter, where Unicode has such a character."""
    if text.isascii() or unicodedata.is_normalized("NFC", text):
        return text, 0
    new = unicodedata.normalize("NFC", text)
    return new, MAX_UTF8_BYTES * 2 * max(1, abs(len(text) - len(new)))


def without_invisible_characters(text: str) -> tuple[str, int]:
    """Drop characters that nobody sees and that shape nothing."""
    new, n_dropped = without_waste(text)
    return new, MAX_UTF8_BYTES * n_dropped


def without_mojibake(text: str) -> tuple[str, int]:
    """UTF-8 that was read as a code page, read as UTF-8."""
    new, n_chars = mojibake.without_mojibake(text)
    return new, MAX_UTF8_BYTES * n_chars


def without_compatibility_characters(text: str) -> tuple[str, int]:
    """Ordinary letters, digits and spaces in place of those that only look different."""
    if text.isascii():
        return text, 0

    def plain(match: re.Match[str]) -> str | None:
        found = match.group()
        # Between ideographs the wide space is the ordinary one.
        if found.strip(_IDEOGRAPHIC_SPACE) == "":
            return None
        return unicodedata.normalize("NFKC", found)

    return substitute(_COMPATIBILITY, plain, text)


MAX_DECIMALS = 6
"""Digits after the point that are kept: the precision of a 32-bit float for numbers below 10, and
0.1 m in degrees of latitude."""

MIN_URL_CHARS = 80
"""Addresses up to here are written for people."""

_DECIMALS = re.compile(r"(?<![\w.])(-?\d{1,15}\.\d{6})\d{2,}(?![\w.])")
_EIGHT_DECIMALS = re.compile(r"\.\d{8}")
_UUID = r"[0-9a-fA-F]{8}-(?:[0-9a-fA-F]{4}-){3}[0-9a-fA-F]{12}"
# MD5 (32), SHA-1 (40), SHA-256 (64) digits, and MongoDB's 24; all of one case, with both letters
# and digits.
_DIGEST = (
    r"(?=[0-9a-fA-F]{0,12}[a-fA-F])(?=[0-9a-fA-F]{0,12}[0-9])"
    r"(?:[0-9a-f]{64}|[0-9A-F]{64}|[0-9a-f]{40}|[0-9A-F]{40}|[0-9a-f]{32}|[0-9A-F]{32}|[0-9a-f]{24})"
)
_IDENTIFIER = re.compile(rf"(?<![\w-])(?:{_UUID}|{_DIGEST})(?![\w-])")
# In any of them; it begins with a digit, not with what stands in front, so it is found far faster.
_MAYBE_IDENTIFIER = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}-|[0-9a-fA-F]{16})")
_URL = re.compile(r"\bhttps?://[^\s<>\"'`\])}]{72,}")


def with_rounded_numbers(text: str) -> tuple[str, int]:
    """Numbers with eight or more decimals, cut to six."""
    if not _EIGHT_DECIMALS.search(text):
        return text, 0
    return substitute(_DECIMALS, lambda match: match.group(1), text)


def with_aliases(text: str) -> tuple[str, int]:
    """``id1``, ``id2`` ... in place of UUIDs and digests, the same for the same one in a text.

    The application keeps the table and puts the identifiers back into the answer.
    """
    if not _MAYBE_IDENTIFIER.search(text):
        return text, 0
    aliases: dict[str, str] = {}

    def alias(match: re.Match[str]) -> str:
        return aliases.setdefault(match.group(), f"id{len(aliases) + 1}")

    return substitute(_IDENTIFIER, alias, text)


def with_short_urls(text: str) -> tuple[str, int]:
    """Addresses of 80 characters and more without their query and fragment."""
    if "://" not in text:
        return text, 0

    def short(match: re.Match[str]) -> str | None:
        url = match.group()
        if len(url) < MIN_URL_CHARS:
            return None
        cut = min((at for at in (url.find("?"), url.find("#")) if at > 0), default=-1)
        return url[:cut] if cut > 0 else None

    return substitute(_URL, short, text)


_MIN_REPEATED_SHARE = 0.002
"""Workloads with fewer repeated white-space bytes are not rewritten. At 4 bytes a token, 0.2% of
the bytes are at most 0.8% of the tokens, below the threshold of the finding (1%)."""

# Possessive, and tried only at the start of a run: linear on a megabyte of spaces too.
# The first blank is found before it is asked what stands in front of it, which is far faster.
_INNER_RUN = re.compile(r"[ \t](?<=\S[ \t])[ \t]++(?=\S)")
_LINE_END = re.compile(r"[ \t](?<![ \t][ \t])[ \t]*+(?=\r?\n|\Z)")
_BLANK_LINES = re.compile(r"(?:\r?\n){3,}")

# The pattern of the same name finds something only in a text that contains one of these.
_BLANKS = (" ", "\t")
_BEFORE_LINE_END = (" \n", "\t\n", " \r\n", "\t\r\n")
_RUNS = ("  ", " \t", "\t ", "\t\t")
_BLANK_LINE_MARKS = ("\n\n\n", "\n\n\r\n", "\n\r\n\n", "\n\r\n\r\n")


def without_needless_whitespace(text: str) -> str:
    """Apply the three rewrites; indentation stays as it is."""
    # Substring searches are far faster than patterns that try every space of ordinary prose.
    if text.endswith(_BLANKS) or any(mark in text for mark in _BEFORE_LINE_END):
        text = _LINE_END.sub("", text)
    if any(mark in text for mark in _RUNS):
        text = _INNER_RUN.sub(" ", text)
    if any(mark in text for mark in _BLANK_LINE_MARKS):
        text = _BLANK_LINES.sub("\n\n", text)
    return text


@dataclass(frozen=True, slots=True)
class NeedlessWhitespace:
    """Tokens and bytes of the workload that go with needless white space.

    Exact where the sample is the workload, else scaled up from it.
    """

    n_tokens: int
    n_bytes: int


def needless_whitespace(
    sample: DeepSample, tokenizer: Tokenizer, *, repeated_share: float, num_threads: int | None
) -> NeedlessWhitespace:
    """Rewrite the sample and count it again.

    Args:
        sample: Documents whose tokens were counted.
        tokenizer: The tokenizer that counted them.
        repeated_share: Bytes of white space after other white space, of all bytes of the workload.
        num_threads: Threads of the core; None: all.
    """
    if repeated_share < _MIN_REPEATED_SHARE:
        return NeedlessWhitespace(0, 0)
    rewritten = [without_needless_whitespace(document.text) for document in sample.documents]
    batch = TextBatch.from_texts(rewritten)
    counts = tokenizer.count_batch(batch, num_threads=num_threads)
    # A rewrite may cost tokens where a vocabulary has words for long runs of spaces.
    n_tokens = sample.n_tokens - int(counts.sum())
    n_bytes = sample.n_bytes - batch.n_bytes
    return NeedlessWhitespace(round(n_tokens * sample.scale), round(n_bytes * sample.scale))
