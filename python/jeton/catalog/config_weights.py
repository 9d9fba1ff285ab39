"""How the weights beside a ``config.json`` are written, and how many bytes they are."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from jeton.catalog.config_fields import ConfigFields
from jeton.errors import ModelConfigError

__all__ = ["published_format", "weight_file_bytes"]

_INDEX = "model.safetensors.index.json"
_HEADER_SIZE_BYTES = 8
_MAX_HEADER_BYTES = 32 << 20
_LFS_POINTER = b"version "

_METHODS = {
    "mxfp4": "mxfp4",
    "fbgemm_fp8": "fp8",
    "awq": "int4",
    "modelopt_fp4": "nvfp4",
    "nvfp4": "nvfp4",
}
_DTYPES = {
    "float32": "bf16",
    "float": "bf16",
    "bfloat16": "bf16",
    "float16": "fp16",
    "half": "fp16",
    "float8_e4m3fn": "fp8",
}
"""``torch_dtype`` to format. Engines load fp32 checkpoints in 16 bits (vLLM, ``--dtype auto``)."""


def published_format(
    config: Mapping[str, Any], fields: ConfigFields, where: str
) -> tuple[str, str]:
    """Return the format of the published weights and what says so.

    Raises:
        ModelConfigError: The weights are quantized by a method that is not known here.
    """
    quantization = fields.values.get("quantization_config") or config.get("quantization_config")
    quantization = quantization or fields.values.get("compression_config")
    if isinstance(quantization, Mapping):
        found = _quantized(quantization)
        if found is None:
            method = quantization.get("quant_method") or quantization.get("quant_algo")
            raise ModelConfigError(
                f"{where}: weights quantized by {method!r}, whose bytes are not known here\n"
                "hint: say how they are written with --weights (`jeton catalog formats`), and "
                "remove quantization_config from a copy of the file",
                field="quantization_config",
            )
        return found, f"quantization_config of {where}"
    dtype = fields.values.get("dtype") or fields.values.get("torch_dtype")
    dtype = str(dtype or config.get("dtype") or config.get("torch_dtype") or "bfloat16")
    found = _DTYPES.get(dtype.removeprefix("torch."))
    if found is None:
        raise fields.error("torch_dtype", f"is {dtype!r}, which is not known here")
    return found, ""


def _quantized(config: Mapping[str, Any]) -> str | None:
    method = str(config.get("quant_method") or "").casefold()
    algorithm = str(config.get("quant_algo") or "").casefold()
    if method in _METHODS:
        return _METHODS[method]
    if method == "fp8":
        return "fp8-block" if config.get("weight_block_size") else "fp8"
    if method in ("gptq", "auto-round", "autoround", "intel/auto-round"):
        return {8: "int8", 4: "int4"}.get(config.get("bits") or 0)
    if method == "bitsandbytes":
        if config.get("load_in_8bit"):
            return "int8"
        return "nf4-dq" if config.get("bnb_4bit_use_double_quant") else "nf4"
    if method == "compressed-tensors":
        return _compressed(config)
    if method == "modelopt" or algorithm:
        return {"fp8": "fp8", "nvfp4": "nvfp4", "w4a16_awq": "int4"}.get(algorithm)
    return None


def _compressed(config: Mapping[str, Any]) -> str | None:
    """Formats of compressed-tensors, by the weights of its first group."""
    groups = config.get("config_groups")
    if not isinstance(groups, Mapping) or not groups:
        return None
    first = next(iter(groups.values()))
    weights = first.get("weights") if isinstance(first, Mapping) else None
    if not isinstance(weights, Mapping):
        return None
    bits, kind = weights.get("num_bits"), weights.get("type")
    if kind == "float":
        fp8 = "fp8-block" if weights.get("strategy") == "block" else "fp8"
        return {8: fp8, 4: "nvfp4"}.get(bits or 0)
    return {8: "int8", 4: "int4"}.get(bits or 0)


def weight_file_bytes(folder: Path) -> int | None:
    """Return the bytes of the tensors of a folder's safetensors files; None without them.

    A file is 8 bytes, a header whose length they say, and the tensors. Where an index names files,
    only those count; if one of them is missing, the bytes are not known.
    """
    names = _indexed(folder / _INDEX)
    if names is None:
        names = sorted(
            file.name
            for file in folder.glob("*.safetensors")
            if not file.name.startswith(("consolidated", "adapter"))
        )
    total = 0
    for name in names:
        size = _tensor_bytes(folder / name)
        if size is None:
            return None
        total += size
    return total or None


def _indexed(index: Path) -> list[str] | None:
    try:
        data = json.loads(index.read_text(encoding="utf-8"))
        return sorted({Path(str(name)).name for name in data["weight_map"].values()})
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        return None


def _tensor_bytes(file: Path) -> int | None:
    try:
        with file.open("rb") as stream:
            head = stream.read(_HEADER_SIZE_BYTES)
        size = file.stat().st_size
    except OSError:
        return None
    n_header = int.from_bytes(head, "little")
    is_pointer = head.startswith(_LFS_POINTER)
    if len(head) < _HEADER_SIZE_BYTES or is_pointer or not 2 <= n_header <= _MAX_HEADER_BYTES:
        return None
    data = size - _HEADER_SIZE_BYTES - n_header
    return data if data >= 0 else None
