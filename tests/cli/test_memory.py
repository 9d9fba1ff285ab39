"""``jeton memory``, and what ``jeton audit`` may be told of the memory of one's own GPUs."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]

LLAMA: dict[str, Any] = {
    "model_type": "llama",
    "hidden_size": 4096,
    "intermediate_size": 14336,
    "num_hidden_layers": 32,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "vocab_size": 128256,
    "max_position_embeddings": 131072,
    "tie_word_embeddings": False,
}


def found(run: Run, *words: str, code: int = 0) -> dict[str, Any]:
    result = run("memory", *words, "--json")
    assert result.exit_code == code, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def test_the_longest_context_is_printed(run: Run) -> None:
    result = run("memory", "qwen2.5-14b", "--gpu", "rtx-4090", "--tensor-parallel", "2")
    assert result.exit_code == 0
    assert "LONGEST CONTEXT" in result.stdout
    assert "2 x RTX-4090" in result.stdout
    report = found(run, "qwen2.5-14b", "--gpu", "rtx-4090", "--tensor-parallel", "2")
    assert 70_000 < report["gpus"][0]["longest_context_tokens"] < 75_000


def test_one_gpu_never_means_two(run: Run) -> None:
    report = found(run, "qwen2.5-14b", "--gpu", "l4")
    assert report["gpus"][0]["n_gpus"] == report["gpus"][0]["gpus_needed"] == 2
    assert "the figures are for 2 together" in report["gpus"][0]["notes"][0]
    given = found(run, "qwen2.5-14b", "--gpu", "l4", "--tensor-parallel", "1", code=1)
    assert given["gpus"][0]["longest_context_tokens"] == given["gpus"][0]["n_requests"] == 0
    assert "does not fit 1 x L4: 2 are needed" in given["gpus"][0]["notes"][0]


def test_formats_of_weights_and_cache(run: Run) -> None:
    whole = found(run, "llama-3.1-8b", "--gpu", "a10")
    less = found(run, "llama-3.1-8b", "--gpu", "a10", "--weights", "int4", "--kv-dtype", "fp8")
    assert less["model"]["weights_bytes"] == 5_727_854_592
    assert less["model"]["kv_bytes_per_token"] * 2 == whole["model"]["kv_bytes_per_token"]
    tokens = "kv_cache_tokens"
    assert less["gpus"][0][tokens] > 4 * whole["gpus"][0][tokens]
    full = found(run, "gpt-oss-20b", "--gpu", "l4", "--full-pages")
    assert full["gpus"][0][tokens] < found(run, "gpt-oss-20b", "--gpu", "l4")["gpus"][0][tokens]


def test_a_model_by_its_configuration(run: Run) -> None:
    folder = Path("my-model")
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(LLAMA), encoding="utf-8")
    by_folder = found(run, "./my-model", "--gpu", "l4")
    assert by_folder["model"]["weights_bytes"] == 16_060_522_496
    assert by_folder == found(run, "my-model/config.json", "--gpu", "l4")
    # Weight files beside it are counted to the byte: 8 bytes, the header, 1,000 of tensors.
    header = json.dumps({"w": {"dtype": "U8", "shape": [1000], "data_offsets": [0, 1000]}})
    body = len(header).to_bytes(8, "little") + header.encode() + bytes(1000)
    (folder / "model.safetensors").write_bytes(body)
    counted = found(run, "my-model", "--gpu", "l4")
    assert counted["model"]["weights_bytes"] == 1000
    assert counted["model"]["weights_basis"] == "tensors"


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["nomodel-7b", "--gpu", "l4"], "unknown model"),
        (["qwen2.5-7b", "--gpu", "h1000"], "unknown GPU"),
        (["qwen2.5-7b", "--gpu", "l4", "--weights", "int3"], "unknown number format 'int3'"),
        (["qwen2.5-7b", "--gpu", "l4", "--kv-dtype", "q9"], "unknown number format 'q9'"),
        (["./nothing", "--gpu", "l4"], "no such file"),
        (["empty.json", "--gpu", "l4"], "has no field 'hidden_size'"),
        (["broken.json", "--gpu", "l4"], "not JSON"),
    ],
)
def test_errors_name_what_and_where(run: Run, words: list[str], says: str) -> None:
    Path("empty.json").write_text("{}", encoding="utf-8")
    Path("broken.json").write_text("{", encoding="utf-8")
    result = run("memory", *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "hint: " in result.stderr


def audited(run: Run, *words: str) -> dict[str, Any]:
    Path("x.txt").write_text("the value of the statement " * 200, encoding="utf-8")
    result = run("audit", "x.txt", "-t", "small", "--no-quality", "--json", "-", *words)
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    return value


def test_an_audit_is_told_how_the_model_is_held(run: Run) -> None:
    words = ("--model", "deepseek-v3", "--gpu", "h200", "--tensor-parallel", "8")
    economics = audited(run, *words)["tokenizers"][0]["economics"]
    assert economics["n_gpus"]["value"] == 8
    assert "held 8 times" in economics["kv_cache_tokens"]["formula"]
    report = audited(run, "--model", "llama-3.1-8b-fp8", "--gpu", "a10", "--kv-dtype", "fp8")
    assert report["workload"]["weights"] == (
        "mlp, attention in fp8; embedding, head in bf16 (a guess from the name)"
    )
    assert report["workload"]["kv_dtype"] == "fp8"
    assert report["tokenizers"][0]["economics"]["kv_bytes_per_token"]["value"] == 65_536


def test_gpus_are_rented_for_the_peak(run: Run) -> None:
    words = ("--model", "llama-3.1-8b", "--gpu", "l4", "--requests-per-day", "1000000")
    costs = [
        float(report["tokenizers"][0]["economics"]["own_gpu_usd_per_month"]["value"])
        for report in (audited(run, *words), audited(run, *words, "--peak-factor", "3"))
    ]
    assert costs[1] == pytest.approx(3 * costs[0], rel=0.2)


def test_the_peak_of_the_logs_counts(run: Run) -> None:
    # 24 requests in the first hour, one in each of the 23 that follow.
    hours = [0] * 24 + list(range(1, 24))
    records = [
        {
            "prompt": f"say {i}",
            "response": "one",
            "timestamp": 1_760_000_000 // 3600 * 3600 + h * 3600,
        }
        for i, h in enumerate(hours)
    ]
    lines = "\n".join(json.dumps(record) for record in records)
    Path("log.jsonl").write_text(lines + "\n", encoding="utf-8")
    words = ("--model", "llama-3.1-8b", "--gpu", "l4", "--no-quality", "--json", "-")
    result = run("audit", "log.jsonl", "--logs", "-t", "small", *words)
    assert result.exit_code == 0, result.output
    workload = json.loads(result.stdout)["workload"]
    assert "peak_to_mean" in workload["taken_from_logs"]
    assert workload["peak_to_mean"] == pytest.approx(24 / (workload["requests_per_day"] / 24))


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["--weights", "fp8"], "--weights is for a model"),
        (["--tensor-parallel", "2"], "--tensor-parallel is for a model"),
        (["--peak-factor", "2"], "--peak-factor is for GPUs of your own"),
        (["--model", "gpt2", "--gpu-memory-utilization", "1.5"], "1.5"),
    ],
)
def test_options_without_their_model_are_refused(run: Run, words: list[str], says: str) -> None:
    Path("x.txt").write_text("the value", encoding="utf-8")
    result = run("audit", "x.txt", "-t", "small", *words)
    assert result.exit_code == 2
    assert says in result.stderr


def test_formats_are_listed(run: Run) -> None:
    result = run("catalog", "formats")
    assert result.exit_code == 0
    assert "mxfp4" in result.stdout
    formats = json.loads(run("catalog", "formats", "--json").stdout)["formats"]
    assert {one["name"]: one["bits"] for one in formats}["mxfp4"] == 4.25
