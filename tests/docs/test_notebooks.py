"""The notebooks of examples/: their cells run in order, and no output is stored in them."""

from __future__ import annotations

import json
import warnings
from pathlib import Path

import pytest

from tests.docs.pages import ROOT

NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_the_cells_of_a_notebook_run(
    path: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    notebook = json.loads(path.read_text(encoding="utf-8"))
    assert (notebook["nbformat"], notebook["nbformat_minor"]) == (4, 5)
    scope: dict[str, object] = {"__name__": "notebook"}
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    assert len(cells) >= 3
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for number, cell in enumerate(cells, start=1):
            assert cell["outputs"] == []
            source = "".join(cell["source"])
            exec(compile(source, f"{path.stem}, cell {number}", "exec"), scope)


def test_there_are_notebooks() -> None:
    assert len(NOTEBOOKS) >= 3
