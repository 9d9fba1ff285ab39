"""Budgets: limits of figures as users write them, and names of figures that users mean.

::

    tokens_per_document>+2%          the mean grew by more than 2% of the baseline
    bytes_per_token<-0.05            it fell by more than 0.05
    tokens_per_document_p95>4096     it is above 4,096, whatever the baseline says
    legal:tokens_per_document>+5%    of the domain "legal" alone
    *:tokens_per_document>+5%        of any domain
    usd_per_month>+-10%              it moved by more than 10%, up or down
    tokenizer_changed>0              the fingerprint is another one

A number with a sign is a change against the baseline, of the baseline's value with ``%`` and else
in the figure's own unit; a number without one is the figure's own value. ``k`` and ``M`` are
thousands and millions.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from pathlib import Path

from jeton._nearest import nearest
from jeton.errors import UsageError

EVERY_DOMAIN = "*"
"""Names every domain, each for itself."""

MAX_BUDGETS_BYTES = 1 << 20
"""A file of budgets is a few lines; more is another file."""

_BUDGET = re.compile(
    r"(?:(?P<domain>.+):)?(?P<metric>[A-Za-z_][A-Za-z0-9_.-]*)\s*(?P<comparison>>=|<=|==|!=|>|<)\s*"
    r"(?P<sign>\+-|±|\+|-)?\s*(?P<number>[0-9][0-9_]*(?:\.[0-9]+)?(?:[eE][+-]?[0-9]{1,3})?)\s*"
    r"(?P<suffix>%|k|M)?",
    re.DOTALL,
)

_FACTORS = {"%": Fraction(1, 100), "k": Fraction(1000), "M": Fraction(1_000_000), None: Fraction(1)}


class Kind(StrEnum):
    """Quantity that a limit limits."""

    VALUE = "value"
    CHANGE = "change"
    RELATIVE_CHANGE = "relative_change"


@dataclass(frozen=True, slots=True)
class Budget:
    """One line, understood.

    Attributes:
        text: As it was written.
        metric: Name of the figure.
        domain: Domain that it is of; None: the whole corpus; ``*``: every domain by itself.
        comparison: ``>``, ``>=``, ``<``, ``<=``, ``==`` or ``!=``: what is a failure.
        kind: Kind of the limited figure.
        limit: The limit; a share (0.02), not percent, for a relative change.
        either_way: ``+-``: the size of the change counts, not its direction.
    """

    text: str
    metric: str
    domain: str | None
    comparison: str
    kind: Kind
    limit: Fraction
    either_way: bool = False

    @classmethod
    def parse(cls, text: str) -> Budget:
        """Understand one line.

        Raises:
            UsageError: It is not one; the message says what is wrong with it.
        """
        shown = text if len(text) <= 200 else f"{text[:200]}..."
        match = _BUDGET.fullmatch(text.strip())
        if match is None:
            raise UsageError(
                f"{shown!r} is no budget; expected METRIC, a comparison and a limit\n"
                "hint: 'tokens_per_document>+2%', 'legal:bytes_per_token<-0.1' or "
                "'tokens_per_document_p95>4096'"
            )
        sign, suffix, comparison = match["sign"], match["suffix"], match["comparison"]
        limit = Fraction(match["number"]) * _FACTORS[suffix]
        if sign is None and suffix == "%":
            number = match["number"]
            raise UsageError(
                f"{shown!r}: {number}% of what?\n"
                f"hint: +{number}% is a change against the baseline; a share itself "
                f"is written {float(limit):g}"
            )
        either_way = sign in ("+-", "±")
        if either_way and comparison not in (">", ">="):
            raise UsageError(
                f"{shown!r}: +- goes with > or >= only; it is how far the figure moved"
            )
        if sign == "-":
            limit = -limit
        kind = Kind.VALUE
        if sign is not None:
            kind = Kind.RELATIVE_CHANGE if suffix == "%" else Kind.CHANGE
        return cls(
            text=text.strip(),
            metric=match["metric"],
            domain=match["domain"],
            comparison=comparison,
            kind=kind,
            limit=limit,
            either_way=either_way,
        )

    @property
    def needs_baseline(self) -> bool:
        """True if the limit says anything without a baseline."""
        return self.kind is not Kind.VALUE or self.metric == "tokenizer_changed"

    def is_exceeded(self, before: Fraction | None, after: Fraction) -> bool:
        """True if the figure fails it.

        Raises:
            UsageError: The limit is of a change, and there is no value to change from.
        """
        value = self.measured(before, after)
        # From nothing to something is more than any percentage.
        if value is None:
            return self.either_way or (self.comparison in (">", ">=", "!="))
        limit = self.limit
        if self.comparison == ">":
            return value > limit
        if self.comparison == ">=":
            return value >= limit
        if self.comparison == "<":
            return value < limit
        if self.comparison == "<=":
            return value <= limit
        return (value == limit) is (self.comparison == "==")

    def measured(self, before: Fraction | None, after: Fraction) -> Fraction | None:
        """Figure compared with the limit; None: a share of a baseline of zero, which rose."""
        if self.kind is Kind.VALUE:
            return after
        if before is None:
            raise UsageError(f"{self.text!r} compares with a baseline, and there is none for it")
        change = after - before
        if self.kind is Kind.RELATIVE_CHANGE:
            if before == 0:
                if change:
                    return None if change > 0 or self.either_way else Fraction(-1)
            else:
                change /= abs(before)
        return abs(change) if self.either_way else change


def read_budgets(lines: Iterable[str]) -> tuple[Budget, ...]:
    """Understand budgets as the command line has them: one each, or ``@FILE`` with one a line.

    Raises:
        UsageError: One is not understood.
        OSError: A file cannot be read.
    """
    budgets: dict[Budget, None] = {}
    for line in lines:
        for text in _lines_of(line[1:]) if line.startswith("@") else [line]:
            budgets.setdefault(Budget.parse(text))
    return tuple(budgets)


def _lines_of(path: str) -> list[str]:
    """Lines of a file without blank ones and without what follows a ``#``."""
    if Path(path).stat().st_size > MAX_BUDGETS_BYTES:
        raise UsageError(f"{path} is larger than {MAX_BUDGETS_BYTES:,} bytes; it holds no budgets")
    try:
        text = Path(path).read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise UsageError(f"{path} is not UTF-8; expected one budget a line") from None
    lines = [line.split("#", 1)[0].strip() for line in text.splitlines()]
    found = [line for line in lines if line]
    if not found:
        raise UsageError(f"{path} holds no budget; expected one a line")
    return found


_MAX_DOMAINS = 20

_OTHER_WORDS = {
    "fit": "concurrent_requests",
    "concurrency": "concurrent_requests",
    "requests": "concurrent_requests",
    "cost": "usd_per",
    "price": "usd_per",
    "money": "usd_per",
    "dollars": "usd_per",
    "memory": "kv_bytes",
    "cache": "cache_read_share",
    "cached": "cached_share",
    "billed": "input_tokens_per_request",
    "input": "input_tokens_per_request",
    "prompt": "input_tokens_per_request",
    "output": "output_tokens_per_request",
    "reasoning": "reasoning_tokens_per_request",
    "latency": "seconds",
    "time": "seconds",
    "length": "tokens_per_document",
    "tokens": "tokens_per_document",
    "mean": "tokens_per_document",
    "p50": "tokens_per_document_p50",
    "p95": "tokens_per_document_p95",
    "p99": "tokens_per_document_p99",
    "max": "tokens_per_document_max",
    "compression": "bytes_per_token",
    "fertility": "tokens_per_word",
}
"""Words that people use for figures, with the beginning of their names."""

_OPTIONS = {
    "usd_": "--price-model (and --requests-per-day for a day, month or year)",
    "kv_": "--model",
    "cached_": "--logs, with usage",
    "cache_": "--logs, with usage and times",
    "input_": "--logs, with usage",
    "output_": "--logs, with usage",
    "reasoning_": "--logs, with usage",
    "concurrent_": "--model and --gpu",
    "weights": "--model",
}
"""Beginnings of figures that need an option, with the option."""

_MAX_NEAR = 8


def unknown_figure(name: str, known: Mapping[str, Fraction], budget: Budget | None) -> str:
    """The message for a figure that is not there: the nearest names, then all of them."""
    near = _near(name, known)
    message = _head("figure", name, budget)
    if near:
        message += f"; the nearest are {', '.join(near)}"
    return f"{message}\nknown here: {', '.join(sorted(known))}\nhint: {_hint(name, near)}"


def _hint(name: str, near: list[str]) -> str:
    meant = [start for word, start in _OTHER_WORDS.items() if word in name.lower().split("_")]
    for start in (*meant, name):
        option = next((words for begin, words in _OPTIONS.items() if start.startswith(begin)), "")
        if option and not any(found.startswith(start) for found in near):
            what = f"{start}..." if start != name else "such a figure"
            return f"{what} needs {option}"
    return "a figure of money, a model or a GPU needs the option that it comes from"


def unknown_domain(name: str, known: Iterable[str], budget: Budget | None) -> str:
    """The message for a domain that is not there."""
    names = sorted(domain for domain in known if domain)
    message = _head("domain", name, budget)
    if not names:
        return f"{message}; the corpus has no domains\nhint: --domain-field names them"
    near = nearest(name, names)
    if near:
        message += f"; the nearest are {', '.join(near)}"
    shown = ", ".join(names[:_MAX_DOMAINS])
    more = f" and {len(names) - _MAX_DOMAINS:,} more" if len(names) > _MAX_DOMAINS else ""
    return f"{message}\nhint: the domains are {shown}{more}"


def _head(kind: str, name: str, budget: Budget | None) -> str:
    return f"unknown {kind} {name!r}" + ("" if budget is None else f" in {budget.text!r}")


def _near(name: str, known: Mapping[str, Fraction]) -> list[str]:
    """Names that are spelt alike, then those with like words, then those of the same meaning."""
    wanted = name.lower().split("_")
    starts = tuple(_OTHER_WORDS[word] for word in wanted if word in _OTHER_WORDS)
    found = [
        *nearest(name, sorted(known)),
        *(known_name for known_name in sorted(known) if _has_words(known_name, wanted)),
        *(known_name for known_name in sorted(known) if starts and known_name.startswith(starts)),
    ]
    return list(dict.fromkeys(found))[:_MAX_NEAR]


def _has_words(name: str, wanted: list[str]) -> bool:
    return all(any(part.startswith(word) for part in name.split("_")) for word in wanted)
