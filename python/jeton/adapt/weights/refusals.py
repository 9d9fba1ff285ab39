"""Changes and models that are refused before a row moves: their files contradict one another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from jeton.adapt.change import VocabularyChange
from jeton.adapt.weights.settings import SIZE_FIELDS
from jeton.adapt.weights.tensor_plans import WeightPlan
from jeton.checkpoint.belonging import (
    bad_sizes,
    fields_without_ids,
    ids_without_rows,
    short_tables,
    vocabulary_tables,
)
from jeton.checkpoint.configuration import ModelConfiguration
from jeton.checkpoint.snapshot import WeightGroup
from jeton.checkpoint.vocabulary_tensors import counts_positions_from_pad, family_of_type
from jeton.errors import AdaptError


def refuse_change(configuration: ModelConfiguration | None, change: VocabularyChange) -> None:
    """Raises where the change gives ids another meaning to the model than text.

    Raises:
        AdaptError: Added ids would be pictures or sound, or the pad id moves that counts.
    """
    if configuration is not None:
        _refuse_soft_tokens(configuration.values, change)
        _refuse_moved_padding(configuration, change)


def refuse_model(
    model: Path, configuration: ModelConfiguration | None, weights: WeightPlan
) -> None:
    """Raises where the settings of a model contradict its tensors.

    Raises:
        AdaptError: A size is not that of the tables, or an id has no row.
    """
    _refuse_sizes(configuration, weights, model)
    for name, words, value in fields_without_ids(model):
        raise AdaptError(
            f"{model / name}: {words} is {value!r:.60}; expected an id, a list of ids or null\n"
            "hint: correct the setting first"
        )
    if not weights.input_rows:
        return
    limit = max(weights.input_rows)
    for name, place in ids_without_rows(model, limit):
        # A new token would take such an id, and with it the role.
        raise AdaptError(
            f"{model / name}: {place.words} is {place.id:,}, and the model has {limit:,} rows\n"
            "hint: correct the setting first; `jeton adapt verify` lists all such ids"
        )


def refuse_short_copies(
    model: Path,
    groups: Sequence[WeightGroup],
    as_is: frozenset[str],
    configuration: ModelConfiguration | None,
    n_ids: int,
) -> None:
    """Raises where a table that is copied as it is lacks rows for the new ids.

    Raises:
        AdaptError: A known table of the vocabulary is too short.
    """
    model_type = None if configuration is None else configuration.model_type
    tables = vocabulary_tables(groups, model_type=model_type)
    copied = [table for table in tables if table[0].name in as_is]
    for tensor, n_rows in short_tables(copied, n_ids, model_type=model_type):
        raise AdaptError(
            f"{tensor.name} of {model} has {n_rows:,} rows, and the new tokenizer has ids up to "
            f"{n_ids - 1:,}: it cannot stay as it is\n"
            "hint: let it follow; tensors that have nothing to do with the vocabulary may stay"
        )


def _refuse_soft_tokens(configuration: Mapping[str, Any], change: VocabularyChange) -> None:
    """Raises where ids of added text would be taken for pictures or sound (Gemma-3n)."""
    for part in ("vision_config", "audio_config"):
        nested = configuration.get(part)
        offset = nested.get("vocab_offset") if isinstance(nested, Mapping) else None
        if not isinstance(offset, int) or not len(change.added_ids):
            continue
        last = int(change.added_ids[-1])
        if last >= offset:
            raise AdaptError(
                f"added id {last:,} lies at or behind {part}.vocab_offset {offset:,} of config.json"
                ", from which on the model reads ids as no text\n"
                "hint: put added tokens on unused ids below it"
            )


def _refuse_moved_padding(configuration: ModelConfiguration, change: VocabularyChange) -> None:
    """Raises where positions are counted from the pad id on, and the pad id moves (RoBERTa)."""
    if not counts_positions_from_pad(configuration.model_type):
        return
    stated = configuration.values.get("pad_token_id")
    old = stated if type(stated) is int else 1
    if not 0 <= old < change.n_old_ids or change.new_of[old] == old:
        return
    new = int(change.new_of[old])
    fate = f"becomes {new}" if new >= 0 else "is gone"
    raise AdaptError(
        f"the pad id {old} {fate}, and a model of the type "
        f"{configuration.model_type!r} counts positions from the pad id on, so every text would "
        "get other rows of its positions\n"
        f"hint: make a tokenizer in which the pad token keeps the id {old}"
    )


def _refuse_sizes(
    configuration: ModelConfiguration | None, weights: WeightPlan, model: Path
) -> None:
    """Raises where config.json and the tensors state different numbers of rows."""
    for value in () if configuration is None else bad_sizes(configuration):
        raise AdaptError(
            f"{model / 'config.json'} states vocab_size {value!r:.60}; expected a number of rows\n"
            "hint: fetch or copy it again"
        )
    if configuration is None or configuration.vocab_size is None or not weights.input_rows:
        return
    family = family_of_type(configuration.model_type)
    extra = 0 if family is None else family.extra_input_rows
    known = {*weights.input_rows, *(n - extra for n in weights.input_rows)}
    stated = {
        value
        for part in (configuration.values, configuration.text)
        for name in SIZE_FIELDS
        if isinstance(value := part.get(name), int)
    }
    if not known & stated:
        rows = ", ".join(f"{n:,}" for n in sorted(weights.input_rows))
        raise AdaptError(
            f"{model / 'config.json'} states vocab_size {configuration.vocab_size:,} and the "
            f"embeddings have {rows} rows\nhint: the two are of different models; fetch both again"
        )
