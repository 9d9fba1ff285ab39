"""Results of preprocessing: what each step saved under a tokenizer, and what it lost."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

from jeton._shown import NotebookResult
from jeton.metrics.bootstrap import Interval
from jeton.preprocess.losses import LossCount
from jeton.preprocess.steps import LossClass

SCHEMA_VERSION = 1


@dataclass(frozen=True, slots=True)
class TokenSaving:
    """Tokens before and after, counted by the tokenizer.

    Attributes:
        n_changed_documents: Documents that are not what they were.
        bytes_before: UTF-8 bytes before.
        bytes_after: UTF-8 bytes after.
        tokens_before: Tokens before.
        tokens_after: Tokens after.
        saved_share: Share of the tokens that are saved; below 0 where there are more than before.
        interval: 95% interval of ``saved_share``, by drawing documents; None below two documents.
    """

    n_changed_documents: int
    bytes_before: int
    bytes_after: int
    tokens_before: int
    tokens_after: int
    saved_share: float
    interval: Interval | None


@dataclass(frozen=True, slots=True)
class StepReport:
    """One step.

    Attributes:
        step: Its name.
        loss_class: ``"lossless"``, ``"whitespace"``, ``"markup"`` or ``"content"``.
        in_order: Saving behind the steps before it.
        alone: Saving where it is the only step.
        losses: Things that were there before the step, in order, and are gone behind it.
        outcomes: Documents by what was done to them, in order.
    """

    step: str
    loss_class: LossClass
    in_order: TokenSaving
    alone: TokenSaving
    losses: tuple[LossCount, ...]
    outcomes: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class PreprocessReport(NotebookResult):
    """All steps, and all of them together.

    Attributes:
        tokenizer: Name of the tokenizer that counted.
        fingerprint: Its fingerprint.
        n_documents: Documents.
        steps: Each step, in the order in which they ran.
        total: Saving of all steps.
        losses: Things that were there at first and are gone in the end.
        n_null_documents: Records whose text is null; they are written as they were.
        n_bad_records: Records that cannot be used, which were left out.
        n_replaced_documents: Documents in which bytes that are not UTF-8 became U+FFFD.
        skipped_files: Files that were not read, with the reason.
        written_files: Files that were written.
    """

    _table = "steps"
    _line = ("n_documents", "steps")

    tokenizer: str
    fingerprint: str
    n_documents: int
    steps: tuple[StepReport, ...]
    total: TokenSaving
    losses: tuple[LossCount, ...]
    n_null_documents: int = 0
    n_bad_records: int = 0
    n_replaced_documents: int = 0
    skipped_files: Mapping[str, str] | None = None
    written_files: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """The report as JSON has it, with ``schema_version``."""
        return {"schema_version": SCHEMA_VERSION, **asdict(self)}


@dataclass(frozen=True, slots=True)
class PreprocessedTexts:
    """Texts as they are after all steps, and the report.

    Attributes:
        texts: One for each text given, in order.
        report: Savings and losses.
    """

    texts: tuple[str, ...]
    report: PreprocessReport
