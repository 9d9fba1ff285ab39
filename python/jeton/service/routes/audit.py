"""``/v1/audit``: an audit of one file, with its report as a page."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Annotated, Any

import msgspec

from jeton.corpus.json_records import json_lines, json_values
from jeton.errors import EmptyCorpusError
from jeton.findings import Basis
from jeton.service.state import ServiceState, check_limit
from jeton.service.wire import ServiceRoute, Worked

_READERS = {".jsonl": json_lines, ".ndjson": json_lines, ".json": json_values}


class AuditRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A file to audit.

    Attributes:
        content: Its text.
        name: Its name; the suffix tells a log (``.jsonl``, ``.json``) from a text.
        tokenizers: Names of the tokenizers, the one in use first; by default the service's first.
    """

    content: str
    name: str = "file.txt"
    tokenizers: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None


class AuditAnswer(msgspec.Struct):
    """An audit in a page and in a few figures.

    Attributes:
        html: The report, one page without any network.
        n_documents: Documents.
        n_tokens: Their tokens under the tokenizer in use.
        n_findings: Findings.
        tokenizer: Name of the tokenizer in use.
        fingerprint: SHA-256 of its canonical form.
        basis: Always ``exact``: of the counts.
    """

    html: str
    n_documents: int
    n_tokens: int
    n_findings: int
    tokenizer: str
    fingerprint: str
    basis: Basis


def _audit(state: ServiceState, request: AuditRequest) -> Worked:
    from jeton.auditing import audit
    from jeton.report import to_html

    names = request.tokenizers or list(state.tokenizers.names[:1])
    check_limit("tokenizers", len(names), state.limits.max_tokenizers)
    served = state.tokenizers.several(names)
    distinct = {item.fingerprint: item.tokenizer for item in served}
    tokenizers = list(distinct.values())
    title = PurePath(request.name).name
    try:
        report = audit(_records(request), tokenizers=tokenizers, logs=True)
    except EmptyCorpusError:
        # No request among the records: what was dropped is a text.
        report = audit(iter([request.content]), tokenizers=tokenizers)
    report = replace(report, title=title)
    html = to_html(report)
    current = next(item for item in report.tokenizers if item.is_current)
    answer = AuditAnswer(
        html,
        report.corpus.n_documents,
        current.n_tokens,
        len(report.findings),
        served[0].name,
        served[0].fingerprint,
        Basis.EXACT,
    )
    return Worked(answer, served[0], Basis.EXACT, current.n_tokens)


def _records(request: AuditRequest) -> Iterator[Any]:
    read = _READERS.get(PurePath(request.name).suffix.lower())
    if read is not None:
        pieces = iter([request.content.encode("utf-8", "surrogatepass")])
        found = read(pieces, max_record_bytes=len(request.content) * 4, report=lambda *_: None)
        for _, record in found:
            yield record


AUDIT = ServiceRoute(
    "/v1/audit",
    "Audit a file, and return its report.",
    AuditRequest,
    AuditAnswer,
    _audit,
    is_heavy=True,
)
"""The route."""
