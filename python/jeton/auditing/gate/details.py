"""One sentence for a cause, with the counts that show it."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction

from jeton.auditing.gate.causes import (
    CONTENT,
    DOCUMENTS,
    OTHER_COST,
    PRICE,
    TOKENIZER,
    TRAFFIC,
    UNRESOLVED,
    WORDING,
    CauseEffect,
    KnownTokenizers,
)
from jeton.auditing.gate.features import FEATURES
from jeton.auditing.gate.rewriting import STEPS
from jeton.auditing.gate.statistics import CLASSES, DomainSums, Statistics
from jeton.findings import Basis
from jeton.metrics.decomposition import DOMAIN_MIX, LANGUAGE_MIX, LENGTH

__all__ = ["detail"]

_MAX_SHARES = 3
"""Domains or languages named in a sentence."""

_MIN_CLASS_CHANGE = 0.01
"""A class of characters whose share moved by less than a percentage point explains nothing."""


def detail(
    part: CauseEffect,
    sides: KnownTokenizers,
    *,
    domain: str | None,
    before: Mapping[str, Fraction],
    after: Mapping[str, Fraction],
) -> str:
    """Say what shows a cause; lower case start, no full stop."""
    cause = part.cause
    comparison = sides.comparison()
    if comparison is None or cause == UNRESOLVED:
        return (
            "the tokenizer was exchanged, the baseline's is not at hand, and no document is the "
            "same on both sides"
        )
    old, new = comparison.before.total(domain), comparison.bridge.total(domain)
    scale = float(comparison.scale)
    if cause == TOKENIZER:
        text = f"{sides_text(sides, domain, scale)} tokens for the same text"
        if part.basis is Basis.ESTIMATED:
            text += " (estimated from the documents that did not change)"
        return text
    if cause in STEPS:
        step = STEPS.index(cause)
        extra = (_less(old, step), _less(new, step) * scale)
        return (
            f"{FEATURES[cause].says}; {_number(extra[0])} -> {_number(extra[1])} tokens a document"
        )
    if cause == WORDING:
        rates = [_rate(cell) for cell in (old, new)]
        text = f"{rates[0]:.4g} -> {rates[1] * scale:.4g} tokens per character of wording"
        classes = _class_changes(old, new)
        return f"{text}; {classes}" if classes else text
    if cause == LENGTH:
        chars = [cell.n_chars[-1] / cell.n_documents for cell in (old, new)]
        return f"{_number(chars[0])} -> {_number(chars[1])} characters of wording a document"
    if cause in (DOMAIN_MIX, LANGUAGE_MIX):
        position = 0 if cause == DOMAIN_MIX else 1
        return _shares(comparison.before, comparison.bridge, position, domain)
    if cause == DOCUMENTS:
        return f"{old.n_documents:,} -> {new.n_documents:,} documents"
    if cause == PRICE:
        prices = [_of(side, "usd_per_mtok_input") for side in (before, after)]
        return f"{prices[0]} -> {prices[1]} USD a million input tokens"
    if cause == TRAFFIC:
        return (
            f"{_of(before, 'requests_per_day')} -> {_of(after, 'requests_per_day')} requests a day"
        )
    if cause == OTHER_COST:
        names = ("output_tokens_per_request", "usd_per_mtok_output")
        return "; ".join(f"{name} {_of(before, name)} -> {_of(after, name)}" for name in names)
    if cause == CONTENT:
        return "of the wording alone, without all features above"
    return ""


def sides_text(sides: KnownTokenizers, domain: str | None, scale: float) -> str:
    """Tokens of today's text under both tokenizers."""
    after = sides.current.statistics.total(domain).n_tokens[0]
    if sides.other is not None:
        bridge: float = sides.other.statistics.total(domain).n_tokens[0]
    elif scale != 1:
        bridge = after * scale
    else:
        bridge = sides.before.total(domain).n_tokens[0]
    return f"{bridge:,.0f} -> {after:,}"


def _less(cell: DomainSums, step: int) -> float:
    return (cell.n_tokens[step] - cell.n_tokens[step + 1]) / cell.n_documents


def _rate(cell: DomainSums) -> float:
    return cell.n_tokens[-1] / cell.n_chars[-1] if cell.n_chars[-1] else 0.0


def _class_changes(old: DomainSums, new: DomainSums) -> str:
    """How the make-up of the wording moved, where it did."""
    totals = [sum(cell.n_class_bytes) for cell in (old, new)]
    if not all(totals):
        return ""
    found = []
    for name, a, b in zip(CLASSES, old.n_class_bytes, new.n_class_bytes, strict=True):
        shares = (a / totals[0], b / totals[1])
        if abs(shares[1] - shares[0]) >= _MIN_CLASS_CHANGE:
            found.append(
                (-abs(shares[1] - shares[0]), f"{name} {shares[0]:.0%} -> {shares[1]:.0%}")
            )
    words = [words for _, words in sorted(found)[:_MAX_SHARES]]
    return f"of its bytes, {', '.join(words)}" if words else ""


def _shares(old: Statistics, new: Statistics, position: int, domain: str | None) -> str:
    """Shares of documents by domain or language, those that moved most."""
    counts: list[dict[str, int]] = []
    for side in (old, new):
        sums: dict[str, int] = {}
        for key, cell in side.cells.items():
            if domain is None or key[0] == domain:
                sums[key[position]] = sums.get(key[position], 0) + cell.n_documents
        counts.append(sums)
    totals = [sum(side.values()) for side in counts]
    moved = []
    for name in counts[0].keys() | counts[1].keys():
        a, b = (side.get(name, 0) / total for side, total in zip(counts, totals, strict=True))
        moved.append((-abs(b - a), name or "(no domain)", a, b))
    moved.sort()
    words = [
        f"{name} {_share(a)} -> {_share(b)}" for change, name, a, b in moved[:_MAX_SHARES] if change
    ]
    return "of the documents, " + ", ".join(words) if words else "within the domains"


def _share(value: float) -> str:
    return f"{value:.0%}" if value in (0.0, 1.0) or 0.1 <= value <= 0.9 else f"{value:.1%}"


def _number(value: float) -> str:
    return f"{value:,.1f}" if abs(value) < 1000 else f"{value:,.0f}"


def _of(values: Mapping[str, Fraction], name: str) -> str:
    value = values.get(name)
    return "unknown" if value is None else f"{float(value):,g}"
