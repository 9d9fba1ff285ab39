"""Documents and what the steps make of them, as cases have them.

A case has ``steps``, ``options`` (optional), ``texts`` and ``expected``: the texts, ``outcomes`` of
the last step, ``lost`` numbers of things by kind, or ``error``. With ``files`` and ``command`` it
runs the command line in a folder: ``expected`` then has ``files`` and ``code``.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.errors import JetonError
from tests.cases.places import load_cases, put_files

TOKENIZER = "jeton-general-32k"


@pytest.mark.parametrize("case", load_cases("preprocess"))
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = case["expected"]
    if "command" in case:
        monkeypatch.chdir(put_files(tmp_path, case["files"]))
        result = CliRunner().invoke(app, ["preprocess", *case["command"], "-t", TOKENIZER])
        assert result.exit_code == wanted.get("code", 0), result.output
        for part in wanted.get("error", []):
            assert part in result.output
        for name, text in wanted.get("files", {}).items():
            assert (tmp_path / name).read_bytes().decode() == text
        for name in wanted.get("absent", []):
            assert not (tmp_path / name).exists()
        return
    options = jeton.PreprocessOptions(**case.get("options", {}))

    def run() -> Any:
        return jeton.preprocess_texts(
            case["texts"], steps=case["steps"], tokenizer=TOKENIZER, options=options
        )

    if "error" in wanted:
        with pytest.raises(JetonError) as caught:
            run()
        for part in wanted["error"]:
            assert part in str(caught.value)
        return
    done = run()
    assert list(done.texts) == wanted.get("texts", case["texts"])
    if "outcomes" in wanted:
        assert dict(done.report.steps[-1].outcomes) == wanted["outcomes"]
    found = {loss.kind: loss.n_lost for loss in done.report.losses}
    for kind, n_lost in wanted.get("lost", {}).items():
        assert found[kind] == n_lost, kind
