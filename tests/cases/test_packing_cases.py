"""Packing, case by case: ``packing/*.json``.

A case has ``lengths`` or ``file`` (a name and its text), ``options`` of ``jeton.pack`` or words of
the command line, and what follows: ``bins``, ``report``, ``error``.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.errors import JetonError
from jeton.planning.packing import read_lengths

FOLDER = Path(__file__).with_name("packing")
CASES = [
    pytest.param(case, id=f"{file.stem}-{case['name']}")
    for file in sorted(FOLDER.glob("*.json"))
    for case in json.loads(file.read_text(encoding="utf-8"))
]


@pytest.mark.parametrize("case", CASES)
def test_case(case: dict[str, Any], tmp_path: Path) -> None:
    if "words" in case:
        check_command(case, tmp_path)
        return
    if "error" in case:
        with pytest.raises(JetonError) as caught:
            packed(case, tmp_path)
        for part in case["error"]:
            assert part in str(caught.value)
        return
    lengths, found = packed(case, tmp_path)
    if found is None:
        assert list(map(int, lengths)) == case["lengths"]
        return
    if "bins" in case:
        bins = [found.bin(index) for index in range(len(found))]
        assert [
            [list(map(int, s)) for s in zip(b.documents, b.starts, b.lengths, strict=True)]
            for b in bins
        ] == case["bins"]
    for name, value in case.get("report", {}).items():
        assert getattr(found.report, name) == pytest.approx(value), name
    for name, value in case.get("ranks", {}).items():
        assert getattr(found.report.ranks, name) == pytest.approx(value), name


def packed(case: dict[str, Any], folder: Path) -> tuple[Any, Any]:
    """Returns the lengths, and the pack if the case has options."""
    lengths: Any = case.get("lengths")
    if "file" in case:
        lengths = read_lengths(put(case, folder), field=case.get("field"))
    return lengths, jeton.pack(lengths, **case["options"]) if "options" in case else None


def put(case: dict[str, Any], folder: Path) -> Path:
    name, text = case["file"]
    path = folder / str(name)
    path.write_text(text, encoding="utf-8")
    return path


def check_command(case: dict[str, Any], folder: Path) -> None:
    words = [word.replace("{}", str(folder)) for word in case["words"]]
    if "file" in case:
        put(case, folder)
    result = CliRunner().invoke(app, ["pack", *words], input=case.get("input"))
    if "error" in case:
        assert result.exit_code != 0
        message = result.output + str(result.exception or "")
        for part in case["error"]:
            assert part in message
        assert not [path for path in folder.iterdir() if path.name != case.get("file", [""])[0]]
        return
    assert result.exit_code == 0, result.output + str(result.exception)
    for part in case["output"]:
        assert part in result.output
