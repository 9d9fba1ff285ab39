"""Words for a budget that names a figure or a domain that is not there."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from fractions import Fraction

from jeton._nearest import nearest
from jeton.auditing.gate.budgets import Budget

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
