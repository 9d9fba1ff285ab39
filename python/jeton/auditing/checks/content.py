"""Does the text survive, repeat itself, look like special tokens, or hold needless white space?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.analyses.layout import without_needless_whitespace
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import FRESH, LINES, LOW, SERVICE, analysis, finding_of
from jeton.auditing.replaying.remedies import Rewritten, without_copies
from jeton.findings import Basis, Finding, Severity
from jeton.metrics.quality import loses_text, told_causes

MIN_DUPLICATE_SHARE = 0.01
"""Share of the text that repeats earlier documents. Our choice: below 1%, a cache is not worth its
upkeep."""

_N_SHOWN = 20


@analysis("special-lookalikes")
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
    yield finding_of(
        title=f"{evidence.n_lookalike_documents:,} documents contain text that looks like a "
        "control "
        f"token, {n_occurrences:,} times in all (most often {first})",
        value=n_occurrences,
        unit="occurrences",
        formula="markers of public chat formats and special tokens of the audited tokenizers",
        cause="The text quotes chat formats or training data, or somebody tries to end your prompt "
        "and begin their own.",
        remedy="Encode user text with special tokens switched off (Jeton's default). Otherwise "
        "this "
        "text becomes control tokens of the model"
        + (f", and {evidence.current.name} would count {n_more:,} tokens fewer." if own else "."),
        evidence={
            "occurrences": dict(list(counts.items())[:_N_SHOWN]),
            "n_of_current_tokenizer": sum(own.values()),
        },
    )


@analysis(
    "duplicate-documents",
    "Answer repeated requests from a cache",
    SERVICE,
    FRESH,
    replay=lambda finding, evidence: without_copies,
    stage=0,
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
    yield finding_of(
        title=f"{found.n_duplicates:,} requests are exact copies of earlier ones, "
        f"{percent(share)} of the text{limit}",
        value=found.n_duplicates,
        unit="documents",
        formula=f"{found.n_tracked_documents:,} documents - "
        f"{found.n_tracked_documents - found.n_duplicates:,} different 128-bit digests",
        cause=f"Equal requests are sent again, the most frequent one {found.max_copies:,} times.",
        remedy="Store the answers and return them for repeated requests: such a request then costs "
        "nothing. Copies whose answers had another length are not in the saving: they may be "
        "samples of one prompt. In training data, remove the copies.",
        saving_usd_per_year=evidence.traffic.usd_per_year(n_tokens),
        saving_formula=f"{found.n_duplicate_bytes:,} of {evidence.corpus.n_bytes:,} bytes x "
        f"{evidence.current.n_tokens:,} tokens = {n_tokens:,} tokens; "
        + evidence.traffic.formula(n_tokens)
        + "; with the output, if a repeated request is answered from a cache of your own"
        if evidence.traffic.is_priced
        else "",
        evidence={
            "n_duplicates": found.n_duplicates,
            "n_duplicate_bytes": found.n_duplicate_bytes,
            "max_copies": found.max_copies,
            "is_complete": found.is_complete,
        },
    )


# Both checks have the threshold zero: one document that changes silently is one too many.


@analysis("round-trip")
def round_trip(evidence: Evidence) -> Iterator[Finding]:
    """Ids of some documents do not decode to the document."""
    n_documents = evidence.corpus.n_documents
    for measured in evidence.tokenizers:
        n_failures = measured.report.n_round_trip_failures
        if not n_failures:
            continue
        causes = measured.report.unreturned_by_cause
        is_error = measured.report.is_current and loses_text(causes)
        yield finding_of(
            severity=Severity.ERROR if is_error else Severity.WARNING,
            title=f"{measured.name} changes {n_failures:,} of {n_documents:,} documents "
            f"({percent(n_failures / n_documents)}): decoding does not give the text back",
            where=measured.name,
            value=n_failures,
            unit="documents",
            formula="documents whose ids decode to another text than the document",
            cause=told_causes(causes, unit="documents"),
            remedy=f"Do not use {measured.name} where the exact text matters (code, identifiers, "
            "citations). Its token counts cannot be compared either: it encodes less.",
            evidence={"unreturned_by_cause": dict(causes)},
        )


@analysis("not-utf8")
def not_utf8(evidence: Evidence) -> Iterator[Finding]:
    """Bytes that are not UTF-8 were replaced while reading."""
    corpus = evidence.corpus
    if not corpus.n_replacements:
        return
    yield finding_of(
        title=f"{corpus.n_replaced_documents:,} of {corpus.n_documents:,} documents are not valid "
        f"UTF-8: {corpus.n_replacements:,} places were replaced by U+FFFD",
        value=corpus.n_replacements,
        unit="replacements",
        formula="U+FFFD written in place of bytes that are not UTF-8",
        cause="The files have another encoding (Latin-1, Windows-1252, UTF-16), end inside a "
        "character, or are not text.",
        remedy="Find the encoding and convert the files first. Replaced characters are lost to "
        "the model. --strict makes this an error.",
        evidence={
            "n_replaced_documents": corpus.n_replaced_documents,
            "n_replacements": corpus.n_replacements,
        },
    )


MIN_WHITESPACE_SHARE = 0.01
"""Share of tokens that must go with the needless white space. Our choice: the rewrite is cheap, but
below 1% it is not worth touching text."""


def _needless_whitespace(text: str) -> tuple[str, int]:
    new = without_needless_whitespace(text)
    return new, len(text) - len(new)


@analysis(
    "whitespace-runs",
    "Remove unneeded spaces and blank lines",
    LINES,
    LOW,
    replay=lambda finding, evidence: Rewritten(_needless_whitespace),
)
def whitespace_runs(evidence: Evidence) -> Iterator[Finding]:
    """Tokens that go when runs of spaces, line-end spaces and rows of blank lines go."""
    current = evidence.current
    n_tokens = evidence.n_removable_whitespace_tokens
    share = n_tokens / current.n_tokens if current.n_tokens else 0.0
    if share < MIN_WHITESPACE_SHARE:
        return
    yield finding_of(
        title=f"Unneeded spaces and blank lines use {n_tokens:,} tokens, {percent(share)} of all "
        "(indentation not counted)",
        value=n_tokens,
        basis=Basis.EXACT if evidence.sample.is_whole else Basis.ESTIMATED,
        formula=f"tokens of the text - tokens of the rewritten text under {current.name}; the "
        f"rewrite takes away {evidence.n_removable_whitespace_bytes:,} bytes"
        + (
            ""
            if evidence.sample.is_whole
            else f"; measured on {evidence.sample.n_tokens:,} tokens and scaled up"
        ),
        cause="Several spaces inside lines, spaces at line ends, and two or more blank lines in a "
        "row.",
        remedy="Before encoding, keep one space, remove spaces at line ends, and keep at most one "
        "blank line. Aligned columns and Markdown's two-space line break are lost. Keep "
        "indentation: in Python, YAML and Markdown it has a meaning.",
        **evidence.traffic.saving(n_tokens),
        evidence={
            "n_removable_bytes": evidence.n_removable_whitespace_bytes,
            "n_repeated_whitespace_bytes": evidence.corpus.n_repeated_whitespace_bytes,
            "whitespace_token_share": current.use.whitespace_share,
        },
    )
