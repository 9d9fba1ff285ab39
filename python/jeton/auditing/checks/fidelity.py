"""Does the text survive: is it UTF-8, and do its ids decode to it?"""

from __future__ import annotations

from collections.abc import Iterator

from jeton.auditing.evidence import Evidence, percent
from jeton.findings import Basis, Figure, Finding, Severity
from jeton.metrics.quality import loses_text, told_causes

# Both checks have the threshold zero: one document that changes silently is one too many.


def round_trip(evidence: Evidence) -> Iterator[Finding]:
    """Ids of some documents do not decode to the document."""
    n_documents = evidence.corpus.n_documents
    for measured in evidence.tokenizers:
        n_failures = measured.report.n_round_trip_failures
        if not n_failures:
            continue
        causes = measured.report.unreturned_by_cause
        is_error = measured.report.is_current and loses_text(causes)
        yield Finding(
            id="round-trip",
            severity=Severity.ERROR if is_error else Severity.WARNING,
            title=(
                f"{measured.name} changes {n_failures:,} of {n_documents:,} documents "
                f"({percent(n_failures / n_documents)}): decoding does not give the text back"
            ),
            where=measured.name,
            figure=Figure(
                value=n_failures,
                unit="documents",
                basis=Basis.EXACT,
                formula="documents whose ids decode to another text than the document",
            ),
            cause=told_causes(causes, unit="documents"),
            remedy=(
                f"Do not use {measured.name} where the exact text matters (code, identifiers, "
                "citations). Its token counts cannot be compared either: it encodes less."
            ),
            evidence={"unreturned_by_cause": dict(causes)},
        )


def not_utf8(evidence: Evidence) -> Iterator[Finding]:
    """Bytes that are not UTF-8 were replaced while reading."""
    corpus = evidence.corpus
    if not corpus.n_replacements:
        return
    yield Finding(
        id="not-utf8",
        severity=Severity.WARNING,
        title=(
            f"{corpus.n_replaced_documents:,} of {corpus.n_documents:,} documents are not valid "
            f"UTF-8: {corpus.n_replacements:,} places were replaced by U+FFFD"
        ),
        where="the text",
        figure=Figure(
            value=corpus.n_replacements,
            unit="replacements",
            basis=Basis.EXACT,
            formula="U+FFFD written in place of bytes that are not UTF-8",
        ),
        cause=(
            "The files have another encoding (Latin-1, Windows-1252, UTF-16), end inside a "
            "character, or are not text."
        ),
        remedy=(
            "Find the encoding and convert the files first. Replaced characters are lost to "
            "the model. --strict makes this an error."
        ),
        evidence={
            "n_replaced_documents": corpus.n_replaced_documents,
            "n_replacements": corpus.n_replacements,
        },
    )
