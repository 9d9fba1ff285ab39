"""Do all tables and files of a model go with its tokenizer, as ``jeton adapt verify`` asks."""

from __future__ import annotations

from collections.abc import Iterator

from jeton.checkpoint.belonging import Contradiction, contradictions, recorded_change
from jeton.checkpoint.snapshot import read_groups
from jeton.doctor.checks.special import ROLES
from jeton.doctor.failures import Area, Check, EvidenceKind, Failure, Seen, known
from jeton.doctor.patient import Patient
from jeton.errors import JetonError
from jeton.findings import Severity

__all__ = ["CHECKS"]

_SPECIAL_FIELDS = frozenset(f"{role}_token_id" for role in ROLES)
"""Fields that the failure `special-id-out-of-range` looks at."""


def _contradictions(patient: Patient) -> list[Contradiction]:
    """Returns contradictions; none where weight files are damaged, which is another failure."""
    assert patient.model is not None
    assert patient.tokenizer is not None
    path = patient.model.path
    try:
        return contradictions(path, read_groups(path), patient.tokenizer.vocab_size)
    except (JetonError, OSError):
        return []


@known(
    Failure(
        id="vocabulary-tables-disagree",
        area=Area.MODEL,
        severity=Severity.ERROR,
        name="a further table of the model has too few rows for the tokenizer",
        symptom="`size mismatch` at loading, or a device-side assert at the first new token, "
        "although embeddings and output matrix have the right size",
        cause="only the two main matrices were resized; biases, per-layer embeddings or the copies "
        "for multi-token prediction kept the old size",
        remedy="make the model again with `jeton adapt apply`, which changes every table; see "
        "`jeton adapt verify DIR`",
        needs=(EvidenceKind.TOKENIZER, EvidenceKind.WEIGHTS),
    )
)
def _tables(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    weights = patient.model.weights
    main = {tensor.name for tensor in (weights.embedding, weights.head) if tensor is not None}
    for found in _contradictions(patient):
        if found.kind == "rows" and found.where not in main:
            yield Seen(what=f"{found.where} {found.what}", where=found.where, value=1, unit="table")


@known(
    Failure(
        id="id-without-row",
        area=Area.MODEL,
        severity=Severity.ERROR,
        name="a file of the model names an id that has no row",
        symptom="`IndexError` or a device-side assert with the first image, the first adapter or "
        "the first suppressed token",
        cause="the vocabulary became smaller, or the file belongs to another model: ids of images, "
        "of suppressed tokens or of an adapter were not changed with it",
        remedy="make the model again with `jeton adapt apply`, which changes the ids in all files; "
        "or correct the ids by hand",
        needs=(EvidenceKind.TOKENIZER, EvidenceKind.WEIGHTS),
    )
)
def _ids(patient: Patient) -> Iterator[Seen]:
    for found in _contradictions(patient):
        if found.kind != "id" or found.field in _SPECIAL_FIELDS:
            continue
        yield Seen(what=found.what, where=found.where, value=1, unit="id")


@known(
    Failure(
        id="change-of-another-tokenizer",
        area=Area.MODEL,
        severity=Severity.WARNING,
        name="vocabulary_change.json leads to another tokenizer than the folder has",
        symptom="`jeton adapt apply`, `remap` and `verify` refuse the folder; weights changed by "
        "the file get rows in the wrong places",
        cause="the tokenizer was replaced or edited after the change was written, or the file was "
        "copied from another folder",
        remedy="put the adapted tokenizer back beside its change, or write the change again with "
        "`jeton adapt`",
        needs=(EvidenceKind.TOKENIZER, EvidenceKind.FILES),
    )
)
def _change(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    assert patient.place is not None
    recorded = recorded_change(patient.place)
    if recorded is not None and recorded != patient.tokenizer.fingerprint:
        yield Seen(
            what=f"it leads to the tokenizer {recorded[:12]}; the folder has "
            f"{patient.tokenizer.fingerprint[:12]}",
            where="vocabulary_change.json",
            value=1,
            unit="file",
        )


CHECKS: tuple[Check, ...] = (_tables, _ids, _change)
