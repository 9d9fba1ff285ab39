"""Samples cut by a tokenizer, as segments of text that can be drawn.

A token covers a range of code points. Tokens that lie inside one character share its range, or
overlap; they become one segment with several tokens. Text that no token covers (a tokenizer may
drop it) becomes a segment without tokens.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from jeton.report.visible import is_hidden, visible_char

GlyphKind = Literal["text", "space", "hidden"]

_DOTTED_CIRCLE = "\u25cc"
_WHITE_SPACE_PICTURES = {"\n": "\u21b5\n", "\r": "\u240d", "\t": "\u2192\t"}


@dataclass(frozen=True, slots=True)
class Segment:
    """A stretch of text, and the tokens that cover it: half open, from ``first_token``."""

    text: str
    first_token: int
    end_token: int

    @property
    def n_tokens(self) -> int:
        """How many tokens share this stretch."""
        return self.end_token - self.first_token


@dataclass(frozen=True, slots=True)
class Glyphs:
    """Glyphs to draw: text as it is, white space that is made visible, or a picture."""

    kind: GlyphKind
    text: str


def segments(
    text: str, starts: Sequence[int], ends: Sequence[int], *, max_chars: int
) -> list[Segment]:
    """Join tokens that overlap; every code point up to ``max_chars`` is in exactly one segment.

    Args:
        text: The sample.
        starts: First code point of each token, ascending.
        ends: One past the last code point of each token.
        max_chars: Segments that begin at or after this code point are left out.
    """
    found: list[Segment] = []
    position = 0  # one past the last code point that is in a segment
    token = 0
    n_tokens = len(starts)
    while token < n_tokens and starts[token] < max_chars:
        start, end, first = max(starts[token], position), ends[token], token
        token += 1
        while token < n_tokens and starts[token] < end:
            end = max(end, ends[token])
            token += 1
        if start > position:
            found.append(Segment(text[position:start], first, first))
        found.append(Segment(text[start:end], first, token))
        position = max(position, end)
    if token == n_tokens and position < min(len(text), max_chars):
        found.append(Segment(text[position:max_chars], n_tokens, n_tokens))
    return found


def glyphs(text: str) -> list[Glyphs]:
    """Split a segment's text into runs to draw; hidden characters become pictures.

    A combining mark that begins the segment stands on a dotted circle, as its own token.
    """
    runs: list[Glyphs] = []
    for index, char in enumerate(text):
        kind: GlyphKind
        if char == " ":
            kind, shown = "space", char
        elif char in _WHITE_SPACE_PICTURES:
            kind, shown = "hidden", _WHITE_SPACE_PICTURES[char]
        elif is_hidden(char):
            kind, shown = "hidden", visible_char(char)
        elif char.isspace():
            kind, shown = "hidden", f"\u27e8U+{ord(char):04X}\u27e9"
        else:
            is_lone_mark = index == 0 and unicodedata.category(char).startswith("M")
            kind, shown = "text", _DOTTED_CIRCLE + char if is_lone_mark else char
        if runs and runs[-1].kind == kind == "text":
            runs[-1] = Glyphs(kind, runs[-1].text + shown)
        else:
            runs.append(Glyphs(kind, shown))
    return runs
