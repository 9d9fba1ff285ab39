"""Is there a tokenizer that needs clearly fewer tokens for this text?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.checks.adapting import extend_commands
from jeton.auditing.evidence import Evidence, Measured, percent
from jeton.findings import Basis, Figure, Finding, Severity
from jeton.metrics.quality import loses_text

MIN_CANDIDATE_SAVING = 0.05
"""Share of tokens that a candidate must save. Our choice: below 5%, retraining embeddings (or
moving to another model) and evaluating the result again is seldom repaid."""


def _best(evidence: Evidence) -> Measured | None:
    """The candidate with the fewest tokens among those that give the text back."""
    faithful = [c for c in evidence.candidates if not loses_text(c.report.unreturned_by_cause)]
    return min(faithful, key=lambda c: (c.n_tokens, c.report.vocab_size, c.name), default=None)


def _saved_share(evidence: Evidence, candidate: Measured) -> float:
    return 1 - candidate.n_tokens / evidence.current.n_tokens if evidence.current.n_tokens else 0.0


def better_candidate(evidence: Evidence) -> Measured | None:
    """The candidate that saves enough tokens to be told; None where there is none."""
    best = _best(evidence)
    if best is None or _saved_share(evidence, best) < MIN_CANDIDATE_SAVING:
        return None
    return best


def tokenizer_foreign(evidence: Evidence) -> Iterator[Finding]:
    """The current tokenizer needs more tokens than a candidate for the same text."""
    current, best = evidence.current, better_candidate(evidence)
    if best is None:
        return
    share, n_saved = _saved_share(evidence, best), current.n_tokens - best.n_tokens
    saving, formula = _saving(evidence, best)
    yield Finding(
        id="tokenizer-foreign",
        severity=Severity.WARNING,
        title=(
            f"{best.name} needs {percent(share)} fewer tokens than {current.name} for this text "
            f"({n_saved:,} fewer)"
        ),
        where=current.name,
        figure=Figure(
            value=n_saved,
            unit="tokens on the audited text",
            basis=Basis.EXACT,
            formula=f"{current.n_tokens:,} ({current.name}) - {best.n_tokens:,} ({best.name})",
        ),
        cause=(
            f"The vocabulary of {current.name} was made from other text: one token holds "
            f"{current.report.bytes_per_token:.2f} bytes of yours, against "
            f"{best.report.bytes_per_token:.2f} with {best.name}" + _size_remark(current, best)
        ),
        remedy=(f"A tokenizer belongs to its model. {extend_commands(evidence.current.name)}"),
        saving_usd_per_year=saving,
        saving_formula=formula,
        saving_basis=Basis.ESTIMATED,
        evidence={
            "tokenizers": [
                {
                    "name": m.name,
                    "vocab_size": m.report.vocab_size,
                    "n_tokens": m.n_tokens,
                    "bytes_per_token": round(m.report.bytes_per_token, 4),
                    "n_round_trip_failures": m.report.n_round_trip_failures,
                }
                for m in evidence.tokenizers
            ],
            "best_of_no_larger_vocabulary": _best_of_no_larger_vocabulary(evidence),
        },
    )


def _size_remark(current: Measured, best: Measured) -> str:
    rows = best.report.vocab_size - current.report.vocab_size
    if rows <= 0:
        return ". Its vocabulary is no larger."
    return (
        f". Part of this is size: {best.name} has {rows:,} more entries, and each one takes memory."
    )


def _best_of_no_larger_vocabulary(evidence: Evidence) -> str | None:
    """The like-for-like comparison: waste is defined at equal vocabulary size."""
    limit = evidence.current.report.vocab_size
    no_larger = [m for m in evidence.tokenizers if m.report.vocab_size <= limit]
    best = min(no_larger, key=lambda m: (m.n_tokens, m.name))
    return None if best is evidence.current else best.name


def _saving(evidence: Evidence, best: Measured) -> tuple[Decimal | None, str]:
    """The difference of the two yearly bills: price tiers by prompt length are in both."""
    now = evidence.current.report.economics.usd_per_year
    then = best.report.economics.usd_per_year
    if now is None or then is None or not evidence.traffic.is_priced:
        return None, ""
    saving = (Decimal(now.value) - Decimal(then.value)).quantize(Decimal("0.01"))
    return saving, (
        f"{Decimal(now.value):,.2f} USD a year ({evidence.current.name}) - "
        f"{Decimal(then.value):,.2f} USD a year ({best.name}) = {saving:,} USD a year; the number "
        "of output tokens and the price of a token are taken to stay the same"
    )


def compression_good(evidence: Evidence) -> Iterator[Finding]:
    """Candidates were compared, and none is clearly better than the tokenizer in use."""
    current, best = evidence.current, _best(evidence)
    if best is None or _saved_share(evidence, best) >= MIN_CANDIDATE_SAVING:
        return
    share = _saved_share(evidence, best)
    comparison = (
        f"the best of them, {best.name}, needs {share:.2%} fewer tokens"
        if share > 0
        else f"the next, {best.name}, needs {-share:.2%} more tokens"
        if share < 0
        else f"the best of them, {best.name}, needs as many tokens"
    )
    n_candidates = len(evidence.candidates)
    yield Finding(
        id="compression-good",
        severity=Severity.GOOD,
        title=(
            f"{'The other tokenizer is not' if n_candidates == 1 else 'No other tokenizer is'} "
            f"clearly better for this text than {current.name}: {comparison}"
        ),
        where=current.name,
        figure=Figure(
            value=current.report.bytes_per_token,
            unit="bytes per token",
            basis=Basis.EXACT,
            formula=f"{evidence.corpus.n_bytes:,} bytes / {current.n_tokens:,} tokens",
        ),
        cause="The vocabulary fits your text about as well as the others.",
        remedy=(f"Keep it. Look at a change if it saves {percent(MIN_CANDIDATE_SAVING)} or more."),
        evidence={"candidates": [candidate.name for candidate in evidence.candidates]},
    )
