"""Capacity of a context window in characters, words and pages, under one tokenizer."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.errors import UsageError
from jeton.findings import Basis, Figure

CHARS_PER_PAGE = 1800
"""Characters of a standard page, spaces included: 30 lines of 60 (the German *Normseite*, which
publishers and translators count in). A densely printed page has about 3,000."""


@dataclass(frozen=True, slots=True)
class ContextRoom:
    """Room for text in a context window.

    Attributes:
        prompt_tokens: Tokens left for text.
        chars: Characters of this workload's text that they hold, mean.
        pages: These characters in pages.
        documents: Documents of this workload's mean length; None if that is not given.
        figure: The characters as a figure.
    """

    prompt_tokens: int
    chars: float
    pages: float
    documents: float | None
    figure: Figure


def context_room(
    context_tokens: int,
    *,
    tokens_per_char: float,
    reserved_tokens: int = 0,
    tokens_per_document: float | None = None,
    chars_per_page: int = CHARS_PER_PAGE,
    basis: Basis = Basis.EXACT,
) -> ContextRoom:
    """Return how much text of this workload a context window holds.

    Formula: ``(context - reserved) / tokens per character``; pages of `CHARS_PER_PAGE`.

    Source: definition; tokens per character as measured on the workload.

    Args:
        context_tokens: Tokens of the window.
        tokens_per_char: Tokens per character of the workload.
        reserved_tokens: Tokens kept for instructions and the answer.
        tokens_per_document: Mean length of a document.
        chars_per_page: Characters of a page.
        basis: Basis of ``tokens_per_char``.

    Raises:
        UsageError: If a number is out of range.
    """
    if (
        not 0 <= reserved_tokens <= context_tokens
        or not 0 < tokens_per_char < 1e6
        or chars_per_page < 1
        or (tokens_per_document is not None and not 0 < tokens_per_document < 1e15)
    ):
        raise UsageError(
            f"cannot fill {context_tokens} tokens less {reserved_tokens} reserved at "
            f"{tokens_per_char} tokens per character; expected numbers above 0"
        )
    room = context_tokens - reserved_tokens
    chars = room / tokens_per_char
    return ContextRoom(
        prompt_tokens=room,
        chars=chars,
        pages=chars / chars_per_page,
        documents=None if tokens_per_document is None else room / tokens_per_document,
        figure=Figure(
            chars,
            "characters",
            basis,
            f"({context_tokens:,} - {reserved_tokens:,} reserved) / {tokens_per_char:.4f} tokens "
            f"per character; {chars / chars_per_page:,.0f} pages of {chars_per_page:,}",
            "measured on the workload",
        ),
    )
