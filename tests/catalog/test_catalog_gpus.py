from __future__ import annotations

from datetime import date

import pytest

from jeton.catalog import GpuFacts, gpu, gpus
from jeton.errors import UnknownGpuError, UsageError


@pytest.mark.parametrize("facts", gpus(), ids=lambda g: g.name)
def test_every_entry_is_complete_and_plausible(facts: GpuFacts) -> None:
    assert facts.source
    assert facts.date >= date(2026, 1, 1)
    assert 15e9 < facts.memory_bytes < 320e9
    assert facts.memory_bytes % 2**20 == 0 or facts.name == "DGX-Spark"
    assert facts.memory_source
    assert 0.2e12 < facts.memory_bandwidth_bytes_per_s < 10e12
    assert 50e12 < facts.bf16_dense_flops_per_s < 3e15
    assert 50 < facts.tdp_watts <= 1400 or facts.vendor == "Google"
    if facts.low_price is None:
        with pytest.raises(UsageError, match="no list price"):
            _ = facts.price_low
        return
    assert 0 < facts.price_low.usd_per_hour <= facts.price_high.usd_per_hour < 20
    for listed in (facts.price_low, facts.price_high):
        assert listed.provider
        assert listed.source
        assert listed.date >= date(2025, 1, 1)


def test_there_are_enough_gpus() -> None:
    assert len(gpus()) >= 15


@pytest.mark.parametrize(
    ("name", "memory_gb", "dense_tflops"),
    [
        # Datasheets print the rate with sparsity, twice these.
        ("h100", 80, 989.4),
        ("h200", 141, 989.4),
        ("a100-80gb", 80, 312),
        ("l40s", 48, 362.05),
        ("l4", 24, 121),
        ("t4", 16, 65),
        ("b200", 180, 2250),
        ("mi300x", 192, 1307.4),
        # Often said to have 16 GB, or taken for the A10 (125 TFLOP/s).
        ("a10g", 24, 70),
        # 330.3 is with fp16 accumulation.
        ("rtx 4090", 24, 165.2),
        ("rtx 5090", 32, 209.5),
        ("rtx 3090", 24, 71),
        # The PCIe card is not the SXM module.
        ("h100-pcie", 80, 756),
        ("h100-nvl", 94, 835.5),
        ("a100-pcie", 80, 312),
    ],
)
def test_figures_that_are_often_got_wrong(name: str, memory_gb: int, dense_tflops: float) -> None:
    facts = gpu(name)
    assert facts.datasheet_gb == memory_gb
    assert 0.95 * memory_gb < facts.memory_bytes / 10**9 < 1.08 * memory_gb
    assert facts.bf16_dense_flops_per_s == pytest.approx(dense_tflops * 1e12)


def test_chips_before_ampere_lack_bf16() -> None:
    without = [facts.name for facts in gpus() if not facts.supports_bf16]
    assert without == ["T4", "V100-16GB"]


@pytest.mark.parametrize(("asked", "offered"), [("H1000", "H100-SXM"), ("a100", "A100-40GB")])
def test_an_unknown_or_ambiguous_name_offers_the_nearest(asked: str, offered: str) -> None:
    with pytest.raises(UnknownGpuError) as caught:
        gpu(asked)
    assert offered in caught.value.nearest
