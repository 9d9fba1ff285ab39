"""Quantized tensors of a checkpoint, and their formats, from the rules of its configuration.

Each writer has its own rule: lists of modules (transformers, AWQ, fbgemm), names and patterns
(compressed-tensors), wildcards (modelopt), modules one by one (GPTQ's ``dynamic``, auto-round's
``extra_config``, modelopt's ``quantized_layers``).
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase
from functools import lru_cache
from typing import Any, Final, Literal

from jeton.catalog.config_fields import ConfigFields
from jeton.catalog.layers import Part
from jeton.catalog.weight_formats import NumberFormat, number_format
from jeton.errors import ModelConfigError

_DTYPES: Final = {
    "float32": "bf16",
    "float": "bf16",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8_e4m3fn": "fp8",
}
"""``torch_dtype`` to format. Engines load fp32 checkpoints in 16 bits (vLLM, ``--dtype auto``)."""

_PREFIXES: Final = ("model.", "", "model.language_model.", "language_model.model.", "backbone.")
"""Beginnings that checkpoints give to `layers.0.self_attn.q_proj`."""

_MOST_RULES: Final = 200_000
_LONGEST_PATTERN: Final = 2000
_MOST_LOOPS: Final = 5
"""Loops of a pattern at most: more of them take long to fail on a name."""
_HINT: Final = (
    "hint: say how they are written with --weights (`jeton catalog formats`), or how many bytes "
    "they are with --weights-bytes"
)


@dataclass(frozen=True, slots=True)
class QuantizationRule:
    """Tensors that a rule is about, and their format.

    Attributes:
        how: How `pattern` names modules: parts of dotted names, a regular expression, a wildcard,
            or all of them.
        pattern: The pattern; empty for parts.
        written: Format of these; None: they stay as they are.
        parts: Parts of dotted names.
    """

    how: Literal["all", "parts", "regex", "wildcard"]
    pattern: str
    written: NumberFormat | None
    parts: frozenset[str] = frozenset()

    def applies(self, names: tuple[str, ...]) -> bool:
        """Return whether one of the names of a tensor is meant."""
        if self.how == "all":
            return True
        if self.how == "parts":
            return not self.parts.isdisjoint(_dotted_parts(names))
        if self.how == "wildcard":
            return any(
                fnmatchcase(name, self.pattern) or name.startswith(self.pattern + ".")
                for name in names
            )
        found = _compiled(self.pattern)
        return found is not None and any(found.match(name) for name in names)


@dataclass(frozen=True, slots=True)
class QuantizationRules:
    """Rules of a checkpoint: the first that applies decides.

    Attributes:
        method: Name of the writer.
        rules: The rules, exceptions first.
        wide: Format of tensors that are not quantized.
        experts_only: True if only routed experts are quantized.
        head: True if the output head is quantized as the layers are.
    """

    method: str
    rules: tuple[QuantizationRule, ...]
    wide: NumberFormat
    experts_only: bool = False
    head: bool = False

    def format_of(self, part: Part, layer: int | None) -> NumberFormat:
        """Return the format of a tensor, of a layer or beside the layers."""
        if part.is_plain or part.role in ("norms", "gate", "embedding", "vision"):
            return self.wide
        if part.role == "head" and not self.head:
            return self.wide
        if self.experts_only and part.role != "experts":
            return self.wide
        names = _full_names(part.name, layer)
        for rule in self.rules:
            if rule.applies(names):
                return rule.written or self.wide
        return self.wide


def published_weights(
    config: Mapping[str, Any], fields: ConfigFields, where: str
) -> tuple[str, str, QuantizationRules | None, str]:
    """Return format, its source, rules, and the cache's format, as a configuration has them.

    Raises:
        ModelConfigError: The weights are quantized by a method that is not known.
    """
    quantization = fields.values.get("quantization_config") or config.get("quantization_config")
    quantization = quantization or fields.values.get("compression_config")
    dtype = fields.values.get("dtype") or fields.values.get("torch_dtype")
    dtype = str(dtype or config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    wide = _DTYPES.get(dtype.removeprefix("torch."))
    if wide is None:
        raise fields.error("torch_dtype", f"is {dtype!r}, which is not known here")
    if not isinstance(quantization, Mapping):
        return wide, "", None, ""
    # DeepSeek's fp8 checkpoints say torch_dtype bfloat16; what is not quantized is in 16 bits.
    rest = number_format(wide if wide in ("bf16", "fp16") else "bf16")
    found = _rules(quantization, rest, config)
    if found is None:
        method = quantization.get("quant_method") or quantization.get("quant_algo")
        raise ModelConfigError(
            f"{where}: weights quantized by {str(method)[:40]!r}, whose bytes are not known here\n"
            + _HINT,
            field="quantization_config",
        )
    for rule in found.rules:
        if rule.how == "regex" and _compiled(rule.pattern) is None:
            raise ModelConfigError(
                f"{where}: the pattern {rule.pattern[:60]!r} of quantization_config is none that "
                "can be tried\n" + _HINT,
                field="quantization_config",
            )
    name = next((one.written.name for one in reversed(found.rules) if one.written), rest.name)
    return name, f"quantization_config of {where}", found, _cache_format(quantization)


def _rules(
    config: Mapping[str, Any], wide: NumberFormat, model: Mapping[str, Any]
) -> QuantizationRules | None:
    method = str(config.get("quant_method") or "").casefold()
    algorithm = str(config.get("quant_algo") or "").casefold()
    if method == "compressed-tensors" or ("config_groups" in config and not algorithm):
        return _compressed(config, wide)
    if method.startswith("modelopt") or algorithm:
        return _modelopt(config, wide)
    if method == "quark":
        return _quark(config, wide)
    base, head, experts_only = _whole(method, config), False, False
    if base is None:
        return None
    kept: list[str] = []
    for name in (
        "modules_to_not_convert",
        "ignored_layers",
        "llm_int8_skip_modules",
        "modules_to_not_quantize",
    ):
        kept += _texts(config, name)
    rules = [_named(kept, None)]
    if method in ("gptq", "gptqmodel"):
        head = bool(config.get("lm_head"))
        rules += _dynamic(config, base)
    if method in ("auto-round", "autoround", "intel/auto-round"):
        rules += _extra_config(config, base)
    if method == "mxfp4":
        experts_only = True
    expert = str(config.get("expert_dtype") or model.get("expert_dtype") or "")
    if expert.casefold() in ("fp4", "mxfp4"):  # DeepSeek-V4
        rules.append(QuantizationRule("regex", r".*\.experts\.", number_format("mxfp4")))
    return QuantizationRules(
        method,
        (*rules, QuantizationRule("all", "", base)),
        wide,
        experts_only=experts_only,
        head=head,
    )


def _whole(method: str, config: Mapping[str, Any]) -> NumberFormat | None:
    """Return the format that a method writes where no rule says another."""
    if method == "fp8":
        return number_format("fp8-block" if config.get("weight_block_size") else "fp8")
    if method in ("fbgemm_fp8", "ptpc_fp8"):
        return number_format("fp8")
    if method in ("mxfp4", "gpt_oss_mxfp4"):
        return number_format("mxfp4")
    if method in ("nvfp4", "petit_nvfp4"):
        return number_format("nvfp4")
    if method == "bitsandbytes":
        if config.get("load_in_8bit"):
            return number_format("int8")
        double = config.get("bnb_4bit_use_double_quant")
        return number_format("nf4-dq" if double else "nf4")
    if method in ("awq", "gptq", "gptqmodel", "auto-round", "autoround", "intel/auto-round"):
        bits = config.get("bits", config.get("w_bit", 4 if method == "awq" else None))
        size = config.get("group_size", config.get("q_group_size", 128))
        return grouped(bits, size, symmetric=False)
    return None


def grouped(bits: object, group_size: object, *, symmetric: bool) -> NumberFormat | None:
    """Return integers of some bits with a 16-bit scale, and a zero point, for each group."""
    if bits not in (2, 3, 4, 8) or isinstance(bits, bool):
        return None
    base = number_format("int8" if bits == 8 else "int4")
    size = group_size if isinstance(group_size, int) and group_size > 0 else 0
    block = 0 if not size else 16 + (0 if symmetric else int(str(bits)))
    return replace(
        base,
        name=f"int{bits}",
        element_bits=base.element_bits * int(str(bits)) / base.element_bits,
        block_bits=block,
        block_elements=size,
    )


def _dynamic(config: Mapping[str, Any], base: NumberFormat) -> list[QuantizationRule]:
    """Rules of GPTQModel's ``dynamic``: a leading ``-:`` leaves modules out."""
    found = []
    table = config.get("dynamic")
    for pattern, changes in table.items() if isinstance(table, Mapping) else ():
        text = str(pattern)
        if text.startswith("-:"):
            found.append(QuantizationRule("regex", text[2:], None))
        elif isinstance(changes, Mapping):
            bits = changes.get("bits", config.get("bits"))
            size = changes.get("group_size", config.get("group_size"))
            written = grouped(bits, size, symmetric=False)
            found.append(QuantizationRule("regex", text.removeprefix("+:"), written or base))
    return found


def _extra_config(config: Mapping[str, Any], base: NumberFormat) -> list[QuantizationRule]:
    """Rules of auto-round's ``extra_config``: bits of single modules, 16 for none."""
    found = []
    table = config.get("extra_config")
    for name, changes in table.items() if isinstance(table, Mapping) else ():
        bits = changes.get("bits") if isinstance(changes, Mapping) else None
        size = changes.get("group_size", config.get("group_size")) if bits else None
        written = None if bits == 16 else grouped(bits, size, symmetric=False) or base
        is_pattern = any(sign in str(name) for sign in "*\\^$(|")
        found.append(
            QuantizationRule("regex", str(name), written) if is_pattern else _named([name], written)
        )
    return found


def _compressed(config: Mapping[str, Any], wide: NumberFormat) -> QuantizationRules | None:
    """Rules of compressed-tensors: ignored modules, then a format for each group's targets."""
    groups = config.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        return None
    rules = _named_or_pattern(_texts(config, "ignore"), None)
    for group in groups.values():
        weights = group.get("weights") if isinstance(group, Mapping) else None
        written = _group_format(weights, group.get("format") if isinstance(group, Mapping) else "")
        if written is None:
            return None
        targets = _texts(group, "targets") or ["Linear"]
        if "Linear" in targets:
            rules.append(QuantizationRule("all", "", written))
        rules += _named_or_pattern([one for one in targets if one != "Linear"], written)
    # The head is a Linear too; writers put it on the list of ignored modules.
    return QuantizationRules("compressed-tensors", tuple(rules), wide, head=True)


def _named(names: Iterable[object], written: NumberFormat | None) -> QuantizationRule:
    return QuantizationRule("parts", "", written, frozenset(str(name) for name in names))


def _named_or_pattern(texts: Sequence[str], written: NumberFormat | None) -> list[QuantizationRule]:
    names = [text for text in texts if not text.startswith("re:")]
    patterns = [text[3:] for text in texts if text.startswith("re:")]
    return [
        _named(names, written),
        *(QuantizationRule("regex", text, written) for text in patterns),
    ]


def _wildcards(texts: Sequence[str]) -> list[QuantizationRule]:
    patterns = [text[3:] for text in texts if text.startswith("re:")]
    signs = [text for text in texts if any(sign in text for sign in "*?[")]
    names = [text for text in texts if text not in signs and not text.startswith("re:")]
    return [
        _named(names, None),
        *(QuantizationRule("wildcard", text, None) for text in signs if not text.startswith("re:")),
        *(QuantizationRule("regex", text, None) for text in patterns),
    ]


def _group_format(weights: object, packing: object) -> NumberFormat | None:
    if not isinstance(weights, Mapping):
        return None
    bits, kind = weights.get("num_bits"), weights.get("type")
    size = weights.get("group_size")
    if kind == "float" and bits == 8:
        if "mxfp8" in str(packing):
            return replace(number_format("fp8"), name="mxfp8", block_bits=8, block_elements=32)
        return number_format("fp8-block" if weights.get("strategy") == "block" else "fp8")
    if kind == "float" and bits == 4:
        return number_format("mxfp4" if size == 32 or "mxfp4" in str(packing) else "nvfp4")
    return grouped(bits, size, symmetric=bool(weights.get("symmetric", True)))


_MODELOPT: Final = {
    "fp8": "fp8",
    "fp8_pb_wo": "fp8-block",
    "fp8_per_channel_per_token": "fp8",
    "nvfp4": "nvfp4",
    "nvfp4_awq": "nvfp4",
    "w4a16_nvfp4": "nvfp4",
    "mxfp4": "mxfp4",
    "w4a16_awq": "int4",
    "w4a8_awq": "int4",
    "int8_sq": "int8",
    "mxfp8": "fp8-mx",
}


def _modelopt(config: Mapping[str, Any], wide: NumberFormat) -> QuantizationRules | None:
    inner = config.get("quantization")
    config = {**config, **inner} if isinstance(inner, Mapping) else config
    algorithm = str(config.get("quant_algo") or "").casefold()
    rules = _wildcards(_texts(config, "ignore") + _texts(config, "exclude_modules"))
    single = config.get("quantized_layers")
    for name, changes in single.items() if isinstance(single, Mapping) else ():
        own = str(changes.get("quant_algo") if isinstance(changes, Mapping) else "").casefold()
        if own not in _MODELOPT:
            return None
        written = _modelopt_format(own)
        is_pattern = "*" in str(name)
        rules.append(
            QuantizationRule("wildcard", str(name), written)
            if is_pattern
            else _named([name], written)
        )
    if algorithm in _MODELOPT:
        rules.append(QuantizationRule("all", "", _modelopt_format(algorithm)))
    elif algorithm != "mixed_precision":
        return _compressed(config, wide) if "config_groups" in config else None
    return QuantizationRules("modelopt", tuple(rules), wide, head=True)


def _modelopt_format(algorithm: str) -> NumberFormat:
    if algorithm == "mxfp8":
        return replace(number_format("fp8"), name="mxfp8", block_bits=8, block_elements=32)
    return number_format(_MODELOPT[algorithm])


def _quark(config: Mapping[str, Any], wide: NumberFormat) -> QuantizationRules | None:
    """Rules of AMD Quark: excluded modules, formats of single layers, and the global one."""
    rules = _wildcards(_texts(config, "exclude"))
    table = config.get("layer_quant_config")
    for name, changes in table.items() if isinstance(table, Mapping) else ():
        rules.append(QuantizationRule("wildcard", str(name), _quark_format(changes)))
    base = _quark_format(config.get("global_quant_config"))
    if base is None:
        return None
    return QuantizationRules("quark", (*rules, QuantizationRule("all", "", base)), wide, head=True)


def _quark_format(config: object) -> NumberFormat | None:
    weight = config.get("weight") if isinstance(config, Mapping) else None
    if isinstance(weight, list):
        weight = weight[0] if weight else None
    kind = str(weight.get("dtype") if isinstance(weight, Mapping) else "").casefold()
    name = {"fp4": "mxfp4", "fp8_e4m3": "fp8", "int8": "int8", "int4": "int4", "uint4": "int4"}
    return number_format(name[kind]) if kind in name else None


def _cache_format(config: Mapping[str, Any]) -> str:
    """Return the format that a checkpoint asks the cache to have; empty: it says nothing."""
    inner = config.get("quantization")
    for source in (config, inner if isinstance(inner, Mapping) else {}):
        algorithm = str(source.get("kv_cache_quant_algo") or "").casefold()
        if algorithm in ("fp8", "nvfp4"):
            return algorithm
        scheme = source.get("kv_cache_scheme")
        if isinstance(scheme, Mapping):
            return {8: "fp8" if scheme.get("type") == "float" else "int8", 4: "nvfp4"}.get(
                scheme.get("num_bits") or 0, ""
            )
    return ""


def _texts(config: Mapping[str, Any], name: str) -> list[str]:
    found = config.get(name)
    if not isinstance(found, list):
        return []
    return [one for one in found[:_MOST_RULES] if isinstance(one, str) and one]


@lru_cache(maxsize=4096)
def _full_names(name: str, layer: int | None) -> tuple[str, ...]:
    if layer is None:
        return (name, f"model.{name}", f"language_model.{name}")
    return tuple(f"{prefix}layers.{layer}.{name}" for prefix in _PREFIXES)


@lru_cache(maxsize=4096)
def _dotted_parts(names: tuple[str, ...]) -> frozenset[str]:
    """Return all stretches of dotted names: `a.b.c` has `a`, `b`, `c`, `a.b`, `b.c`, `a.b.c`."""
    found = set()
    for name in names:
        words = name.split(".")
        for start in range(len(words)):
            for end in range(start + 1, len(words) + 1):
                found.add(".".join(words[start:end]))
    return frozenset(found)


@lru_cache(maxsize=1024)
def _compiled(pattern: str) -> re.Pattern[str] | None:
    """Return a pattern that may be tried; None where it is broken or may take too long."""
    loops = len(re.findall(r"[*+}]", pattern))
    nested = re.search(r"[*+}]\)?[*+{]", pattern)
    if len(pattern) > _LONGEST_PATTERN or loops > _MOST_LOOPS or nested:
        return None
    try:
        return re.compile(pattern)
    except (re.error, RecursionError, OverflowError):
        return None
