"""Words for a budget that names a figure or a domain that is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from jeton._nearest import nearest
from jeton.auditing.gate.budgets import Budget

__all__ = ["unknown_domain", "unknown_figure"]

_MAX_DOMAINS = 20

_OPTIONS = {
    "usd": "--price-model, and --requests-per-day for a period",
    "kv_": "--model",
    "weights": "--model",
    "requests_fit": "--model and --gpu",
    "fit": "--model and --gpu",
    "flops": "--model",
}
"""Beginnings of figures that need an option, with the option."""


def unknown_figure(name: str, known: Mapping[str, Fraction], budget: Budget | None) -> str:
    """The message for a figure that is not there: the nearest names, then all of them."""
    near = _near(name, known)
    message = _head("figure", name, budget)
    if near:
        message += f"; the nearest are {', '.join(near)}"
    lines = [message, f"known here: {', '.join(sorted(known))}"]
    needs = next((words for start, words in _OPTIONS.items() if name.startswith(start)), None)
    lines.append(
        f"hint: figures of this kind need {needs}"
        if needs and not near
        else "hint: a figure of money, a model or a GPU needs the option that it comes from"
    )
    return "\n".join(lines)


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
    """Names that are spelt alike, then those with words that begin like the wanted ones."""
    wanted = name.lower().split("_")
    alike = list(nearest(name, sorted(known)))
    same = [
        known_name
        for known_name in sorted(known)
        if all(any(part.startswith(word) for part in known_name.split("_")) for word in wanted)
    ]
    return list(dict.fromkeys([*alike, *same]))[:8]
