"""Is the vocabulary too large or too small for the model and this text?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.analyses.vocabulary_cost import vocabulary_cost
from jeton.auditing.checks.adapting import extend_commands, prune_commands
from jeton.auditing.evidence import Evidence, Measured, percent
from jeton.findings import Basis, Figure, Finding, Severity
from jeton.metrics.quality import loses_text

MIN_DECODE_SAVING = 0.05
"""Share of the decode work that another size of vocabulary saves. Our choice, as for another
tokenizer: below 5%, new embeddings and a new evaluation are seldom repaid."""


def vocabulary_too_large(evidence: Evidence) -> Iterator[Finding]:
    """A smaller vocabulary would make more tokens and still decode with less work."""
    yield from _other_size(evidence, is_larger=False)


def vocabulary_too_small(evidence: Evidence) -> Iterator[Finding]:
    """A larger vocabulary costs more rows and saves more tokens."""
    yield from _other_size(evidence, is_larger=True)


def _differs_by_size(current: Measured, other: Measured, *, is_larger: bool) -> bool:
    """True if it is the trade of rows for tokens: a better tokenizer is the finding of another."""
    if is_larger:
        return (
            other.report.vocab_size > current.report.vocab_size
            and other.n_tokens < current.n_tokens
        )
    return (
        other.report.vocab_size < current.report.vocab_size and other.n_tokens >= current.n_tokens
    )


def _other_size(evidence: Evidence, *, is_larger: bool) -> Iterator[Finding]:
    model, current = evidence.model, evidence.current
    if model is None or not current.n_tokens:
        return
    now = vocabulary_cost(model, vocab_size=current.report.vocab_size, n_tokens=current.n_tokens)
    options = [
        (vocabulary_cost(model, vocab_size=c.report.vocab_size, n_tokens=c.n_tokens), c)
        for c in evidence.candidates
        if not loses_text(c.report.unreturned_by_cause)
        and _differs_by_size(current, c, is_larger=is_larger)
    ]
    if not options:
        return
    best, candidate = min(options, key=lambda option: (option[0].cost, option[1].name))
    share = 1 - best.cost / now.cost
    if share < MIN_DECODE_SAVING:
        return
    size = "small" if is_larger else "large"
    tokens = candidate.n_tokens / current.n_tokens - 1
    yield Finding(
        id=f"vocabulary-too-{size}",
        severity=Severity.WARNING,
        title=(
            f"A vocabulary of {now.vocab_size:,} is too {size} for {model.name} on this text: with "
            f"the {best.vocab_size:,} of {candidate.name}, generating it takes {percent(share)} "
            "less work"
        ),
        where=current.name,
        figure=Figure(
            value=share,
            unit="share of the weights read to decode the text",
            basis=Basis.ESTIMATED,
            formula=(
                f"1 - {candidate.n_tokens:,} tokens x {best.read_parameters:,} weights / "
                f"({current.n_tokens:,} x {now.read_parameters:,}); one sequence at a time, where "
                "reading weights takes all of the time. Layers and output head count; the input "
                "table is only looked up"
            ),
            source=model.cited_source,
        ),
        cause=(
            f"The output layer is {percent(now.head_share)} of the weights that a step reads; it "
            f"would be {percent(best.head_share)}, and the text would have {percent(abs(tokens))} "
            f"{'more' if tokens > 0 else 'fewer'} tokens."
        ),
        remedy=(
            f"Train a tokenizer of that size. {prune_commands(evidence.current.name)}"
            if best.vocab_size < now.vocab_size
            else f"Train a tokenizer of that size. {extend_commands(evidence.current.name)}"
        ),
        evidence={
            "vocab_size": now.vocab_size,
            "head_share": now.head_share,
            "best": candidate.name,
            "best_vocab_size": best.vocab_size,
            "best_head_share": best.head_share,
        },
    )
