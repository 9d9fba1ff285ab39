"""Batches: ids that the model does not have, and which tokenizer made them."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jeton.doctor.dumps import IGNORED_LABEL
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.findings import Basis, Severity

_NEEDS = (EvidenceKind.BATCH,)
_INTEGER_LIMITS = {
    "int8": 1 << 7,
    "uint8": 1 << 8,
    "int16": 1 << 15,
    "uint16": 1 << 16,
    "float16": 1 << 11,
    "float32": 1 << 24,
}
"""The first id that a type cannot hold; floats hold whole numbers up to their mantissa."""


@known(
    id="ids-out-of-range",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="ids that the model has no row for",
    symptom="`IndexError: index out of range in self`; on a GPU `device-side assert triggered`, "
    "reported at some later, innocent line",
    cause="ids of another tokenizer, tokens that were added to the tokenizer and not to the "
    "model, or labels (-100) given as input",
    remedy="CUDA_LAUNCH_BLOCKING=1 shows the true line; compare the tokenizer that made the batch "
    "with the model's (`jeton doctor MODEL --batch DUMP`)",
    needs=_NEEDS,
)
def _out_of_range(patient: Patient) -> Iterator[Seen]:
    limit = patient.vocab_limit
    for batch in patient.batches:
        bad = batch.ids < 0
        if limit is not None:
            bad |= batch.ids >= limit
        places = np.flatnonzero(bad)
        if not len(places):
            continue
        first = int(places[0])
        wrong = batch.ids[bad]
        cause = ""
        if bool(np.all(wrong == IGNORED_LABEL)):
            cause = (
                "-100 marks labels that the loss leaves out: labels were given as input_ids, or "
                "the two share one array in memory"
            )
        end = "" if limit is None else f"; ids are 0 to {limit - 1:,}"
        yield Seen(
            what=f"{len(places):,} ids are out of range, the first is {int(batch.ids[first])}{end}",
            where=batch.place(first),
            value=len(places),
            unit="ids",
            cause=cause,
            evidence={"ids": np.unique(wrong)[:50].tolist(), "limit": limit},
        )


@known(
    id="ids-do-not-fit-type",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="ids are stored in a type that cannot hold all of them",
    symptom="training looks healthy and the model learns rubbish: ids above the limit became "
    "other ids without an error",
    cause="uint16 holds ids up to 65,535; larger ones wrap around when they are stored",
    remedy="tokenize again into uint32 (int32 for Megatron); wrapped ids cannot be recovered",
    needs=(EvidenceKind.BATCH,),
)
def _type(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        if not batch.are_integers:
            yield Seen(
                what="input_ids hold fractions or NaN",
                where=batch.where,
                value=1,
                unit="arrays",
                cause="embeddings, scores or a float mask were given as ids",
                remedy="give the ids; embeddings go in as inputs_embeds",
            )
            continue
        holds = _INTEGER_LIMITS.get(batch.dtype)
        size = None if patient.tokenizer is None else patient.tokenizer.vocab_size
        size = patient.vocab_limit if size is None else size
        if holds is not None and size is not None and size > holds:
            yield Seen(
                what=f"ids are stored as {batch.dtype}, which holds {holds:,} values; the "
                f"vocabulary has {size:,}",
                where=batch.where,
                value=size - holds,
                unit="ids that do not fit",
                formula=f"{size:,} - {holds:,}",
            )


@known(
    id="batch-shapes-differ",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="arrays of a batch have different shapes",
    symptom="a broadcast error, or worse: none, and a mask that belongs to other rows",
    cause="ids were cut or padded, and what lies beside them was not",
    remedy="cut and pad all arrays in one place (`tok.model_inputs` does)",
    needs=_NEEDS,
)
def _shapes(patient: Patient) -> Iterator[Seen]:
    for batch in patient.batches:
        for name, shape, ids_shape in batch.odd_shapes:
            yield Seen(
                what=f"{name} is {shape}, input_ids are {ids_shape}",
                where=batch.where,
                value=1,
                unit="arrays",
            )


_MAX_CHECKED_ROWS = 256
"""Rows that are decoded and encoded again, evenly spaced: each costs an encode."""
_FOREIGN_SHARE = 0.5
"""From half of the rows on it is the tokenizer; below it may be cut rows and generated text."""


@known(
    id="batch-of-another-tokenizer",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="the ids are not what this tokenizer gives to their text",
    symptom="loss starts far above ln(vocabulary size) or perplexity is absurd; nothing fails",
    cause="the data set was tokenized with another tokenizer, or with another version or setting "
    "of this one (split pattern, prefix space, normalization)",
    remedy="find the tokenizer that made the data (its fingerprint should be stored beside it: "
    "`jeton info`), or tokenize again; `jeton explain A B` shows where two differ",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
    source=f"in more than {_FOREIGN_SHARE:.0%} of the rows encode(decode(ids)) differs within "
    "the row, its ends left out",
)
def _foreign(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    size = patient.tokenizer.vocab_size
    for batch in patient.batches:
        n_checked = n_foreign = 0
        first: tuple[int, str] | None = None
        step = max(1, batch.n_rows // _MAX_CHECKED_ROWS)
        for row in range(0, batch.n_rows, step):
            ids = batch.ids[batch.offsets[row] : batch.offsets[row + 1]][:4096]
            # Special tokens stay: text on their two sides is cut apart.
            if len(ids) < 8 or int(ids.min()) < 0 or int(ids.max()) >= size:
                continue
            n_checked += 1
            if (found := _noncanonical(patient, ids)) is not None:
                n_foreign += 1
                first = first or (row, found)
        if n_checked and first is not None and n_foreign > _FOREIGN_SHARE * n_checked:
            yield Seen(
                what=f"{n_foreign:,} of {n_checked:,} rows that were looked at are not canonical: "
                f"{first[1]}",
                where=f"{batch.where}, row {first[0]}",
                value=n_foreign / n_checked,
                unit="of rows",
                formula=f"{n_foreign:,} / {n_checked:,}",
                basis=Basis.EXACT if step == 1 else Basis.ESTIMATED,
            )


def _noncanonical(patient: Patient, ids: np.ndarray[tuple[int], np.dtype[np.int64]]) -> str | None:
    """Return the difference, ends left out: rows are cut in the middle of words."""
    assert patient.tokenizer is not None
    try:
        different = patient.tokenizer.first_noncanonical(ids)
    except ValueError:
        return "it does not decode"
    if different is None:
        return None
    at_end = different.position + len(different.ids) >= len(ids) - 2
    if different.position <= 2:
        # Behind the first place things may be right again.
        rest = ids[different.position + len(different.ids) + 2 :]
        if len(rest) < 8:
            return None
        try:
            again = patient.tokenizer.first_noncanonical(rest)
        except ValueError:
            return "it does not decode"
        if again is None or again.position <= 2 or again.position + len(again.ids) >= len(rest) - 2:
            return None
        different = again
    elif at_end:
        return None
    there = [patient.token_text(i) for i in different.ids[:4]]
    belongs = [patient.token_text(i) for i in different.canonical_ids[:4]]
    return f"it has {there}, the tokenizer gives {belongs}"


@known(
    id="batch-longer-than-context",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="rows are longer than the context",
    symptom="an index error in the position embeddings, or quality that falls with length",
    cause="rows were not cut, or were cut to the length of another model",
    remedy="truncate to the context, special tokens included, or split with overlap",
    needs=_NEEDS,
)
def _too_long(patient: Patient) -> Iterator[Seen]:
    context = patient.context_tokens
    if context is None:
        return
    for batch in patient.batches:
        if batch.n_rows == 1 and not batch.is_rectangular and batch.mask is None:
            # A stream of tokens to be cut later, not a model input.
            continue
        kept = batch.is_kept
        lengths = batch.lengths
        if kept is not None:
            lengths = np.bincount(batch.row_of[kept], minlength=batch.n_rows)
        over = np.flatnonzero(lengths > context)
        if len(over):
            yield Seen(
                what=f"{len(over):,} rows have more than {context:,} tokens, the longest "
                f"{int(lengths.max()):,}",
                where=f"{batch.where}, row {int(over[0])}",
                value=len(over),
                unit="rows",
                formula=f"{int(lengths.max()):,} > {context:,}",
            )


@known(
    id="token-types-out-of-range",
    area=Area.BATCH,
    severity=Severity.ERROR,
    name="token types that the model does not have",
    symptom="`index out of range in self` in token_type_embeddings",
    cause="token_type_ids of BERT (0 and 1) given to a model with one type, as RoBERTa",
    remedy="leave token_type_ids out for this model",
    needs=(EvidenceKind.BATCH, EvidenceKind.MODEL),
)
def _types(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    configuration = patient.model.configuration
    n_types = None if configuration is None else configuration.type_vocab_size
    for batch in patient.batches:
        if n_types is None or batch.type_ids is None or not len(batch.type_ids):
            continue
        places = np.flatnonzero((batch.type_ids < 0) | (batch.type_ids >= n_types))
        if len(places):
            yield Seen(
                what=f"{len(places):,} token types are out of range; the model has {n_types}",
                where=batch.place(int(places[0])),
                value=len(places),
                unit="token types",
            )


@known(
    id="double-bos",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="rows begin with two BOS tokens",
    symptom="answers are a little worse than those of the same model elsewhere",
    cause="the chat template wrote BOS and the tokenizer put another one before it",
    remedy="encode rendered chats with add_special_tokens=False",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _double_bos(patient: Patient) -> Iterator[Seen]:
    beginnings = patient.role_ids("bos") - patient.role_ids("pad") - patient.role_ids("eos")
    if not beginnings:
        return
    wanted = np.fromiter(beginnings, dtype=np.int64)
    for batch in patient.batches:
        is_bos = np.isin(batch.ids, wanted)
        left, _ = batch.ends(batch.padding(patient.role_ids("pad")))
        first = batch.offsets[:-1] + left
        has_two = first + 1 < batch.offsets[1:]
        at = first[has_two]
        double = np.flatnonzero(has_two)[is_bos[at] & is_bos[at + 1]]
        if len(double):
            yield Seen(
                what=f"{len(double):,} of {batch.n_rows:,} rows begin with two BOS tokens",
                where=f"{batch.where}, row {int(double[0])}",
                value=len(double),
                unit="rows",
            )


@known(
    id="missing-bos",
    area=Area.BATCH,
    severity=Severity.WARNING,
    name="rows lack the BOS token that the tokenizer puts before texts",
    symptom="the loss of the first tokens is huge, output is off; Gemma and Llama are sensitive "
    "to it",
    cause="texts were encoded without special tokens and nobody added them",
    remedy="encode with add_special_tokens=True (not for text that a chat template rendered)",
    needs=(EvidenceKind.BATCH, EvidenceKind.TOKENIZER),
)
def _missing_bos(patient: Patient) -> Iterator[Seen]:
    before, _ = patient.added_around
    if not before:
        return
    for batch in patient.batches:
        if batch.n_rows == 0 or not len(batch.ids) or np.any(batch.ids == before[0]):
            # Some row has it: rows may be later windows of longer texts.
            continue
        yield Seen(
            what=f"none of {batch.n_rows:,} rows has {patient.token_text(before[0])!r} "
            f"(id {before[0]}), which the tokenizer puts before texts",
            where=batch.where,
            value=batch.n_rows,
            unit="rows",
        )
