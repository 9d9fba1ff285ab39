"""Start-up logs that were published, against the engines' rules."""

from __future__ import annotations

from typing import Any

import pytest

from scripts.published_logs import judge, published_logs

LOGS = published_logs()

# Why a log is far off: what its source tells beside.
EXPLAINED = {
    "https://github.com/vllm-project/vllm/issues/44376": "a bug of vLLM with DeepSeek-V4",
    "https://github.com/vllm-project/vllm/issues/51041": "the same",
    "https://github.com/vllm-project/vllm/issues/13061": "the other GPU had less",
}


def within(offs: list[float], most: float) -> float:
    return sum(abs(off) <= most for off in offs) / len(offs)


def test_there_are_enough() -> None:
    assert len(LOGS) >= 40
    assert sum(log["date"] >= "2026" for log in LOGS) * 3 >= len(LOGS)
    assert {log["engine"] for log in LOGS} == {"vllm", "sglang", "tensorrt-llm", "llama.cpp"}


@pytest.mark.parametrize("log", LOGS, ids=lambda log: f"{log['model']}-{log['date']}")
def test_no_weights_are_far_off(log: dict[str, Any]) -> None:
    off = judge(log).weights_off
    # A name alone does not say which parts of an NVFP4 file keep 16 bits.
    most = 0.2 if log["model"].endswith("-nvfp4") else 0.03
    assert off is None or abs(off) < most


def test_rates() -> None:
    judged = [judge(log) for log in LOGS]
    weights = [row.weights_off for row in judged if row.weights_off is not None]
    assert within(weights, 0.011) >= 0.7
    cache = [row.cache_off for row in judged if row.cache_off is not None]
    assert within(cache, 0.05) >= 0.8
    assert within(cache, 0.1) >= 0.9
    printed = [judge(log, calibrated=True) for log in LOGS if log["source"] not in EXPLAINED]
    offs = [r.cache_off for r in printed if r.cache_off is not None and r.is_calibrated]
    assert within(offs, 0.02) == 1
