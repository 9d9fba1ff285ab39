"""Texts that the guard judges, and runs of its commands on files, as data."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from jeton.guard import GuardLevel, enforce, scan

HERE = Path(__file__).parent / "guard"
TEXTS = json.loads((HERE / "texts.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", TEXTS, ids=[case["name"] for case in TEXTS])
def test_text(case: dict[str, Any]) -> None:
    text = "".join(part * n for part, n in case["parts"])
    verdict = scan(text)
    assert verdict.worst == (case["worst"] and GuardLevel(case["worst"]))
    if "kind" in case:
        grave = [f for f in verdict.findings if f.severity is verdict.worst]
        assert case["kind"] in {finding.kind for finding in grave}
        wanted = case.get("payload", "")
        assert any(wanted.strip() in (finding.payload or "") for finding in grave)
    fixed = enforce(text).text
    assert enforce(fixed).changes == ()
    if not case["worst"]:
        assert fixed == text


RUNS = json.loads((HERE / "runs.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("case", RUNS, ids=[case["name"] for case in RUNS])
def test_run(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in case["files"].items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_bytes(_data(value))
    result = CliRunner().invoke(app, case["words"])
    assert result.exit_code == case["code"], result.output
    for part in case["stdout"]:
        assert part in result.stdout
    for part in case["stderr"]:
        assert part in result.stderr
    for name, content in case.get("written", {}).items():
        assert Path(name).read_text(encoding="utf-8") == content
    for name in case.get("absent", ()):
        assert not Path(name).exists()


def _data(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if "$hex" in value:
        return bytes.fromhex(value["$hex"])
    return "".join(text * times for text, times in value["$parts"]).encode()
