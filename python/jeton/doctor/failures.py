"""Known failures, and the way to look for each.

A failure is described once (`Failure`), beside the function that looks for it. The function gets
the `Patient` and yields what it sees (`Seen`); `jeton.doctor.diagnosis` makes findings of both.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from typing import TYPE_CHECKING, Any, ParamSpec

from jeton.findings import Basis, Figure, Finding, Severity

if TYPE_CHECKING:
    from jeton.doctor.patient import Patient


class Area(StrEnum):
    """Subject of a failure; the order in which failures are listed."""

    FILES = "files"
    MODEL = "tokenizer and model"
    SPECIAL_TOKENS = "special tokens"
    CHAT = "chats"
    CONTEXT = "context"
    BATCH = "batches"
    OUTPUT = "output"
    SETTINGS = "two settings"
    TEXT = "texts and languages"
    RETRIEVAL = "retrieval"
    GGUF = "GGUF"


class EvidenceKind(StrEnum):
    """Evidence that a failure needs; the value says how to give it."""

    TOKENIZER = "a tokenizer (the first argument, or --tokenizer)"
    FILES = "a folder (the first argument)"
    FOLDER = "a folder with tokenizer_config.json (the first argument)"
    MODEL = "a model directory with config.json (the first argument, or --model-dir)"
    WEIGHTS = "safetensors weights (a model directory)"
    GGUF = "a .gguf file (the first argument)"
    GGUF_PAIR = "a .gguf file and its folder (the file in it, or one --against the other)"
    BATCH = "a batch dump (--batch)"
    OUTPUTS = "generated text or ids (--outputs)"
    TEXTS = "texts (--texts)"
    TRAINING_TEXTS = "texts as they were at training (--training-texts)"
    OTHER = "a second tokenizer, folder or snapshot (--against)"
    EMBEDDER = "the tokenizer of an embedding model (--embedder)"


@dataclass(frozen=True, slots=True)
class Failure:
    """A known failure.

    Attributes:
        id: Stable name (``"ids-out-of-range"``).
        area: The area that it belongs to.
        severity: How bad it is as a rule; what is seen may be milder.
        name: The fault, in a few words.
        symptom: The symptom that an engineer sees at 3 a.m.
        cause: Why it happens.
        remedy: The remedy, the quickest safe way first.
        needs: The evidence that has to be at hand, all of it.
        source: Where the rule or the threshold comes from.
    """

    id: str
    area: Area
    severity: Severity
    name: str
    symptom: str
    cause: str
    remedy: str
    needs: tuple[EvidenceKind, ...]
    source: str = ""


@dataclass(frozen=True, slots=True)
class Seen:
    """A failure as it was seen in what is at hand.

    Attributes:
        what: One plain sentence with the figure in it, without a full stop.
        where: In which file, row, token ...
        value: The figure.
        unit: Its unit.
        formula: How the figure came about, with the numbers put in.
        basis: Exact, or estimated where only a sample was looked at.
        severity: Where it differs from that of the failure.
        cause: Where this case has a cause of its own.
        remedy: Where this case has a remedy of its own.
        evidence: Facts for a machine (plain JSON values).
    """

    what: str
    where: str
    value: float | int
    unit: str
    formula: str = ""
    basis: Basis = Basis.EXACT
    severity: Severity | None = None
    cause: str = ""
    remedy: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)


P = ParamSpec("P")
Look = Callable[["Patient"], Iterator[Seen]]


@dataclass(frozen=True, slots=True)
class Check:
    """A failure and the function that looks for it."""

    failure: Failure
    look: Look


def _binding(describe: Callable[P, Failure]) -> Callable[P, Callable[[Look], Check]]:
    """Return a decorator that takes what a failure is described by."""

    def bind(*args: P.args, **kwargs: P.kwargs) -> Callable[[Look], Check]:
        described = describe(*args, **kwargs)
        return lambda look: Check(described, look)

    return bind


known = _binding(Failure)
"""Decorator of a check: the fields of the `Failure` that its function looks for."""


def finding_of(failure: Failure, seen: Seen) -> Finding:
    """Return the finding: the evidence seen, with the facts known about the failure."""
    return Finding(
        id=failure.id,
        severity=seen.severity or failure.severity,
        title=seen.what,
        where=seen.where,
        figure=Figure(seen.value, seen.unit, seen.basis, seen.formula, failure.source),
        cause=seen.cause or failure.cause,
        remedy=seen.remedy or failure.remedy,
        evidence={"symptom": failure.symptom, **seen.evidence},
    )
