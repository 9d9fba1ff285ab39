"""Batches for training: labels on padding, ends that are never learnt, labels shifted twice."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from jeton.doctor.checks.special import stop_ids
from jeton.doctor.dumps import IGNORED_LABEL, InputBatch
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.findings import Severity

_NEEDS = (EvidenceKind.BATCH,)


def _labelled(patient: Patient) -> Iterator[tuple[InputBatch, NDArray[np.int64]]]:
    for batch in patient.batches:
        if batch.labels is not None and len(batch.labels):
            yield batch, batch.labels


@known(
    id="labels-on-padding",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="the loss counts padding",
    symptom="the loss falls quickly to almost nothing, and the model writes padding or end of text",
    cause="labels are a copy of input_ids, padding included; only -100 is left out of the loss",
    remedy="`labels[attention_mask == 0] = -100` (by the mask, not by the id: where padding and "
    "end of text are one token, the real end must stay)",
    needs=_NEEDS,
    source="torch.nn.CrossEntropyLoss: ignore_index is -100 unless it is given",
)
def _on_padding(patient: Patient) -> Iterator[Seen]:
    pads = patient.role_ids("pad")
    for batch, labels in _labelled(patient):
        padding = batch.padding(pads - patient.role_ids("eos") if batch.mask is None else pads)
        bad = np.flatnonzero(padding & (labels != IGNORED_LABEL))
        if len(bad):
            share = len(bad) / max(1, int((labels != IGNORED_LABEL).sum()))
            yield Seen(
                what=f"{len(bad):,} labels stand on padding, {share:.0%} of all that count",
                where=batch.place(int(bad[0])),
                value=len(bad),
                unit="labels",
            )


@known(
    id="end-never-learnt",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="no label is an end of text",
    symptom="after fine-tuning, answers do not end",
    cause="end tokens are in the ids and every one of them is masked. Labels were masked wherever "
    "the id is the padding id, and padding and end of text are one token",
    remedy="mask labels by the attention mask; or give padding a token of its own",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _never_learnt(patient: Patient) -> Iterator[Seen]:
    ends = _ends(patient)
    for batch, labels in _labelled(patient):
        if not len(ends):
            continue
        kept = batch.is_kept
        is_end = np.isin(batch.ids, ends)
        if kept is not None:
            is_end &= kept
        if is_end.any() and not np.isin(labels, ends).any():
            yield Seen(
                what=f"{int(is_end.sum()):,} end tokens are in the rows, and not one is a label",
                where=batch.where,
                value=int(is_end.sum()),
                unit="end tokens",
            )


def _ends(patient: Patient) -> NDArray[np.int64]:
    return np.fromiter(sorted(stop_ids(patient) | patient.role_ids("eos")), dtype=np.int64)


@known(
    id="missing-eos",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="training rows do not end with an end token",
    symptom="after fine-tuning, answers do not end",
    cause="texts were encoded without an end token; most tokenizers add BOS and not EOS by "
    "themselves",
    remedy="put the end token behind each text before it is encoded, or set add_eos_token for "
    "training; chat templates write the end of a turn themselves",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _missing_eos(patient: Patient) -> Iterator[Seen]:
    ends = _ends(patient)
    if not len(ends):
        return
    for batch, _ in _labelled(patient):
        if np.isin(batch.ids, ends).any():
            continue
        _, right = batch.ends(batch.padding(patient.role_ids("pad")))
        # A row without padding may have been cut; one with padding ends by itself.
        whole = int((right > 0).sum())
        if whole or not batch.is_rectangular:
            yield Seen(
                what=f"none of {batch.n_rows:,} rows has an end token, though "
                f"{whole or batch.n_rows:,} are complete texts",
                where=batch.where,
                value=batch.n_rows,
                unit="rows",
            )


@known(
    id="labels-shifted",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="labels are shifted by one already",
    symptom="the model learns to predict the token after the next one; text comes out with every "
    "other word missing",
    cause="labels[i] is input_ids[i + 1] here, and the model classes of transformers shift once "
    "more",
    remedy="give `labels = input_ids.clone()` to transformers; keep shifted labels for code that "
    "computes the loss itself",
    needs=_NEEDS,
    source="transformers 5.23.0, loss/loss_utils.py (ForCausalLMLoss)",
)
def _shifted(patient: Patient) -> Iterator[Seen]:
    for batch, labels in _labelled(patient):
        same_row = batch.row_of[:-1] == batch.row_of[1:]
        counted = (labels[:-1] != IGNORED_LABEL) & same_row
        if int(counted.sum()) < 16:
            continue
        shifted = float((labels[:-1] == batch.ids[1:])[counted].mean())
        straight = float((labels[:-1] == batch.ids[:-1])[counted].mean())
        if shifted > 0.95 and straight < 0.5:
            yield Seen(
                what=f"{shifted:.0%} of the labels are the id of the next column",
                where=batch.where,
                value=shifted,
                unit="of labels",
            )


@known(
    id="row-without-labels",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="rows in which every label is masked",
    symptom="the loss is nan for such a batch, or the row is computed for nothing",
    cause="the answer was cut off: the prompt alone fills the row; or the marker that tells where "
    "the answer begins was not found",
    remedy="cut prompts, not answers; leave such rows out; look for the response marker as ids "
    "within the row, since its first token may merge with what stands before it",
    needs=_NEEDS,
)
def _without_labels(patient: Patient) -> Iterator[Seen]:
    for batch, labels in _labelled(patient):
        n_labels = np.bincount(batch.row_of[labels != IGNORED_LABEL], minlength=batch.n_rows)
        bad = np.flatnonzero((n_labels == 0) & (batch.lengths > 0))
        if len(bad):
            every = len(bad) == batch.n_rows
            yield Seen(
                what=f"{len(bad):,} of {batch.n_rows:,} rows have no label",
                where=f"{batch.where}, row {int(bad[0])}",
                value=len(bad),
                unit="rows",
                severity=Severity.ERROR if every else None,
            )


@known(
    id="labels-out-of-range",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="labels that the model cannot predict",
    symptom="`Target out of bounds`, or a device-side assert in nll_loss",
    cause="labels of another tokenizer, or negative numbers other than -100 for what should be "
    "left out",
    remedy="use -100 for labels that do not count; compare the tokenizer with the model's",
    needs=_NEEDS,
)
def _out_of_range(patient: Patient) -> Iterator[Seen]:
    limit = patient.vocab_limit
    for batch, labels in _labelled(patient):
        bad = (labels < 0) & (labels != IGNORED_LABEL)
        if limit is not None:
            bad |= labels >= limit
        places = np.flatnonzero(bad)
        if len(places):
            yield Seen(
                what=f"{len(places):,} labels are out of range, the first is "
                f"{int(labels[places[0]])}",
                where=batch.place(int(places[0])),
                value=len(places),
                unit="labels",
            )
