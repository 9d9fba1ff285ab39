"""The demo, run on little text with small tokenizers: what `make demo` does everywhere."""

from __future__ import annotations

import contextlib
import functools
import io
import json
import runpy
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from jeton._core import Tokenizer

ROOT = Path(__file__).resolve().parents[2]


@dataclass(frozen=True)
class Demo:
    """A run of the demo."""

    folder: Path
    code: int
    report: dict[str, Any]
    printed: str


@pytest.fixture(scope="module")
def run_demo(
    good: Tokenizer, poor: Tokenizer, tmp_path_factory: pytest.TempPathFactory
) -> Callable[[str], Demo]:
    """Runs the demo into a folder of its own, without the folder of real corpora; once each."""
    tmp_path = tmp_path_factory.mktemp("demo")

    @functools.cache
    def run(folder: str) -> Demo:
        functions = runpy.run_path(str(ROOT / "examples" / "demo.py"), run_name="demo")
        main = functions["main"]
        settings = main.__globals__
        settings["DEMO"] = tmp_path / folder
        settings["CORPUS"] = tmp_path / folder / "corpus"
        settings["SHARED_CORPORA"] = tmp_path / "absent"
        settings["STDLIB_STEP"] = 60
        settings["find_tokenizers"] = lambda: ([poor, good], poor)
        printed = io.StringIO()
        with contextlib.redirect_stdout(printed), contextlib.redirect_stderr(printed):
            code = main()
        report = json.loads((tmp_path / folder / "report.json").read_text(encoding="utf-8"))
        return Demo(tmp_path / folder, code, report, printed.getvalue())

    return run


def test_the_demo_writes_a_report_and_says_what_matters(
    run_demo: Callable[[str], Demo],
) -> None:
    demo = run_demo("first")
    report, printed = demo.report, " ".join(demo.printed.split())
    assert demo.code == 0
    assert len(report["corpus"]["sources"]) == 2
    assert "tokenizer-foreign" in [finding["id"] for finding in report["findings"][:3]]
    for finding in report["findings"][:3]:
        assert finding["title"] in printed
    page = (demo.folder / "report.html").read_text(encoding="utf-8")
    assert report["findings"][0]["id"] in page
    assert str(demo.folder / "report.html") in printed.replace(" ", "")


def test_the_demo_is_deterministic(
    run_demo: Callable[[str], Demo],
) -> None:
    first, second = run_demo("first").report, run_demo("second").report
    first_text = json.dumps(first).replace("/first/", "/x/")
    assert first_text == json.dumps(second).replace("/second/", "/x/")
