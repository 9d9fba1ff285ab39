"""docs/attribution.md: its examples run, one after another; names and figures are right."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from jeton import attribution
from jeton.attribution import units

PAGE = Path(__file__).resolve().parents[2] / "docs" / "attribution.md"


def test_the_examples_run(capsys: pytest.CaptureFixture[str]) -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 5
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
        assert capsys.readouterr().out.strip()


def test_the_attention_of_the_example(capsys: pytest.CaptureFixture[str]) -> None:
    block = PAGE.read_text(encoding="utf-8").split("```python\n")[3].split("```")[0]
    exec(compile("import numpy as np\n" + FROM + block, str(PAGE), "exec"), {})
    # Worked by hand: "cat" is the mean of its tokens' rows, its column the sum of their columns.
    assert capsys.readouterr().out.splitlines() == [
        "['', 'the', 'cat', ''] [[0.6, 0.1, 0.2, 0.1], [0.5, 0.2, 0.2, 0.1], "
        "[0.3, 0.1, 0.5, 0.1], [0.2, 0.2, 0.4, 0.2]]",
        "['the', 'cat'] [[0.5, 0.5], [0.17, 0.83]]",
    ]


FROM = "from jeton.attribution import fold_attention, word_units\n"


def test_every_public_function_is_on_the_page() -> None:
    text = PAGE.read_text(encoding="utf-8")
    functions = [name for name in attribution.__all__ if name.islower()]
    assert [name for name in functions if name not in text] == []
    assert f"above {units.MAX_PAIRS // 10**6} million pairs" in text
