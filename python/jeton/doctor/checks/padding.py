"""Batches: padding without a mask, masks that are wrong, padding on the wrong side or inside."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jeton.checkpoint import ModelKind
from jeton.doctor.dumps import InputBatch
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.findings import Severity

_NEEDS = (EvidenceKind.BATCH,)


@known(
    id="padding-without-mask",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="rows are padded and there is no attention mask",
    symptom="a text gives another result alone than in a batch",
    cause="without a mask the model reads padding as text. Some libraries guess a mask from the "
    "padding id; the guess is off where padding and end of text are one token",
    remedy="pass attention_mask from the tokenizer to the model, always: `tok.model_inputs(texts, "
    "padding='longest').attention_mask`",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _without_mask(patient: Patient) -> Iterator[Seen]:
    pads = patient.role_ids("pad") or patient.role_ids("eos")
    for batch in patient.batches:
        if batch.mask is not None or not batch.is_rectangular or batch.n_rows < 2:
            continue
        if any(name == "attention_mask" for name, _, _ in batch.odd_shapes):
            continue
        padding = batch.padding_by_id(pads)
        left, right = batch.ends(padding)
        # One end token behind each row is no padding: it takes more of them, in different numbers.
        runs = np.where(left > 0, left, right)
        padded = np.flatnonzero(runs > 0)
        if len(padded) and (int(runs.max()) > 1 or len(padded) < batch.n_rows):
            if int(runs.max()) == 1 and not (patient.role_ids("pad") - patient.role_ids("eos")):
                continue
            yield Seen(
                what=f"{len(padded):,} of {batch.n_rows:,} rows are padded ({int(padding.sum()):,} "
                "ids) and there is no attention_mask",
                where=f"{batch.where}, row {int(padded[0])}",
                value=int(padding.sum()),
                unit="ids",
                # A decoder that is trained with padding behind the text never looks at it.
                severity=Severity.WARNING if batch.labels is not None else None,
            )


@known(
    id="mask-shows-padding",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="the mask lets the model see padding",
    symptom="results depend on the other texts of the batch",
    cause="the mask was made of ones (`torch.ones_like`), or before padding",
    remedy="take the mask that the tokenizer returns, and pad it with 0 where ids are padded",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _shows_padding(patient: Patient) -> Iterator[Seen]:
    pads = patient.role_ids("pad") - patient.role_ids("eos") - patient.role_ids("bos")
    for batch in patient.batches:
        kept = batch.is_kept
        if kept is None or not pads or _is_inverted(patient, batch):
            continue
        shown = batch.padding_by_id(pads) & kept
        places = np.flatnonzero(shown)
        if len(places):
            yield Seen(
                what=f"{len(places):,} padding ids have a mask of 1",
                where=batch.place(int(places[0])),
                value=len(places),
                unit="ids",
            )


def _is_inverted(patient: Patient, batch: InputBatch) -> bool:
    pads = patient.role_ids("pad") - patient.role_ids("eos")
    kept = batch.is_kept
    if kept is None or not pads:
        return False
    padding = batch.padding_by_id(pads)
    return bool(padding.any() and not padding.all() and np.array_equal(kept, padding))


@known(
    id="mask-inverted",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="the mask is the wrong way round",
    symptom="the model answers as if there were no prompt",
    cause="1 stands for padding here; for transformers, vLLM and most others 1 stands for text. "
    "PyTorch's key_padding_mask is the one with True for padding",
    remedy="invert it: `attention_mask = 1 - mask`",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _inverted(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        if _is_inverted(patient, batch):
            yield Seen(
                what="the mask is 1 on padding and 0 on text",
                where=batch.where,
                value=len(batch.ids),
                unit="ids",
            )


@known(
    id="mask-hides-text",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="the mask hides text",
    symptom="the model ignores parts of the prompt",
    cause="the mask belongs to other rows, or was shifted against them; or it was computed from "
    "`ids != pad` where the padding token is also one of the text",
    remedy="keep ids and mask together from the tokenizer to the model",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _hides_text(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        kept = batch.is_kept
        if kept is None or _is_inverted(patient, batch):
            continue
        pads = patient.role_ids("pad")
        left, right = batch.ends(~kept)
        column = np.arange(len(batch.ids), dtype=np.int64) - batch.offsets[:-1][batch.row_of]
        inside = (column >= left[batch.row_of]) & (column < (batch.lengths - right)[batch.row_of])
        hidden = ~kept & inside
        if pads:
            # At the ends, what is hidden should be padding.
            hidden |= ~kept & ~np.isin(batch.ids, np.fromiter(pads, dtype=np.int64))
        places = np.flatnonzero(hidden)
        if len(places):
            yield Seen(
                what=f"{len(places):,} ids that are no padding have a mask of 0",
                where=batch.place(int(places[0])),
                value=len(places),
                unit="ids",
            )


@known(
    id="mask-values",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="the mask has other values than 0 and 1",
    symptom="dtype errors, or a mask without effect",
    cause="a mask to be added to scores (0 and a large negative number), or numbers of documents "
    "for packed rows, were given where 0 and 1 are expected",
    remedy="give 0 and 1; packed rows need position_ids or cu_seqlens that the attention "
    "understands",
    needs=_NEEDS,
)
def _values(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        if batch.mask is None:
            continue
        values = np.unique(batch.mask)
        if not bool(np.isin(values, (0.0, 1.0)).all()):
            yield Seen(
                what=f"attention_mask has the values {', '.join(f'{v:g}' for v in values[:5])}",
                where=batch.where,
                value=len(values),
                unit="values",
            )


@known(
    id="row-of-padding-only",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="rows that are nothing but padding",
    symptom="NaN in the loss or in embeddings: a softmax over nothing",
    cause="empty texts, or rows added to fill the batch",
    remedy="leave out empty texts before batching, and fill batches with a row that has one token",
    needs=_NEEDS,
)
def _only_padding(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        padding = batch.padding(patient.role_ids("pad"))
        n_kept = np.bincount(batch.row_of[~padding], minlength=batch.n_rows)
        bad = np.flatnonzero(n_kept == 0)
        if len(bad):
            yield Seen(
                what=f"{len(bad):,} of {batch.n_rows:,} rows have no token to read",
                where=f"{batch.where}, row {int(bad[0])}",
                value=len(bad),
                unit="rows",
            )


@known(
    id="batch-padded-on-wrong-side",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="the batch is padded on the wrong side",
    symptom="in batches the shorter prompts get empty or strange answers, alone they work",
    cause="a decoder continues after the last column: in generation padding belongs on the LEFT, "
    "or it continues after padding. An encoder reads [CLS] and position 0 in its first column: "
    "its padding belongs on the RIGHT",
    remedy="padding_side='left' to generate with a decoder-only model, 'right' for encoders; "
    "training a decoder works with either, with labels of -100 on padding",
    needs=(EvidenceKind.BATCH, EvidenceKind.MODEL),
    source="transformers 5.23.0, generation/utils.py (its warning of right-padding)",
)
def _wrong_side(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        left, right = batch.ends(batch.padding(patient.role_ids("pad")))
        whole = batch.lengths
        on_left = np.flatnonzero((left > 0) & (left < whole))
        on_right = np.flatnonzero((right > 0) & (right < whole))
        training = batch.labels is not None or patient.task in ("train", "embed")
        if patient.kind is ModelKind.DECODER and not training and len(on_right):
            yield Seen(
                what=f"{len(on_right):,} of {batch.n_rows:,} rows are padded on the right; to "
                "generate, a decoder wants it on the left",
                where=f"{batch.where}, row {int(on_right[0])}",
                value=len(on_right),
                unit="rows",
                severity=None if patient.task == "generate" else Severity.WARNING,
            )
        reads = patient.kind in (ModelKind.ENCODER, ModelKind.ENCODER_DECODER)
        if reads and len(on_left):
            yield Seen(
                what=f"{len(on_left):,} of {batch.n_rows:,} rows are padded on the left; an "
                "encoder wants it on the right",
                where=f"{batch.where}, row {int(on_left[0])}",
                value=len(on_left),
                unit="rows",
            )


@known(
    id="positions-count-padding",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="position_ids count the padding",
    symptom="left-padded batches give other answers than single prompts",
    cause="positions run 0, 1, 2 ... from the first column, padding included, so that the text's "
    "first token is not at position 0",
    remedy="`position_ids = (attention_mask.cumsum(-1) - 1).clamp(min=0)`; "
    "`tok.model_inputs(...).position_ids` are right on either side",
    needs=_NEEDS,
)
def _positions(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        if batch.position_ids is None:
            continue
        padding = batch.padding(patient.role_ids("pad"))
        left, _ = batch.ends(padding)
        rows = np.flatnonzero((left > 0) & (left < batch.lengths))
        first = batch.position_ids[batch.offsets[:-1][rows] + left[rows]]
        bad = rows[first == left[rows]]
        if len(bad):
            yield Seen(
                what=f"in {len(bad):,} left-padded rows the first token has the position of its "
                "column, not 0",
                where=f"{batch.where}, row {int(bad[0])}",
                value=len(bad),
                unit="rows",
            )


@known(
    id="special-token-in-mid-sequence",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="PAD or BOS in the middle of a sequence",
    symptom="a model that was trained on it generates PAD or BOS in mid-sentence",
    cause="padded rows were joined, or texts that had their special tokens already were encoded "
    "together; after that the model takes them for text",
    remedy="join texts before padding, with one end token between them; encode parts with "
    "add_special_tokens=False; bar PAD and BOS, and never EOS, while sampling "
    "(`tok.never_generated_mask()`)",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _in_the_middle(patient: Patient) -> Iterator[Seen]:
    ends = patient.role_ids("eos") | patient.role_ids("sep")
    for batch in patient.batches:
        for role in ("pad", "bos"):
            ids = patient.role_ids(role) - ends
            if role == "bos":
                ids -= patient.role_ids("cls")
            if not ids or not len(batch.ids):
                continue
            wanted = np.fromiter(ids, dtype=np.int64)
            is_role = np.isin(batch.ids, wanted)
            outside = batch.padding(patient.role_ids("pad")) | batch.padding_by_id(ids)
            starts = np.zeros(len(batch.ids), dtype=np.bool_)
            left, _ = batch.ends(batch.padding(patient.role_ids("pad")))
            begins = (batch.offsets[:-1] + left)[left < batch.lengths]
            starts[begins] = True
            inside = is_role & ~outside & ~starts
            if role == "bos":
                # Behind an end, or behind another BOS (which is told elsewhere), a document begins.
                before = np.concatenate([[-1], batch.ids[:-1]])
                fine = np.fromiter(ends | ids, dtype=np.int64)
                inside &= ~np.isin(before, fine)
            places = np.flatnonzero(inside)
            if len(places):
                first = int(places[0])
                # Some packed training data has BOS, and no end token, between documents.
                separates = role == "bos" and not np.isin(batch.ids, list(ends)).any()
                shown = patient.token_text(int(batch.ids[first]))
                yield Seen(
                    what=f"{shown!r} stands {len(places):,} times in the middle of rows",
                    where=batch.place(first),
                    value=len(places),
                    unit="tokens",
                    severity=Severity.INFO if separates else None,
                    evidence={"role": role},
                )
