"""Text, numbers and tables as GitHub-flavoured Markdown in which nothing of others is markup."""

from __future__ import annotations

import re

from jeton.report.numbers import Shown, signed
from jeton.report.visible import visible

__all__ = ["details", "escaped", "rows", "signed", "text", "written"]

# Everything that could begin markup, HTML, or a table cell. Escaping punctuation is always allowed
# (CommonMark 0.31, section 2.4).
_SPECIAL = re.compile(r"([\\`*_{}\[\]()<>#+!|~&$])")


def text(other: str) -> str:
    """Other people's text: hidden characters visible, one line, no markup."""
    return escaped(visible(other))


def escaped(plain: str) -> str:
    """Our own text without markup."""
    return _SPECIAL.sub(r"\\\1", plain)


def written(shown: Shown | None) -> str:
    """A number, or nothing."""
    return "" if shown is None else shown.text


def rows(header: list[str], body: list[list[str]], *, n_text: int = 1) -> str:
    """A table; the first ``n_text`` columns are text, the others numbers."""
    rule = ["---"] * n_text + ["---:"] * (len(header) - n_text)
    return "\n".join(f"| {' | '.join(row)} |" for row in [header, rule, *body])


def details(summary: str, *blocks: str) -> str:
    """Blocks that are folded away until one asks for them."""
    inside = "\n\n".join(block for block in blocks if block)
    return f"<details>\n<summary>{summary}</summary>\n\n{inside}\n\n</details>"
