"""docs/model-inputs.md: its examples run, one after another; its lists are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import jeton

PAGE = Path(__file__).resolve().parents[2] / "docs" / "model-inputs.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 8
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
        assert capsys.readouterr().out.strip()


def test_every_array_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    names = [name for name in vars(jeton.ModelInputs) if not name.startswith("_")]
    missing = {name for name in names if f"`{name}`" not in text}
    assert missing == {"is_padded", "to_dict"}
