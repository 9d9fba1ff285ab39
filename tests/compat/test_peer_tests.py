"""scripts/peer_tests.py: a library's tests run with its name standing for the stand-in's."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts import peer_tests

TESTS = """
import subprocess
import sys

import minbpe
import minbpe.base as base
import pytest


def test_passes():
    assert minbpe.__name__ == "jeton.compat.minbpe"
    assert base.Tokenizer is minbpe.Tokenizer
    assert sys.modules["minbpe.base"] is sys.modules["jeton.compat.minbpe.base"]
    subprocess.check_call([sys.executable, "-c", "import minbpe.regex"])


def test_fails():
    assert minbpe.BasicTokenizer().encode("a") == [98], "a reason"


def test_has_no_such_module():
    with pytest.raises(ImportError):
        import minbpe.nothing


@pytest.mark.skip(reason="not today")
def test_skipped():
    pass
"""


def test_outcomes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    folder = tmp_path / "tests"
    folder.mkdir()
    (folder / "test_it.py").write_text(TESTS)
    # The library's own sources beside its tests are not what is run.
    (tmp_path / "minbpe.py").write_text("raise ImportError")
    assert peer_tests.main(["minbpe", str(tmp_path)]) == 1
    shown = capsys.readouterr().out
    assert "failed  test_it::test_fails: AssertionError: a reason" in shown
    assert "skipped test_it::test_skipped: not today" in shown
    assert shown.endswith("2 passed, 1 failed, 1 skipped\n")
    assert peer_tests.main(["minbpe", str(tmp_path), "--markdown", "--", "-k", "passes"]) == 0
    assert capsys.readouterr().out.startswith("1 passed, 0 failed, 0 skipped\n")


def test_a_folder_without_tests(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no folder of tests"):
        peer_tests.run("minbpe", tmp_path)
