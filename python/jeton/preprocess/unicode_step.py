"""Unicode: canonical composition, exotic spaces, invisible characters; and typographic quotes."""

from __future__ import annotations

import re
import unicodedata
from typing import TYPE_CHECKING, Final

from jeton.guard import Fixer, Policy
from jeton.guard.cleaning import without_waste
from jeton.preprocess.regions import looks_like_code, text_lines
from jeton.preprocess.steps import BaseStep, LossClass

if TYPE_CHECKING:
    from jeton._core import Tokenizer


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
