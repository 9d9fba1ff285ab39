"""Adapting a vocabulary from the command line: what is written, refused and said.

A case in ``adapt/`` has files and runs of ``jeton``, each with what is expected of it: ``code`` (0
if left out), parts of ``stdout`` and ``stderr``, parts that must not be there (``not``), files that
are ``there`` afterwards or ``absent``, and parts of the JSON on standard output (``json``). Files
are as ``tests.cases.places`` has them; ``$npy`` is a list of ids as a NumPy file.
"""

from __future__ import annotations

import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from tests.cases.places import contains, load_cases, put_files


@pytest.mark.parametrize("case", load_cases("adapt"))
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    arrays = {name: value["$npy"] for name, value in case["files"].items() if "$npy" in value}
    put_files(tmp_path, {n: v for n, v in case["files"].items() if n not in arrays})
    for name, ids in arrays.items():
        stream = io.BytesIO()
        np.save(stream, np.array(ids))
        (tmp_path / name).write_bytes(stream.getvalue())
    for run in case["runs"]:
        result = CliRunner().invoke(app, run["words"])
        told = result.stdout + result.stderr
        assert result.exit_code == run.get("code", 0), told
        assert "Traceback" not in told
        for stream_name, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            for part in run.get(stream_name, ()):
                assert part in text, f"{part!r} is not in {stream_name}: {text}"
        for part in run.get("not", ()):
            assert part not in told
        for name in run.get("there", ()):
            assert (tmp_path / name).exists(), sorted(map(str, tmp_path.rglob("*")))
        for name in run.get("absent", ()):
            assert not (tmp_path / name).exists()
        if "json" in run:
            found = json.loads(result.stdout)
            assert contains(found, run["json"]), found
