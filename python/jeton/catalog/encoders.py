"""Shapes of models that read a text whole: encoders, and those that write another text.

Read from transformers 5.24.0 (``models/*/modeling_*.py``, 2026-11-29). Each class of model is a row
of `ENCODERS`; its parameters are compared with the class itself (tests/catalog/test_encoders.py).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, Final, Literal

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers import BidirectionalAttention, CrossAttention, DenseMlp, Layer, Part

_BERT_HEADS: Final = {
    "": "pooler",
    "ForMaskedLM": "dense norm bias",
    "LMHeadModel": "dense norm bias",
    "ForPreTraining": "pooler dense norm bias two",
    "ForNextSentencePrediction": "pooler two",
    "ForSequenceClassification": "pooler labels",
    "ForMultipleChoice": "pooler one",
    "ForTokenClassification": "labels",
    "ForQuestionAnswering": "labels",
}
_ROBERTA_HEADS: Final = {
    **_BERT_HEADS,
    "ForCausalLM": "dense norm bias",
    "ForSequenceClassification": "dense labels",
}


@dataclass(frozen=True, slots=True)
class EncoderClass:
    """A class of models that read a text whole.

    Attributes:
        heads: Tensors after the last layer, by the end of the architecture's name (``""``: none).
        n_types: Rows of the table of token types where the configuration does not say; 0: none.
        positions: Positions of a text: a learned table (or one of sines that is kept like it),
            distances, or rotations.
        extra_positions: Rows of that table beyond the positions.
        embedding_norms: Norms behind the tables.
        n_biases: Biases of queries, keys and values.
        output_bias: True if the output of attention has a bias.
        mlp: Bias and gate of an MLP.
        norm: Layer norm with a bias, without one, or none.
        n_norms: Norms of a layer that reads.
        final_norm: True if a norm follows the last layer.
        writes: True if layers that write another text follow.
        tied: True if the output head is the input table by default.
        special: Class with tensors of its own.
    """

    heads: Mapping[str, str] = field(default_factory=dict)
    n_types: int = 0
    positions: Literal["learned", "relative", "rotary"] = "learned"
    extra_positions: int = 0
    embedding_norms: int = 1
    n_biases: int = 3
    output_bias: bool = True
    mlp: Literal["plain", "biased", "gated"] = "biased"
    norm: Literal["biased", "plain"] = "biased"
    n_norms: int = 2
    final_norm: bool = False
    writes: bool = False
    tied: bool = True
    special: str = ""


_BERT = EncoderClass(_BERT_HEADS, n_types=2)
_ROBERTA = EncoderClass(_ROBERTA_HEADS, n_types=2)
_BART = EncoderClass(extra_positions=2, writes=True)
_T5 = EncoderClass(
    positions="relative",
    embedding_norms=0,
    n_biases=0,
    output_bias=False,
    mlp="plain",
    norm="plain",
    final_norm=True,
    writes=True,
    special="t5",
)
ENCODERS: Final[dict[str, EncoderClass]] = {
    "bert": _BERT,
    "roberta": _ROBERTA,
    "xlm-roberta": _ROBERTA,
    "camembert": _ROBERTA,
    "longformer": replace(_ROBERTA, special="longformer"),
    "big_bird": replace(
        _BERT,
        heads={
            **_BERT_HEADS,
            "ForMaskedLM": "pooler dense norm bias",
            "ForSequenceClassification": "pooler dense labels",
            "ForTokenClassification": "pooler labels",
        },
        special="big_bird",
    ),
    "albert": EncoderClass(
        {
            "": "pooler",
            "ForMaskedLM": "narrow narrow-norm bias",
            "ForPreTraining": "pooler narrow narrow-norm bias two",
            "ForSequenceClassification": "pooler labels",
            "ForTokenClassification": "labels",
            "ForQuestionAnswering": "labels",
        },
        n_types=2,
        special="albert",
    ),
    "electra": EncoderClass(
        {
            "ForMaskedLM": "narrow narrow-norm bias",
            "ForPreTraining": "dense one",
            "ForSequenceClassification": "dense labels",
            "ForTokenClassification": "labels",
            "ForQuestionAnswering": "labels",
        },
        n_types=2,
        special="electra",
    ),
    "distilbert": EncoderClass(
        {
            "ForMaskedLM": "dense norm bias",
            "ForSequenceClassification": "dense labels",
            "ForTokenClassification": "labels",
            "ForQuestionAnswering": "labels",
        },
    ),
    "deberta": EncoderClass(
        {"ForMaskedLM": "dense norm bias", "ForSequenceClassification": "dense labels"},
        n_biases=2,
        special="deberta",
    ),
    "deberta-v2": EncoderClass(
        {
            "ForMaskedLM": "dense norm bias",
            "ForSequenceClassification": "dense labels",
            "ForTokenClassification": "labels",
            "ForQuestionAnswering": "labels",
        },
        special="deberta-v2",
    ),
    "modernbert": EncoderClass(
        {
            "ForMaskedLM": "matrix thin-norm bias",
            "ForSequenceClassification": "matrix thin-norm labels",
            "ForTokenClassification": "matrix thin-norm labels",
        },
        positions="rotary",
        n_biases=0,
        output_bias=False,
        mlp="gated",
        norm="plain",
        final_norm=True,
        special="modernbert",
    ),
    "mpnet": replace(_ROBERTA, n_types=0, special="mpnet"),
    "t5": _T5,
    "mt5": replace(_T5, tied=False),
    "umt5": replace(_T5, tied=False, special="umt5"),
    "bart": _BART,
    "mbart": replace(_BART, final_norm=True),
    "plbart": _BART,
    "pegasus": EncoderClass(embedding_norms=0, final_norm=True, writes=True),
    "marian": EncoderClass(embedding_norms=0, writes=True),
    "m2m_100": EncoderClass(embedding_norms=0, final_norm=True, writes=True, positions="rotary"),
    "whisper": EncoderClass(
        embedding_norms=0, n_biases=2, final_norm=True, writes=True, special="whisper"
    ),
    "canine": EncoderClass(
        {
            "": "pooler",
            "ForSequenceClassification": "pooler labels",
            "ForTokenClassification": "pooler labels",
            "ForQuestionAnswering": "pooler labels",
        },
        n_types=16,
        special="canine",
    ),
}
"""Classes by ``model_type``. ByT5 is a T5, NLLB an M2M-100, BioBERT and LegalBERT are BERTs."""

_D: Final = ("hidden_size", "d_model", "dim")
_MAX_LAYERS: Final = 4096


def encoder_shape(config: Mapping[str, Any], fields: ConfigFields, kind: str) -> dict[str, Any]:
    """Return the fields of `ModelFacts` of a model that reads a text whole.

    Raises:
        ModelConfigError: A field is missing or no size, or the layers are refused.
    """
    family = ENCODERS[kind]
    d = fields.size(*_D)
    narrow = fields.size("embedding_size", default=d) if family.special in _NARROW else d
    architecture = _architecture(config)
    is_alone = family.writes and architecture == "EncoderModel"
    norm = 2 * d if family.norm == "biased" else d
    readers = _readers(fields, family, d, norm)
    writers = () if is_alone or not family.writes else _writers(fields, family, d, norm)
    sides = 1 + bool(writers)
    vocab = 0 if family.special == "canine" else fields.size("vocab_size")
    n_positions = fields.size("max_position_embeddings", "n_positions", default=0)
    positions = 0
    if (
        family.positions == "learned"
        and family.special not in ("whisper", "canine")
        and fields.flag("position_biased_input", default=True)  # DeBERTa
    ):
        positions = n_positions + family.extra_positions
    extra = _tables(fields, family, d, narrow, n_positions)
    extra += _head(family, architecture, fields, d=d, e=narrow, vocab=vocab)
    tied = fields.flag("tie_word_embeddings", default=family.tied)
    has_table = family.writes and not is_alone and architecture != ""
    return {
        "layers": (*readers, *writers),
        "extra_parts": tuple(part for part in extra if part.n_parameters),
        "vocab_size": vocab,
        "hidden_size": d,
        "embedding_size": narrow if narrow != d else 0,
        "context_tokens": _context(fields, family, n_positions),
        "position_table_tokens": positions * sides if narrow == d else 0,
        "final_norm": norm * sides * family.final_norm + 2 * narrow * sides * _norms(family),
        "tied_embeddings": tied or not has_table,
    }


_NARROW: Final = ("albert", "electra")


def _norms(family: EncoderClass) -> int:
    """Norms behind the tables, in pairs of weight and bias; ModernBERT's one is `_tables`' own."""
    return 0 if family.special == "modernbert" else family.embedding_norms


def _context(fields: ConfigFields, family: EncoderClass, n_positions: int) -> int:
    if family.special == "whisper":
        return fields.size("max_source_positions") + fields.size("max_target_positions")
    if family.positions == "relative":  # T5's distances have no limit; 512 is its training's.
        return n_positions or 512
    shift = 2 if family.heads is _ROBERTA_HEADS else 0
    return max(n_positions - shift, 1)


def _architecture(config: Mapping[str, Any]) -> str:
    """Return the end of the architecture's name that says its head; empty for the bare model."""
    listed = config.get("architectures")
    name = str(listed[0]) if isinstance(listed, list) and listed else ""
    if "EncoderModel" in name:
        return "EncoderModel"
    for mark in ("For", "LMHeadModel"):
        if mark in name:
            return name[name.index(mark) :]
    return "LMHeadModel" if name.endswith("MTModel") else ""


def _layer_count(fields: ConfigFields, *names: str) -> int:
    n = fields.size(*names)
    if n > _MAX_LAYERS:
        raise fields.error(names[0], f"is {n}, expected at most {_MAX_LAYERS:,}")
    return n


def _heads(fields: ConfigFields, d: int, *names: str) -> tuple[int, int]:
    """Return the heads and a head's elements."""
    n = fields.size(*names)
    size = fields.size("d_kv", default=0)
    if not size:
        if d % n:
            raise fields.error(names[0], f"is {n}, which does not divide the width of {d}")
        size = d // n
    return n, size


def _readers(fields: ConfigFields, family: EncoderClass, d: int, norm: int) -> tuple[Layer, ...]:
    n_layers = _layer_count(fields, "num_hidden_layers", "encoder_layers", "num_layers", "n_layers")
    n_heads, size = _heads(
        fields, d, "num_attention_heads", "encoder_attention_heads", "num_heads", "n_heads"
    )
    names = ("intermediate_size", "encoder_ffn_dim", "d_ff", "hidden_dim")
    mlp = _mlp(fields, family, fields.size(*names))
    attention = BidirectionalAttention(
        n_heads=n_heads,
        n_kv_heads=n_heads,
        head_size=size,
        value_size=size,
        n_biases=family.n_biases,
        output_bias=family.output_bias,
        extra=_beside_attention(fields, family, d),
    )
    found = []
    for place in range(n_layers):
        own = replace(attention, window=_window(fields, family, place, n_layers))
        n_norms = family.n_norms - (family.special == "modernbert" and place == 0)
        found.append(Layer((own,), mlp, n_norms * norm, extra=_distances(fields, family, place)))
    if family.special == "albert":
        return _shared(fields, found)
    if family.special == "canine":
        local = replace(attention, window=fields.size("local_transformer_stride", default=128))
        found = [Layer((local,), mlp, 2 * norm), *found, Layer((local,), mlp, 2 * norm)]
    return tuple(found)


def _shared(fields: ConfigFields, layers: list[Layer]) -> tuple[Layer, ...]:
    """Let the layers of a group share one set of tensors, which works in each of them."""
    groups = fields.size("num_hidden_groups", default=1)
    if not 0 < groups <= len(layers):
        raise fields.error("num_hidden_groups", f"is {groups} of {len(layers)} layers")
    if fields.size("inner_group_num", default=1) != 1:
        raise fields.error("inner_group_num", "is not 1: such groups are not known here")
    # Layer i uses the tensors of group floor(i / (L / G)), as transformers computes it.
    owners = [int(place / (len(layers) / groups)) for place in range(len(layers))]
    return tuple(
        replace(layer, uses=owners.count(owner) if owner not in owners[:place] else 0)
        for place, (layer, owner) in enumerate(zip(layers, owners, strict=True))
    )


def _writers(fields: ConfigFields, family: EncoderClass, d: int, norm: int) -> tuple[Layer, ...]:
    names = ("num_decoder_layers", "decoder_layers", "num_layers", "num_hidden_layers")
    n_layers = _layer_count(fields, *names)
    n_heads, size = _heads(fields, d, "decoder_attention_heads", "num_heads", "num_attention_heads")
    attention = CrossAttention(
        n_heads=n_heads,
        n_kv_heads=n_heads,
        head_size=size,
        value_size=size,
        n_biases=family.n_biases,
        output_bias=family.output_bias,
    )
    mlp = _mlp(fields, family, fields.size("decoder_ffn_dim", "d_ff", "intermediate_size"))
    return tuple(
        Layer((attention,), mlp, 3 * norm, extra=_distances(fields, family, place))
        for place in range(n_layers)
    )


def _mlp(fields: ConfigFields, family: EncoderClass, width: int) -> DenseMlp:
    is_gated = family.mlp == "gated"
    if family.special in ("t5", "umt5"):
        is_gated = str(fields.get("feed_forward_proj") or "relu").startswith("gated")
    return DenseMlp(width, is_gated=is_gated, has_bias=family.mlp == "biased")


def _window(fields: ConfigFields, family: EncoderClass, place: int, n_layers: int) -> int | None:
    if family.special == "modernbert":
        every = fields.size("global_attn_every_n_layers", default=3) or 1
        return None if place % every == 0 else fields.size("local_attention", default=128)
    if family.special == "longformer":
        listed = fields.get("attention_window")
        if isinstance(listed, list):
            if len(listed) != n_layers or not all(isinstance(one, int) for one in listed):
                raise fields.error("attention_window", f"has {len(listed)} of {n_layers} entries")
            return int(listed[place])
        return fields.size("attention_window", default=512)
    if family.special == "big_bird" and fields.get("attention_type") != "original_full":
        # Three blocks around, two at the ends, and the blocks drawn at random.
        block = fields.size("block_size", default=64)
        return block * (5 + fields.size("num_random_blocks", default=3))
    return None


def _distances(fields: ConfigFields, family: EncoderClass, place: int) -> tuple[Part, ...]:
    """Return T5's tables of distances, which its first layers hold (all of them in UMT5)."""
    if family.special not in ("t5", "umt5") or (place and family.special == "t5"):
        return ()
    buckets = fields.size("relative_attention_num_buckets", default=32)
    n_heads = fields.size("num_heads")
    return (Part("relative_attention_bias", "norms", buckets * n_heads, is_plain=True),)


def _beside_attention(fields: ConfigFields, family: EncoderClass, d: int) -> tuple[Part, ...]:
    if family.special == "longformer":
        return (
            Part("self_attn.global", "attention", 3 * d, d),
            Part("self_attn.global.vectors", "norms", 3 * d, is_plain=True),
        )
    if family.special == "deberta" and fields.flag("relative_attention", default=False):
        kinds = _relative_kinds(fields)
        return (
            Part("self_attn.pos_proj", "attention", d * ("c2p" in kinds), d),
            Part("self_attn.pos_q_proj", "attention", d * ("p2c" in kinds), d),
            Part("self_attn.pos_q_proj.bias", "norms", d * ("p2c" in kinds), is_plain=True),
        )
    if family.special == "deberta-v2" and fields.flag("relative_attention", default=False):
        if fields.flag("share_att_key", default=False):
            return ()
        n = sum(kind in _relative_kinds(fields) for kind in ("c2p", "p2c"))
        return (
            Part("self_attn.pos_proj", "attention", n * d, d),
            Part("self_attn.pos_proj.bias", "norms", n * d, is_plain=True),
        )
    return ()


def _relative_kinds(fields: ConfigFields) -> list[str]:
    kinds = fields.get("pos_att_type") or []
    return [one.strip() for one in kinds.split("|")] if isinstance(kinds, str) else list(kinds)


def _table(name: str, rows: int, width: int) -> Part:
    return Part(name, "embedding", rows, width)


def _vector(name: str, elements: int) -> Part:
    return Part(name, "norms", elements, split="whole", is_plain=True)


def _tables(
    fields: ConfigFields, family: EncoderClass, d: int, e: int, n_positions: int
) -> list[Part]:
    """Return the tables beside those of tokens and positions, and what joins them to the layers."""
    n_types = fields.size("type_vocab_size", default=family.n_types) if family.n_types else 0
    special = family.special
    if special in ("deberta", "deberta-v2"):
        n_types = fields.size("type_vocab_size", default=0)
    found = [_table("token_type_embeddings", n_types, e)]
    if e != d:
        found += [
            _table("position_embeddings", n_positions, e),
        ]
    if e != d or special == "albert":  # ALBERT projects even where both widths are equal.
        found += [
            Part("embedding_projection", "mlp", d, e),
            _vector("embedding_projection.bias", d),
        ]
    if special == "modernbert":
        found.append(_vector("embeddings.norm", d))
    if special == "mpnet":
        n_heads = fields.size("num_attention_heads")
        buckets = fields.size("relative_attention_num_buckets", default=32)
        found.append(_vector("relative_attention_bias", buckets * n_heads))
    if special in ("deberta", "deberta-v2"):
        found += _deberta(fields, family, d, n_positions)
    if special == "canine":
        found += _canine(fields, d)
    if special == "whisper":
        found += _whisper(fields, d)
    return found


def _deberta(fields: ConfigFields, family: EncoderClass, d: int, n_positions: int) -> list[Part]:
    found = []
    if fields.flag("relative_attention", default=False):
        relative = fields.get("max_relative_positions")
        longest = relative if isinstance(relative, int) and relative > 0 else n_positions
        buckets = fields.get("position_buckets")
        if family.special == "deberta-v2" and isinstance(buckets, int) and buckets > 0:
            longest = buckets
        found.append(_table("rel_embeddings", 2 * longest, d))
    if "layer_norm" in str(fields.get("norm_rel_ebd") or "none"):
        found.append(_vector("rel_norm", 2 * d))
    kernel = fields.size("conv_kernel_size", default=0)
    if kernel:
        found += [Part("conv", "mlp", d, kernel * d), _vector("conv.vectors", 3 * d)]
    return found


def _canine(fields: ConfigFields, d: int) -> list[Part]:
    """Return the tables of hashed characters, and the convolutions down and up again."""
    hashes = fields.size("num_hash_functions", default=8)
    if not hashes or d % hashes:
        raise fields.error("num_hash_functions", f"is {hashes}, which does not divide {d}")
    buckets = fields.size("num_hash_buckets", default=16_384)
    rate = fields.size("downsampling_rate", default=4)
    kernel = fields.size("upsampling_kernel_size", default=4)
    return [
        _table("hash_buckets", hashes * buckets, d // hashes),
        _table("char_position_embeddings", fields.size("max_position_embeddings"), d),
        Part("chars_to_molecules", "mlp", d, rate * d),
        Part("projection", "mlp", d, 2 * d * kernel),
        _vector("molecules.vectors", 3 * d),
        _vector("projection.vectors", 3 * d),
    ]


def _whisper(fields: ConfigFields, d: int) -> list[Part]:
    """Return the convolutions over the spectrum, and both tables of positions."""
    mel = fields.size("num_mel_bins", default=80)
    return [
        Part("conv1", "mlp", d, 3 * mel),
        Part("conv2", "mlp", d, 3 * d),
        _vector("conv.bias", 2 * d),
        _table("encoder.embed_positions", fields.size("max_source_positions"), d),
        _table("decoder.embed_positions", fields.size("max_target_positions"), d),
    ]


def _head(
    family: EncoderClass, architecture: str, fields: ConfigFields, *, d: int, e: int, vocab: int
) -> list[Part]:
    """Return the tensors after the last layer; an unknown head has none, as the bare model."""
    labels = fields.get("id2label")
    n_labels = len(labels) if isinstance(labels, Mapping) and labels else 0
    n_labels = n_labels or fields.size("num_labels", default=2)
    sizes = {  # a matrix and a vector
        "pooler": ((d, d), d),
        "dense": ((d, d), d),
        "matrix": ((d, d), 0),
        "narrow": ((e, d), e),
        "norm": (None, 2 * d),
        "thin-norm": (None, d),
        "narrow-norm": (None, 2 * e),
        "bias": (None, vocab),
        "labels": ((n_labels, d), n_labels),
        "two": ((2, d), 2),
        "one": ((1, d), 1),
    }
    found = []
    for name in family.heads.get(architecture, family.heads.get("", "")).split():
        matrix, vector = sizes[name]
        if matrix is not None:
            found.append(Part(f"head.{name}", "head", *matrix))
        found.append(_vector(f"head.{name}.vector", vector))
    return found
