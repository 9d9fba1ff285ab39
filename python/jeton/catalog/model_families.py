"""Defaults of model classes, where a ``config.json`` says nothing.

Read from transformers 5.24.0 (``models/*/configuration_*.py`` and ``modeling_*.py``, 2026-11-29).
A class that is not listed is read as a decoder like Llama, which its note says.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Literal

from jeton.catalog.config_fields import ConfigFields


@dataclass(frozen=True, slots=True)
class ModelClass:
    """Defaults of a model class.

    Attributes:
        name: Its ``model_type``.
        gated_mlp: Three matrices in an MLP instead of two.
        wide_mlp: True if an MLP without a width is four times the hidden size.
        norm: As in `ModelFacts`.
        n_norms: Normalisations of a layer.
        qk_norm: As in `ModelFacts`.
        qkv_bias: Default of the bias of queries, keys and values.
        output_bias: Default of the bias of attention's output.
        output_bias_follows: True if that follows the configuration's ``attention_bias``.
        mlp_bias: Default of the MLP's bias.
        tied: True if the output head is the input table by default.
        learned_positions: True if positions are a table.
        extra_positions: Rows of it beyond the positions.
        multi_query: True if all heads share one key-value head by default.
        windows: ``"all"`` layers have a window that is given; ``"switched"``: only with
            ``use_sliding_window``.
        window_period: Layers from one with full attention to the next; 0: none.
        chunked: True if windows are chunks (``attention_chunk_size``).
        attention_sinks: As in `ModelFacts`.
        attention_gate: As in `ModelFacts`.
        router_bias: As in `Experts`.
        shared_gate: As in `Experts`.
        n_shared: Shared experts where the configuration does not say.
        mixer: Kind of the layers without attention (`LAYER_KINDS`); None without.
        mlp_in_layers_of_its_own: True if a layer is a mixer or an MLP, never both.
        attention_period: Layers of a hybrid from one with attention to the next; 0: none.
        context_tokens: Where the configuration has no limit; None: it must have.
        is_encoder_decoder: True if it reads one text and writes another.
        note: A note beside the source.
    """

    name: str
    gated_mlp: bool = True
    wide_mlp: bool = False
    norm: Literal["rmsnorm", "layernorm"] = "rmsnorm"
    n_norms: int = 2
    qk_norm: Literal["none", "head", "full"] = "none"
    qkv_bias: bool = False
    output_bias: bool = False
    output_bias_follows: bool = True
    mlp_bias: bool = False
    tied: bool = False
    learned_positions: bool = False
    extra_positions: int = 0
    multi_query: bool = False
    windows: Literal["all", "switched"] = "all"
    window_period: int = 0
    chunked: bool = False
    attention_sinks: bool = False
    attention_gate: bool = False
    router_bias: bool = False
    shared_gate: bool = False
    n_shared: int = 0
    mixer: str | None = None
    mlp_in_layers_of_its_own: bool = False
    attention_period: int = 0
    context_tokens: int | None = None
    is_encoder_decoder: bool = False
    note: str = ""


_LLAMA = ModelClass("llama")
_QWEN2 = ModelClass("qwen2", qkv_bias=True, output_bias_follows=False, windows="switched")
_QWEN3 = ModelClass("qwen3", qk_norm="head", windows="switched")
_GEMMA = ModelClass("gemma", tied=True)
_GPT2 = ModelClass(
    "gpt2",
    gated_mlp=False,
    wide_mlp=True,
    norm="layernorm",
    qkv_bias=True,
    output_bias=True,
    mlp_bias=True,
    tied=True,
    learned_positions=True,
)
_DEEPSEEK = ModelClass("deepseek_v3")
_QWEN3_NEXT = ModelClass(
    "qwen3_next",
    qk_norm="head",
    windows="switched",
    attention_gate=True,
    shared_gate=True,
    mixer="gated-delta",
    attention_period=4,
)
_GEMMA4 = replace(_GEMMA, n_norms=4, qk_norm="head", window_period=6)
_FAMILIES: dict[str, ModelClass] = {
    **dict.fromkeys(
        (
            "llama", "mistral", "mistral3", "ministral", "ministral3", "mixtral", "phi3", "phi4",
            "yi", "granite", "granitemoe", "ernie4_5", "cwm", "arcee", "exaone4", "seed_oss",
            "llava", "pixtral", "internlm3", "mimo",
        ),
        _LLAMA,
    ),
    "seed_oss": replace(_LLAMA, qkv_bias=True, output_bias_follows=False),
    "arcee": replace(_LLAMA, gated_mlp=False),
    "exaone4": replace(_LLAMA, qk_norm="head"),
    "apertus": replace(_LLAMA, gated_mlp=False, qk_norm="head"),
    "nemotron": replace(_LLAMA, gated_mlp=False, norm="layernorm"),
    "olmo": replace(_LLAMA, norm="rmsnorm", n_norms=0),
    "olmo2": ModelClass("olmo2", qk_norm="full"),
    "olmo3": ModelClass("olmo3", qk_norm="full", window_period=4),
    "olmoe": ModelClass("olmoe", qk_norm="full"),
    "smollm3": replace(_LLAMA, tied=True),
    "ernie4_5_moe": replace(_LLAMA, tied=True, router_bias=True),
    "ernie4_5_vl_moe_text": replace(_LLAMA, tied=True, router_bias=True),
    "hunyuan_v1_dense": replace(_LLAMA, qk_norm="head"),
    "hunyuan_v1_moe": replace(_LLAMA, qk_norm="head", n_shared=1),
    "hunyuan": replace(_LLAMA, qk_norm="head", n_shared=1),
    "minimax_m2": replace(_LLAMA, qk_norm="full", router_bias=True),
    "minimax": replace(_LLAMA, mixer="lightning", attention_period=8),
    "minimax_text_01": replace(_LLAMA, mixer="lightning", attention_period=8),
    "qwen2": _QWEN2,
    "qwen2_vl": _QWEN2,
    "qwen2_5_vl": _QWEN2,
    "qwen2_vl_text": _QWEN2,
    "qwen2_5_vl_text": _QWEN2,
    "qwen2_5_omni_text": _QWEN2,
    "qwen2_moe": replace(_QWEN2, shared_gate=True),
    "qwen3": _QWEN3,
    "qwen3_vl_text": _QWEN3,
    "qwen3_moe": _QWEN3,
    "qwen3_vl_moe_text": _QWEN3,
    "qwen3_omni_moe_text": _QWEN3,
    "qwen3_next": _QWEN3_NEXT,
    "qwen3_5": _QWEN3_NEXT,
    "qwen3_5_text": _QWEN3_NEXT,
    "qwen3_5_moe": _QWEN3_NEXT,
    "qwen3_5_moe_text": _QWEN3_NEXT,
    "gemma": _GEMMA,
    "gemma2": replace(_GEMMA, n_norms=4, window_period=2),
    "gemma3": replace(_GEMMA, n_norms=4, qk_norm="head", window_period=6, context_tokens=131_072),
    "gemma3_text": replace(
        _GEMMA, n_norms=4, qk_norm="head", window_period=6, context_tokens=131_072
    ),
    "gemma4": _GEMMA4,
    "gemma4_text": _GEMMA4,
    "gemma4_unified_text": _GEMMA4,
    "gpt_oss": ModelClass(
        "gpt_oss",
        qkv_bias=True,
        output_bias=True,
        mlp_bias=True,
        window_period=2,
        attention_sinks=True,
        router_bias=True,
    ),
    "deepseek_v2": _DEEPSEEK,
    "deepseek_v3": _DEEPSEEK,
    "deepseek_v32": _DEEPSEEK,
    "deepseek_v4": _DEEPSEEK,
    "kimi_k2": _DEEPSEEK,
    "kimi_k25": _DEEPSEEK,
    "mistral4": _DEEPSEEK,
    "mistral_large_3": _DEEPSEEK,
    "kimi_linear": ModelClass("kimi_linear", mixer="kimi-delta", router_bias=True),
    "glm": replace(_LLAMA, qkv_bias=True, output_bias_follows=False),
    "glm4": replace(_LLAMA, n_norms=4, qkv_bias=True, output_bias_follows=False),
    "glm4_moe": replace(_LLAMA, router_bias=True, output_bias_follows=False),
    "glm4v_text": replace(_LLAMA, n_norms=4, qkv_bias=True, output_bias_follows=False),
    "glm4v_moe_text": replace(_LLAMA, router_bias=True, output_bias_follows=False),
    "glm4_moe_lite": replace(_DEEPSEEK, router_bias=True),
    "glm_moe_dsa": replace(_DEEPSEEK, router_bias=True),
    "llama4_text": replace(_LLAMA, chunked=True, n_shared=1),
    "cohere": replace(_LLAMA, n_norms=1, tied=True),
    "cohere2": replace(_LLAMA, n_norms=1, tied=True, window_period=4),
    "nemotron_h": ModelClass(
        "nemotron_h",
        gated_mlp=False,
        n_norms=1,
        mixer="mamba2",
        mlp_in_layers_of_its_own=True,
        router_bias=True,
    ),
    "granitemoehybrid": replace(_LLAMA, mixer="mamba2"),
    "bamba": replace(_LLAMA, mixer="mamba2"),
    "falcon_h1": replace(_LLAMA, mixer="falcon-h1"),
    "lfm2": replace(_LLAMA, qk_norm="head", tied=True),
    "lfm2_moe": replace(_LLAMA, qk_norm="head", tied=True, router_bias=True),
    "mimo_v2_flash": replace(_LLAMA, attention_sinks=True, router_bias=True),
    "gpt2": _GPT2,
    "gpt_bigcode": replace(_GPT2, multi_query=True),
    "opt": replace(_GPT2, extra_positions=2),
    "gpt_neox": replace(_GPT2, tied=False, learned_positions=False),
    "starcoder2": replace(_GPT2, learned_positions=False),
    "falcon": replace(
        _GPT2,
        learned_positions=False,
        qkv_bias=False,
        output_bias=False,
        mlp_bias=False,
        multi_query=True,
        n_norms=1,
        context_tokens=2048,
    ),
    "phi": replace(_GPT2, tied=False, learned_positions=False, n_norms=1),
    "jamba": ModelClass("jamba", mixer="mamba", attention_period=8),
    "mamba": ModelClass("mamba", mixer="mamba", n_norms=1, tied=True, context_tokens=1 << 30),
    "mamba2": ModelClass("mamba2", mixer="mamba2", n_norms=1, context_tokens=1 << 30),
    "falcon_mamba": ModelClass(
        "falcon_mamba", mixer="mamba", n_norms=1, tied=True, context_tokens=1 << 30
    ),
}  # fmt: skip

_ENCODER_DECODERS = frozenset(
    [
        "bart",
        "bigbird_pegasus",
        "blenderbot",
        "blenderbot-small",
        "encoder-decoder",
        "fsmt",
        "led",
        "longt5",
        "m2m_100",
        "marian",
        "mbart",
        "mt5",
        "mvp",
        "nllb-moe",
        "pegasus",
        "pegasus_x",
        "plbart",
        "prophetnet",
        "switch_transformers",
        "t5",
        "t5gemma",
        "umt5",
        "whisper",
    ]
)


def family_of(fields: ConfigFields) -> ModelClass:
    """Return what the model class of a configuration takes for granted."""
    kind = str(fields.values.get("model_type") or "")
    if kind in _ENCODER_DECODERS:
        return ModelClass(kind, is_encoder_decoder=True)
    found = _FAMILIES.get(kind)
    if found is not None:
        return replace(found, name=kind)
    said = f"model type {kind!r} is not known here" if kind else "without a model type"
    return ModelClass(kind or "model", note=f" ({said}: read as a decoder like Llama)")


def known_types() -> tuple[str, ...]:
    """Return the classes that are known by name."""
    return tuple(_FAMILIES)
