"""The demo, run on little text with small tokenizers: what `make demo` does everywhere."""

from __future__ import annotations

import json
import runpy
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from jeton._core import Tokenizer

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def run_demo(
    good: Tokenizer, poor: Tokenizer, tmp_path: Path
) -> Callable[[str], tuple[int, dict[str, Any]]]:
    """Run the demo into a folder of its own, without the folder of real corpora."""

    def run(folder: str) -> tuple[int, dict[str, Any]]:
        functions = runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="demo")
        main = functions["main"]
        settings = main.__globals__
        settings["DEMO"] = tmp_path / folder
        settings["CORPUS"] = tmp_path / folder / "corpus"
        settings["SHARED_CORPORA"] = tmp_path / "absent"
        settings["STDLIB_STEP"] = 60
        settings["find_tokenizers"] = lambda: ([poor, good], poor)
        code = main()
        report = json.loads((tmp_path / folder / "report.json").read_text(encoding="utf-8"))
        return code, report

    return run


def test_the_demo_writes_a_report_and_says_what_matters(
    run_demo: Callable[[str], tuple[int, dict[str, Any]]],
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
) -> None:
    code, report = run_demo("demo")
    printed = " ".join(capsys.readouterr().out.split())
    assert code == 0
    assert len(report["corpus"]["sources"]) == 2
    assert "tokenizer-foreign" in [finding["id"] for finding in report["findings"][:3]]
    for finding in report["findings"][:3]:
        assert finding["title"] in printed
    page = (tmp_path / "demo" / "report.html").read_text(encoding="utf-8")
    assert report["findings"][0]["id"] in page
    assert str(tmp_path / "demo" / "report.html") in printed.replace(" ", "")


def test_the_demo_is_deterministic(
    run_demo: Callable[[str], tuple[int, dict[str, Any]]],
) -> None:
    first, second = run_demo("first")[1], run_demo("second")[1]
    first_text = json.dumps(first).replace("/first/", "/x/")
    assert first_text == json.dumps(second).replace("/second/", "/x/")
