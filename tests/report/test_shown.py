"""Results in a notebook: a short line, a page in a frame, a table."""

from __future__ import annotations

import html
import pickle
import sys
import types
from pathlib import Path
from typing import Any

import pytest

import jeton

TEXTS = ["hello world", "low lower lowest", "hello world"]
NAMES = ["jeton-general-32k", "jeton-code-32k"]


def results() -> list[Any]:
    return [
        jeton.audit(iter(TEXTS), tokenizers=NAMES),
        jeton.compare(iter(TEXTS), tokenizers=NAMES, time_encoding=False),
        jeton.sweep(iter(TEXTS * 30), vocab_sizes=[262, 264], heldout=iter(["hello lower"])),
    ]


@pytest.mark.filterwarnings("ignore::jeton.errors.JetonWarning")
def test_results_show_themselves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    frames: list[list[dict[str, Any]]] = []
    pandas = types.ModuleType("pandas")
    pandas.DataFrame = frames.append  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "pandas", pandas)
    for result in results():
        assert len(repr(result)) < 100
        assert repr(result).startswith(type(result).__name__)
        page = result.to_html()
        assert html.escape(page, quote=True) in result._repr_html_()
        result.save(tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text(encoding="utf-8") == page
        result.to_pandas()
        rows = frames.pop()
        assert rows
        assert all(
            type(v) in (str, int, float, bool, type(None)) for row in rows for v in row.values()
        )
    comparison = results()[1]
    assert pickle.loads(pickle.dumps(comparison)) == comparison
    assert repr(comparison) == "Comparison(2 tokenizers, 1 group)"
