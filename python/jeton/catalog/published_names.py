"""Published names of models, taken apart: owner, base model, and how the weights are written.

People type what stands on a model's page: ``Qwen/Qwen2.5-7B-Instruct``,
``RedHatAI/Meta-Llama-3.1-8B-Instruct-FP8-dynamic``, ``llama-3.1-8b-awq``. Fine-tuning changes no
shape, so instruction-tuned models are looked up as their base; an ending that names a format is
kept as the format of the weights. Nothing is guessed: a name with a part that is not known here is
not found.
"""

from __future__ import annotations

import re
from collections.abc import Collection

from jeton._nearest import fold

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
