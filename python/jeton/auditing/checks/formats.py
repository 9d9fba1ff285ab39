"""Do JSON and HTML cost tokens that carry nothing? Checks beyond one rewrite."""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.analyses.markup import without_markup
from jeton.auditing.analyses.minified_json import without_json_layout, without_repeated_keys
from jeton.auditing.analyses.rewriting import chain
from jeton.auditing.checks.rewrites import rewrite_finding
from jeton.auditing.checks.sampled import measure, saved
from jeton.auditing.evidence import Evidence, percent
from jeton.findings import Figure, Finding, Severity

MIN_KEYS_SHARE = 0.05
"""Share of tokens from which a change of the format is told. Our choice: whoever reads the prompt
has to learn the new form, which is not worth less."""


def json_repeated_keys(evidence: Evidence) -> Iterator[Finding]:
    """Keys that every record of a list repeats."""
    if not evidence.sample.n_tokens:
        return
    compact = (without_json_layout(document.text)[0] for document in evidence.sample.documents)
    if not any(without_repeated_keys(text)[1] for text in compact):
        return
    layout = measure(evidence, without_json_layout, min_share=0.0)
    both = measure(
        evidence, chain(without_json_layout, without_repeated_keys), min_share=MIN_KEYS_SHARE
    )
    saved_tokens = both.saved_tokens - layout.saved_tokens
    result = saved(
        evidence,
        saved_tokens,
        "lists of records of the same keys (and such lines) written as one list of keys and rows "
        "of values, against compact JSON",
    )
    if result.share < MIN_KEYS_SHARE:
        return
    yield Finding(
        id="json-repeated-keys",
        severity=Severity.WARNING,
        title=(
            f"Field names repeated in every JSON record use {result.n_tokens:,} tokens, "
            f"{percent(result.share)} of all"
        ),
        where="the text",
        figure=Figure(result.n_tokens, "tokens on the audited text", result.basis, result.formula),
        cause="A list of records names its fields in every record.",
        remedy=(
            "Send tables as one header and rows (CSV, or JSON with a list of names and rows). "
            "Test the answers: some models read records better."
        ),
        **evidence.traffic.saving(result.n_tokens),
        evidence={
            "share": result.share,
            "share_low": result.low,
            "share_high": result.high,
            "examples": list(both.examples),
        },
    )


def markup(evidence: Evidence) -> Iterator[Finding]:
    """Comments, scripts, styles and attributes of HTML; and all of its tags."""
    for finding in rewrite_finding("markup", evidence):
        plain = measure(evidence, without_markup, min_share=0.0)
        finding.evidence["share_as_plain_text"] = saved(
            evidence, plain.saved_tokens, "the text that a reader of the page sees"
        ).share
        yield finding
