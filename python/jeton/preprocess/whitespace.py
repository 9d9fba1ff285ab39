"""White space: line ends, blanks at line ends, runs of spaces and of blank lines."""

from __future__ import annotations

import re
from typing import Final

from jeton.preprocess.regions import looks_like_code, text_lines
from jeton.preprocess.steps import BaseStep, LossClass

# A quoted or back-ticked part of a line is kept as it is: spaces in it may be data.
_KEPT_OR_SPACES = re.compile(r"""(`+)(?!`).*?(?<!`)\1(?!`)|"[^"\n]*"|'[^'\n]*'|  +""")

MAX_LINE_CHARS = 100_000
"""Characters of a line up to which runs of spaces are looked for: longer ones are data."""


class WhitespaceStep(BaseStep):
    """Drops white space that carries nothing.

    Line ends become LF, blanks at line ends go, spaces within a line become one, blank lines become
    one. Tabs within a line stay: they part columns. Fences, preformatted HTML, indented lines,
    quoted parts of a line and documents that look like code keep their bytes. So do two spaces
    before a line that goes on, Markdown's hard break, unless they are asked to go.
    """

    __slots__ = ("_keep_hard_breaks",)

    name: Final = "whitespace"
    loss_class: LossClass = "whitespace"

    def __init__(self, *, keep_hard_breaks: bool = True) -> None:
        super().__init__()
        self._keep_hard_breaks = keep_hard_breaks

    def apply(self, text: str) -> str:
        """Return the text with less white space."""
        if looks_like_code(text):
            self.note("left alone: looks like code")
            return text
        lines = list(text_lines(text))
        pieces: list[str] = []
        n_blank = 0
        for number, line in enumerate(lines):
            if line.is_fenced:
                pieces.append(line.text + line.end)
                n_blank = 0
                continue
            body = line.text.rstrip(" \t")
            if not body:
                n_blank += 1
                # The first of a run stays; none at the beginning of a document.
                if n_blank == 1 and pieces and line.end:
                    pieces.append("\n")
                continue
            n_blank = 0
            is_before_text = number + 1 < len(lines) and bool(lines[number + 1].text.strip(" \t"))
            is_break = line.text.endswith("  ") and is_before_text
            if not line.is_kept and len(body) <= MAX_LINE_CHARS:
                body = _KEPT_OR_SPACES.sub(_one_space, body)
            if is_break and self._keep_hard_breaks:
                body += "  "
            pieces.append(body + ("\n" if line.end else ""))
        if len(pieces) > 1 and pieces[-1] == "\n" and n_blank:
            pieces.pop()
        return "".join(pieces)


def _one_space(match: re.Match[str]) -> str:
    return " " if match[0].isspace() else match[0]
