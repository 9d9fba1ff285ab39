"""Do tokenizer and model belong together: rows, heads, sizes."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from jeton.checkpoint import Tensor
from jeton.checkpoint.rows import can_read_rows, read_rows
from jeton.doctor.failures import Area, EvidenceKind, Seen, known
from jeton.doctor.patient import Patient
from jeton.findings import Basis, Severity

LARGEST_PADDING_ROWS = 1024
"""Most rows that filling a matrix up adds as a rule: to a multiple of 64 or 128, or of 128 for each
of eight tensor-parallel parts. Qwen2.5-72B goes to 152,064 from 151,665: 399 (its config.json and
tokenizer, read 2026-11-21)."""

_MODEL = (EvidenceKind.TOKENIZER, EvidenceKind.MODEL)


def _is_filled_up(size: int, rows: int) -> bool:
    """True if rows are a multiple of some power of two, and the next one above the tokens.

    A small vocabulary is not filled up to far more than it has: a quarter of the rows at most.
    """
    spare = rows - size
    multiple = min(rows & -rows, LARGEST_PADDING_ROWS)
    return 4 * spare <= rows and spare < multiple <= rows // 2


def _highest_base_id(patient: Patient) -> int:
    """The highest id that is no added or special token."""
    assert patient.tokenizer is not None
    is_base = patient.tokenizer.is_token_mask()
    for token_id in patient.fixed_ids.values():
        if token_id < len(is_base):
            is_base[token_id] = False
    found = np.flatnonzero(is_base)
    return int(found[-1]) if len(found) else -1


@known(
    id="vocabulary-exceeds-embeddings",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="the tokenizer has more tokens than the model has rows",
    symptom="`IndexError: index out of range in self`, `device-side assert triggered`, or "
    "nonsense where the runtime wraps ids around",
    cause="this is the tokenizer of another model",
    remedy="take the tokenizer from the place that the weights are from; compare `jeton info` of "
    "both",
    needs=_MODEL,
)
def _vocabulary_exceeds(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    rows, size = patient.n_rows, patient.tokenizer.vocab_size
    if rows is not None and _highest_base_id(patient) >= rows:
        yield Seen(
            what=f"the tokenizer's ids go up to {size - 1:,}, the model has {rows:,} rows",
            where=_where_rows(patient),
            value=size - rows,
            unit="ids without a row",
            formula=f"{size:,} - {rows:,}",
            evidence={"vocab_size": size, "n_rows": rows},
        )


@known(
    id="added-tokens-without-rows",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="tokens were added to the tokenizer and not to the model",
    symptom="`IndexError: index out of range in self`; on a GPU `device-side assert triggered` at "
    "the first text that has one of the tokens, hours after the start",
    cause="the vocabulary itself fits; the tokens added behind it have ids beyond the last row of "
    "the embedding matrix. Either `resize_token_embeddings` was forgotten, or a tokenizer with "
    "added tokens was put beside the old weights",
    remedy="`model.resize_token_embeddings(len(tokenizer), pad_to_multiple_of=64)` before "
    "training, and save both together; to serve now: the tokenizer without the added tokens",
    needs=_MODEL,
)
def _added_without_rows(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    rows = patient.n_rows
    if rows is None or _highest_base_id(patient) >= rows:
        return
    outside = sorted((i, text) for text, i in patient.fixed_ids.items() if i >= rows)
    if outside:
        shown = ", ".join(f"{text!r} (id {i})" for i, text in outside[:4])
        more = " ..." if len(outside) > 4 else ""
        yield Seen(
            what=f"{len(outside)} added tokens have no row in the model: {shown}{more}",
            where=_where_rows(patient),
            value=len(outside),
            unit="tokens",
            formula=f"ids from {rows:,} on; the matrix has {rows:,} rows",
            evidence={"tokens": {text: i for i, text in outside[:50]}, "n_rows": rows},
        )


def _where_rows(patient: Patient) -> str:
    if patient.model is not None and patient.model.weights.embedding is not None:
        tensor = patient.model.weights.embedding
        return f"{tensor.name} in {tensor.file.name}"
    return "vocab_size in config.json"


@known(
    id="embedding-rows-unused",
    area=Area.MODEL,
    severity=Severity.WARNING,
    name="the model has many more rows than the tokenizer has tokens",
    symptom="answers are nonsense although nothing fails; or ids come out that cannot be decoded",
    cause="filling up to a multiple of 64 or 128 explains a few hundred rows; this many mean that "
    "the tokenizer is another one, or lost its added tokens",
    remedy="compare the tokenizer with the model's own; if it is the right one, keep the unused "
    "rows from being generated (`never_generated_mask(vocab_size=rows)`) or prune them",
    needs=_MODEL,
    source=f"more than 2% of all rows, and more than filling up explains. Filling up goes to "
    f"a multiple of a power of two up to {LARGEST_PADDING_ROWS:,}, and adds a quarter of the "
    "rows at most",
)
def _rows_unused(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    rows, size = patient.n_rows, patient.tokenizer.vocab_size
    if rows is None or rows - size <= 0.02 * rows or _is_filled_up(size, rows):
        return
    yield Seen(
        what=f"{rows - size:,} of the model's {rows:,} rows belong to no token of the tokenizer",
        where=_where_rows(patient),
        value=rows - size,
        unit="rows",
        formula=f"{rows:,} - {size:,}",
        evidence={"vocab_size": size, "n_rows": rows},
    )


@known(
    id="padded-rows-generated",
    area=Area.MODEL,
    severity=Severity.INFO,
    name="the matrix is filled up: sampling can choose ids that have no token",
    symptom="once in a million tokens `UnknownTokenIdError`, or an empty piece of text",
    cause="the rows behind the vocabulary take part in the softmax; they are rarely exactly "
    "unlikely enough",
    remedy="add `tok.never_generated_bias(vocab_size=rows)` to the logits",
    needs=_MODEL,
)
def _padded_rows(patient: Patient) -> Iterator[Seen]:
    assert patient.tokenizer is not None
    rows, size = patient.n_rows, patient.tokenizer.vocab_size
    if rows is None or not rows - size > 0:
        return
    if rows - size > LARGEST_PADDING_ROWS or (
        rows - size > 0.02 * rows and not _is_filled_up(size, rows)
    ):
        return
    yield Seen(
        what=f"{rows - size:,} rows behind the vocabulary ({size:,} tokens, {rows:,} rows)",
        where=_where_rows(patient),
        value=rows - size,
        unit="rows",
        formula=f"{rows:,} - {size:,}",
    )


@known(
    id="config-vocab-size-wrong",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="config.json has another vocabulary size than the weights",
    symptom="`size mismatch for model.embed_tokens.weight` at loading; with "
    "ignore_mismatched_sizes the embeddings are random and the model writes nonsense",
    cause="the vocabulary was resized and config.json was not saved with it, or the other way "
    "round",
    remedy="set `vocab_size` in config.json to the rows of the matrix; never use "
    "ignore_mismatched_sizes to get past it",
    needs=(EvidenceKind.MODEL, EvidenceKind.WEIGHTS),
)
def _config_size(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    assert patient.model.weights.embedding is not None
    configuration, tensor = patient.model.configuration, patient.model.weights.embedding
    stated = None if configuration is None else configuration.vocab_size
    if stated is not None and stated != tensor.shape[0]:
        yield Seen(
            what=f"config.json says vocab_size {stated:,}, {tensor.name} has {tensor.shape[0]:,} "
            "rows",
            where="config.json",
            value=tensor.shape[0] - stated,
            unit="rows",
            formula=f"{tensor.shape[0]:,} - {stated:,}",
        )


@known(
    id="head-rows-differ",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="input and output matrix have different numbers of rows",
    symptom="`size mismatch for lm_head.weight`, or new tokens are never generated",
    cause="only one of the two matrices was resized when tokens were added",
    remedy="resize both (`resize_token_embeddings` does); with a LoRA adapter, save both: "
    '`modules_to_save=["embed_tokens", "lm_head"]`',
    needs=(EvidenceKind.MODEL, EvidenceKind.WEIGHTS),
)
def _head_rows(patient: Patient) -> Iterator[Seen]:
    embedding, head = _matrices(patient)
    if embedding is not None and head is not None and embedding.shape[0] != head.shape[0]:
        yield Seen(
            what=f"{embedding.name} has {embedding.shape[0]:,} rows, {head.name} {head.shape[0]:,}",
            where=head.name,
            value=head.shape[0] - embedding.shape[0],
            unit="rows",
            formula=f"{head.shape[0]:,} - {embedding.shape[0]:,}",
        )


def _matrices(patient: Patient) -> tuple[Tensor | None, Tensor | None]:
    assert patient.model is not None
    return patient.model.weights.embedding, patient.model.weights.head


def _ties(patient: Patient) -> bool | None:
    assert patient.model is not None
    configuration = patient.model.configuration
    return None if configuration is None else configuration.ties_embeddings


@known(
    id="head-missing",
    area=Area.MODEL,
    severity=Severity.ERROR,
    name="the model has no output matrix, and does not share the input's",
    symptom="`Some weights were not initialized ... lm_head.weight`, and then nonsense: every "
    "token is equally likely",
    cause="the weights were saved with shared (tied) matrices, and config.json says that they are "
    "not shared, so a random one is made",
    remedy='set `"tie_word_embeddings": true` in config.json if the base model shares them; else '
    "save the weights again with lm_head",
    needs=(EvidenceKind.MODEL, EvidenceKind.WEIGHTS),
    source="transformers 5.23.0, modeling_utils.py (tie_weights)",
)
def _head_missing(patient: Patient) -> Iterator[Seen]:
    assert patient.model is not None
    configuration = patient.model.configuration
    if configuration is None or not patient.model.weights.is_complete:
        return
    writes = (configuration.architecture or "").endswith(("ForCausalLM", "LMHeadModel"))
    embedding, head = _matrices(patient)
    if writes and embedding is not None and head is None and _ties(patient) is False:
        stated = "tie_word_embeddings" in {**configuration.values, **configuration.text}
        yield Seen(
            what="there is no lm_head in the weights, and "
            + (
                "config.json says tie_word_embeddings: false"
                if stated
                else f"models of the type {configuration.model_type} do not share matrices unless "
                "config.json says so"
            ),
            where="config.json",
            value=0,
            unit="output matrices",
        )


@known(
    id="tied-head-differs",
    area=Area.MODEL,
    severity=Severity.WARNING,
    name="config.json says that the matrices are shared, and they are not the same",
    symptom="quality differs between versions of transformers, or between engines",
    cause="both matrices are in the weights with different values. transformers 5 notices and "
    "keeps both; transformers 4 and several engines throw the output matrix away",
    remedy='set `"tie_word_embeddings": false`, if the output matrix was trained; if it is a '
    "leftover, delete it from the weights",
    needs=(EvidenceKind.MODEL, EvidenceKind.WEIGHTS),
    source="transformers 5.23.0, modeling_utils.py (tie_weights)",
)
def _tied_differs(patient: Patient) -> Iterator[Seen]:
    embedding, head = _matrices(patient)
    if _ties(patient) is not True or embedding is None or head is None:
        return
    n_different, n_compared = _n_different_rows(embedding, head)
    if n_different:
        yield Seen(
            what=f"tie_word_embeddings is true, and {n_different:,} of {n_compared:,} rows of "
            f"{head.name} that were compared are not those of {embedding.name}",
            where=head.name,
            value=n_different,
            unit="rows",
            basis=Basis.EXACT if n_compared >= head.shape[0] else Basis.ESTIMATED,
        )


_MAX_COMPARED_ROWS = 4096


def _n_different_rows(a: Tensor, b: Tensor) -> tuple[int, int]:
    """Rows that differ, and rows that were compared: evenly spaced ones where there are many."""
    if a.shape != b.shape:
        return max(a.shape[0], b.shape[0]), max(a.shape[0], b.shape[0])
    if not (can_read_rows(a) and can_read_rows(b)):
        return 0, 0
    rows = range(0, a.shape[0], max(1, a.shape[0] // _MAX_COMPARED_ROWS))
    n = 0
    for start in range(0, len(rows), 256):
        some = rows[start : start + 256]
        n += int((read_rows(a, some) != read_rows(b, some)).any(axis=1).sum())
    return n, len(rows)
