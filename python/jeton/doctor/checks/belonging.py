"""Does the tokenizer belong to these weights: every table, every file with ids, the change file."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jeton.checkpoint import RowStatistics, Tensor
from jeton.checkpoint.adapted import (
    CHANGE_FILE,
    MARK,
    StatedChange,
    has_fingerprint,
    read_stated_change,
)
from jeton.checkpoint.belonging import ids_without_rows, short_tables, vocabulary_tables
from jeton.checkpoint.rows import can_read_rows, read_rows
from jeton.checkpoint.safetensors import read_header
from jeton.checkpoint.snapshot import read_groups
from jeton.doctor.checks.model import LARGEST_PADDING_ROWS
from jeton.doctor.checks.special import ROLES, used_special_tokens
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.errors import JetonError
from jeton.findings import Severity

_MAX_READ = 256
"""Rows of added tokens that are looked at."""
_NEEDS = (EvidenceKind.TOKENIZER, EvidenceKind.WEIGHTS)
_CONFIGURATIONS = ("config.json", "generation_config.json")
_ROLE_FIELDS = frozenset(f"{role}_token_id" for role in ROLES)


@known(
    id="table-lacks-rows",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="a further table of the vocabulary has fewer rows than the tokenizer has ids",
    symptom="`size mismatch` for a bias, a decoder or a per-layer table at loading; an engine "
    "that reads the copy for multi-token prediction crashes, or guesses nothing right",
    cause="the embeddings were resized and a bias, a per-layer table or a copy was not",
    remedy="resize the base model with `jeton adapt apply MODEL_DIR TOKENIZER_DIR -o OUT`, which "
    "changes all tables together",
    needs=_NEEDS,
)
def _tables(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    assert patient.tokenizer is not None
    try:
        groups = read_groups(patient.model.path)
    except (JetonError, OSError):
        # Damaged and missing files are failures of their own.
        return
    configuration, weights = patient.model.configuration, patient.model.weights
    model_type = None if configuration is None else configuration.model_type
    n_ids = patient.tokenizer.vocab_size
    main = {t.name for t in (weights.embedding, weights.head) if t is not None}
    tables = vocabulary_tables(groups, model_type=model_type)
    for tensor, n_rows in short_tables(tables, n_ids, model_type=model_type):
        if tensor.name not in main:
            yield Seen(
                what=f"{tensor.name} has {n_rows:,} rows, the tokenizer's ids go up to "
                f"{n_ids - 1:,}",
                where=f"{tensor.name} in {tensor.file.name}",
                value=n_ids - n_rows,
                unit="ids without a row",
                formula=f"{n_ids:,} - {n_rows:,}",
                evidence={"vocab_size": n_ids, "n_rows": n_rows},
            )


@known(
    id="file-names-id-without-row",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="a file beside the weights names an id that has no row",
    symptom="`index out of range` or a device-side assert at the first picture, forced token or "
    "suppressed token, though plain text works",
    cause="the vocabulary was pruned or replaced, and this file kept the old ids; or the file is "
    "of another model",
    remedy="write the new id; `jeton adapt apply` changes the ids in every file with the weights",
    needs=(EvidenceKind.WEIGHTS,),
)
def _ids(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    limit = patient.n_rows
    assert limit is not None
    for file, place in ids_without_rows(patient.model.path, limit):
        # The ids of roles are a failure of their own.
        if file in _CONFIGURATIONS and not _ROLE_FIELDS.isdisjoint(place.path):
            continue
        # Tokens without a row are failures of their own, too.
        if file in ("tokenizer_config.json", "added_tokens.json"):
            continue
        yield Seen(
            what=f"{place.words} is {place.id:,}, the model has {limit:,} rows",
            where=file,
            value=place.id,
            unit="id",
            evidence={"place": place.words, "n_rows": limit},
        )


@known(
    id="vocabulary-change-differs",
    area=Area.MODEL,
    severity=Severity.WARNING,
    name=f"{CHANGE_FILE} is of another tokenizer than the one beside it",
    symptom="`jeton adapt apply` or `remap` refuses the folder; weights that already follow the "
    "file have rows in another order than the tokenizer's ids",
    cause="the tokenizer was edited, or replaced by another one, after `jeton adapt` wrote it",
    remedy="take the tokenizer that was written with the file, or make it again with `jeton "
    "adapt`; if only settings were edited, check the ids of a few texts",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.FILES),
)
def _change(patient: Patient) -> Iterator[Seen]:
    place, tokenizer = patient.place, patient.tokenizer
    assert place is not None
    assert tokenizer is not None
    try:
        change = read_stated_change(place)
    except JetonError as error:
        yield Seen(
            what=str(error).split("\n")[0],
            where=CHANGE_FILE,
            value=1,
            unit="files",
            severity=Severity.ERROR,
            cause="the file is damaged or was written by something else",
        )
        return
    if change is None:
        return
    if change.n_new_ids != tokenizer.vocab_size:
        yield Seen(
            what=f"the change leads to {change.n_new_ids:,} ids, the tokenizer has "
            f"{tokenizer.vocab_size:,}",
            where=CHANGE_FILE,
            value=tokenizer.vocab_size - change.n_new_ids,
            unit="ids",
            formula=f"{tokenizer.vocab_size:,} - {change.n_new_ids:,}",
            severity=Severity.ERROR,
        )
    elif not has_fingerprint(place, change.new_fingerprint, tokenizer):
        yield Seen(
            what=f"the change leads to the tokenizer {change.new_fingerprint[:12]}, the one beside "
            f"it is {tokenizer.fingerprint[:12]}",
            where=CHANGE_FILE,
            value=1,
            unit="tokenizers",
        )


@known(
    id="weights-not-adapted",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="the tokenizer was adapted, and the weights beside it were not",
    symptom="nonsense from the first token on after pruning; `IndexError: index out of range in "
    "self` at the first new token after an extension",
    cause=f"{CHANGE_FILE} says that the tokenizer has a new vocabulary, and the matrix has the "
    "rows of the old one: the tokenizer's files were copied into the model's folder",
    remedy="`jeton adapt apply MODEL_DIR TOKENIZER_DIR -o OUT` with the model as it was, then "
    "`jeton adapt verify OUT --base MODEL_DIR`",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.FILES, EvidenceKind.WEIGHTS),
    source="rows of an adapted model are the new ids, filled up to a power of two of at most "
    f"{LARGEST_PADDING_ROWS:,}",
)
def _weights(patient: Patient) -> Iterator[Seen]:
    place, rows = patient.place, patient.n_rows
    assert place is not None
    assert rows is not None
    try:
        change = read_stated_change(place)
    except JetonError:
        return
    assert patient.tokenizer is not None
    if change is None or change.n_new_ids != patient.tokenizer.vocab_size:
        return
    if _has_old_rows(change, rows):
        yield Seen(
            what=f"the vocabulary went from {change.n_old_ids:,} to {change.n_new_ids:,} ids, the "
            f"matrix has {rows:,} rows as before",
            where=CHANGE_FILE,
            value=rows - change.n_new_ids,
            unit="rows",
            formula=f"{rows:,} - {change.n_new_ids:,}",
            evidence={
                "n_old_ids": change.n_old_ids,
                "n_new_ids": change.n_new_ids,
                "n_rows": rows,
            },
        )


@known(
    id="added-rows-not-filled",
    area=Area.MODEL,
    severity=Severity.WARNING,
    name="the tokenizer was extended into spare rows, and nothing filled these rows",
    symptom="new tokens read as noise and are never generated, or generated at random, though "
    "nothing crashes",
    cause="files of the tokenizer were copied beside old weights with spare rows, or other "
    "software saved the weights anew and dropped their mark",
    remedy="`jeton adapt apply MODEL_DIR TOKENIZER_DIR -o OUT` with the model as it was. "
    "If the rows were trained elsewhere, `jeton adapt verify OUT --base MODEL_DIR` compares "
    f"the others; then remove {CHANGE_FILE}",
    needs=(EvidenceKind.TOKENIZER, EvidenceKind.FILES, EvidenceKind.WEIGHTS),
    source=f"`jeton adapt apply` writes the key {MARK} into the header of the weights",
)
def _spare_rows(patient: Patient) -> Iterator[Seen]:
    place, rows = patient.place, patient.n_rows
    assert place is not None
    assert rows is not None
    assert patient.tokenizer is not None
    table = None if patient.model is None else patient.model.weights.embedding
    try:
        change = read_stated_change(place)
        marks = set() if table is None else {read_header(table.file).metadata.get(MARK)}
    except (JetonError, OSError):
        return
    if change is None or change.n_new_ids != patient.tokenizer.vocab_size:
        return
    added = [id for id in change.added_ids if 0 <= id < rows]
    if table is None or not added or len(added) < len(change.added_ids):
        return
    if marks == {change.new_fingerprint}:
        return
    alike = _are_alike(table, added[:_MAX_READ])
    yield Seen(
        what=f"{len(added):,} added tokens have rows among the {rows:,} of the matrix"
        + (", and these rows are all zeros or all equal" if alike else ""),
        where=f"{table.name} in {table.file.name}",
        value=len(added),
        unit="rows",
        evidence={"first_added_id": added[0], "n_rows": rows, "are_alike": alike},
        severity=Severity.ERROR if alike else Severity.WARNING,
    )


def _are_alike(table: Tensor, rows: list[int]) -> bool:
    """True if rows are zeros, or one row several times."""
    if not can_read_rows(table):
        return False
    try:
        values = read_rows(table, rows)
    except (JetonError, OSError):
        return False
    return not values.any() or (len(rows) > 1 and bool((values == values[0]).all()))


def _has_old_rows(change: StatedChange, rows: int) -> bool:
    if change.n_new_ids > change.n_old_ids:
        return change.n_old_ids <= rows < change.n_new_ids
    if change.n_new_ids == change.n_old_ids or rows < change.n_old_ids:
        return False
    # A pruned vocabulary may still be filled up to as many rows as before.
    powers = (1 << n for n in range(LARGEST_PADDING_ROWS.bit_length()))
    return all(-(-change.n_new_ids // power) * power != rows for power in powers)


# Rows of embedding matrices: untrained, empty, not numbers.

SMALL_NORM_SHARE = 0.1
"""A row shorter than this share of the median row counts as untrained. A choice of ours: training
moves the rows of tokens that occur away from zero together, and rows that only weight decay
touches shrink."""

_ROW_NEEDS = (EvidenceKind.TOKENIZER, EvidenceKind.WEIGHTS)


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
    needs=_ROW_NEEDS,
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
    needs=_ROW_NEEDS,
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
    needs=_ROW_NEEDS,
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
