"""Does the vocabulary fit the script of the text, and is it much larger than the text needs?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.checks.adapting import prune_commands
from jeton.auditing.evidence import Evidence, percent
from jeton.economics.serving.memory import DEFAULT_DTYPE_BYTES
from jeton.findings import Basis, Figure, Finding, Severity

MIN_PARTIAL_CHARACTER_SHARE = 0.01
"""Share of tokens that hold only a part of a character. Our choice: an emoji here and there stays
far below 1%; a script that the vocabulary does not know is far above."""

MIN_UNUSED_SHARE = 0.5
"""Share of the vocabulary that was never used. Our choice: half of the rows; a smaller part is
normal for any general vocabulary on one workload."""

MAX_UNSEEN_MASS = 0.01
"""Good-Turing share of further tokens that would be new ids. Above 1% the sample is too small to
say that a row is unused, and the check is silent."""


def bytes_fallback(evidence: Evidence) -> Iterator[Finding]:
    """Many tokens hold only a part of a character: the script is foreign to the vocabulary."""
    current = evidence.current
    share = current.use.partial_character_share
    if share < MIN_PARTIAL_CHARACTER_SHARE:
        return
    n_partial = round(share * current.n_tokens)
    # A character in k parts costs k tokens instead of one, k >= 2: at least half of them could go.
    n_saved = n_partial // 2
    candidates = sorted(evidence.candidates, key=lambda c: (c.use.partial_character_share, c.name))
    better = [c for c in candidates if c.use.partial_character_share < share / 2]
    yield Finding(
        id="bytes-fallback",
        severity=Severity.WARNING,
        title=f"{percent(share)} of the tokens hold only a part of a character ({current.name})",
        where=current.name,
        figure=Figure(
            value=n_partial,
            unit="tokens on the audited text",
            basis=Basis.EXACT,
            formula="tokens whose bytes are not valid UTF-8 by themselves, by their counts",
        ),
        cause=(
            f"{current.name} has no token for some characters of this text and uses their bytes: "
            "another alphabet, curly quotation marks, emoji, or text in the wrong encoding."
        ),
        remedy=(
            (
                f"Use {better[0].name}, where only "
                f"{percent(better[0].use.partial_character_share)} of the tokens are such parts."
                if better
                else "Use a tokenizer that was trained on such text."
            )
            + " First look at the samples: if characters are garbled, correct the encoding."
        ),
        saving_usd_per_year=evidence.traffic.usd_per_year(n_saved),
        saving_formula=(
            evidence.traffic.formula(n_saved)
            + "; a character in k >= 2 parts could be one token, so at least half of the parts go; "
            "contained in the saving of tokenizer-foreign"
            if evidence.traffic.is_priced
            else ""
        ),
        saving_basis=Basis.ESTIMATED,
        evidence={
            "n_tokens_saved": n_saved,
            "partial_character_token_share": {
                m.name: m.use.partial_character_share for m in evidence.tokenizers
            },
        },
    )


def vocabulary_unused(evidence: Evidence) -> Iterator[Finding]:
    """Most rows of the vocabulary were never used, and the sample is large enough to say so."""
    current = evidence.current
    n_rows = current.tokenizer.n_tokens
    n_unused = n_rows - current.use.n_used
    if n_unused < MIN_UNUSED_SHARE * n_rows or current.use.unseen_mass > MAX_UNSEEN_MASS:
        return
    figure = Figure(
        value=n_unused,
        unit="vocabulary rows",
        basis=Basis.EXACT,
        formula=f"{n_rows:,} tokens of the vocabulary - {current.use.n_used:,} that occurred",
    )
    evidence_facts: dict[str, object] = {
        "n_rows": n_rows,
        "n_used": current.use.n_used,
        "n_used_once": current.use.n_used_once,
        "unseen_mass": current.use.unseen_mass,
    }
    size = ""
    model = evidence.model
    if model is not None:
        n_tables = 1 if model.tied_embeddings else 2
        n_bytes = n_unused * model.table_width * DEFAULT_DTYPE_BYTES * n_tables
        size = (
            f": {Decimal(n_bytes) / 1_000_000:,.0f} MB of {model.name} "
            f"({n_unused:,} entries x {model.table_width:,} x {DEFAULT_DTYPE_BYTES} bytes x "
            f"{n_tables} {'table' if n_tables == 1 else 'tables'})"
        )
        evidence_facts["unused_bytes"] = n_bytes
    yield Finding(
        id="vocabulary-unused",
        severity=Severity.INFO,
        title=(
            f"{percent(n_unused / n_rows)} of the vocabulary of {current.name} was never used "
            f"for this text{size}"
        ),
        where=current.name,
        figure=figure,
        cause=(
            "A general vocabulary covers languages and subjects that this workload does not have."
        ),
        remedy=(
            f"{prune_commands(evidence.current.name)} That frees this memory. About "
            f"{percent(current.use.unseen_mass)} of the tokens of new text would need an entry not "
            "seen here, so use more text first, and never remove bytes or special tokens."
        ),
        evidence=evidence_facts,
    )
