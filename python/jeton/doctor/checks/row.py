"""Rows of embedding matrices: untrained, empty, not numbers."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jeton.checkpoint import RowStatistics, Tensor
from jeton.checkpoint.rows import can_read_rows, read_rows
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.doctor.special import used_special_tokens
from jeton.findings import Severity

SMALL_NORM_SHARE = 0.1
"""A row shorter than this share of the median row counts as untrained. A choice of ours: training
moves the rows of tokens that occur away from zero together, and rows that only weight decay
touches shrink."""

_NEEDS = (EvidenceKind.TOKENIZER, EvidenceKind.WEIGHTS)


def _parts(patient: Patient) -> Iterator[tuple[Tensor, RowStatistics]]:
    assert patient.model is not None
    weights = patient.model.weights
    for tensor, statistics in (
        (weights.embedding, patient.embedding_statistics),
        (weights.head, patient.head_statistics),
    ):
        if tensor is not None and statistics is not None:
            yield tensor, statistics


@known(
    id="special-row-zero",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="a special token that is in use has a row of zeros",
    symptom="fine-tuning with it diverges (gradients inf at the second step in bf16), or the "
    "token is never, or always, generated",
    cause="the base model was trained without the token; the tokenizer declares it all the same, "
    "as end of text or in the chat template",
    remedy="before training set the row (input and output) to the mean of the trained rows; to "
    "serve, use the end token that the base model was trained with",
    needs=_NEEDS,
)
def _zero(patient: Patient) -> Iterator[Seen]:
    for tensor, statistics in _parts(patient):
        bad = [t for t in _used(patient, tensor) if statistics.is_zero[t]]
        yield from _seen(patient, tensor, bad, "have a row of zeros")


@known(
    id="special-row-untrained",
    area=Area.MODEL,
    severity=Severity.WARNING,
    name="the row of a special token that is in use looks untrained",
    symptom="the chat format has no effect, turns do not end, fine-tuning starts with a huge loss",
    cause="the row is far shorter than others, as rows are that training never touched: a base "
    "model with the tokenizer of its chat model",
    remedy="use the chat model's weights with the chat template; or set these rows to the mean of "
    "the trained ones and train them (with LoRA: modules_to_save embed_tokens and lm_head)",
    needs=_NEEDS,
    source=f"shorter than {SMALL_NORM_SHARE:g} of the median row: a choice of ours",
)
def _untrained(patient: Patient) -> Iterator[Seen]:
    for tensor, statistics in _parts(patient):
        if statistics.is_quantized or statistics.median_norm == 0:
            continue
        limit = SMALL_NORM_SHARE * statistics.median_norm
        bad = [t for t in _used(patient, tensor) if 0 < statistics.norms[t] < limit]
        if bad:
            worst = min(float(statistics.norms[t]) for t in bad)
            what = f"have rows of length {worst:.3g} or more, the median is "
            yield from _seen(patient, tensor, bad, what + f"{statistics.median_norm:.3g}")


@known(
    id="special-rows-identical",
    area=Area.MODEL,
    severity=Severity.WARNING,
    name="special tokens in use share one row, number for number",
    symptom="the model cannot tell the tokens apart: roles are mixed up, turns end at once",
    cause="rows of new tokens were all set to one vector (the mean of all rows, say) and never "
    "trained",
    remedy="train the rows, or start each from the mean of the pieces that its name had before "
    "(`user`, `assistant`, `end`)",
    needs=_NEEDS,
)
def _identical(patient: Patient) -> Iterator[Seen]:
    for tensor, statistics in _parts(patient):
        used = [t for t in _used(patient, tensor) if statistics.norms[t] > 0]
        if not can_read_rows(tensor) or len(used) < 2:
            continue
        groups: dict[bytes, list[int]] = {}
        for token_id, row in zip(used, read_rows(tensor, used), strict=True):
            groups.setdefault(row.tobytes(), []).append(token_id)
        same = [group for group in groups.values() if len(group) > 1]
        if same:
            bad = [token_id for group in same for token_id in group]
            yield from _seen(patient, tensor, bad, "have the same row")


@known(
    id="rows-not-finite",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="rows hold NaN or infinity",
    symptom="loss is nan, or output is `!!!!!!!!` (id 0) as soon as one of the tokens occurs",
    cause="a conversion to fp16 overflowed (above 65,504), or training diverged before it was "
    "saved",
    remedy="take an earlier checkpoint; convert fp32 to bf16 instead of fp16",
    needs=(EvidenceKind.WEIGHTS,),
)
def _not_finite(patient: Patient) -> Iterator[Seen]:
    for tensor, statistics in _parts(patient):
        bad = np.flatnonzero(~statistics.is_finite)
        if len(bad):
            yield Seen(
                what=f"{len(bad):,} rows of {tensor.name} hold NaN or infinity, the first is that "
                f"of {patient.token_text(int(bad[0]))!r} (id {bad[0]})",
                where=tensor.name,
                value=len(bad),
                unit="rows",
                evidence={"ids": bad[:50].tolist()},
            )


def _used(patient: Patient, tensor: Tensor) -> list[int]:
    return [i for i in sorted(used_special_tokens(patient)) if i < tensor.shape[0]]


def _seen(patient: Patient, tensor: Tensor, bad: list[int], what: str) -> Iterator[Seen]:
    if bad:
        shown = ", ".join(f"{patient.token_text(i)!r} (id {i})" for i in bad[:4])
        more = f" and {len(bad) - 4} more" if len(bad) > 4 else ""
        yield Seen(
            what=f"in {tensor.name} {shown}{more} {what}",
            where=tensor.name,
            value=len(bad),
            unit="tokens",
            evidence={"tokens": {patient.token_text(i): i for i in bad[:50]}},
        )
