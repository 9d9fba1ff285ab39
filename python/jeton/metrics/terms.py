"""Term shatter: into how many tokens a term of the domain falls.

A term is cut as it stands in running text, because that is what a model sees: after a space inside
a sentence, or at the very start of a text. The tokens counted are those that cover at least one
character of the term, and a token of the space before it where the tokenizer takes space and term
for one pretoken (as most do): were the term one token, that token would hold the space too.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import numpy as np

from jeton.errors import UsageError
from jeton.registry import TokenizerLike, resolve

_NEIGHBOUR = "a"
"""A word on either side of the term. It only has to end and begin a pretoken of its own."""


@dataclass(frozen=True, slots=True)
class TermPieces:
    r"""How one term is cut.

    Attributes:
        ids: The tokens that cover the term.
        pieces: Their text; bytes that are no whole character are written ``\xNN``.
    """

    ids: tuple[int, ...]
    pieces: tuple[str, ...]

    @property
    def n_tokens(self) -> int:
        """Tokens that the term costs."""
        return len(self.ids)


def cut_term(
    tokenizer: TokenizerLike, term: str, *, position: Literal["inside", "start"] = "inside"
) -> TermPieces:
    """Cut ``term`` as it stands inside a sentence (after a space) or at the start of a text.

    Raises:
        UsageError: ``term`` is empty or only white space.
    """
    tokenizer = resolve(tokenizer)
    term = term.strip()
    if not term:
        raise UsageError("a term is empty; expected at least one visible character")
    before = f"{_NEIGHBOUR} " if position == "inside" else ""
    encoding = tokenizer.encode_with_offsets(f"{before}{term} {_NEIGHBOUR}")
    term_start, term_end = len(before), len(before) + len(term)
    covers = (encoding.starts < term_end) & (encoding.ends > term_start)
    if covers.any():
        first_word = encoding.word_ids[np.argmax(covers)]
        is_space = (encoding.starts == term_start - 1) & (encoding.ends == term_start)
        covers |= is_space & (encoding.word_ids == first_word)
    ids = tuple(int(id_) for id_ in encoding.ids[covers])
    return TermPieces(ids, tuple(readable_piece(tokenizer.id_to_bytes(id_)) for id_ in ids))


def readable_piece(token_bytes: bytes) -> str:
    r"""The bytes of a token as text; what is not UTF-8 by itself is written ``\xNN``."""
    return token_bytes.decode("utf-8", errors="backslashreplace")
