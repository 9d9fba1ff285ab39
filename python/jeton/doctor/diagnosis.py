"""Run every check for which there is evidence; say what was found, and what was not looked at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from jeton._nearest import nearest
from jeton._shown import NotebookResult
from jeton.doctor.checks import (
    batch,
    belonging,
    chat,
    context,
    file,
    gguf,
    label,
    model,
    output,
    padding,
    retrieval,
    settings,
    special,
    text,
)
from jeton.doctor.failures import Area, Check, Failure, finding_of
from jeton.doctor.patient import Patient
from jeton.doctor.retrieval import RetrievalFit
from jeton.errors import UsageError
from jeton.findings import Finding, Severity, rank

SCHEMA_VERSION = "jeton.doctor/1"

_MODULES = (
    file,
    model,
    belonging,
    special,
    chat,
    context,
    batch,
    padding,
    label,
    output,
    settings,
    text,
    retrieval,
    gguf,
)
CHECKS: tuple[Check, ...] = tuple(
    check for module in _MODULES for check in vars(module).values() if isinstance(check, Check)
)
"""All checks: each function with `known` in a module of this list."""


@dataclass(frozen=True, slots=True)
class Diagnosis(NotebookResult):
    """Findings of a diagnosis.

    Attributes:
        name: Name of the examined tokenizer.
        examined: The evidence at hand, by kind, in words.
        findings: Faults, the worst first.
        looked_for: Ids of the failures that were looked for.
        not_looked_for: Ids of the others, with what was missing for each.
        ignored: Ids that the caller did not want.
        retrieval: The tokenizers of reader and embedding model on the texts.
    """

    _table = "findings"
    _line = ("name", "findings")

    name: str
    examined: Mapping[str, str]
    findings: tuple[Finding, ...]
    looked_for: tuple[str, ...]
    not_looked_for: Mapping[str, tuple[str, ...]]
    ignored: tuple[str, ...] = ()
    retrieval: RetrievalFit | None = None

    def worse_than(self, severity: Severity) -> tuple[Finding, ...]:
        """The findings of this severity and above."""
        order = [Severity.ERROR, Severity.WARNING, Severity.INFO]
        wanted = order[: order.index(severity) + 1]
        return tuple(f for f in self.findings if f.severity in wanted)

    @property
    def is_healthy(self) -> bool:
        """True if there is neither an error nor a warning."""
        return not self.worse_than(Severity.WARNING)

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {
            "schema_version": SCHEMA_VERSION,
            "name": self.name,
            "is_healthy": self.is_healthy,
            "examined": dict(self.examined),
            "findings": [finding.to_dict() for finding in self.findings],
            "looked_for": list(self.looked_for),
            "not_looked_for": {name: list(words) for name, words in self.not_looked_for.items()},
            "ignored": list(self.ignored),
            "retrieval": None if self.retrieval is None else self.retrieval.to_dict(),
        }


def failures() -> tuple[Failure, ...]:
    """All known failures, by area."""
    areas = list(Area)
    return tuple(sorted((check.failure for check in CHECKS), key=lambda f: areas.index(f.area)))


def failure(failure_id: str) -> Failure:
    """A known failure by its id.

    Raises:
        UsageError: There is none of this id; the nearest are named.
    """
    known = {check.failure.id: check.failure for check in CHECKS}
    found = known.get(failure_id)
    if found is None:
        near = nearest(failure_id, known)
        offer = f"; the nearest are {', '.join(near)}" if near else ""
        raise UsageError(
            f"unknown failure {failure_id!r}{offer}\nhint: `jeton doctor --list` shows all"
        )
    return found


def examine(patient: Patient, *, ignore: Iterable[str] = ()) -> Diagnosis:
    """Look for every known failure for which there is evidence.

    Args:
        patient: The evidence at hand.
        ignore: Ids of failures to leave out.

    Raises:
        UsageError: An id is not known.
    """
    ignored = tuple(failure(failure_id).id for failure_id in ignore)
    findings = []
    looked_for = []
    not_looked_for = {}
    for check in CHECKS:
        if check.failure.id in ignored:
            continue
        missing = [kind.value for kind in check.failure.needs if kind not in patient.evidence]
        if missing:
            not_looked_for[check.failure.id] = tuple(missing)
            continue
        looked_for.append(check.failure.id)
        findings += [finding_of(check.failure, seen) for seen in check.look(patient)]
    return Diagnosis(
        name=patient.name,
        examined=_examined(patient),
        findings=tuple(rank(findings)),
        looked_for=tuple(looked_for),
        not_looked_for=not_looked_for,
        ignored=ignored,
        retrieval=patient.retrieval,
    )


def _examined(patient: Patient) -> dict[str, str]:
    found = {}
    if patient.tokenizer is not None:
        tokenizer = patient.tokenizer
        found["tokenizer"] = (
            f"{tokenizer.name or 'without a name'}: {tokenizer.algorithm}, "
            f"{tokenizer.vocab_size:,} ids, fingerprint {tokenizer.fingerprint[:12]}"
        )
    if patient.model is not None and patient.model.configuration is not None:
        configuration = patient.model.configuration
        context = patient.context_tokens
        rows = patient.n_rows
        found["model"] = ", ".join(
            [
                configuration.model_type or "type not told",
                str(configuration.kind),
                "rows not told" if rows is None else f"{rows:,} rows",
                "no limit of context told" if context is None else f"context {context:,}",
            ]
        )
    if patient.model is not None and patient.model.weights.files:
        weights = patient.model.weights
        found["weights"] = f"{len(weights.tensors):,} tensors in {len(weights.files):,} files"
    if patient.gguf is not None:
        gguf = patient.gguf
        found["gguf"] = (
            f"{gguf.architecture or 'architecture not told'}, {gguf.n_tokens or 0:,} ids"
        )
    for pair in patient.gguf_pairs:
        if pair.gguf is not patient.gguf:
            n_ids = pair.gguf.n_tokens or 0
            found[f"beside it {pair.gguf.path.name}"] = f"{n_ids:,} ids"
    if patient.batches:
        n_rows = sum(batch.n_rows for batch in patient.batches)
        n_ids = sum(len(batch.ids) for batch in patient.batches)
        found["batches"] = f"{len(patient.batches):,} with {n_rows:,} rows, {n_ids:,} ids"
    for name, items in (
        ("outputs", patient.outputs),
        ("texts", patient.texts),
        ("training texts", patient.training_texts),
    ):
        if items:
            found[name] = f"{len(items):,}"
    if patient.other is not None:
        found["against"] = patient.other.name
    if patient.embedder is not None:
        found["embedding model"] = patient.embedder.tokenizer.name or "without a name"
    return found
