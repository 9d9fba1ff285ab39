"""docs/sweep.md and docs/recommend.md: their examples run and print what the pages say."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize("page", ["sweep.md", "recommend.md"])
def test_the_example_prints_what_the_page_says(
    page: str, capsys: pytest.CaptureFixture[str]
) -> None:
    text = (DOCS / page).read_text(encoding="utf-8")
    code = re.search(r"```python\n(.*?)```", text, re.DOTALL)
    printed = re.search(r"```text\n(.*?)```", text, re.DOTALL)
    assert code is not None
    assert printed is not None
    exec(compile(code.group(1), page, "exec"), {})
    assert capsys.readouterr().out == printed.group(1)
