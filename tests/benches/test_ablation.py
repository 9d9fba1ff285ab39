"""The comparison of builds: reading of its arguments and its arithmetic. No timing."""

from __future__ import annotations

from pathlib import Path

import pytest

from benches.ablation import Build, main, ratios


def test_a_build_is_a_folder_and_variables(tmp_path: Path) -> None:
    (tmp_path / "jeton").mkdir()
    build = Build.parse(f"new={tmp_path},JETON_SIMD=avx2,OTHER=a=b")
    assert build == Build("new", tmp_path, {"JETON_SIMD": "avx2", "OTHER": "a=b"})


@pytest.mark.parametrize("words", ["new={}/none", "{}", "new="])
def test_a_folder_without_the_package_is_refused(words: str, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="no package jeton"):
        Build.parse(words.format(tmp_path))


def test_two_builds_are_needed(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "jeton").mkdir()
    with pytest.raises(SystemExit) as stopped:
        main([f"one={tmp_path}"])
    assert stopped.value.code == 2
    assert "at least two builds" in capsys.readouterr().err


def test_ratios_are_above_one_where_the_later_build_is_faster() -> None:
    seconds = {"before": [2.0, 3.0, 4.0], "after": [1.0, 6.0, 6.0], "same": [2.0, 3.0, 4.0]}
    assert list(ratios(seconds)) == [("after", 2.0, 0.5), ("same", 1.0, 1.0)]
