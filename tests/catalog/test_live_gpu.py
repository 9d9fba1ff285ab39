"""Report of the driver, with a stand-in for its program."""

from __future__ import annotations

from pathlib import Path

import pytest

from jeton.catalog.live_gpu import live_gpus

ANSWER = """\
0, NVIDIA H200, 143771, 1234, 120.55, 37
1, NVIDIA GeForce RTX 4090, 24564, 0, [N/A], [N/A]
2, NVIDIA Imaginary 9000, 1000, 10, 5.0, 0
not a line
"""


def install(directory: Path, script: str, monkeypatch: pytest.MonkeyPatch) -> None:
    program = directory / "nvidia-smi"
    program.write_text(f"#!/bin/sh\n{script}\n")
    program.chmod(0o755)
    monkeypatch.setenv("PATH", f"{directory}:/usr/bin:/bin")


def test_gpus_are_read_and_known_ones_found(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "answer").write_text(ANSWER)
    install(tmp_path, f"cat {tmp_path / 'answer'}", monkeypatch)
    h200, rtx, unknown = live_gpus()
    assert h200.memory_total_bytes == 143_771 * 2**20
    assert h200.memory_free_bytes == (143_771 - 1234) * 2**20
    assert (h200.power_watts, h200.busy_share) == (120.55, 0.37)
    assert h200.facts is not None
    assert h200.facts.name == "H200-SXM"
    assert (rtx.power_watts, rtx.busy_share) == (None, None)
    assert rtx.facts is not None
    assert rtx.facts.name == "RTX-4090"
    assert unknown.facts is None


@pytest.mark.parametrize("script", ["exit 9", "printf '\\377'", "echo nothing"])
def test_a_driver_that_fails_means_no_gpu(
    script: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    install(tmp_path, script, monkeypatch)
    assert live_gpus() == ()


def test_no_driver_means_no_gpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    assert live_gpus() == ()
