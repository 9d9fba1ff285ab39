"""How figures are written into templates: rounding, units, intervals."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from studies.claims.figures import Figure, Figures

__all__ = ["Writer"]


@dataclass(frozen=True, slots=True)
class Writer:
    """The functions that templates call with a figure's key; an unknown key is an error."""

    figures: Figures

    def functions(self) -> dict[str, Callable[..., str]]:
        """By the name that templates use."""
        names = (
            "day",
            "millions",
            "n",
            "num",
            "num_i",
            "pct",
            "pct_i",
            "signed",
            "signed_i",
            "usd",
            "x",
            "x_i",
        )
        return {name: getattr(self, name) for name in names}

    def day(self, key: str) -> str:
        """A day that is kept as a number."""
        digits = f"{self.figures.value(key):08.0f}"
        return f"{digits[:4]}-{digits[4:6]}-{digits[6:]}"

    def n(self, key: str) -> str:
        """Documents that a figure speaks of."""
        n = self.figures[key].n
        if n is None:
            raise ValueError(f"the figure {key!r} has no number of documents")
        return f"{n:,}"

    def num(self, key: str, digits: int = 0) -> str:
        """The number, with thousands marked."""
        return f"{self.figures.value(key):,.{digits}f}"

    def num_i(self, key: str, digits: int = 0) -> str:
        """The number and its interval."""
        return _with_interval(self.figures[key], lambda value: f"{value:,.{digits}f}")

    def pct(self, key: str, digits: int = 1) -> str:
        """A share as a percentage."""
        return _percent(self.figures.value(key), digits)

    def pct_i(self, key: str, digits: int = 1) -> str:
        """A share as a percentage, and its interval."""
        figure = self.figures[key]
        if figure.low is None or figure.high is None:
            return self.pct(key, digits)
        low, high = (f"{_rounded(100 * end, digits)}" for end in (figure.low, figure.high))
        return f"{self.pct(key, digits)} ({low} to {high})"

    def signed(self, key: str, digits: int = 0) -> str:
        """A change as a percentage with its sign; none before nothing."""
        text = f"{100 * self.figures.value(key):+,.{digits}f}"
        return f"{text if float(text.replace(',', '')) else text.lstrip('+-')}%"

    def signed_i(self, key: str, digits: int = 1) -> str:
        """A change as a percentage with its sign, and its interval."""
        figure = self.figures[key]
        low, high = (f"{100 * (end or 0):+.{digits}f}" for end in (figure.low, figure.high))
        return f"{100 * figure.value:+.{digits}f}% ({low} to {high})"

    def usd(self, key: str, digits: int | None = None) -> str:
        """US dollars; cents below ten."""
        value = self.figures.value(key)
        places = digits if digits is not None else 0 if value == round(value) else 2
        return f"${value:,.{places}f}"

    def millions(self, key: str, digits: int = 0) -> str:
        """In millions."""
        return f"{self.figures.value(key) / 1e6:,.{digits}f}"

    def x(self, key: str, digits: int = 2) -> str:
        """A ratio."""
        return f"{self.figures.value(key):,.{digits}f}x"

    def x_i(self, key: str, digits: int = 2) -> str:
        """A ratio and its interval."""
        return _with_interval(self.figures[key], lambda value: f"{value:,.{digits}f}", "x")


def _rounded(value: float, digits: int) -> str:
    text = f"{value:.{digits}f}"
    # No minus before nothing.
    return text.lstrip("-") if not float(text) else text


def _percent(share: float, digits: int) -> str:
    return f"{_rounded(100 * share, digits)}%"


def _with_interval(figure: Figure, write: Callable[[float], str], unit: str = "") -> str:
    if figure.low is None or figure.high is None:
        return f"{write(figure.value)}{unit}"
    return f"{write(figure.value)}{unit} ({write(figure.low)} to {write(figure.high)})"
