"""Steps on plain text: white space, numbers, repeated blocks, Unicode forms, hidden text."""

from __future__ import annotations

import re
import unicodedata
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import TYPE_CHECKING, Final

from jeton.guard import Fixer, Policy
from jeton.guard.cleaning import without_waste
from jeton.preprocess.regions import looks_like_code, text_lines
from jeton.preprocess.steps import BaseStep, LossClass

if TYPE_CHECKING:
    from jeton._core import Tokenizer


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


# Numbers: excess digits of fractions.

# Not a part of a version, a date, an address, a name or a longer number.
_FRACTION = re.compile(
    r"(?<![\w.,:/\\@#-])([-+]?)(\d{1,30})\.(\d{1,60})([eE][-+]?\d{1,4})?(?![\w:/\\@-]|[.,]\d)"
)

MAX_DIGITS = 100


class NumbersStep(BaseStep):
    """Rounds numbers with a fraction to some significant digits, half to even.

    Digits before the point stay, as do integers, versions, dates, addresses, fences and documents
    that look like code.

    Example:
        >>> NumbersStep(4).apply("between 0.0123456789 and 1234567.891 in 3.11.2")
        'between 0.01235 and 1234568 in 3.11.2'
    """

    __slots__ = ("_n_digits",)

    name: Final = "numbers"
    loss_class: LossClass = "content"

    def __init__(self, n_digits: int = 4) -> None:
        super().__init__()
        self._n_digits = n_digits

    def apply(self, text: str) -> str:
        """Return the text with shorter numbers."""
        if looks_like_code(text):
            self.note("left alone: looks like code")
            return text
        return "".join(
            (line.text if line.is_fenced else _FRACTION.sub(self._rounded, line.text)) + line.end
            for line in text_lines(text)
        )

    def _rounded(self, match: re.Match[str]) -> str:
        sign, whole, fraction, exponent = match.groups()
        digits = (whole + fraction).lstrip("0")
        if len(digits) <= self._n_digits or len(digits) > MAX_DIGITS or not whole.isascii():
            return match[0]
        if not fraction.isascii():
            return match[0]
        value = Decimal(f"{whole}.{fraction}")
        first = len(whole.lstrip("0")) or value.adjusted() + 1
        n_places = max(0, min(len(fraction), self._n_digits - first))
        context = Context(prec=MAX_DIGITS, rounding=ROUND_HALF_EVEN)
        rounded = value.quantize(Decimal(1).scaleb(-n_places), context=context)
        return f"{sign}{rounded:f}{exponent or ''}"


# Repetition: paragraphs that a document says twice.

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


# Unicode: canonical composition, exotic spaces, invisible characters; and typographic quotes.

# U+1680 is seen, and U+3000 is twice as wide and indents paragraphs: both stay.
_SPACES = re.compile("[\u00a0\u2000-\u200a\u202f\u205f]")
_LINE_ENDS = re.compile("[\u0085\u2028\u2029]")


class UnicodeStep(BaseStep):
    """Writes what looks alike in one way: NFC, one kind of space, no invisible characters.

    Joiners between emoji or in scripts that need them stay, as do marks of direction. Fences,
    preformatted HTML and documents that look like code keep their bytes.
    """

    __slots__ = ()

    name: Final = "unicode"
    loss_class: LossClass = "whitespace"

    def apply(self, text: str) -> str:
        """Return the text in canonical spelling."""
        if text.isascii():
            return text
        if looks_like_code(text):
            self.note("left alone: looks like code")
            return text
        pieces: list[str] = []
        run: list[str] = []
        for line in text_lines(text):
            if line.is_fenced:
                pieces.append(_canonical("".join(run)))
                run = []
                pieces.append(line.text + line.end)
            else:
                run.append(line.text + line.end)
        pieces.append(_canonical("".join(run)))
        return "".join(pieces)


def _canonical(text: str) -> str:
    if text.isascii():
        return text
    text, _ = without_waste(text)
    text = _LINE_ENDS.sub("\n", _SPACES.sub(" ", text))
    # Last: a mark composes with the letter that stands before it once joiners are gone.
    return unicodedata.normalize("NFC", text)


_QUOTES: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f", '"'),
        "\u2026": "...",
    }
)


class QuotesStep(BaseStep):
    """Writes typographic quotes and ellipses in ASCII; fences and code keep theirs."""

    __slots__ = ()

    name: Final = "quotes"
    loss_class: LossClass = "content"

    def apply(self, text: str) -> str:
        """Return the text with plain quotes."""
        if text.isascii():
            return text
        if looks_like_code(text):
            self.note("left alone: looks like code")
            return text
        return "".join(
            (line.text if line.is_fenced else line.text.translate(_QUOTES)) + line.end
            for line in text_lines(text)
        )


# The guard as a step: texts leave it as a policy says, and a text that it rejects ends the run.


class GuardStep(BaseStep):
    """Makes hidden text and special-token look-alikes harmless, as its policy says.

    Raises:
        GuardRejected: In ``apply``, for a text that the policy rejects.
    """

    __slots__ = ("_fixer",)

    name: Final = "guard"
    loss_class: LossClass = "content"

    def __init__(self, policy: str | Policy, tokenizer: Tokenizer) -> None:
        super().__init__()
        self._fixer = Fixer(policy, tokenizer=tokenizer)

    def apply(self, text: str) -> str:
        """Return the text as the policy leaves it."""
        before = sum(self._fixer.tally.changes.values())
        fixed = self._fixer.fix(text)
        if sum(self._fixer.tally.changes.values()) > before:
            self.note("changed by the policy")
        return fixed
