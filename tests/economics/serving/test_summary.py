from __future__ import annotations

import dataclasses
from decimal import Decimal
from typing import Any

import numpy as np
import pytest

from jeton.auditing.result import EconomicsSummary
from jeton.catalog import gpu, model
from jeton.economics import MemoryPlan, kv_bytes, memory_budget, prefill_flops, prefill_seconds
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.own_gpu import OWN_GPU_FIGURE_NAMES, own_gpu_cost
from jeton.economics.serving.summary import FIGURE_NAMES, summarize
from jeton.errors import UsageError
from jeton.findings import Basis, Figure

LENGTHS = np.array([1000, 3000], dtype=np.int64)
DOCUMENTS = np.array([3, 1], dtype=np.int64)


def call(**changed: Any) -> dict[str, Figure | None]:
    arguments: dict[str, Any] = {
        "tokens_mean": 1500.0,
        "tokens_p95": 3000,
        "tokens_histogram": (LENGTHS, DOCUMENTS),
        "vocab_size": 128_256,
        "model": model("llama-3-8b"),
        "gpu": gpu("h100"),
        "requests_per_day": 1000.0,
        "output_tokens_per_request": 0.0,
    }
    return summarize(**{**arguments, **changed})


def value(figures: dict[str, Figure | None], name: str) -> float | int | Decimal:
    figure = figures[name]
    assert figure is not None, name
    return figure.value


def test_names_are_those_of_the_report() -> None:
    assert tuple(field.name for field in dataclasses.fields(EconomicsSummary)) == FIGURE_NAMES
    EconomicsSummary(**call())


def test_every_figure_says_how_it_was_made() -> None:
    for name, figure in call().items():
        if name == "kv_bytes_per_request_full_pages":
            assert figure is None  # Llama has no windows.
            continue
        if name.startswith("usd_"):
            continue  # the ledger's
        assert figure is not None, name
        assert figure.unit, name
        assert figure.formula, name
        assert "20" in figure.source, name  # carries a year: every source is dated


def test_values_are_those_of_the_functions() -> None:
    figures = call(output_tokens_per_request=500)
    facts, h100 = model("llama-3-8b"), gpu("h100")
    assert value(figures, "kv_bytes_per_token") == 131_072
    assert value(figures, "kv_bytes_per_request_mean") == 131_072 * 2000
    assert value(figures, "kv_bytes_per_request_p95") == 131_072 * 3500
    assert value(figures, "weights_bytes") == 2 * 8_030_261_248
    assert value(figures, "embedding_bytes") == 2 * 1_050_673_152
    left = memory_budget(facts, h100).kv_bytes
    assert value(figures, "concurrent_requests_mean") == left // 262_144_000 == 224
    assert value(figures, "concurrent_requests_p95") == left // 458_752_000 == 128
    assert value(figures, "kv_cache_tokens") == left // (16 * 131_072) * 16
    assert value(figures, "longest_context_tokens") == facts.context_tokens
    assert value(figures, "gpus_needed") == 1
    short, long = prefill_flops(facts, 1000), prefill_flops(facts, 3000)
    linear = (3 * short.linear + long.linear) / 4
    attention = (3 * short.attention + long.attention) / 4
    assert value(figures, "prefill_linear_flops_per_request") == linear
    # Quadratic: the mean over documents, not at the mean length.
    assert value(figures, "prefill_attention_flops_per_request") == attention
    assert attention > prefill_flops(facts, 1500).attention
    seconds = (3 * prefill_seconds(facts, h100, 1000) + prefill_seconds(facts, h100, 3000)) / 4
    assert value(figures, "prefill_seconds_per_request") == pytest.approx(seconds)


def test_bases() -> None:
    figures = call()
    estimated = {name for name, figure in figures.items() if figure and figure.basis != "exact"}
    assert estimated == {
        "gpus_needed",
        "kv_cache_tokens",
        "longest_context_tokens",
        "concurrent_requests_mean",
        "concurrent_requests_p95",
        "prefill_seconds_per_request",
        *OWN_GPU_FIGURE_NAMES,
    }


def test_own_gpus_are_those_of_their_functions() -> None:
    figures = call(output_tokens_per_request=500)
    workload = RequestLengths(tuple(LENGTHS.tolist()), tuple(DOCUMENTS.tolist()), 500)
    cost = own_gpu_cost(model("llama-3-8b"), gpu("h100"), workload, requests_per_day=1000)
    assert value(figures, "concurrent_requests_safe") == cost.capacity.n_requests_safe
    # Fewer than at the mean length: the longer ones come together now and then.
    safe = value(figures, "concurrent_requests_safe")
    assert value(figures, "concurrent_requests_p95") < safe
    assert safe < value(figures, "concurrent_requests_mean")
    assert value(figures, "own_gpu_seconds_per_request") == cost.seconds_per_request
    assert value(figures, "own_gpu_usd_per_request") == cost.usd_per_request
    assert value(figures, "own_gpu_usd_per_mtok") == cost.usd_per_mtok
    assert value(figures, "own_gpu_usd_per_month") == cost.usd_per_month
    wh = value(figures, "own_gpu_watt_hours_per_request")
    assert float(wh) == pytest.approx(cost.gpu_seconds_per_request * 700 * 1.56 / 3600)
    grams = value(figures, "own_gpu_grams_co2_per_request")
    assert float(grams) == pytest.approx(float(wh) * 0.473)
    assert call(requests_per_day=None)["own_gpu_usd_per_month"] is None


def test_what_does_not_fit_has_no_cost() -> None:
    figures = call(
        model=model("llama-2-7b"),
        gpu=gpu("t4"),
        tokens_p95=40_000,
        tokens_histogram=(np.array([400_000]), np.array([1])),
    )
    assert all(figures[name] is None for name in OWN_GPU_FIGURE_NAMES)


def test_another_vocabulary_changes_the_weights_and_says_so() -> None:
    figures = call(vocab_size=200_019)
    for name in ("weights_bytes", "embedding_bytes"):
        figure = figures[name]
        assert figure is not None
        assert figure.basis is Basis.ESTIMATED
        assert "would have to be trained with 200,019" in figure.formula
    assert value(figures, "embedding_bytes") == 2 * 200_019 * 4096 * 2
    linear = figures["prefill_linear_flops_per_request"]
    assert linear is not None
    assert linear.basis is Basis.ESTIMATED


def test_a_vocabulary_that_fits_the_padded_table_uses_it() -> None:
    figures = call(model=model("qwen2.5-7b"), vocab_size=151_643)
    assert value(figures, "weights_bytes") == 2 * 7_615_616_512
    assert "fits the model's table of 152,064" in str(figures["weights_bytes"])


def test_weights_that_do_not_fit_are_said_so() -> None:
    figure = call(model=model("llama-3.1-405b"))["concurrent_requests_mean"]
    assert figure is not None
    assert figure.unit == "requests on 16 x H100-SXM"
    assert "does not fit one H100-SXM" in figure.formula
    assert "16 are needed" in figure.formula
    plan = MemoryPlan(n_gpus=8)
    held = call(model=model("llama-3.1-405b"), plan=plan)["concurrent_requests_mean"]
    assert held is not None
    assert (held.value, held.unit) == (0, "requests on 8 x H100-SXM")
    assert "does not fit 8 x H100-SXM, 16 are needed" in held.formula


def test_a_request_that_does_not_fit_is_said_so() -> None:
    figure = call(model=model("llama-2-7b"), gpu=gpu("t4"), vocab_size=32_000, tokens_p95=40_960)[
        "concurrent_requests_p95"
    ]
    assert figure is not None
    assert figure.value == 0
    assert "not even one request" in figure.formula


def test_sliding_windows_are_averaged_document_by_document() -> None:
    mistral = model("mistral-7b")
    histogram = (np.array([100, 100_000]), np.array([1, 1]))
    figures = call(model=mistral, tokens_histogram=histogram, vocab_size=32_000)
    by_document = (kv_bytes(mistral, 100) + kv_bytes(mistral, 100_000)) / 2
    assert value(figures, "kv_bytes_per_request_mean") == by_document
    assert by_document < kv_bytes(mistral, 50_050)


def test_what_is_not_given_gives_no_figure() -> None:
    assert set(call(model=None).values()) == {None}
    without_gpu = call(gpu=None)
    assert without_gpu["concurrent_requests_mean"] is None
    assert without_gpu["weights_bytes"] is not None


def test_empty_documents_need_no_cache_and_no_time() -> None:
    figures = call(tokens_mean=0.0, tokens_p95=0, tokens_histogram=(np.array([0]), np.array([5])))
    assert value(figures, "kv_bytes_per_request_mean") == 0
    assert figures["concurrent_requests_mean"] is None
    assert value(figures, "prefill_linear_flops_per_request") == 0


def test_large_counts_do_not_overflow() -> None:
    histogram = (np.array([2**20], dtype=np.uint32), np.array([2**40], dtype=np.int64))
    figures = call(tokens_mean=float(2**20), tokens_p95=2**20, tokens_histogram=histogram)
    expected = prefill_flops(model("llama-3-8b"), 2**20)
    assert value(figures, "prefill_attention_flops_per_request") == expected.attention


@pytest.mark.parametrize(
    "histogram",
    [
        (np.array([], dtype=np.int64), np.array([], dtype=np.int64)),
        (np.array([1, 2]), np.array([1])),
        (np.array([-1]), np.array([1])),
        (np.array([1]), np.array([0])),
    ],
)
def test_a_malformed_histogram_is_refused(histogram: Any) -> None:
    with pytest.raises(UsageError, match="histogram"):
        call(tokens_histogram=histogram)
