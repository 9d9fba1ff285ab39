"""``/v1/guard``: what a text hides, forges or disguises, and ids that no tokenizer writes."""

from __future__ import annotations

import msgspec

from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.guard import check_ids, scan
from jeton.guard.verdict import gravest
from jeton.service.routes.encode import Id
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

_MAX_SHOWN = 200
_MAX_CANONICAL = 64


class GuardRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A text or ids to look at; docs/guides/guard.md describes the kinds of findings.

    Attributes:
        text: The text.
        ids: Ids of a client, instead.
        tokenizer: Name of the tokenizer; the service's first one by default.
        allow_special: Special tokens that the ids may have.
    """

    text: str | None = None
    ids: list[Id] | None = None
    tokenizer: str | None = None
    allow_special: list[str] = []


class GuardedPlace(msgspec.Struct, omit_defaults=True):
    """One finding.

    Attributes:
        kind: Its kind.
        severity: ``critical``, ``error``, ``warning`` or ``info``.
        start: First character (code point) of the text.
        end: One past the last.
        what: The finding in words.
        payload: Text that was hidden; it is shown and never acted upon.
        seen: The text as a reader sees it.
    """

    kind: str
    severity: str
    start: int
    end: int
    what: str
    payload: str | None = None
    seen: str = ""


class GuardAnswer(msgspec.Struct):
    """Findings of a text or of ids.

    Attributes:
        is_clean: True without any finding.
        worst: The gravest severity of a text's findings; null: it has none.
        findings: Findings of a text, the gravest ones, by place.
        counts: Findings of a text by kind, all of them.
        out_of_range: Positions of ids that the tokenizer does not have.
        special: Positions of special tokens that are not allowed.
        noncanonical_at: First position at which ids are not those of their own text.
        canonical_ids: The ids that belong there.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    is_clean: bool
    worst: str | None
    findings: list[GuardedPlace]
    counts: dict[str, int]
    out_of_range: list[int]
    special: list[int]
    noncanonical_at: int | None
    canonical_ids: list[int]
    tokenizer: str
    fingerprint: str
    basis: Basis


def _guard(state: ServiceState, request: GuardRequest) -> Worked:
    if (request.text is None) == (request.ids is None):
        raise UsageError("give text or ids, and not both\nhint: {'text': '...'}")
    served = state.tokenizers.get(request.tokenizer)
    answer = GuardAnswer(
        is_clean=True,
        worst=None,
        findings=[],
        counts={},
        out_of_range=[],
        special=[],
        noncanonical_at=None,
        canonical_ids=[],
        tokenizer=served.name,
        fingerprint=served.fingerprint,
        basis=Basis.EXACT,
    )
    if request.text is not None:
        verdict = scan(request.text, tokenizer=served.tokenizer)
        answer.counts = dict(verdict.counts)
        answer.is_clean = verdict.is_clean
        answer.worst = None if verdict.worst is None else verdict.worst.value
        answer.findings = [
            GuardedPlace(
                one.kind, str(one.severity), one.start, one.end, one.what, one.payload, one.seen
            )
            for one in gravest(verdict.findings, _MAX_SHOWN, lambda one: one.severity)
        ]
        return Worked(answer, served, Basis.EXACT, 0, (request.text,))
    ids = request.ids or []
    state.check_tokens(len(ids))
    found = check_ids(ids, served.tokenizer, allow_special=request.allow_special)
    answer.is_clean = found.is_clean
    answer.out_of_range = list(found.out_of_range[:_MAX_SHOWN])
    answer.special = list(found.special[:_MAX_SHOWN])
    answer.noncanonical_at = found.noncanonical_at
    answer.canonical_ids = list(found.canonical_ids[:_MAX_CANONICAL])
    return Worked(answer, served, Basis.EXACT, len(ids))


GUARD = ServiceRoute(
    "/v1/guard",
    "Look for hidden, forged or disguised text, or for ids that no tokenizer writes.",
    GuardRequest,
    GuardAnswer,
    _guard,
    is_heavy=True,
)
"""The route."""
