"""Own GPUs: time, concurrency and money fit together, and halve with the tokens."""

from __future__ import annotations

from decimal import Decimal

import pytest

from jeton.catalog import gpu, model
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.compute import (
    GRID_GRAMS_CO2_PER_KWH,
    POWER_USAGE_EFFECTIVENESS,
    gpu_energy,
)
from jeton.economics.serving.latency import decode_seconds, prefill_seconds
from jeton.economics.serving.own_gpu import HOURS_PER_MONTH, own_gpu_cost
from jeton.errors import UsageError
from jeton.findings import Basis

LLAMA, H100 = model("llama-3-8b"), gpu("h100")
WORKLOAD = RequestLengths.of([1000, 3000], output_tokens=200)


def test_the_parts_make_the_cost() -> None:
    cost = own_gpu_cost(LLAMA, H100, WORKLOAD, usd_per_hour=Decimal("3.60"), n_concurrent=10)
    prefill = (prefill_seconds(LLAMA, H100, 1000) + prefill_seconds(LLAMA, H100, 3000)) / 2
    step = decode_seconds(LLAMA, H100, context_tokens=2100, n_requests=10)
    assert cost.prefill_seconds == pytest.approx(prefill)
    assert cost.decode_step_seconds == pytest.approx(step)
    assert cost.seconds_per_request == pytest.approx(prefill + 200 * step)
    assert cost.gpu_seconds_per_request == pytest.approx(prefill + 20 * step)
    # $3.60 an hour is a tenth of a cent a second.
    assert float(cost.usd_per_request) == pytest.approx(0.001 * cost.gpu_seconds_per_request)
    assert float(cost.usd_per_mtok) == pytest.approx(float(cost.usd_per_request) * 1e6 / 2200)
    assert cost.tokens_per_second == pytest.approx(2200 * cost.requests_per_second)
    assert (cost.n_groups, cost.usd_per_month, cost.busy_share) == (None, None, None)


def test_whole_groups_are_paid_by_the_month() -> None:
    cost = own_gpu_cost(LLAMA, H100, WORKLOAD, requests_per_day=100_000, peak_to_mean=3)
    assert cost.n_groups is not None
    assert cost.busy_share is not None
    assert HOURS_PER_MONTH == 730
    assert cost.usd_per_month == H100.price_low.usd_per_hour * 730 * cost.n_groups
    load = 100_000 / 86_400 * cost.gpu_seconds_per_request
    assert cost.n_groups - 1 < 3 * load <= cost.n_groups
    assert cost.busy_share == pytest.approx(load / cost.n_groups)
    figure = cost.figures["usd_per_month"]
    assert figure.value == cost.usd_per_month
    assert figure.basis is Basis.ESTIMATED
    assert "730 hours" in figure.formula
    assert "2026" in figure.source


def test_the_concurrency_is_what_safely_fits() -> None:
    cost = own_gpu_cost(LLAMA, H100, WORKLOAD)
    assert cost.n_concurrent == cost.capacity.n_requests_safe > 100
    alone = own_gpu_cost(LLAMA, H100, WORKLOAD, n_concurrent=1)
    assert cost.usd_per_request < alone.usd_per_request / 5
    assert cost.seconds_per_request > alone.seconds_per_request


def test_half_the_output_is_half_the_decoding() -> None:
    # Reading weights rules at one request, so that steps cost the same at any context.
    full = own_gpu_cost(LLAMA, H100, RequestLengths.of([10], output_tokens=400), n_concurrent=1)
    half = own_gpu_cost(LLAMA, H100, RequestLengths.of([10], output_tokens=200), n_concurrent=1)
    decoding = [cost.gpu_seconds_per_request - cost.prefill_seconds for cost in (full, half)]
    assert decoding[1] == pytest.approx(decoding[0] / 2, rel=2e-3)


def test_prompts_without_output() -> None:
    cost = own_gpu_cost(LLAMA, H100, RequestLengths.of([512]))
    assert cost.decode_step_seconds == 0
    assert cost.gpu_seconds_per_request == pytest.approx(prefill_seconds(LLAMA, H100, 512))


def test_measured_shares_make_it_calibrated() -> None:
    cost = own_gpu_cost(
        LLAMA, H100, WORKLOAD, flops_share=0.6, bandwidth_share=0.7, shares_are_measured=True
    )
    assert cost.figures["usd_per_request"].basis is Basis.CALIBRATED


def test_bad_input() -> None:
    with pytest.raises(UsageError, match="serves no request"):
        own_gpu_cost(LLAMA, gpu("t4"), WORKLOAD, n_gpus=1)
    with pytest.raises(UsageError, match="no tokens"):
        own_gpu_cost(LLAMA, H100, RequestLengths.of([0]), n_concurrent=1)
    with pytest.raises(UsageError, match="peak_to_mean"):
        own_gpu_cost(LLAMA, H100, WORKLOAD, peak_to_mean=0.5)


class TestEnergy:
    def test_an_hour_of_an_h100(self) -> None:
        found = gpu_energy(H100, gpu_seconds=3600)
        assert found.kwh == pytest.approx(0.7 * POWER_USAGE_EFFECTIVENESS)
        assert found.grams_co2 == pytest.approx(found.kwh * GRID_GRAMS_CO2_PER_KWH)
        assert found.kwh_figure.basis is Basis.ESTIMATED
        assert "700 W (thermal design power)" in found.kwh_figure.formula

    def test_measured_power_and_ones_own_grid(self) -> None:
        found = gpu_energy(
            H100,
            gpu_seconds=10,
            n_gpus=2,
            watts=500,
            power_usage_effectiveness=1.1,
            grams_co2_per_kwh=50,
        )
        assert found.kwh == pytest.approx(10 * 2 * 500 * 1.1 / 3.6e6)
        assert found.grams_co2 == pytest.approx(found.kwh * 50)
        assert found.kwh_figure.basis is Basis.CALIBRATED

    def test_half_the_seconds_is_half_the_energy(self) -> None:
        assert gpu_energy(H100, gpu_seconds=2).kwh == 2 * gpu_energy(H100, gpu_seconds=1).kwh

    def test_bad_input(self) -> None:
        with pytest.raises(UsageError, match="effectiveness of at least 1"):
            gpu_energy(H100, gpu_seconds=1, power_usage_effectiveness=0.9)
        with pytest.raises(UsageError):
            gpu_energy(H100, gpu_seconds=float("nan"))
