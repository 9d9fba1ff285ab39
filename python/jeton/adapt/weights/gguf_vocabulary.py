"""Vocabulary in the metadata of a GGUF file: tokens, scores, kinds, merges and special ids."""

from __future__ import annotations

import re

import numpy as np

from jeton._core import Tokenizer
from jeton.adapt.change import VocabularyChange
from jeton.adapt.written import WrittenTokenizer
from jeton.checkpoint.gguf_file import (
    GgufFile,
    Value,
    array_value,
    number_value,
    texts_value,
)
from jeton.errors import AdaptError

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
