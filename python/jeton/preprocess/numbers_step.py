"""Numbers: excess digits of fractions."""

from __future__ import annotations

import re
from decimal import ROUND_HALF_EVEN, Context, Decimal
from typing import Final

from jeton.preprocess.regions import looks_like_code, text_lines
from jeton.preprocess.steps import BaseStep, LossClass

# Not a part of a version, a date, an address, a name or a longer number.
_FRACTION = re.compile(
    r"(?<![\w.,:/\\@#-])([-+]?)(\d{1,30})\.(\d{1,60})([eE][-+]?\d{1,4})?(?![\w:/\\@-]|[.,]\d)"
)

MAX_DIGITS = 100


class NumbersStep(BaseStep):
    """Rounds numbers with a fraction to so many significant digits, half to even.

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
