"""The doctor: known failures of tokenizers and models, each diagnosed from the files at hand.

    from jeton.doctor import diagnose

    diagnosis = diagnose("my-model/", batches=["batch.npz"])
    for finding in diagnosis.findings:
        print(finding.id, finding.title, finding.remedy)

Each failure has an id, a cause and a remedy; docs/reference/failures.md lists them. A check looks
only where there is evidence, and `Diagnosis.not_looked_for` says what was missing for the others.
"""

from __future__ import annotations

from jeton.doctor.admission import admit, diagnose, own_settings
from jeton.doctor.diagnosis import (
    CHECKS,
    SCHEMA_VERSION,
    Diagnosis,
    examine,
    failure,
    failures,
)
from jeton.doctor.dumps import (
    IGNORED_LABEL,
    InputBatch,
    Output,
    batch_of_arrays,
    read_batches,
    read_outputs,
)
from jeton.doctor.failures import Area, Check, EvidenceKind, Failure, Seen
from jeton.doctor.normalization import (
    LanguagePremium,
    TextDifference,
    compare_texts,
    language_premiums,
)
from jeton.doctor.patient import Embedder, Patient, Task
from jeton.doctor.retrieval import RetrievalFit, cut_into_chunks, retrieval_fit
from jeton.doctor.settings import Settings, read_settings, write_snapshot

__all__ = [
    "CHECKS",
    "IGNORED_LABEL",
    "SCHEMA_VERSION",
    "Area",
    "Check",
    "Diagnosis",
    "Embedder",
    "EvidenceKind",
    "Failure",
    "InputBatch",
    "LanguagePremium",
    "Output",
    "Patient",
    "RetrievalFit",
    "Seen",
    "Settings",
    "Task",
    "TextDifference",
    "admit",
    "batch_of_arrays",
    "compare_texts",
    "cut_into_chunks",
    "diagnose",
    "examine",
    "failure",
    "failures",
    "language_premiums",
    "own_settings",
    "read_batches",
    "read_outputs",
    "read_settings",
    "retrieval_fit",
    "write_snapshot",
]
