"""Does the text repeat itself, or contain what looks like special tokens?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.evidence import Evidence, percent
from jeton.findings import Basis, Figure, Finding, Severity

MIN_DUPLICATE_SHARE = 0.01
"""Share of the text that repeats earlier documents. Our choice: below 1%, a cache is not worth its
upkeep."""

_N_SHOWN = 20


def special_lookalikes(evidence: Evidence) -> Iterator[Finding]:
    """Documents contain the text of special tokens. Threshold: one is enough for an attack."""
    counts = evidence.lookalikes
    n_occurrences = sum(counts.values())
    if not n_occurrences:
        return
    current = evidence.current.tokenizer
    own = {marker: n for marker, n in counts.items() if marker in current.special_tokens}
    # As text a marker costs several tokens; as a special token it would cost one.
    n_more = sum(n * (current.count(marker) - 1) for marker, n in own.items())
    first = next(iter(counts))
    yield Finding(
        id="special-lookalikes",
        severity=Severity.WARNING,
        title=(
            f"{evidence.n_lookalike_documents:,} documents contain text that looks like a control "
            f"token, {n_occurrences:,} times in all (most often {first})"
        ),
        where="the text",
        figure=Figure(
            value=n_occurrences,
            unit="occurrences",
            basis=Basis.EXACT,
            formula="markers of public chat formats and special tokens of the audited tokenizers",
        ),
        cause=(
            "The text quotes chat formats or training data, or somebody tries to end your prompt "
            "and begin their own."
        ),
        remedy=(
            "Encode user text with special tokens switched off (Jeton's default). Otherwise this "
            "text becomes control tokens of the model"
            + (
                f", and {evidence.current.name} would count {n_more:,} tokens fewer."
                if own
                else "."
            )
        ),
        evidence={
            "occurrences": dict(list(counts.items())[:_N_SHOWN]),
            "n_of_current_tokenizer": sum(own.values()),
        },
    )


def duplicate_documents(evidence: Evidence) -> Iterator[Finding]:
    """Exact copies of documents: their answers, or their prompts' caches, could be reused."""
    found = evidence.duplicates
    if not found.n_duplicates or not found.n_tracked_bytes:
        return
    share = found.n_duplicate_bytes / found.n_tracked_bytes
    if share < MIN_DUPLICATE_SHARE:
        return
    tracked_share = Decimal(found.n_duplicate_bytes) / Decimal(max(1, evidence.corpus.n_bytes))
    n_tokens = int(tracked_share * evidence.current.n_tokens)
    limit = (
        ""
        if found.is_complete
        else f" (among the first {found.n_tracked_documents:,}; later ones were not compared)"
    )
    yield Finding(
        id="duplicate-documents",
        severity=Severity.WARNING,
        title=(
            f"{found.n_duplicates:,} requests are exact copies of earlier ones, "
            f"{percent(share)} of the text{limit}"
        ),
        where="the text",
        figure=Figure(
            value=found.n_duplicates,
            unit="documents",
            basis=Basis.EXACT,
            formula=(
                f"{found.n_tracked_documents:,} documents - "
                f"{found.n_tracked_documents - found.n_duplicates:,} different 128-bit digests"
            ),
        ),
        cause=f"Equal requests are sent again, the most frequent one {found.max_copies:,} times.",
        remedy=(
            "Store the answers and return them for repeated requests: such a request then costs "
            "nothing. Copies whose answers had another length are not in the saving: they may be "
            "samples of one prompt. In training data, remove the copies."
        ),
        saving_usd_per_year=evidence.traffic.usd_per_year(n_tokens),
        saving_formula=(
            f"{found.n_duplicate_bytes:,} of {evidence.corpus.n_bytes:,} bytes x "
            f"{evidence.current.n_tokens:,} tokens = {n_tokens:,} tokens; "
            + evidence.traffic.formula(n_tokens)
            + "; with the output, if a repeated request is answered from a cache of your own"
            if evidence.traffic.is_priced
            else ""
        ),
        saving_basis=Basis.ESTIMATED,
        evidence={
            "n_duplicates": found.n_duplicates,
            "n_duplicate_bytes": found.n_duplicate_bytes,
            "max_copies": found.max_copies,
            "is_complete": found.is_complete,
        },
    )
