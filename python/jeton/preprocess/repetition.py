"""Repetition: paragraphs that a document says twice."""

from __future__ import annotations

import re
from typing import Final

from jeton.preprocess.regions import looks_like_code, text_lines
from jeton.preprocess.steps import BaseStep, LossClass

MIN_CHARS = 40
"""Characters of a paragraph that may go: shorter ones, headings say, are repeated on purpose."""

_BLANKS = re.compile(r"\s+")


class RepetitionStep(BaseStep):
    """Drops a paragraph that stood in the same document before; the first one stays.

    A paragraph is a run of lines without a blank one. It is compared with runs of blanks as one.
    Paragraphs with a fence or an indented line stay, and so do documents that look like code.
    """

    __slots__ = ()

    name: Final = "repetition"
    loss_class: LossClass = "content"

    def apply(self, text: str) -> str:
        """Return the text with each paragraph once."""
        if looks_like_code(text):
            self.note("left alone: looks like code")
            return text
        seen: set[str] = set()
        pieces: list[str] = []
        block: list[str] = []
        may_go = True
        is_dropped = False

        def close() -> None:
            nonlocal is_dropped
            body = "".join(block)
            key = _BLANKS.sub(" ", body.strip())
            is_dropped = may_go and len(key) >= MIN_CHARS and key in seen
            seen.add(key)
            if not is_dropped:
                pieces.append(body)

        for line in text_lines(text):
            if line.text.strip() or line.is_fenced:
                may_go = may_go and not line.is_kept
                block.append(line.text + line.end)
                continue
            if block:
                close()
                block, may_go = [], True
            # The blank lines behind a paragraph go with it.
            if not is_dropped:
                pieces.append(line.text + line.end)
        if block:
            close()
        changed = "".join(pieces)
        if changed != text:
            self.note("paragraphs dropped")
        return changed
