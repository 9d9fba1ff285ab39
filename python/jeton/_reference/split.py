r"""Splitting a text into pretokens as GPT-2 does, without a regular expression.

Byte-pair encoding never joins across pretokens, so the split decides what a token can be at most.
GPT-2's pattern is tried at each place in the text; its alternatives, in this order, are one
function each:

===================  =============================================  ======================
alternative          what it takes                                  function
===================  =============================================  ======================
``'(?:[sdmt]|..)``   an English contraction                         ``contraction``
`` ?\p{L}+``         letters, and one space before them             ``run_of``, ``is_letter``
`` ?\p{N}+``         digits and other numbers, likewise             ``run_of``, ``is_number``
`` ?[^\s\p{L}\p{N}]+``  anything else that is visible, likewise     ``run_of``, ``is_other``
``\s+(?!\S)``        blanks, leaving the last for what follows      ``blanks``
``\s+``              blanks that are left over                      ``blanks``
===================  =============================================  ======================

Every character is taken by one of them, so the pretokens joined are the text.

The categories are those of the ``unicodedata`` of the running Python; characters that are newer
than its version of Unicode count as "anything else".

Source: the pattern that OpenAI published with GPT-2 (``encoder.py``, 2019).
"""

from __future__ import annotations

import unicodedata
from collections.abc import Callable

# The alternatives are lower case, and so is what they match: "DON'T" has no contraction.
CONTRACTIONS = ("s", "d", "m", "t", "ll", "ve", "re")

# White_Space of PropList.txt, which str.isspace() is not: that has U+001C to U+001F too.
BLANKS = frozenset(
    "\t\n\v\f\r \x85\xa0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a"
    "\u2028\u2029\u202f\u205f\u3000"
)


def split_gpt2(text: str) -> list[str]:
    r"""Split a text into the pretokens of GPT-2.

    Example:
        A single space goes with the word after it. If there are several, the last one does:

        >>> split_gpt2("Hello world,   2nd try")
        ['Hello', ' world', ',', '  ', ' 2', 'nd', ' try']

        A contraction is only one in lower case:

        >>> split_gpt2("I'll DON'T")
        ['I', "'ll", ' DON', "'", 'T']

        Only a space goes with a word, other blanks do not; at the end all blanks stay together:

        >>> split_gpt2("a\n\nb\n \n")
        ['a', '\n', '\n', 'b', '\n \n']
    """
    pretokens: list[str] = []
    place = 0
    while place < len(text):
        end = next_end(text, place)
        pretokens.append(text[place:end])
        place = end
    return pretokens


def next_end(text: str, start: int) -> int:
    """Where the pretoken that starts here ends: the first alternative that matches decides.

    Example:
        >>> next_end("it's", 2), next_end("its", 0), next_end("'tis", 0), next_end("'", 0)
        (4, 3, 2, 1)
    """
    alternatives = (
        contraction(text, start),
        run_of(is_letter, text, start),
        run_of(is_number, text, start),
        run_of(is_other, text, start),
        blanks(text, start),
    )
    return next(end for end in alternatives if end > start)


def contraction(text: str, start: int) -> int:
    """End of a contraction that starts here; ``start`` itself where there is none.

    Example:
        >>> contraction("we've", 2), contraction("we'VE", 2), contraction("o'clock", 1)
        (5, 2, 1)
    """
    if text[start] == "'":
        for letters in CONTRACTIONS:
            if text.startswith(letters, start + 1):
                return start + 1 + len(letters)
    return start


def run_of(kind: Callable[[str], bool], text: str, start: int) -> int:
    """End of a run of one kind of character, one space before it included; ``start`` if none.

    Example:
        >>> run_of(is_letter, " cat sat", 0), run_of(is_letter, "  cat", 0)
        (4, 0)
    """
    first = start + 1 if text[start] == " " else start
    end = first
    while end < len(text) and kind(text[end]):
        end += 1
    return end if end > first else start


def blanks(text: str, start: int) -> int:
    r"""End of the blanks that start here; ``start`` where there are none.

    Where something visible follows several blanks, the last one is left to it: a space
    then goes with the next word, anything else becomes a pretoken of its own.

    Example:
        >>> blanks("   cat", 0), blanks(" \n", 0), blanks("\ncat", 0)
        (2, 2, 1)
    """
    end = start
    while end < len(text) and text[end] in BLANKS:
        end += 1
    if end < len(text) and end - start > 1:
        return end - 1
    return end


def is_letter(character: str) -> bool:
    r"""``\p{L}``: a letter of any script; combining marks are not letters.

    Example:
        >>> [is_letter(c) for c in ("a", "\u0416", "\u4e2d", "\u0301", "1")]
        [True, True, True, False, False]
    """
    return unicodedata.category(character).startswith("L")


def is_number(character: str) -> bool:
    r"""``\p{N}``: digits of any script, and also Roman numerals and superscripts.

    Example:
        >>> [is_number(c) for c in ("1", "\u0661", "\u2167", "\u00b2", "a")]
        [True, True, True, True, False]
    """
    return unicodedata.category(character).startswith("N")


def is_other(character: str) -> bool:
    r"""``[^\s\p{L}\p{N}]``: neither blank, letter nor number.

    Example:
        >>> [is_other(c) for c in ("!", "\u0301", "\u200d", "\x1f", " ")]
        [True, True, True, True, False]
    """
    return not (character in BLANKS or is_letter(character) or is_number(character))
