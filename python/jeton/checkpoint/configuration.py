"""config.json: what a model says about its vocabulary, its positions and its special tokens.

The names of the fields, and what a model class takes for granted where one is missing, are those of
transformers 5.23.0 (``models/*/configuration_*.py``, read 2026-11-21).
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cache
from pathlib import Path
from typing import Any, Literal

from jeton.formats.reading import read_object

_MAX_INTEGER = 1 << 40
"""Sizes above this are no sizes."""


class ModelKind(StrEnum):
    """Task of a model; it decides on which side padding belongs."""

    DECODER = "decoder"
    """Continues text (GPT, Llama): batches for generation are padded on the left."""
    ENCODER = "encoder"
    """Reads text (BERT): batches are padded on the right."""
    ENCODER_DECODER = "encoder-decoder"
    """Reads one text and writes another (T5): the encoder's batches are padded on the right."""
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class ModelConfiguration:
    """Contents of config.json.

    Attributes:
        values: The file as it is.
        text: Its part about text; that of a model with images or sound is nested.
        model_type: Name of the kind of model (``"llama"``); None where it is not told.
        architecture: The model class (``"LlamaForCausalLM"``); None where it is not told.
        kind: Decoder, encoder or both.
        vocab_size: Rows of the embedding matrix that a model class makes; None: not told.
        context_tokens: Most tokens that the positions allow, those that a model class keeps for
            padding taken off; None where it is not told, or there is no limit.
        positions: ``learned``: a table, beyond whose end is an error; ``rotary``: computed, beyond
            what was trained text quality falls; ``relative``: no limit.
        ties_embeddings: True if the output head is the embedding matrix; None: not known.
        token_ids: Ids by role (``bos``, ``eos``, ``pad``, ``decoder_start``), possibly several.
        type_vocab_size: Token types; None where there are none.
        transformers_version: The version that wrote it.
    """

    values: Mapping[str, Any]
    text: Mapping[str, Any]
    model_type: str | None
    architecture: str | None
    kind: ModelKind
    vocab_size: int | None
    context_tokens: int | None
    positions: Literal["learned", "rotary", "relative", "unknown"]
    ties_embeddings: bool | None
    token_ids: Mapping[str, tuple[int, ...]]
    type_vocab_size: int | None
    transformers_version: str | None


def read_configuration(file: str | Path) -> ModelConfiguration | None:
    """Read a config.json; None where there is none.

    Raises:
        FormatError: It is damaged.
        OSError: It cannot be read.
    """
    values = read_object(Path(file))
    return None if values is None else configuration_of(values)


def configuration_of(values: Mapping[str, Any]) -> ModelConfiguration:
    """Read the fields; fields that make no sense count as missing."""
    text = values
    for name in ("text_config", "llm_config", "language_config"):
        nested = values.get(name)
        if isinstance(nested, Mapping) and nested:
            text = nested
            break
    model_type = _text(text.get("model_type")) or _text(values.get("model_type"))
    architectures = values.get("architectures")
    architecture = None
    if isinstance(architectures, list) and architectures:
        architecture = _text(architectures[0])
    both = {**values, **text}
    roles = ("bos", "eos", "pad", "decoder_start", "unk", "sep", "cls", "mask")
    token_ids = {role: token_ids_of(both.get(f"{role}_token_id")) for role in roles}
    return ModelConfiguration(
        values=values,
        text=text,
        model_type=model_type,
        architecture=architecture,
        kind=_kind(both, model_type, architecture),
        vocab_size=_size(text.get("vocab_size")) or _size(values.get("vocab_size")),
        context_tokens=_context(text, model_type),
        positions=_positions(text, model_type),
        ties_embeddings=_ties(values, text, model_type),
        token_ids={role: ids for role, ids in token_ids.items() if ids},
        type_vocab_size=_size(text.get("type_vocab_size")),
        transformers_version=_text(values.get("transformers_version")),
    )


def token_ids_of(value: object) -> tuple[int, ...]:
    """The ids of a field that holds one, a list, or nothing. Negative ones are kept."""
    listed = value if isinstance(value, list) else [value]
    return tuple(v for v in listed if isinstance(v, int) and not isinstance(v, bool))


def _text(value: object) -> str | None:
    return value if isinstance(value, str) and value else None


def _size(value: object) -> int | None:
    if isinstance(value, bool) or not isinstance(value, int) or not 0 < value < _MAX_INTEGER:
        return None
    return value


@cache
def _types(what: str) -> frozenset[str]:
    """Kinds of models that have something in common, from ``model_types.json`` beside this file."""
    table = json.loads(Path(__file__).with_name("model_types.json").read_text(encoding="utf-8"))
    return frozenset(table[what])


def _kind(values: Mapping[str, Any], model_type: str | None, architecture: str | None) -> ModelKind:
    if values.get("is_encoder_decoder") is True or model_type in _types("encoder_decoders"):
        return ModelKind.ENCODER_DECODER
    if values.get("is_decoder") is True:
        return ModelKind.DECODER
    if model_type in _types("encoders"):
        return ModelKind.ENCODER
    if architecture is not None:
        if architecture.endswith(("ForCausalLM", "LMHeadModel")):
            return ModelKind.DECODER
        if architecture.endswith(("ForMaskedLM", "ForPreTraining")):
            return ModelKind.ENCODER
    return ModelKind.DECODER if model_type in _types("decoders") else ModelKind.UNKNOWN


def _ties(
    values: Mapping[str, Any], text: Mapping[str, Any], model_type: str | None
) -> bool | None:
    for source in (text, values):
        stated = source.get("tie_word_embeddings")
        if isinstance(stated, bool):
            # T5's field says whether outputs are scaled; its embeddings are always shared.
            return True if model_type == "t5" else stated
    if model_type in _types("tied_by_default"):
        return True
    return False if model_type in _types("untied_by_default") else None


_DEFAULT_PAD_OF_SHIFTED = 1
"""`pad_token_id` of these models unless config.json says another."""


def _positions(
    text: Mapping[str, Any], model_type: str | None
) -> Literal["learned", "rotary", "relative", "unknown"]:
    if model_type in _types("relative_positions"):
        return "relative"
    if model_type in _types("learned_positions"):
        return "learned"
    if any(name in text for name in ("rope_theta", "rope_scaling", "rope_parameters")):
        return "rotary"
    return "rotary" if model_type in _types("decoders") else "unknown"


_CONTEXT_FIELDS = ("max_position_embeddings", "n_positions", "n_ctx", "max_sequence_length")


def _context(text: Mapping[str, Any], model_type: str | None) -> int | None:
    if model_type in _types("relative_positions"):
        return None
    stated = next((size for name in _CONTEXT_FIELDS if (size := _size(text.get(name)))), None)
    if stated is None:
        return None
    if model_type in _types("shifted_positions"):
        pad = token_ids_of(text.get("pad_token_id"))
        shift = (pad[0] if pad and pad[0] >= 0 else _DEFAULT_PAD_OF_SHIFTED) + 1
        return max(stated - shift, 1)
    for name in ("rope_scaling", "rope_parameters"):
        scaling = text.get(name)
        if not isinstance(scaling, Mapping):
            continue
        original = _size(scaling.get("original_max_position_embeddings"))
        factor = scaling.get("factor")
        if original and isinstance(factor, int | float) and 1 <= factor < 1e6:
            # Some state the length before scaling (Qwen2.5's YaRN), some the one after it.
            stated = max(stated, int(original * factor))
    return stated
