"""A change of vocabulary applied to a GGUF file: rows of quantised blocks are gathered as bytes.

Blocks never cross a row, so that rows which survive are exact in every type; only new rows are
quantised. The vocabulary in the metadata follows, and the name of the pre-tokenizer stays.
"""

from __future__ import annotations

import math
import os
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import numpy as np
from numpy.typing import NDArray

from jeton._core import Tokenizer
from jeton._files import written_whole
from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.matrices import OpenFiles, Values, rows_at_once
from jeton.adapt.weights.methods import (
    DEFAULT_METHOD,
    METHODS,
    Recipe,
    Recipes,
    TableFacts,
    made_rows,
    recipes_of,
)
from jeton.adapt.weights.tensor_plans import NEW, RowMap, padded_map
from jeton.adapt.weights.tokenizers import change_of_sides, read_sides
from jeton.adapt.written import WrittenTokenizer
from jeton.checkpoint.copying import BLOCK_BYTES, copy_range, read_exactly
from jeton.checkpoint.ggml_blocks import CAN_ENCODE, from_blocks, to_blocks
from jeton.checkpoint.gguf_file import (
    GgufFile,
    StoredTensor,
    Value,
    array_value,
    header_bytes,
    number_value,
    read_gguf_file,
    row_bytes,
    texts_value,
)
from jeton.checkpoint.safetensors import Tensor
from jeton.errors import AdaptError, UsageError

# Vocabulary in the metadata of a GGUF file: tokens, scores, kinds, merges and special ids.

_TOKENS, _MERGES = "tokenizer.ggml.tokens", "tokenizer.ggml.merges"
_SCORES, _KINDS = "tokenizer.ggml.scores", "tokenizer.ggml.token_type"
_ID = re.compile(r"tokenizer\.ggml\.\w+_token_id")
_NORMAL, _CONTROL, _UNUSED = 1, 3, 5
"""Kinds of tokens, of llama.h."""


def follow_vocabulary(
    file: GgufFile, change: VocabularyChange, new: Tokenizer, n_rows: int
) -> dict[str, Value]:
    """Returns all keys of the new file: the vocabulary has an entry for each row.

    Raises:
        AdaptError: A special id is gone, or the file has no vocabulary.
    """
    values = dict(file.values)
    tokens = values.get(_TOKENS)
    if tokens is None:
        raise AdaptError(f"{file.path} has no tokens\nhint: name the first of its files")
    old_tokens = tokens.texts()
    # Entries behind the ids of the tokenizer stand for padded rows.
    texts = [b"[PAD%d]" % row for row in range(n_rows)]
    kinds = [_UNUSED] * n_rows
    old_kinds = values[_KINDS].numbers() if _KINDS in values else [_NORMAL] * len(old_tokens)
    for id, old in enumerate(change.old_of.tolist()):
        if 0 <= old < len(old_tokens):
            texts[id], kinds[id] = old_tokens[old], int(old_kinds[old])
    special = set(new.special_tokens.values())
    model = values.get("tokenizer.ggml.model")
    is_bert = model is not None and model.text == "bert"
    for id in change.added_ids.tolist():
        text = new.id_to_token(id) or f"[PAD{id}]"
        if is_bert:
            # The converter marks the beginning of words instead of what follows.
            text = text[2:] if text.startswith("##") else f"\u2581{text}"
        texts[id] = text.encode("utf-8")
        kinds[id] = _CONTROL if id in special else _NORMAL
    values[_TOKENS] = texts_value(texts)
    if _KINDS in values:
        values[_KINDS] = array_value(values[_KINDS], kinds)
    if _SCORES in values:
        values[_SCORES] = array_value(values[_SCORES], _scores(values[_SCORES], change, n_rows))
    if _MERGES in values:
        values[_MERGES] = texts_value(_merges(values[_MERGES], change, new))
    for key, value in values.items():
        number = value.number
        if _ID.fullmatch(key) and number is not None and 0 <= number < change.n_old_ids:
            moved = int(change.new_of[number])
            if moved < 0:
                raise AdaptError(
                    f"{file.path}: {key} is {number}, and the new vocabulary does not have that "
                    "token\nhint: keep it in the vocabulary"
                )
            values[key] = number_value(value, moved)
    size = f"{file.architecture}.vocab_size"
    if size in values and values[size].number is not None:
        values[size] = number_value(values[size], n_rows)
    return values


def _scores(value: Value, change: VocabularyChange, n_rows: int) -> list[float]:
    """Scores by row; an added piece comes after all old ones, so that it wins nothing unasked."""
    old = np.array(value.numbers())
    least = float(old.min()) if len(old) else 0.0
    scores = np.zeros(n_rows)
    kept = change.kept
    scores[kept] = old[change.old_of[kept]]
    scores[change.added_ids] = least - 1.0 - np.arange(len(change.added_ids))
    return [float(score) for score in scores]


def _merges(value: Value, change: VocabularyChange, new: Tokenizer) -> list[bytes]:
    """The merges of the new tokenizer, written by its tokens."""
    pairs = WrittenTokenizer(new).merges
    if pairs is None:
        if len(change.added_ids) or len(change.gone):
            raise AdaptError(
                "the new tokenizer has ranks and no merges\nhint: save it as tokenizer.json"
            )
        return value.texts()
    return [
        f"{new.id_to_token(left)} {new.id_to_token(right)}".encode() for left, right, *_ in pairs
    ]


_INPUT = ("token_embd.weight", "per_layer_token_embd.weight", "nextn.embed_tokens.weight")
_HEAD = ("output.weight", "nextn.shared_head_head.weight")


@dataclass(frozen=True)
class GgufApplied:
    """Result of an application to one file.

    Attributes:
        output: The new file; None where the plan was only made.
        n_old_rows: Rows of the embeddings before.
        n_new_rows: Rows after.
        tables: Names of the tensors whose rows follow, with their types.
    """

    output: Path | None
    n_old_rows: int
    n_new_rows: int
    tables: Mapping[str, str]


def apply_gguf(
    model: str | os.PathLike[str],
    tokenizer: str | os.PathLike[str],
    *,
    output: str | os.PathLike[str] | None = None,
    init: str = DEFAULT_METHOD,
    pad_to: int | None = None,
    seed: int = 0,
) -> GgufApplied:
    """Give a GGUF file the vocabulary of another tokenizer.

    Args:
        model: The file.
        tokenizer: The folder, or file, of the new tokenizer.
        output: The file to write; None only plans.
        init: How rows of added tokens are made; those that need a donor are not offered here.
        pad_to: Multiple that the rows of each table become.
        seed: Seed of ``"random"``.

    Raises:
        AdaptError: The change cannot be applied to this file.
        FormatError: The file is damaged.
        UsageError: Arguments contradict one another.
        OSError: A file cannot be read or written.
    """
    if init not in METHODS or METHODS[init].recipes is None:
        raise UsageError(f"initialisation {init!r} of a GGUF file\nhint: 'mean' or 'asymmetric'")
    sides = read_sides(Path(model), Path(tokenizer), is_file=True)
    change = change_of_sides(sides, by_bytes=True)
    file = read_gguf_file(model)
    if change.is_identity and pad_to is None:
        return _copied(file, output, change)
    with OpenFiles() as files:
        plans = _plans(file, change, recipes_of(init, change, seed=seed), files, pad_to)
        main = next(plan.rows for plan in plans if plan.tensor.name == "token_embd.weight")
        assert main is not None
        values = follow_vocabulary(file, change, sides.new, main.n_new_rows)
        if output is not None:
            _refuse_same(Path(output), Path(model))
            with written_whole(output) as out:
                _write(file, values, plans, files, out, change)
    tables = {p.tensor.name: p.tensor.type_name for p in plans if p.rows is not None}
    return GgufApplied(
        None if output is None else Path(output), main.n_old_rows, main.n_new_rows, tables
    )


def _copied(
    file: GgufFile, output: str | os.PathLike[str] | None, change: VocabularyChange
) -> GgufApplied:
    if output is not None:
        _refuse_same(Path(output), file.path)
        with written_whole(output) as out, file.path.open("rb") as source:
            while block := source.read(BLOCK_BYTES):
                out.write(block)
    n = file.tensors["token_embd.weight"].shape[0] if file.tensors else change.n_old_ids
    return GgufApplied(None if output is None else Path(output), n, n, {})


def _refuse_same(output: Path, model: Path) -> None:
    if os.path.realpath(output) == os.path.realpath(model):
        raise UsageError(f"the output {output} is the model itself\nhint: name another file")


def is_table(name: str) -> bool:
    """True if a tensor of this name has a row for each token."""
    is_block = name.startswith("blk.") and ".nextn." not in name
    return not is_block and name.endswith((*_INPUT, *_HEAD))


class BlockMatrix:
    """Rows of a GGUF tensor as values."""

    def __init__(self, file: GgufFile, tensor: StoredTensor) -> None:
        self.tensor = tensor
        self.n_rows, self.n_columns = (
            tensor.shape
            if len(tensor.shape) == 2
            else (
                tensor.shape[0],
                1,
            )
        )
        self.row_bytes = tensor.n_bytes // self.n_rows if self.n_rows else 0
        self._path = file.path
        self.tensors: tuple[Tensor, ...] = ()

    def read(self, files: OpenFiles, rows: NDArray[np.int64]) -> Values:
        """Returns the values of some rows."""
        return from_blocks(self.tensor.type_name, self.take(files, rows), self.n_columns)

    def take(self, files: OpenFiles, rows: NDArray[np.int64]) -> bytes:
        """Returns the bytes of some rows."""
        starts = np.flatnonzero(np.diff(rows, prepend=-9) != 1)
        ends = np.append(starts[1:], len(rows))
        places = (self.tensor.offset + rows[starts] * self.row_bytes).tolist()
        sizes = ((ends - starts) * self.row_bytes).tolist()
        stream = files[self._path]
        pairs = zip(places, sizes, strict=True)
        return b"".join(read_exactly(stream, place, size) for place, size in pairs)

    def stored(self, values: Values, part: int, first_row: int) -> bytes:
        """Returns the bytes of new rows."""
        del part, first_row
        return to_blocks(self.tensor.type_name, values)


@dataclass(frozen=True, eq=False)
class _Plan:
    tensor: StoredTensor
    rows: RowMap | None = None
    matrix: BlockMatrix | None = None
    recipe: Recipe | None = None
    salt: int = 0

    @property
    def shape(self) -> tuple[int, ...]:
        if self.rows is None:
            return self.tensor.shape
        return (self.rows.n_new_rows, *self.tensor.shape[1:])

    @property
    def n_bytes(self) -> int:
        columns = self.shape[-1] if self.shape else 1
        return row_bytes(self.tensor.kind, columns) * math.prod(self.shape[:-1])


def _plans(
    file: GgufFile,
    change: VocabularyChange,
    recipes: Recipes,
    files: OpenFiles,
    pad_to: int | None,
) -> list[_Plan]:
    embeddings = file.tensors.get("token_embd.weight")
    if embeddings is None or len(embeddings.shape) != 2:
        raise AdaptError(f"{file.path} has no token_embd.weight\nhint: name the first of its files")
    head = file.tensors.get("output.weight")
    is_one_table = head is None or _are_equal(file, head, embeddings, files)
    plans = []
    for tensor in file.tensors.values():
        is_head = tensor.name.endswith(_HEAD)
        if not is_table(tensor.name):
            if embeddings.shape[0] in tensor.shape and len(tensor.shape) <= 2:
                raise AdaptError(
                    f"{tensor.name!r} {list(tensor.shape)} in {file.path}: an axis as long as the "
                    "vocabulary, and no known name\nhint: convert the model again after the change"
                )
            plans.append(_Plan(tensor))
            continue
        rows = padded_map(change, tensor.shape[0], label=repr(tensor.name), pad_to=pad_to)
        if (rows.n_added or rows.n_filled) and tensor.type_name not in CAN_ENCODE:
            raise AdaptError(
                f"{tensor.name!r} in {file.path} is {tensor.type_name}, in which no new rows can "
                "be written\nhint: quantise it with --token-embedding-type q8_0 "
                "--output-tensor-type q8_0"
            )
        is_tied = is_head and _are_equal(file, tensor, embeddings, files)
        is_per_layer = tensor.name.startswith("per_layer_")
        if is_tied or (is_one_table and not is_head and not is_per_layer):
            recipe = recipes.both
        else:
            recipe = recipes.head if is_head else recipes.input
        plans.append(_Plan(tensor, rows, BlockMatrix(file, tensor), recipe, int(is_head)))
    return plans


def _are_equal(file: GgufFile, one: StoredTensor, other: StoredTensor, files: OpenFiles) -> bool:
    if (one.kind, one.shape) != (other.kind, other.shape):
        return False
    stream = files[file.path]
    return all(
        read_exactly(stream, one.offset + at, n) == read_exactly(stream, other.offset + at, n)
        for at in range(0, one.n_bytes, BLOCK_BYTES)
        for n in (min(BLOCK_BYTES, one.n_bytes - at),)
    )


def _write(
    file: GgufFile,
    values: Mapping[str, Value],
    plans: Sequence[_Plan],
    files: OpenFiles,
    out: IO[bytes],
    change: VocabularyChange,
) -> None:
    infos, at = [], 0
    for plan in plans:
        infos.append((plan.tensor.name, plan.shape, plan.tensor.kind, at))
        at += plan.n_bytes + -plan.n_bytes % file.alignment
    out.write(header_bytes(values, infos, file.alignment))
    stream = files[file.path]
    for plan in plans:
        if plan.rows is None or plan.matrix is None:
            out.flush()
            copy_range(stream, plan.tensor.offset, out, plan.tensor.n_bytes)
        else:
            for block in _table(plan, files, change.n_old_ids):
                out.write(block)
        out.write(bytes(-plan.n_bytes % file.alignment))


def _table(plan: _Plan, files: OpenFiles, n_ids: int) -> Iterator[bytes]:
    """The bytes of a table in its new order."""
    assert plan.rows is not None
    assert plan.matrix is not None
    assert plan.recipe is not None
    rows, matrix, recipe = plan.rows, plan.matrix, plan.recipe
    found: list[TableFacts] = []

    def facts() -> TableFacts:
        if not found:
            found.append(TableFacts(matrix, files, n_ids))
        return found[0]

    step = rows_at_once(matrix.n_columns)
    for start in range(0, rows.n_new_rows, step):
        source = rows.source[start : start + step]
        written = np.empty((len(source), matrix.row_bytes), dtype=np.uint8)
        is_old = source >= 0
        kept = np.frombuffer(matrix.take(files, source[is_old]), dtype=np.uint8)
        written[is_old] = kept.reshape(-1, matrix.row_bytes)
        if not is_old.all():
            made = np.empty((int((~is_old).sum()), matrix.n_columns), dtype=np.float32)
            is_new = source[~is_old] == NEW
            if not is_new.all():
                made[~is_new] = facts().mean
            if is_new.any():
                tokens = rows.token_numbers(start + np.flatnonzero(source == NEW))
                made[is_new] = made_rows(matrix, files, recipe, facts, tokens, salt=plan.salt)
            stored = np.frombuffer(matrix.stored(made, 0, 0), dtype=np.uint8)
            written[~is_old] = stored.reshape(-1, matrix.row_bytes)
        yield written.tobytes()
