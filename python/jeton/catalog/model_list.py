"""The models of the catalog, by name, by published name, or from a ``config.json``.

``models.json`` holds one entry per model with the fields of its published configuration and the day
on which it was checked. A test recomputes every model's size from its shape and compares it with
the published size, which catches a wrong fact.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from dataclasses import replace
from datetime import UTC, date, datetime
from functools import cache
from pathlib import Path
from typing import Any, Final

from jeton._nearest import fold, nearest
from jeton.catalog._files import index_by_name, read_catalog_file
from jeton.catalog.model_config import facts_of, model_from_config
from jeton.catalog.model_facts import UNKNOWN_WEIGHTS, ModelFacts
from jeton.catalog.tensor_bytes import summed
from jeton.checkpoint.gguf_file import GgufFile, read_gguf_file
from jeton.errors import ModelConfigError, UnknownModelError

_TUNED = re.compile(r"-(?:instruct|it|chat|base|pt|hf|text|preview|distribution)$")
"""Endings that name a fine-tuning or a packaging, which has the shape of its base."""

_NOISE = re.compile(r"-(?:dynamic|kv|static|tensor|hf|block|sym|asym|g\d+|gguf|mlx|bnb|unsloth)$")
"""Endings that say more of a quantization than the bytes depend on."""

_FORMATS: tuple[tuple[str, str], ...] = (
    # Longest first: an ending is taken off once.
    (r"(?:gptq|awq|autoround)-(?:int8|8bit|8-bit|w8a16)", "int8"),
    (r"(?:gptq|awq|autoround)-(?:int4|4bit|4-bit|w4a16)", "int4"),
    (r"(?:int4|4bit)-(?:gptq|awq|autoround)", "int4"),
    (r"quantized\.w8a8", "int8"),
    (r"quantized\.w8a16", "int8"),
    (r"quantized\.w4a16", "int4"),
    (r"bnb-4bit", "nf4"),
    (r"bnb-8bit", "int8"),
    (r"w8a8", "int8"),
    (r"w4a16", "int4"),
    (r"q4-k-m", "q4_k_m"),
    (r"q5-k-m", "q5_k_m"),
    (r"q6-k", "q6_k"),
    (r"q8-0", "q8_0"),
    (r"q4-0", "q4_0"),
    (r"nvfp4|fp4", "nvfp4"),
    (r"mxfp4", "mxfp4"),
    (r"fp8", "fp8"),
    (r"int8|8bit|8-bit", "int8"),
    (r"gptq|awq|autoround|int4|4bit|4-bit", "int4"),
    (r"nf4", "nf4"),
    (r"bf16|bfloat16", "bf16"),
    (r"fp16|float16", "fp16"),
    (r"fp32|float32", "fp32"),
)


def base_name(name: str, known: Collection[str]) -> tuple[str, str | None] | None:
    """Return the known name that a published name stands for, and the format that it names.

    Args:
        name: As typed.
        known: Folded names and aliases of the catalog.

    Returns:
        The known name and the format (None: as published); None where the name is not known.
    """
    asked = fold(name)
    found_format: str | None = None
    candidates = [asked]
    if "/" in asked:
        candidates.append(asked.rsplit("/", 1)[1])
    for start in candidates:
        rest, found_format = start, None
        while rest:
            for prefix in ("", "meta-"):
                if rest.removeprefix(prefix) in known:
                    return rest.removeprefix(prefix), found_format
            shorter, ending = _shortened(rest)
            if shorter is None:
                break
            if ending is not None:
                if found_format is not None:
                    break
                found_format = ending
            rest = shorter
    return None


def _shortened(name: str) -> tuple[str | None, str | None]:
    """Return the name without its last known ending, and the format that the ending names."""
    for pattern, found in _FORMATS:
        match = re.search(rf"[-.:](?:{pattern})$", name)
        if match:
            return name[: match.start()], found
    for noise in (_TUNED, _NOISE):
        match = noise.search(name)
        if match:
            return name[: match.start()], None
    return None, None


_BLOCK_FP8 = ("qwen3-", "qwen3.")
"""Families whose own FP8 repositories have scales for blocks of 128 x 128 (vllm#17569)."""


def model(name: str) -> ModelFacts:
    """Return the facts of a model by name, by published name, or from a ``config.json``.

    Case does not matter. A published name may carry its owner, a fine-tuning (``-Instruct``) and a
    format of the weights (``-FP8``, ``-AWQ``), which then is that of the facts. A path to a
    folder with a ``config.json``, or to the file, reads the shape from there
    (`jeton.catalog.model_from_config`); a GGUF file says its shape and weights itself.

    Raises:
        UnknownModelError: If the catalog has no such model; carries the nearest names.
        ModelConfigError: If a configuration lacks what the shape needs.
        OSError: A file cannot be read.
    """
    index = _index()
    found = index.get(fold(name))
    if found is not None:
        return found
    path = _config_path(name)
    if path is not None:
        return model_from_gguf(path) if path.suffix == ".gguf" else model_from_config(path)
    found = listed_model(name)
    if found is not None:
        return found
    offered = nearest(name, (entry.name for entry in models()))
    # A misspelt repository name resembles an alias, not a short name.
    offered = offered or tuple(dict.fromkeys(index[key].name for key in nearest(name, index)))
    raise UnknownModelError(name, nearest=offered)


def listed_model(name: str) -> ModelFacts | None:
    """Return the catalog's facts of a name or a published name; None: it has none.

    No file is looked at.
    """
    index = _index()
    found = index.get(fold(name))
    resolved = None if found is not None else base_name(name, index)
    return found if resolved is None else _as_published(name, *resolved)


def _config_path(name: str) -> Path | None:
    """Return the path where a name is one: a folder, a JSON file, or plainly meant as a path."""
    path = Path(name)
    if path.is_dir() or (path.suffix in (".json", ".gguf") and path.is_file()):
        return path
    if path.suffix in (".json", ".gguf") or name.startswith(("./", "../", "/", "~")):
        return path.expanduser()
    return None


def _as_published(asked: str, known: str, weights: str | None) -> ModelFacts:
    base = _index()[known]
    if weights is None and fold(asked).endswith("gguf"):
        return replace(base, weights=UNKNOWN_WEIGHTS, weights_source=asked, quantization=None)
    if weights is None or weights == base.weights:
        return base
    owner, _, bare = fold(asked).rpartition("/")
    if weights == "fp8" and bare.startswith(_BLOCK_FP8) and owner in ("", "qwen"):
        weights = "fp8" if bare.endswith("-dynamic") else "fp8-block"
    return replace(
        base,
        weights=weights,
        weights_source=f"a guess from the name {asked.strip()}",
        weights_are_guessed=True,
        quantization=None,
    )


@cache
def models() -> tuple[ModelFacts, ...]:
    """Return all models of the catalog, in the file's order."""
    return tuple(_model(entry) for entry in read_catalog_file("models.json")["models"])


@cache
def _index() -> dict[str, ModelFacts]:
    return index_by_name(models())


def _model(entry: dict[str, Any]) -> ModelFacts:
    """Return an entry's facts; its shape is read as that of any ``config.json``."""
    given = {**entry}
    base = given.pop("base", None)
    config = given.pop("config", {})
    if base is not None:
        shape = next(
            one for one in read_catalog_file("models.json")["models"] if one["name"] == base
        )
        given = {**shape, **given}
        config = {**given.pop("config"), **config}
    known = {
        name: given[name]
        for name in ("n_parameters", "n_active_parameters", "tokenizer", "license", "source")
    }
    facts = facts_of(
        config,
        name=given["name"],
        where=given["source"],
        day=date.fromisoformat(given["date"]),
        aliases=tuple(given["aliases"]),
        **known,
    )
    if "weights_source" not in given:
        return replace(facts, weights_source="")
    return replace(facts, weights_source=given["weights_source"])


_TYPES: Final = {
    "llama": "llama",
    "mistral3": "mistral",
    "qwen2": "qwen2",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2_vl_text",
    "qwen3": "qwen3",
    "qwen3moe": "qwen3_moe",
    "qwen3vl": "qwen3_vl_text",
    "qwen3vlmoe": "qwen3_vl_moe_text",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3": "gemma3_text",
    "gpt-oss": "gpt_oss",
    "deepseek2": "deepseek_v3",
    "glm4": "glm4",
    "glm4moe": "glm4_moe",
    "phi3": "phi3",
    "granite": "granite",
    "smollm3": "smollm3",
    "minimax-m2": "minimax_m2",
    "ernie4_5": "ernie4_5",
    "olmo2": "olmo2",
    "starcoder2": "starcoder2",
    "gpt2": "gpt2",
}
"""Architectures of llama.cpp whose keys say all that a shape needs, and their classes."""

_KEYS: Final = {
    "block_count": "num_hidden_layers",
    "embedding_length": "hidden_size",
    "feed_forward_length": "intermediate_size",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "context_length": "max_position_embeddings",
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "leading_dense_block_count": "first_k_dense_replace",
    "attention.sliding_window": "sliding_window",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.q_lora_rank": "q_lora_rank",
    "rope.dimension_count": "qk_rope_head_dim",
}


def model_from_gguf(path: str | Path) -> ModelFacts:
    """Return the shape and the exact weights of a GGUF file.

    Raises:
        ModelConfigError: Its architecture is not known here, or a key is missing.
        FormatError: It is no GGUF file, or damaged.
        OSError: It cannot be read.
    """
    file = Path(path)
    read = read_gguf_file(file)
    kind = _TYPES.get(read.architecture)
    if kind is None:
        raise ModelConfigError(
            f"{file}: the architecture {read.architecture!r} is not known here\n"
            "hint: name the model, with --weights-bytes for the size of the file",
            field="general.architecture",
        )
    config = _config(read, kind)
    n_layers = config.get("num_hidden_layers")
    tensors = summed(
        ((one.name, one.type_name, one.n_bytes) for one in read.tensors.values()),
        n_layers if isinstance(n_layers, int) else None,
        f"tensors of {file}",
    )
    return facts_of(
        config,
        name=file.stem,
        where=str(file),
        day=datetime.fromtimestamp(file.stat().st_mtime, tz=UTC).date(),
        tensors=tensors,
    )


def _config(read: GgufFile, kind: str) -> dict[str, Any]:
    found: dict[str, Any] = {"model_type": kind}
    for key, name in _KEYS.items():
        value = read.values.get(f"{read.architecture}.{key}")
        number = None if value is None else value.number
        if number is not None and (number or name.endswith("replace")):
            found[name] = number
    if "kv_lora_rank" in found:
        # The cached key is latent and rotary part; a head's own sizes have other names.
        mla = {
            name: read.values.get(f"{read.architecture}.attention.{name}_length_mla")
            for name in ("key", "value")
        }
        width, depth = (None if one is None else one.number for one in mla.values())
        rotary = found.get("qk_rope_head_dim", 64)
        found["qk_nope_head_dim"] = (width or 192) - rotary
        found["v_head_dim"] = depth or 128
        found.pop("head_dim", None)
        found["n_routed_experts"] = found.pop("num_experts", 0)
    vocab = read.values.get(f"{read.architecture}.vocab_size")
    table = read.tensors.get("token_embd.weight")
    rows = table.shape[0] if table is not None and len(table.shape) == 2 else None
    found["vocab_size"] = rows or (None if vocab is None else vocab.number)
    found["tie_word_embeddings"] = "output.weight" not in read.tensors
    if found.get("num_experts") and "intermediate_size" not in found:
        found["intermediate_size"] = found.get("moe_intermediate_size", 0)
    return found
