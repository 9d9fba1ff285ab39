"""Start-up logs of engines: what is read of them, and what is refused."""
# ruff: noqa: E501, PT017 - lines as engines print them; either outcome is looked at

from __future__ import annotations

import random
from pathlib import Path

import pytest

from jeton.catalog import gpu, model
from jeton.economics import MemoryPlan, memory_budget
from jeton.economics.serving.calibration import calibrated_plan
from jeton.economics.serving.capacity import cached_tokens
from jeton.economics.serving.engine_log import (
    parse_engine_log,
    read_engine_log,
    save_engine_log,
)
from jeton.errors import FormatError, UsageError

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
