"""Measuring a GPU: the grid, the clockwork, calibration on one half, judgement on the other."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest

from jeton.catalog import ModelFacts, gpu
from jeton.catalog.measurements import MeasuredPoint, Measurements, read_measurements
from jeton.economics.traffic.measured import (
    GpuShares,
    calibrate_shares,
    foreseen_bytes,
    foreseen_seconds,
    judge,
)
from jeton.errors import FormatError, UsageError
from studies.measure_gpu import DECODE, PREFILL, SHAPES, grid, main, measure, shape

H100 = gpu("h100-sxm")
TRUE = GpuShares(0.62, 0.78, 1.5e-4, 0)


class FakeDevice:
    """A device whose time passes as the roofline with hidden shares says, with some noise."""

    def __init__(self, *, noise: float = 0.0, memory_bytes: int = 80 * 10**9) -> None:
        self.now = 0.0
        self.memory = memory_bytes
        self.loads: list[str] = []
        self.random = np.random.default_rng(5)
        self.noise = noise
        self.facts: ModelFacts | None = None
        self.peak = 0

    def environment(self) -> dict[str, Any]:
        return {"device": "fake"}

    def memory_bytes(self) -> int:
        return self.memory

    def load(self, facts: ModelFacts) -> None:
        self.loads.append(facts.name)
        self.facts = facts

    def prepare(
        self, phase: Literal["prefill", "decode"], batch: int, tokens: int
    ) -> Callable[[], None]:
        assert self.facts is not None
        point = MeasuredPoint(self.facts.name, phase, batch, tokens, 1.0, 0, "judge")
        seconds = foreseen_seconds(point, self.facts, H100, TRUE)
        self.peak = round(foreseen_bytes(point, self.facts) * 1.03)
        runs = 0

        def run() -> None:
            nonlocal runs
            runs += 1
            slow = 10.0 if runs <= 3 else 1.0  # warming up, which must not count
            self.now += seconds * slow * float(np.exp(self.random.normal(0, self.noise)))

        return run

    def peak_bytes(self) -> int:
        return self.peak

    def clock(self) -> float:
        return self.now


def measured(device: FakeDevice, **options: Any) -> Measurements:
    return measure(device, SHAPES, gpu_name="H100-SXM", clock=device.clock, **options)


def test_shapes_and_halves_are_named_before_measuring() -> None:
    facts = [shape(name) for name in SHAPES]
    for low, high in ((1e9, 2e9), (6e9, 9e9), (12e9, 15e9)):
        of_class = {f.attention for f in facts if low <= f.n_parameters <= high}
        assert {str(kind) for kind in of_class} == {"mha", "gqa"}
    points = grid(SHAPES)
    assert len(points) == len(SHAPES) * (len(PREFILL) + len(DECODE)) == len(set(points))
    halves = [half for *_, half in points]
    assert halves.count("calibrate") == halves.count("judge")
    for phase, places in (("prefill", PREFILL), ("decode", DECODE)):
        for batch, tokens in places:
            of_place = {half for _, p, b, t, half in points if (p, b, t) == (phase, batch, tokens)}
            assert of_place == {"calibrate", "judge"}


def test_hidden_shares_are_found_and_the_other_half_confirms_them() -> None:
    found = measured(FakeDevice(noise=0.02))
    assert {point.model for point in found.points} == set(SHAPES)
    shares = calibrate_shares(found.points, H100, shape)
    assert shares.flops_share == pytest.approx(TRUE.flops_share, rel=0.02)
    assert shares.bandwidth_share == pytest.approx(TRUE.bandwidth_share, rel=0.02)
    assert shares.overhead_seconds == pytest.approx(TRUE.overhead_seconds, rel=0.1)
    judged = judge(found.points, H100, shares, shape)
    assert len(judged) == sum(point.half == "judge" for point in found.points)
    assert all(item.is_kept for item in judged)
    assert all(item.memory_deviation == pytest.approx(1 / 1.03 - 1) for item in judged)


def test_a_device_that_is_no_roofline_is_not_excused() -> None:
    found = measured(FakeDevice())
    slower = tuple(
        MeasuredPoint(**{**_fields(p), "seconds": p.seconds * (1 + p.tokens / 2048)})
        for p in found.points
    )
    shares = calibrate_shares(slower, H100, shape)
    assert not all(item.is_kept for item in judge(slower, H100, shares, shape))


def test_memory_that_is_off_is_not_excused() -> None:
    found = measured(FakeDevice())
    more = tuple(
        MeasuredPoint(**{**_fields(p), "peak_bytes": round(p.peak_bytes * 1.2)})
        for p in found.points
    )
    assert not any(item.is_kept for item in judge(more, H100, TRUE, shape))


def _fields(point: MeasuredPoint) -> dict[str, Any]:
    return {name: getattr(point, name) for name in MeasuredPoint.__slots__}


def test_warming_up_does_not_count_and_weights_are_made_once() -> None:
    device = FakeDevice()
    found = measured(device)
    assert device.loads == list(SHAPES)
    first = found.points[0]
    assert first.seconds == pytest.approx(foreseen_seconds(first, shape(first.model), H100, TRUE))
    assert min(point.n_runs for point in found.points) >= 5


def test_what_does_not_fit_or_comes_too_late_is_said() -> None:
    small = measured(FakeDevice(memory_bytes=24 * 10**9))
    assert small.points
    assert any("does not fit the memory" in words for words in small.skipped)
    assert not any(point.model == "llama-2-13b" for point in small.points)
    hasty = measured(FakeDevice(), max_seconds=20.0)
    assert any("out of time" in words for words in hasty.skipped)
    whole = grid(SHAPES)
    assert len(hasty.points) + len(hasty.skipped) == len(whole)


def test_the_file_comes_back_and_its_comparison_runs(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    found = measured(FakeDevice(noise=0.01))
    path = tmp_path / "h100.json"
    path.write_text(json.dumps(found.to_dict()))
    assert read_measurements(path) == found
    assert main(["--compare", str(path)]) == 0
    said = capsys.readouterr().out
    assert "H100-SXM: 0.62" in said
    assert "judged points within 25% of the time and 10% of the memory" in said


@pytest.mark.parametrize(
    "content",
    [
        "",
        "[]",
        '{"schema": "other/1"}',
        '{"schema": "jeton.gpu/1", "gpu": "h100", "environment": {}, "points": [{"model": 1}]}',
        '{"schema": "jeton.gpu/1", "gpu": "h100", "environment": {}, "points": [{"model": "m", '
        '"phase": "decode", "batch": 1, "tokens": 1, "seconds": -1, "peak_bytes": 0, '
        '"half": "judge"}]}',
    ],
)
def test_what_is_no_such_file_is_one_clear_error(tmp_path: Path, content: str) -> None:
    path = tmp_path / "x.json"
    path.write_text(content)
    with pytest.raises(FormatError, match="no file of measurements"):
        read_measurements(path)
    assert main(["--compare", str(path)]) == 2


def test_too_few_points_do_not_calibrate() -> None:
    with pytest.raises(UsageError, match="0 points calibrate"):
        calibrate_shares((), H100, shape)


def test_arguments_that_cannot_be_meant_are_one_line(capsys: pytest.CaptureFixture[str]) -> None:
    assert main([]) == 2
    assert main(["--gpu", "h100-sxm", "-o", "x", "--shapes", "deepseek-v3"]) == 2
    assert "latent attention or experts" in capsys.readouterr().err
    assert main(["--compare", "nothing-here.json"]) == 2
