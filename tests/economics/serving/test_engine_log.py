"""Start-up logs of engines: what is read of them, and what is refused."""
# ruff: noqa: E501, PT017 - lines as engines print them; either outcome is looked at

from __future__ import annotations

import random
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from jeton.catalog import gpu, model
from jeton.economics import MemoryPlan, fit_on, memory_budget
from jeton.economics.serving.calibration import calibrated_plan, log_differences
from jeton.economics.serving.capacity import cached_tokens
from jeton.economics.serving.engine_log import (
    parse_engine_log,
    read_engine_log,
    save_engine_log,
)
from jeton.errors import FormatError, UsageError
from jeton.planning.serving.servers import capacity_tokens, engine_defaults, server_of

GIB = 2**30

VLLM = """\
INFO 11-28 [api_server.py:1977] vLLM API server version 0.18.0
INFO 11-28 [core.py:93] Initializing a V1 LLM engine (v0.18.0) with config: model='meta-llama/Llama-3.1-8B-Instruct', dtype=torch.bfloat16, max_seq_len=32768, tensor_parallel_size=1, kv_cache_dtype=auto
INFO 11-28 [gpu_model_runner.py:2338] Model loading took 14.9889 GiB and 3.2 seconds
INFO 11-28 [gpu_worker.py:298] Available KV cache memory: 19.92 GiB
INFO 11-28 [kv_cache_utils.py:1087] GPU KV cache size: 163,168 tokens
INFO 11-28 [kv_cache_utils.py:1091] Maximum concurrency for 32,768 tokens per request: 4.98x
"""

SGLANG = """\
[2026-07-01 10:00:00] server_args=ServerArgs(model_path='Qwen/Qwen3-14B', tp_size=1, mem_fraction_static=0.88)
[2026-07-01 10:00:05] Load weight begin. avail mem=43.50 GB
[2026-07-01 10:00:15] Load weight end. type=Qwen3ForCausalLM, dtype=torch.bfloat16, avail mem=15.93 GB, mem usage=27.57 GB.
[2026-07-01 10:00:16] KV Cache is allocated. #tokens: 91749, K size: 7.00 GB, V size: 7.00 GB
"""

TENSORRT_LLM = """\
[TensorRT-LLM][INFO] [MemUsageChange] TensorRT-managed allocation in IExecutionContext creation: CPU +0, GPU +0, now: CPU 0, GPU 6683 (MiB)
[TensorRT-LLM][INFO] Allocate 69524783104 bytes for k/v cache.
[TensorRT-LLM][INFO] Using 132608 tokens in paged KV cache.
"""

LLAMA_CPP = """\
load_tensors:        CUDA0 model buffer size =  4403.49 MiB
llama_context: n_ctx         = 16384
llama_kv_cache:      CUDA0 KV buffer size =  2304.00 MiB
llama_kv_cache: size = 2304.00 MiB ( 16384 cells,  36 layers,  1/1 seqs), K (f16): 1152.00 MiB, V (f16): 1152.00 MiB
llama_context:      CUDA0 compute buffer size =   304.75 MiB
"""

LOGS = {"vllm": VLLM, "sglang": SGLANG, "tensorrt-llm": TENSORRT_LLM, "llama.cpp": LLAMA_CPP}


@pytest.mark.parametrize(
    ("engine", "tokens", "kv_gib"),
    [
        ("vllm", 163_168, 19.92),
        ("sglang", 91_749, 14.0),
        ("tensorrt-llm", 132_608, 64.75),
        ("llama.cpp", 16_384, 2.25),
    ],
)
def test_each_engine(engine: str, tokens: int, kv_gib: float) -> None:
    found = parse_engine_log(LOGS[engine].splitlines())
    assert found.engine == engine
    assert found.kv_tokens == tokens
    assert found.kv_bytes is not None
    assert found.kv_bytes / GIB == pytest.approx(kv_gib, abs=0.01)


@pytest.mark.parametrize("engine", LOGS)
def test_a_log_that_was_cut_is_refused(engine: str) -> None:
    first = LOGS[engine].splitlines()[:1]
    with pytest.raises(FormatError, match="hint: "):
        parse_engine_log(first)


@pytest.mark.parametrize("engine", LOGS)
def test_no_damage_makes_it_fall(engine: str) -> None:
    draw = random.Random(7)
    for _ in range(200):
        text = list(LOGS[engine])
        for _ in range(draw.randrange(1, 6)):
            text[draw.randrange(len(text))] = chr(draw.randrange(32, 0x2FF))
        end = draw.randrange(len(text))
        try:
            parse_engine_log("".join(text[:end]).splitlines())
        except FormatError as error:
            assert "\n" in str(error)


def test_other_text_is_no_log() -> None:
    with pytest.raises(FormatError):
        parse_engine_log(["hello", "nothing of an engine"])


def test_a_saved_log_is_read_again(tmp_path: Path) -> None:
    file = tmp_path / "vllm.log"
    file.write_text(VLLM, encoding="utf-8")
    found = read_engine_log(file)
    save_engine_log(found, tmp_path / "facts.json")
    again = read_engine_log(tmp_path / "facts.json")
    assert (again.kv_tokens, again.weight_bytes) == (found.kv_tokens, found.weight_bytes)


def test_calibrated_tokens_are_those_of_the_log() -> None:
    facts, card = model("llama-3.1-8b"), gpu("a100-40gb")
    plan = calibrated_plan(parse_engine_log(VLLM.splitlines()), facts, card, MemoryPlan())
    budget = memory_budget(facts, card, plan)
    assert budget.basis == "measured"
    assert cached_tokens(facts, card, budget, plan) == pytest.approx(163_168, rel=0.005)


def test_contradictions() -> None:
    log, card = parse_engine_log(VLLM.splitlines()), gpu("a100-40gb")
    with pytest.raises(UsageError, match="hint: "):
        calibrated_plan(log, model("llama-3.1-8b"), card, MemoryPlan(n_gpus=4))
    with pytest.raises(UsageError, match="hint: "):
        calibrated_plan(log, model("llama-3.1-8b"), card, MemoryPlan(engine="sglang"))
    with pytest.raises(UsageError, match="hint: "):
        calibrated_plan(log, model("qwen3-4b"), card, MemoryPlan())


TOLD = """\
INFO [gpu_worker.py:563] Available KV cache memory: 11.15 GiB
INFO [kv_cache_utils.py:2235] GPU KV cache size: 214,135 tokens
INFO [kv_cache_utils.py:2236] Maximum concurrency for 65,536 tokens per request: 3.27x
"""
"""As noonghunna/club-3090#1086 has it."""


def test_the_log_rules_the_requests() -> None:
    facts, card = model("qwen3.8-27b-fp8"), gpu("rtx-5090")
    plan = calibrated_plan(parse_engine_log(TOLD.splitlines()), facts, card, MemoryPlan(n_gpus=2))
    fit = fit_on(facts, card, plan, request_tokens=65_536)
    assert fit.budget.kv_bytes == int(11.15 * GIB)
    assert fit.kv_cache_tokens == 214_135
    assert fit.n_requests == 3
    server = server_of("qwen3.8-27b-fp8", "rtx-5090", plan=plan)
    assert capacity_tokens(server, engine_defaults(server)) == 214_135
    held = fit_on(facts, card, replace(plan, kv_dtype="fp8"), request_tokens=65_536)
    assert 214_135 < held.kv_cache_tokens < 2 * 214_135


BLOCKS = """\
INFO 01-30 gpu_model_runner.py:848] Loading model weights took 67.7229 GB
INFO 01-30 kv_cache_utils.py:395] # GPU blocks: 1381
"""
"""As vllm-project/vllm#12569 has it."""


def test_tokens_alone_are_taken() -> None:
    facts, card = model("llama-3.1-70b-w8a8"), gpu("h100")
    own = MemoryPlan(max_context_tokens=2048, gpu_memory_utilization=0.98)
    plan = calibrated_plan(parse_engine_log(BLOCKS.splitlines()), facts, card, own)
    budget = memory_budget(facts, card, plan)
    assert cached_tokens(facts, card, budget, plan) == 22_096
    assert budget.weight_bytes == int(67.7229 * GIB)


SUMMARY = """\
INFO [kv_cache_utils.py:2324] GPU KV cache size: 268,560 tokens, Maximum concurrency for 2,048 tokens per request: 131.13x
INFO [gpu_worker.py:876] Free memory on device (46.99/47.37 GiB) on startup. Desired GPU memory utilization is (0.85, 40.27 GiB). Actual usage is 2.81 GiB for consumed memory (weights + non-torch), 0.57 GiB for peak activation, and 0.22 GiB for CUDAGraph memory. Current kv cache memory in use is 36.88 GiB.
"""
"""As vllm-project/vllm#57047 has it."""


def test_a_summary_in_one_line() -> None:
    facts, card = model("qwen3-4b-awq"), gpu("rtx-6000-ada")
    plan = calibrated_plan(parse_engine_log(SUMMARY.splitlines()), facts, card, MemoryPlan())
    budget = memory_budget(facts, card, plan)
    assert cached_tokens(facts, card, budget, plan) == 268_560
    assert budget.kv_bytes == int(36.88 * GIB)
    assert budget.activation_bytes == int(0.57 * GIB)


@pytest.mark.parametrize(
    ("name", "card", "own"),
    [
        ("qwen3-4b-awq", "h100", {}),
        ("qwen3-4b-awq", "rtx-6000-ada", {"max_context_tokens": 4096}),
        ("qwen2.5-72b", "rtx-6000-ada", {"weights": "int4"}),
    ],
    ids=["another GPU", "another max-model-len", "more than the GPU has"],
)
def test_settings_of_another_server(name: str, card: str, own: dict[str, Any]) -> None:
    log = parse_engine_log(SUMMARY.splitlines())
    with pytest.raises(UsageError, match="hint: "):
        calibrated_plan(log, model(name), gpu(card), MemoryPlan(**own))


def test_a_log_of_another_model() -> None:
    lines = [
        *TOLD.splitlines(),
        "non-default args: {'model_tag': 'Qwen/Qwen2.5-72B-Instruct-AWQ', 'max_model_len': 65536}",
    ]
    with pytest.raises(UsageError, match="is a log of Qwen/Qwen2"):
        calibrated_plan(parse_engine_log(lines), model("llama-3.1-8b"), gpu("l4"), MemoryPlan())


def test_the_last_start_is_taken() -> None:
    second = VLLM.replace("19.92", "9.92").replace("163,168", "81,232")
    found = parse_engine_log([*VLLM.splitlines(), *second.splitlines()])
    assert (found.kv_tokens, found.n_starts) == (81_232, 2)
    plan = calibrated_plan(found, model("llama-3.1-8b"), gpu("a100-40gb"), MemoryPlan())
    fit = fit_on(model("llama-3.1-8b"), gpu("a100-40gb"), plan, request_tokens=1000)
    assert any("2 starts" in note for note in fit.notes)
    ranks = parse_engine_log([line for line in VLLM.splitlines() for _ in range(2)])
    assert ranks.n_starts == 1


@pytest.mark.parametrize(
    ("line", "name", "value"),
    [
        ("Available KV cache        52.29 GiB   (668,624 tokens)", "kv_tokens", 668_624),
        ("Available KV cache        52.29 GiB   (668,624 tokens)", "kv_bytes", int(52.29 * GIB)),
        ("GPU blocks: 1952", "kv_tokens", 31_232),
        ("max seq len (131072), KV cache size: 1\nGPU blocks: 9", "max_context_tokens", 131_072),
    ],
)
def test_wordings(line: str, name: str, value: int) -> None:
    lines = ["Model loading took 12.81 GiB", *line.split("\n")]
    assert getattr(parse_engine_log(lines), name) == value


def test_a_cache_of_llama_cpp_is_compared_at_its_length() -> None:
    facts, card = model("qwen3-8b"), gpu("rtx-4090")
    log = parse_engine_log(LLAMA_CPP.splitlines())
    rows = {
        one.name: one for one in log_differences(log, facts, card, MemoryPlan(weights="q4_k_m"))
    }
    assert abs(rows["cache"].off_share) < 0.001
