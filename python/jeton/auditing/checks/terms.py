"""Do the terms of the domain fall into many tokens, and does it matter for the bill?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton._plain import counted
from jeton.auditing.checks.adapting import extend_commands
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.result import TermReport
from jeton.findings import Basis, Figure, Finding, Severity

MIN_SHATTER_SHARE = 0.001
"""Extra tokens of all tokens below which the finding is silent. Our choice: one token in a
thousand is less than the difference between two days of most workloads; the table of terms shows
the shatter anyway."""

WARNING_SHATTER_SHARE = 0.01
"""From here on the finding is a warning. Our choice: 1% of a bill is what an owner asks about."""

_N_SHOWN = 20


def term_shatter(evidence: Evidence) -> Iterator[Finding]:
    """The given terms cost more than one token each: occurrences x (tokens - 1)."""
    current = evidence.current
    shattered = [(term, _extra_tokens(term, current.name)) for term in evidence.terms]
    shattered = sorted(
        ((term, extra) for term, extra in shattered if extra > 0),
        key=lambda entry: (-entry[1], entry[0].term),
    )
    n_extra = sum(extra for _, extra in shattered)
    share = n_extra / current.n_tokens if current.n_tokens else 0.0
    if not shattered or share < MIN_SHATTER_SHARE:
        return
    worst, worst_extra = shattered[0]
    worst_cut = next(cut for cut in worst.cuts if cut.tokenizer == current.name)
    n_occurrences = sum(term.n_occurrences for term, _ in shattered)
    yield Finding(
        id="term-shatter",
        severity=Severity.WARNING if share >= WARNING_SHATTER_SHARE else Severity.INFO,
        title=(
            f"{len(shattered):,} of your terms need several tokens each, {n_extra:,} extra in all "
            f"({percent(share)}). The dearest is {worst.term!r}: {worst_cut.n_tokens} tokens, "
            f"{counted(worst.n_occurrences, 'time')}"
        ),
        where=current.name,
        figure=Figure(
            value=n_extra,
            unit="tokens on the audited text",
            basis=Basis.ESTIMATED,
            formula=(
                f"sum of occurrences x (tokens - 1) over {len(shattered):,} terms with "
                f"{n_occurrences:,} occurrences. Tokens of a term as it is written in the list, "
                "after a space. Other spellings and places may be cut differently"
            ),
        ),
        cause=(
            f"{current.name} has no token for these words: {' | '.join(worst_cut.pieces)} "
            f"({worst.n_occurrences:,} times {worst_cut.n_tokens - 1} extra = {worst_extra:,})."
        ),
        remedy=(
            f"{extend_commands(current.name)} `--terms FILE` adds the first terms of this list; "
            "each takes one entry of the vocabulary."
        ),
        **evidence.traffic.saving(n_extra),
        evidence={
            "terms": [
                {
                    "term": term.term,
                    "n_occurrences": term.n_occurrences,
                    "n_extra_tokens": extra,
                }
                for term, extra in shattered[:_N_SHOWN]
            ],
            "n_terms_not_shown": max(0, len(shattered) - _N_SHOWN),
        },
    )


def _extra_tokens(term: TermReport, tokenizer: str) -> int:
    cut = next(cut for cut in term.cuts if cut.tokenizer == tokenizer)
    return term.n_occurrences * (cut.n_tokens - 1)
