"""docs/loading.md: its examples run, and its figures are those of the code."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jeton.registry import compiled, index

PAGE = Path(__file__).resolve().parents[2] / "docs" / "loading.md"
LAZY = PAGE.parents[1] / "crates" / "jeton-core" / "src" / "models" / "bpe" / "lazy.rs"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("JETON_COMPILED_CACHE")
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 2
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})


def test_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    assert f"below {compiled._MIN_SOURCE_BYTES >> 10} KB" in text
    assert f"more than {index._MAX_FOLDER_FILES} files" in text
    assert f"take {compiled._MAX_CACHE_BYTES >> 30} GiB at most" in text
    assert compiled._SETTLED_NS == 2_000_000_000
    assert "within the last two seconds" in text
    free = re.search(r"FREE_WORDS: u32 = ([0-9]+);", LAZY.read_text(encoding="utf-8"))
    assert free is not None
    assert f"The first {int(free[1]):,} words" in text
    for name in (index._SWITCH, index.ENTRY_SUFFIX):
        assert name in text
