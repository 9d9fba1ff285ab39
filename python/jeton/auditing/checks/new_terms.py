"""Which words of the workload would be worth a token of their own?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.analyses.new_terms import find_new_terms
from jeton.auditing.checks.adapting import extend_commands
from jeton.auditing.evidence import Evidence, percent
from jeton.economics.serving.memory import DEFAULT_DTYPE_BYTES
from jeton.findings import Basis, Figure, Finding, Severity

MAX_NEW_TERMS = 1000
"""Words that are added at most. Our choice: their rows are 1% to 3% of a usual vocabulary, and a
few hundred occurrences of each are easily found to train them."""

MIN_NEW_TERMS_SHARE = 0.05
"""Share of tokens that go. Our choice, as for another tokenizer: below 5%, training embeddings and
evaluating the result again is seldom repaid."""

_N_SHOWN = 30


def terms_worth_adding(evidence: Evidence) -> Iterator[Finding]:
    """Frequent words that fall into pieces, found without a list."""
    sample, current = evidence.sample, evidence.current
    found = find_new_terms(
        [document.text for document in sample.documents],
        [document.n_tokens for document in sample.documents],
        current.tokenizer,
        max_terms=MAX_NEW_TERMS,
    )
    if not found.n_tokens or found.n_saved_tokens < MIN_NEW_TERMS_SHARE * found.n_tokens:
        return
    share = found.n_saved_tokens / found.n_tokens
    n_saved = round(share * sample.n_tokens_of_all)
    terms = [term for term in found.terms if term.n_extra_tokens > 0]
    facts: dict[str, object] = {}
    price = ""
    if evidence.model is not None:
        n_tables = 1 if evidence.model.tied_embeddings else 2
        n_bytes = len(terms) * evidence.model.table_width * DEFAULT_DTYPE_BYTES * n_tables
        facts["embedding_bytes"] = n_bytes
        price = (
            f" Their rows take {n_bytes / 1e6:,.1f} MB in {evidence.model.name} ({len(terms):,} x "
            f"{evidence.model.table_width:,} x {DEFAULT_DTYPE_BYTES} bytes x {n_tables} tables)."
        )
    yield Finding(
        id="terms-worth-adding",
        severity=Severity.WARNING,
        title=(
            f"{len(terms):,} frequent words have no token of their own and cost "
            f"{percent(share)} of the tokens"
        ),
        where=current.name,
        figure=Figure(
            value=n_saved,
            unit="tokens on the audited text",
            basis=Basis.ESTIMATED,
            formula=(
                "words chosen on one half of the sampled documents by occurrences x (tokens - 1), "
                f"counted on the other half: {found.n_saved_tokens:,} of {found.n_tokens:,} "
                "tokens; "
                f"x {sample.n_tokens_of_all:,} tokens of the workload. Tokens of a word after a "
                "space; its other places may be cut differently"
            ),
        ),
        cause=f"{current.name} was made from text in which these words are rare.",
        remedy=(
            f"{extend_commands(current.name)}{price} Or choose a tokenizer that has these words."
        ),
        **evidence.traffic.saving(n_saved),
        evidence={
            "terms": [
                {
                    "term": term.term,
                    "n_tokens": term.n_tokens,
                    "n_occurrences": term.n_occurrences,
                    "n_extra_tokens": term.n_extra_tokens,
                }
                for term in terms[:_N_SHOWN]
            ],
            "n_terms": len(terms),
            "share": share,
            **facts,
        },
    )
