"""Are tokens spent on white space that means nothing?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.findings import Basis, Figure, Finding, Severity

MIN_WHITESPACE_SHARE = 0.01
"""Share of tokens that must go with the needless white space. Our choice: the rewrite is cheap, but
below 1% it is not worth touching text."""


def whitespace_runs(evidence: Evidence) -> Iterator[Finding]:
    """Tokens that go when runs of spaces, line-end spaces and rows of blank lines go."""
    current = evidence.current
    n_tokens = evidence.n_removable_whitespace_tokens
    share = n_tokens / current.n_tokens if current.n_tokens else 0.0
    if share < MIN_WHITESPACE_SHARE:
        return
    yield Finding(
        id="whitespace-runs",
        severity=Severity.WARNING,
        title=(
            f"Unneeded spaces and blank lines use {n_tokens:,} tokens, {percent(share)} of all "
            "(indentation not counted)"
        ),
        where="the text",
        figure=Figure(
            value=n_tokens,
            unit="tokens on the audited text",
            basis=Basis.EXACT if evidence.sample.is_whole else Basis.ESTIMATED,
            formula=(
                f"tokens of the text - tokens of the rewritten text under {current.name}; the "
                f"rewrite takes away {evidence.n_removable_whitespace_bytes:,} bytes"
                + (
                    ""
                    if evidence.sample.is_whole
                    else f"; measured on {evidence.sample.n_tokens:,} tokens and scaled up"
                )
            ),
        ),
        cause=(
            "Several spaces inside lines, spaces at line ends, and two or more blank lines in a "
            "row."
        ),
        remedy=(
            "Before encoding, keep one space, remove spaces at line ends, and keep at most one "
            "blank line. Aligned columns and Markdown's two-space line break are lost. Keep "
            "indentation: in Python, YAML and Markdown it has a meaning."
        ),
        **evidence.traffic.saving(n_tokens),
        evidence={
            "n_removable_bytes": evidence.n_removable_whitespace_bytes,
            "n_repeated_whitespace_bytes": evidence.corpus.n_repeated_whitespace_bytes,
            "whitespace_token_share": current.use.whitespace_share,
        },
    )
