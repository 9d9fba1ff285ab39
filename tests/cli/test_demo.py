"""``jeton demo``: it runs as it stands, and never writes over what is somebody else's."""

from __future__ import annotations

import errno
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from jeton.cli.demo import demo
from jeton.corpus.sample import sample_files


def test_it_runs_as_it_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    result = CliRunner().invoke(app, ["demo"])
    assert result.exit_code == 0, result.output
    report = json.loads((tmp_path / "jeton-demo" / "report.json").read_text(encoding="utf-8"))
    assert report["requests"]["n_requests"] == 24
    assert [finding["severity"] for finding in report["findings"]].count("warning") == 1
    assert "saves $" in " ".join(result.output.split())
    assert "nitrofurantoin is 7 tokens" in result.output
    assert (tmp_path / "jeton-demo" / "notes" / "clinic.jsonl").is_file()
    assert "jeton audit jeton-demo/requests.jsonl --logs" in result.output
    again = CliRunner().invoke(app, ["demo"])
    assert again.exit_code == 0
    for command in (
        ["count", "-t", "jeton-general-32k", "jeton-demo/notes"],
        ["audit", "jeton-demo/requests.jsonl", "--logs", "-t", "jeton-general-32k"],
    ):
        assert CliRunner().invoke(app, command).exit_code == 0


def test_other_files_are_left_alone(tmp_path: Path) -> None:
    other = tmp_path / "notes" / "clinic.jsonl"
    other.parent.mkdir()
    other.write_text("mine\n")
    result = CliRunner().invoke(app, ["demo", str(tmp_path)])
    assert result.exit_code == 2
    assert "is not the sample's" in result.output
    assert other.read_text() == "mine\n"


def test_the_sample_is_small() -> None:
    files = sample_files()
    assert len(files) == 5
    assert sum(map(len, files.values())) < 50_000


def test_nothing_is_left_of_a_demo_whose_report_has_no_room(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device", "report.json")

    monkeypatch.setattr("jeton.report.write_json", full)
    with pytest.raises(OSError, match="No space left"):
        demo.callback(folder=str(tmp_path / "new"), as_json=False)  # type: ignore[misc]
    assert not (tmp_path / "new").exists()
