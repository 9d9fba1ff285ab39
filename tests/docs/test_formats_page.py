"""The examples of docs/formats.md run, and its table knows every format."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jeton.formats import FORMATS
from jeton.formats.targets import FORMAT_NAMES

PAGE = Path(__file__).resolve().parents[2] / "docs" / "formats.md"


def test_the_examples_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), flags=re.DOTALL)
    assert blocks
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), {})
    assert (tmp_path / "mine.json").is_file()


def test_every_format_that_is_written_is_in_the_table() -> None:
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if "| yes, `" in line]
    assert len(rows) == len(FORMATS)
    assert set(FORMATS) <= set(FORMAT_NAMES)
