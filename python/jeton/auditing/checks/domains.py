"""Is there a part of the workload that the tokenizer is foreign to, though the whole looks well?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.checks.adapting import extend_commands
from jeton.auditing.evidence import Evidence, percent
from jeton.findings import Basis, Figure, Finding, Severity
from jeton.metrics.quality import loses_text

MIN_DOMAIN_SHARE = 0.02
"""Share of all tokens of a domain that is looked at. Our choice: a smaller one cannot pay for a
route of its own."""

MIN_DOMAIN_SAVING = 0.15
"""Share of a domain's tokens that a candidate saves. Our choice: three times that of the whole
workload (`tokenizer-foreign`), because a second model or tokenizer has to be run beside
the first."""

MIN_ABOVE_WHOLE = 0.05
"""How much more it saves there than on the whole workload; otherwise it is the whole's finding."""


def domain_foreign(evidence: Evidence) -> Iterator[Finding]:
    """A candidate saves far more in one domain than on the whole."""
    current = evidence.current
    rows = []
    for domain in evidence.domains:
        counts = {tokens.tokenizer: tokens.n_tokens for tokens in domain.tokenizers}
        n_now = counts.get(current.name, 0)
        if not n_now or n_now < MIN_DOMAIN_SHARE * current.n_tokens:
            continue
        faithful = [c for c in evidence.candidates if not loses_text(c.report.unreturned_by_cause)]
        best = min(
            (c for c in faithful if c.name in counts),
            key=lambda c: (counts[c.name], c.name),
            default=None,
        )
        if best is None:
            continue
        n_best = counts[best.name]
        share = 1 - n_best / n_now
        on_whole = 1 - best.n_tokens / max(1, current.n_tokens)
        if share >= MIN_DOMAIN_SAVING and share - on_whole >= MIN_ABOVE_WHOLE:
            rows.append((n_now - n_best, share, domain.name, best.name, n_now))
    if not rows or len(evidence.domains) < 2:
        return
    rows.sort(key=lambda row: (-row[0], row[2]))
    n_saved = sum(row[0] for row in rows)
    _, share, name, best_name, _ = rows[0]
    yield Finding(
        id="domain-foreign",
        severity=Severity.WARNING,
        title=(
            f"{current.name} does not fit {name}: {best_name} needs {percent(share)} fewer tokens "
            "there" + (f". {len(rows) - 1:,} other domains are similar" if len(rows) > 1 else "")
        ),
        where=name,
        figure=Figure(
            value=n_saved,
            unit="tokens on the audited text",
            basis=Basis.EXACT,
            formula=" + ".join(
                f"{n_now:,} - {n_now - n_gone:,} ({row_name}, {row_best})"
                for n_gone, _, row_name, row_best, n_now in rows
            ),
        ),
        cause=(
            f"The vocabulary of {current.name} was made from other text than these domains have."
        ),
        remedy=(
            "Send these domains to a model whose tokenizer fits them. Compare by price per "
            f"document: the price of a token differs. {extend_commands(evidence.current.name)}"
        ),
        **evidence.traffic.saving(n_saved),
        evidence={
            "domains": [
                {"domain": row[2], "tokenizer": row[3], "n_saved_tokens": row[0], "share": row[1]}
                for row in rows
            ],
        },
    )
