"""Shape of any model from its ``config.json``, as Hugging Face's transformers writes it.

Fields that a nested configuration leaves out are filled as transformers fills them
(``model_defaults.json``). A part whose memory is not known here is refused by name: a shape that is
half right would be a wrong capacity.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jeton._foreign import json_of
from jeton.catalog._files import read_catalog_file
from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.config_layers import layers_of
from jeton.catalog.config_weights import published_weights
from jeton.catalog.encoders import ENCODERS, encoder_shape
from jeton.catalog.layers import Layer, Part
from jeton.catalog.model_facts import ModelFacts
from jeton.catalog.model_families import ModelClass, family_of
from jeton.catalog.tensor_bytes import TensorBytes, folder_tensors
from jeton.errors import ModelConfigError

_TOWERS: Final = ("vision_config", "vit_config", "audio_config", "speech_config")


def extra_parts(
    config: Mapping[str, Any], fields: ConfigFields, layers: tuple[Layer, ...], d: int
) -> tuple[Part, ...]:
    """Return the tensors beside layers and tables.

    A tower is counted as a plain transformer of its sizes: ``L (4 h^2 + 2 h m)`` with patches,
    positions and a merger of two matrices; within some percent of the published ones, which a
    folder with the tensors gives exactly.
    """
    found: list[Part] = []
    per_layer = fields.size("hidden_size_per_layer_input", default=0)
    if per_layer and layers:
        rows = fields.size("vocab_size_per_layer_input", default=fields.size("vocab_size"))
        width = len(layers) * per_layer
        found += [
            Part("embed_tokens_per_layer", "embedding", rows, width),
            Part("per_layer_model_projection", "mlp", width, d),
            Part("per_layer_projection_norm", "norms", per_layer, split="whole", is_plain=True),
        ]
    if fields.get("hc_mult"):  # DeepSeek-V4's hyper-connections end in a head of their own.
        n = fields.size("hc_mult")
        found += [
            Part("hc_head.fn", "gate", n, n * d, split="whole", is_plain=True),
            Part("hc_head.vectors", "norms", n + 1, split="whole", is_plain=True),
        ]
    n_more = fields.size(
        "num_nextn_predict_layers", "mtp_num_hidden_layers", "num_mtp_layers", default=0
    )
    if 0 < n_more <= 16 and layers:
        last = next((one for one in reversed(layers) if one.mixers and one.attends), layers[-1])
        whole = last if last.mlp is not None else replace(last, mlp=_last_mlp(layers))
        for part in (*whole.parts(d), Part("eh_proj", "mtp", d, 2 * d)):
            found.append(
                replace(part, name=f"mtp.{part.name}", role="mtp", count=part.count * n_more)
            )
    for name in _TOWERS:
        tower = config.get(name)
        if isinstance(tower, Mapping) and tower:
            found += _tower(name, tower, d)
    return tuple(found)


def _last_mlp(layers: tuple[Layer, ...]) -> Any:
    return next((one.mlp for one in reversed(layers) if one.mlp is not None), None)


def _tower(name: str, tower: Mapping[str, Any], d: int) -> list[Part]:
    def size(*names: str) -> int:
        for one in names:
            value = tower.get(one)
            if isinstance(value, int) and not isinstance(value, bool) and 0 < value < 1 << 24:
                return value
        return 0

    hidden = size("hidden_size", "embed_dim", "d_model", "width")
    n_layers = size("depth", "num_hidden_layers", "encoder_layers", "layers", "num_layers")
    if not hidden or not n_layers or n_layers > 1024:
        return []
    # Qwen2-VL says its own width `embed_dim` and the text's `hidden_size`.
    hidden = size("embed_dim") or hidden
    inner = size("intermediate_size", "mlp_dim", "encoder_ffn_dim")
    if not inner:
        ratio = tower.get("mlp_ratio", 4)
        inner = int(hidden * (ratio if isinstance(ratio, int | float) and 0 < ratio < 64 else 4))
    gated = 3 if tower.get("hidden_act") == "silu" else 2
    label = name.removesuffix("_config")
    patch = size("patch_size", "num_mel_bins") or 14
    merged = hidden * (size("spatial_merge_size") or 1) ** 2
    return [
        Part(f"{label}.attention", "vision", 4 * hidden, hidden, count=n_layers),
        Part(f"{label}.mlp", "vision", gated * inner, hidden, count=n_layers),
        Part(f"{label}.patches", "vision", hidden, 3 * patch * patch),
        Part(f"{label}.merger", "vision", merged + d, merged),
    ]


_MAX_BYTES: Final = 8 << 20
"""A configuration is some kilobytes, and some megabytes where it names every expert."""

_REFUSED: Final = {
    "block_configs": "another shape in every layer",
    "ssm_cfg": "state space layers of a kind that is not known here",
    "wkv_head_size": "recurrent layers of RWKV",
    "laurel_rank": "low-rank residual paths beside every layer (Gemma 3n)",
}
"""Fields of shapes whose memory is not known here, and what they say."""

_NEEDED_AT_TOP: Final = frozenset(
    {"hidden_size", "num_hidden_layers", "vocab_size", "num_attention_heads", "intermediate_size"}
)
"""Fields that transformers always writes into a file's own table: without one it is cut off."""

_TEXT_PARTS: Final = ("text_config", "language_config", "llm_config", "thinker_config")


def model_from_config(path: str | Path) -> ModelFacts:
    """Return the shape of a model from its folder or its ``config.json``.

    Where the folder has safetensors files or their index, the bytes of the weights are theirs.

    Raises:
        ModelConfigError: There is no configuration, a field is missing or no size, or the model has
            a part whose memory is not known here.
        FormatError: A header of a file of weights is damaged.
        OSError: A file cannot be read.
    """
    file = Path(path)
    file = file / "config.json" if file.is_dir() else file
    config = _read(file)
    beside = file.parent / "hf_quant_config.json"
    if "quantization_config" not in config and file.name == "config.json" and beside.exists():
        config["quantization_config"] = _read(beside)
    name = file.parent.resolve().name if file.name == "config.json" else file.stem
    found = facts_of(
        config,
        name=name,
        where=str(file),
        folder=str(file.parent),
        day=datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date(),
        tensors=folder_tensors(file.parent) if file.name == "config.json" else None,
    )
    return found


def told_model(
    *,
    n_layers: int,
    hidden_size: int,
    n_heads: int,
    vocab_size: int,
    n_kv_heads: int | None = None,
    intermediate_size: int | None = None,
    context_tokens: int = 2048,
    is_tied: bool = True,
) -> ModelFacts:
    """Return the shape of a decoder that is known by its sizes alone.

    Without ``intermediate_size`` it is a GPT: two matrices of four times the width in an MLP,
    biases, a table of positions. With it the model is a Llama: three matrices, none of these.

    >>> from jeton.catalog import told_model
    >>> told_model(n_layers=96, hidden_size=12288, n_heads=96, vocab_size=50257).n_heads
    96

    Raises:
        ModelConfigError: A number is no size, or the heads do not divide the width.
    """
    config = {
        "model_type": "gpt2" if intermediate_size is None else "llama",
        "num_hidden_layers": n_layers,
        "hidden_size": hidden_size,
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads or n_heads,
        "vocab_size": vocab_size,
        "intermediate_size": 4 * hidden_size if intermediate_size is None else intermediate_size,
        "max_position_embeddings": context_tokens,
        "tie_word_embeddings": is_tied,
    }
    today = datetime.now(tz=UTC).date()
    return facts_of(config, name="told", where="the sizes given", day=today)


def facts_of(
    config: Mapping[str, Any],
    *,
    name: str,
    where: str,
    day: date,
    folder: str = "",
    tensors: TensorBytes | None = None,
    **known: Any,
) -> ModelFacts:
    """Return the shape that a configuration describes.

    Args:
        config: The configuration.
        name: Name of the model.
        where: Its file, for errors.
        day: Day of its facts.
        folder: Folder of its files.
        tensors: Bytes of its tensors, where they were read.
        known: Further fields of `ModelFacts`, which the configuration does not tell.

    Raises:
        ModelConfigError: As `model_from_config`.
    """
    text, is_nested = _text_part(config)
    kind = str(text.get("model_type") or "")
    defaults = _defaults().get(kind, {})
    if not is_nested:
        defaults = {key: value for key, value in defaults.items() if key not in _NEEDED_AT_TOP}
    fields = ConfigFields(text, where, defaults)
    family = ModelClass(kind) if kind in ENCODERS else family_of(fields)
    if family.note and not _is_causal(config):
        raise ModelConfigError(
            f"{where}: models of the type {kind!r} are not known here\n"
            "hint: known are decoders by name, classes whose architecture ends with ForCausalLM, "
            f"and {', '.join(sorted(ENCODERS))}; or state what it takes: --weights-bytes, with "
            "a model of the same size",
            field="model_type",
        )
    if (config.get("is_encoder_decoder") or family.is_encoder_decoder) and kind not in ENCODERS:
        raise ModelConfigError(
            f"{where}: {kind or 'this model'} reads one text and writes another, in a way that is "
            f"not known here; known are {', '.join(sorted(ENCODERS))}\nhint: name such a model",
            field="is_encoder_decoder",
        )
    for field, words in _REFUSED.items():
        if fields.values.get(field):
            raise ModelConfigError(
                f"{where}: the model has {words} (field {field!r}), whose memory is not known here"
                "\nhint: state what it takes: --kv-bytes-per-token, --state-bytes-per-request, "
                "--weights-bytes, with a model of the same class",
                field=field,
            )
    shape = (
        encoder_shape(config, fields, kind)
        if kind in ENCODERS
        else _decoder(config, fields, family)
    )
    weights, weights_source, rules, cache = published_weights(config, fields, where)
    given: dict[str, Any] = {
        "aliases": (),
        "n_parameters": 0,
        "n_active_parameters": 0,
        "tokenizer": "",
        "license": "",
        "source": f"{where}{family.note}",
        **known,
    }
    return ModelFacts(
        name=name,
        date=day,
        model_type=kind,
        weights=weights,
        weights_source=weights_source,
        quantization=rules,
        kv_format=cache,
        tensors=tensors,
        folder=folder,
        **shape,
        **given,
    )


def _is_causal(config: Mapping[str, Any]) -> bool:
    """Return whether a class that is not known is a decoder; one without a name is taken for it."""
    listed = config.get("architectures")
    if not config.get("model_type") or not isinstance(listed, list) or not listed:
        return True
    return str(listed[0]).endswith(("ForCausalLM", "LMHeadModel", "ForConditionalGeneration"))


def _decoder(config: Mapping[str, Any], fields: ConfigFields, family: ModelClass) -> dict[str, Any]:
    hidden = fields.size("hidden_size", "n_embd", "d_model", "model_dim")
    layers = layers_of(fields, family)
    positions = 0
    if family.learned_positions:
        positions = fields.size("n_positions", "max_position_embeddings") + family.extra_positions
    return {
        "hidden_size": hidden,
        "layers": layers,
        "vocab_size": fields.size("vocab_size"),
        "tied_embeddings": fields.flag("tie_word_embeddings", default=family.tied),
        "context_tokens": _context(config, fields, family.context_tokens),
        "position_table_tokens": positions,
        "final_norm": hidden * bool(family.n_norms) * (2 if family.norm == "layernorm" else 1),
        "extra_parts": extra_parts(config, fields, layers, hidden),
    }


def _context(config: Mapping[str, Any], fields: ConfigFields, default: int | None) -> int:
    names = (
        "max_position_embeddings",
        "n_positions",
        "max_sequence_length",
        "model_max_length",
        "seq_length",
        "max_seq_len",
    )
    if any(fields.values.get(name) for name in names):
        default = None
    elif isinstance(outer := config.get("max_position_embeddings"), int) and outer > 0:
        return outer
    return fields.size(*names, default=default)


def _read(file: Path) -> dict[str, Any]:
    if not file.exists():
        raise ModelConfigError(
            f"{file}: no such file\nhint: a model is a name (`jeton catalog models`), a folder "
            "with a config.json, or such a file"
        )
    if file.stat().st_size > _MAX_BYTES:
        raise ModelConfigError(
            f"{file}: larger than a configuration ({_MAX_BYTES:,} bytes)\n"
            "hint: give the model's config.json"
        )
    try:
        config = json_of(file.read_text(encoding="utf-8"))
    except (UnicodeDecodeError, ValueError, RecursionError) as error:
        raise ModelConfigError(f"{file}: not JSON: {error}\nhint: fetch the file again") from error
    if not isinstance(config, dict):
        raise ModelConfigError(
            f"{file}: a JSON {type(config).__name__}, not an object\n"
            "hint: give the model's config.json"
        )
    return config


def _text_part(config: Mapping[str, Any]) -> tuple[dict[str, Any], bool]:
    """Return the part that generates text, and whether it stands within another."""
    for name in _TEXT_PARTS:
        inner = config.get(name)
        if isinstance(inner, dict):
            part, _ = _text_part(inner)
            outer: dict[str, Any] = {
                key: config[key]
                for key in ("tie_word_embeddings", "quantization_config")
                if key in config
            }
            kind = part.get("model_type") or _text_type(config.get("model_type"))
            return {**outer, **part, "model_type": kind}, True
    return dict(config), False


def _text_type(outer: object) -> str:
    """Return the class of the text part of an outer class, where the file does not say it."""
    name = f"{outer}_text"
    return name if name in _defaults() else str(outer or "")


@cache
def _defaults() -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = read_catalog_file("model_defaults.json")["defaults"]
    return found
