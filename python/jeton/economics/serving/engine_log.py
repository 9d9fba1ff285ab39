"""Start-up logs of engines: weights, activations, cache, and its settings.

Read are the wordings of vLLM (0.4 on), SGLang, TensorRT-LLM and llama.cpp of 2024 to 2026. A line
that is not known is passed over; a log without a cache is an error that says what is missing.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Callable, Iterable
from dataclasses import asdict, dataclass, fields, replace
from pathlib import Path
from typing import Any, Final

from jeton._foreign import json_of
from jeton.errors import FormatError

GIB: Final = 1 << 30
MIB: Final = 1 << 20
_MAX_BYTES: Final = 256 << 20
_MAX_LINE: Final = 20_000
_MOST: Final = 1 << 53
_SCHEMA: Final = "jeton.engine_log/1"


@dataclass(frozen=True, slots=True)
class EngineLog:
    """Facts of a start-up log; None where it does not say.

    Attributes:
        source: The file.
        engine: Name of the engine, as `ENGINES` has it.
        version: Its version; empty: the log does not say.
        model: Name of the model; empty: the log does not say.
        tensor_parallel: GPUs of a stage.
        max_context_tokens: Tokens of a request at most.
        max_batched_tokens: Tokens of a step at most.
        max_requests: Requests side by side at most.
        gpu_memory_utilization: Share of the memory that the engine takes.
        kv_dtype: Format of the cache, ``auto`` where it is the model's.
        total_bytes: Memory of a GPU that the program sees.
        usable_bytes: Memory that the engine may take.
        weight_bytes: Weights on each GPU.
        activation_bytes: Peak of the activations.
        graph_bytes: CUDA graphs.
        beside_bytes: Libraries and all that is no tensor.
        kv_bytes: The cache on each GPU; negative where the model does not fit.
        kv_tokens: Tokens that the cache holds, as printed.
        concurrency: Requests of the longest context that it holds.
        n_starts: Starts of the engine in the log; facts are of the last.
    """

    source: str
    engine: str
    version: str = ""
    model: str = ""
    tensor_parallel: int | None = None
    max_context_tokens: int | None = None
    max_batched_tokens: int | None = None
    max_requests: int | None = None
    gpu_memory_utilization: float | None = None
    kv_dtype: str = "auto"
    total_bytes: int | None = None
    usable_bytes: int | None = None
    weight_bytes: int | None = None
    activation_bytes: int | None = None
    graph_bytes: int | None = None
    beside_bytes: int | None = None
    kv_bytes: int | None = None
    kv_tokens: int | None = None
    concurrency: float | None = None
    n_starts: int = 1


def read_engine_log(path: str | os.PathLike[str]) -> EngineLog:
    """Read a start-up log, or what `save_engine_log` wrote of one.

    Raises:
        FormatError: It is no such log, or ends before the cache.
        OSError: The file cannot be read.
    """
    file = Path(path)
    if file.stat().st_size > _MAX_BYTES:
        raise FormatError(
            f"{file}: larger than a start-up log ({_MAX_BYTES:,} bytes)\n"
            "hint: give the lines up to the first request",
            path=str(file),
        )
    with file.open(encoding="utf-8", errors="replace") as stream:
        first = stream.readline(_MAX_LINE)
        if first.lstrip().startswith("{") and _SCHEMA in first:
            return _saved(file, first + stream.read(1 << 20))
        stream.seek(0)
        return parse_engine_log(_lines(stream), source=str(file))


def _lines(stream: Any) -> Iterable[str]:
    while line := stream.readline(_MAX_LINE):
        yield line


def save_engine_log(log: EngineLog, path: str | os.PathLike[str]) -> None:
    """Write the facts of a log as a small JSON file, whole or not at all."""
    from jeton._files import write_whole

    write_whole(path, json.dumps({"schema_version": _SCHEMA, **asdict(log)}) + "\n")


def _saved(file: Path, text: str) -> EngineLog:
    try:
        data = json_of(text)
        known = {one.name for one in fields(EngineLog)}
        found = EngineLog(**{name: data[name] for name in known if name in data})
        numbers = [v for k, v in asdict(found).items() if isinstance(v, int | float)]
        if not all(abs(value) < _MOST for value in numbers) or not isinstance(found.engine, str):
            raise ValueError("a number is out of range")
    except (ValueError, TypeError, RecursionError) as error:
        raise FormatError(f"{file}: no saved log: {error}", path=str(file)) from error
    return found


def parse_engine_log(lines: Iterable[str], *, source: str = "log") -> EngineLog:
    """Return the facts of a start-up log.

    Raises:
        FormatError: It is of no engine that is known, or ends before the cache.
    """
    values: dict[str, dict[str, list[float]]] = {}
    texts: dict[str, dict[str, str]] = {}
    starts: dict[str, int] = {}
    for raw in lines:
        line = raw[:_MAX_LINE]
        for engine, pattern in _STARTS.items():
            # A start after a cache was made is another one.
            if values.get(engine, {}).keys() & {"kv", "tokens"} and pattern.search(line):
                starts[engine] = starts.get(engine, 1) + 1
                _forget(values[engine], texts.get(engine, {}))
        for engine, name, pattern, scale in _NUMBERS:
            if name in _WORDS and not any(word in line for word in _WORDS[name]):
                continue
            for found in pattern.finditer(line):
                number = _number(found[1])
                if number is not None and abs(number * scale) < _MOST:
                    values.setdefault(engine, {}).setdefault(name, []).append(number * scale)
        for engine, name, pattern in _TEXTS:
            match = pattern.search(line)
            if match is not None:
                texts.setdefault(engine, {}).setdefault(name, match[1][:200])
    engines = [one for one in _BUILDERS if one in values]
    if not engines:
        raise FormatError(
            f"{source}: no line of a start-up log of vLLM, SGLang, TensorRT-LLM or llama.cpp\n"
            "hint: give the engine's output from its start to its first request",
            path=source,
        )
    engine = max(engines, key=lambda one: len(values[one]))
    log = _BUILDERS[engine](values[engine], texts.get(engine, {}), source)
    return replace(log, n_starts=starts.get(engine, 1))


def _forget(values: dict[str, list[float]], texts: dict[str, str]) -> None:
    """Drop the facts of a start; settings that the next one does not print are kept."""
    texts.clear()
    for name in [*values]:
        if name not in ("tensor", "context", "step", "requests"):
            del values[name]


def _number(text: str) -> float | None:
    try:
        return float(text.replace(",", ""))
    except ValueError:
        return None


_Rows = list[tuple[str, str, re.Pattern[str], float]]
_N = r"(-?\d[\d,]{0,20}(?:\.\d{1,8})?)"


def _rows(engine: str, *entries: tuple[str, str, float]) -> _Rows:
    return [
        (engine, name, re.compile(pattern.replace("@", _N)), scale)
        for name, pattern, scale in entries
    ]


_NUMBERS: Final[_Rows] = [
    *_rows(
        "vllm",
        ("weights", r"[Ll]oading (?:model )?weights took @ ?G", GIB),
        ("weights", r"Model loading took @ ?GiB", GIB),
        ("weights", r"model weights take\s+@ ?GiB", GIB),
        ("total", r"total_gpu_memory[ =(]{1,9}@ ?GiB", GIB),
        ("total", r"Free memory on device \([\d.]{1,9}/@ ?GiB\)", GIB),
        ("utilization", r"gpu_memory_utilization(?:'?: ?|[ =(]{1,9})@", 1),
        ("utilization", r"--gpu-memory-utilization[ =]@", 1),
        ("utilization", r"Desired GPU memory utilization is \(@,", 1),
        ("usable", r"\) ?= ?@ ?GiB", GIB),
        ("usable", r"Desired GPU memory utilization is \([\d.]{1,9}, @ GiB\)", GIB),
        ("usable", r"current vLLM instance can use\s+@ ?GiB", GIB),
        ("activation", r"activation peak memory(?: takes)?\s+@ ?GiB", GIB),
        ("activation", r"@ GiB for peak activation", GIB),
        ("beside", r"non_torch_memory(?: takes|=)?\s*@ ?GiB", GIB),
        ("graphs", r"@ GiB for CUDAGraph memory", GIB),
        ("graphs", r"Estimated CUDA graph memory: @ GiB", GIB),
        ("kv", r"Available KV cache(?: memory:)?\s{1,9}@ GiB", GIB),
        ("kv", r"Current kv cache memory in use is @ GiB", GIB),
        ("tokens", r"Available KV cache\s{1,9}[\d.]{1,9} GiB\s{1,9}\(@ tokens\)", 1),
        ("kv", r"reserved for KV Cache is @ ?GiB", GIB),
        ("kv", r"(?:available_kv_cache_memory|kv_cache_size)[ =]{1,9}@ ?GiB", GIB),
        ("tokens", r"GPU KV cache size: @ tokens", 1),
        ("blocks", r"(?:GPU|CUDA) blocks: @", 1),
        ("tokens", r"that can be stored in KV cache \(@\)", 1),
        ("concurrency", r"Maximum concurrency for [\d,]{1,20} tokens per request: @x", 1),
        ("context", r"Maximum concurrency for @ tokens per request", 1),
        ("context", r"max seq len \(@\)", 1),
        ("context", r"(?:max_model_len'?: ?|max_seq_len=|--max[-_]model[-_]len[ =])@", 1),
        ("tensor", r"tensor_parallel_size(?:'?: ?|=)@", 1),
        ("tensor", r"(?:--tensor-parallel-size|-tp)[ =]@", 1),
        ("step", r"max_num_batched_tokens(?:'?: ?|=)@", 1),
        ("requests", r"max_num_seqs(?:'?: ?|=)@", 1),
    ),
    *_rows(
        "sglang",
        ("weights", r"Load weight end\..{0,200}mem usage=@ GB", GIB),
        ("seen", r"Load weight begin\. avail mem=@ GB", GIB),
        ("after", r"Load weight end\..{0,200}avail mem=@ GB", GIB),
        ("tokens", r"KV Cache is allocated\..{0,80}#tokens: @", 1),
        ("tokens", r"max_total_num_tokens=@", 1),
        ("keys", r"K size: @ GB", GIB),
        ("values", r"V size: @ GB", GIB),
        ("keys", r"KV size: @ GB", GIB),
        ("utilization", r"mem_fraction_static=@", 1),
        ("utilization", r"--mem-fraction-static[ =]@", 1),
        ("tensor", r"\btp_size=@", 1),
        ("tensor", r"--tp(?:-size)?[ =]@", 1),
        ("context", r"\bcontext_len(?:gth)?=@", 1),
        ("requests", r"max_running_requests=@", 1),
    ),
    *_rows(
        "tensorrt-llm",
        ("kv", r"Allocated @ GiB for max tokens in paged KV cache", GIB),
        ("kv", r"Allocate @ bytes for k/v cache", 1),
        ("tokens", r"Using @ tokens in paged KV cache", 1),
        ("tokens", r"for max tokens in paged KV cache \(@\)", 1),
        ("tokens", r"KV cache.{0,40}max[_ ]tokens[ =:]{1,3}@", 1),
        ("peak", r"Peak memory during memory usage profiling.{0,40}: @ GiB", GIB),
        ("weights", r"(?:Loaded engine size|Model weights):? @ MiB", MIB),
        ("utilization", r"fraction is set @", 1),
        ("utilization", r"free_gpu_memory_fraction[=: ]{1,3}@", 1),
        ("requests", r"TRTGptModel maxBatchSize: @", 1),
        ("step", r"TRTGptModel maxNumTokens: @", 1),
    ),
    *_rows(
        "llama.cpp",
        ("weights", r"(?:CUDA|ROCm|Vulkan|Metal|SYCL)\w{0,9} model buffer size =\s*@ MiB", MIB),
        ("file", r"file size\s+= @ GiB", GIB),
        ("kv", r"(?:KV self size\s+|llama_kv_cache\w*: size)\s*= ?\s*@ MiB", MIB),
        ("cells", r"MiB \(\s*@ cells", 1),
        ("states", r"RS buffer size =\s*@ MiB", MIB),
        ("compute", r"(?:CUDA|ROCm|Vulkan|Metal|SYCL)\w{0,9} compute buffer size =\s*@ MiB", MIB),
        ("context", r"\bn_ctx\s+= @", 1),
        ("requests", r"\bn_seq_max\s+= @", 1),
    ),
]

_STARTS: Final = {
    "vllm": re.compile(
        r"API server version|LLM engine \(v|Model loading took|[Ll]oading (?:model )?weights took"
    ),
    "sglang": re.compile(r"server_args="),
    "llama.cpp": re.compile(r"\bbuild: \d"),
}
"""Lines that an engine prints when it starts."""

_WORDS: Final = {"usable": ("x gpu_memory_utilization", "Desired", "can use")}
"""Words without one of which a line says nothing of a name."""

_TEXTS: Final[list[tuple[str, str, re.Pattern[str]]]] = [
    ("vllm", "version", re.compile(r"(?:engine \(v|version )(\d[\w.+]{1,40})")),
    ("vllm", "model", re.compile(r"'model(?:_tag)?': '([^']{1,200})'")),
    ("vllm", "model", re.compile(r"with config: model='([^']{1,200})'")),
    ("vllm", "kv_dtype", re.compile(r"'?kv_cache_dtype'?[:=] ?'?([\w]{1,20})")),
    ("sglang", "model", re.compile(r"model_path='([^']{1,200})'")),
    ("sglang", "kv_dtype", re.compile(r"KV Cache is allocated\. dtype: torch\.([\w]{1,20})")),
    ("tensorrt-llm", "version", re.compile(r"TensorRT[- ]LLM version: (\d[\w.+]{1,40})")),
    ("llama.cpp", "version", re.compile(r"build: (\d{1,6})")),
    ("llama.cpp", "model", re.compile(r"general\.name\s+(?:str\s+)?= (.{1,200}?)\s*$")),
    ("llama.cpp", "kv_dtype", re.compile(r"K \((\w{1,8})\)")),
]

_Values = dict[str, list[float]]


def _least(values: _Values, name: str) -> int | None:
    found = values.get(name)
    return int(min(found)) if found else None


def _most(values: _Values, name: str) -> int | None:
    found = values.get(name)
    return int(max(found)) if found else None


def _last(values: _Values, name: str) -> int | None:
    found = values.get(name)
    return int(found[-1]) if found else None


def _share(values: _Values) -> float | None:
    found = [one for one in values.get("utilization", ()) if 0 < one <= 1]
    return found[-1] if found else None


def _incomplete(source: str, engine: str, missing: str) -> FormatError:
    return FormatError(
        f"{source}: the log of {engine} ends before {missing}\n"
        "hint: give the whole output up to the first request",
        path=source,
    )


def _vllm(values: _Values, texts: dict[str, str], source: str) -> EngineLog:
    kv, tokens = _least(values, "kv"), _least(values, "tokens")
    blocks = _least(values, "blocks")
    if tokens is None and blocks is not None:
        tokens = 16 * blocks
    if kv is None and tokens is None:
        raise _incomplete(source, "vLLM", "the memory that is available for the cache")
    return EngineLog(
        source,
        "vllm",
        texts.get("version", ""),
        texts.get("model", ""),
        tensor_parallel=_last(values, "tensor"),
        max_context_tokens=_last(values, "context"),
        max_batched_tokens=_last(values, "step"),
        max_requests=_last(values, "requests"),
        gpu_memory_utilization=_share(values),
        kv_dtype=_cache_name(texts.get("kv_dtype", "auto")),
        total_bytes=_most(values, "total"),
        usable_bytes=_least(values, "usable"),
        weight_bytes=_most(values, "weights"),
        activation_bytes=_most(values, "activation"),
        graph_bytes=_most(values, "graphs"),
        beside_bytes=_most(values, "beside"),
        kv_bytes=kv,
        kv_tokens=tokens,
        concurrency=(values.get("concurrency") or [None])[-1],  # type: ignore[list-item]
    )


def _sglang(values: _Values, texts: dict[str, str], source: str) -> EngineLog:
    tokens = _least(values, "tokens")
    if tokens is None:
        raise _incomplete(source, "SGLang", "the cache is allocated")
    keys, held = _least(values, "keys"), _least(values, "values") or 0
    weights = _most(values, "weights")
    seen = _least(values, "seen")
    after = _least(values, "after")
    if seen is None and after is not None and weights is not None:
        seen = after + weights
    return EngineLog(
        source,
        "sglang",
        "",
        texts.get("model", ""),
        tensor_parallel=_last(values, "tensor"),
        max_context_tokens=_last(values, "context"),
        max_requests=_last(values, "requests"),
        gpu_memory_utilization=_share(values),
        kv_dtype=_cache_name(texts.get("kv_dtype", "auto")),
        total_bytes=seen,
        weight_bytes=weights,
        kv_bytes=None if keys is None else keys + held,
        kv_tokens=tokens,
    )


def _tensorrt_llm(values: _Values, texts: dict[str, str], source: str) -> EngineLog:
    kv = _least(values, "kv")
    if kv is None:
        raise _incomplete(source, "TensorRT-LLM", "the cache is allocated")
    return EngineLog(
        source,
        "tensorrt-llm",
        texts.get("version", ""),
        max_batched_tokens=_last(values, "step"),
        max_requests=_last(values, "requests"),
        gpu_memory_utilization=_share(values),
        weight_bytes=_most(values, "weights"),
        kv_bytes=kv,
        kv_tokens=_least(values, "tokens"),
    )


def _llama_cpp(values: _Values, texts: dict[str, str], source: str) -> EngineLog:
    if "kv" not in values:
        raise _incomplete(source, "llama.cpp", "the cache is made")
    weights = values.get("weights")
    return EngineLog(
        source,
        "llama.cpp",
        texts.get("version", ""),
        texts.get("model", ""),
        tensor_parallel=len(weights) if weights and len(weights) <= 64 else None,
        max_context_tokens=_last(values, "context"),
        max_requests=_last(values, "requests"),
        kv_dtype=_cache_name(texts.get("kv_dtype", "auto")),
        weight_bytes=int(max(weights)) if weights else _most(values, "file"),
        activation_bytes=_most(values, "compute"),
        kv_bytes=int(sum(values["kv"]) + sum(values.get("states", ()))),
        kv_tokens=_most(values, "cells"),
    )


def _cache_name(text: str) -> str:
    """Return a cache's format by the catalog's name; ``auto`` for the model's own."""
    folded = text.casefold().removeprefix("torch.")
    if folded.startswith(("fp8", "float8")):
        return "fp8"
    known = {"f16": "fp16", "f32": "fp32", "q8_0": "q8_0", "q4_0": "q4_0", "nvfp4": "nvfp4"}
    return known.get(folded, "int8" if folded.startswith("int8") else "auto")


_BUILDERS: Final[dict[str, Callable[[_Values, dict[str, str], str], EngineLog]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "tensorrt-llm": _tensorrt_llm,
    "llama.cpp": _llama_cpp,
}
