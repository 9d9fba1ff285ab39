"""Adapting a vocabulary from the command line: what is written, refused and said.

A case in ``adapt/`` has files and runs of ``jeton``, each with what is expected of it: ``code`` (0
if left out), parts of ``stdout`` and ``stderr``, parts that must not be there (``not``), files that
are ``there`` afterwards or ``absent``, and parts of the JSON on standard output (``json``). Files
are as ``tests.cases.places`` has them; ``$npy`` is a list of ids as a NumPy file, ``$parquet`` one
of columns with type and values as a Parquet file. ``text`` and ``table`` say what files hold.
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
    tables = {
        name: value["$parquet"] for name, value in case["files"].items() if "$parquet" in value
    }
    others = {n: v for n, v in case["files"].items() if n not in arrays and n not in tables}
    put_files(tmp_path, others)
    for name, columns in tables.items():
        _put_table(tmp_path / name, columns)
    for name, ids in arrays.items():
        stream = io.BytesIO()
        np.save(stream, np.array(ids))
        (tmp_path / name).parent.mkdir(exist_ok=True)
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
        for name, text in run.get("text", {}).items():
            assert (tmp_path / name).read_bytes().decode() == text
        for name, columns in run.get("table", {}).items():
            pq = pytest.importorskip("pyarrow.parquet")
            found = pq.read_table(tmp_path / name)
            assert {c: [str(found[c].type), found[c].to_pylist()] for c in columns} == columns
        if "json" in run:
            found = json.loads(result.stdout)
            assert contains(found, run["json"]), found


def _put_table(path: Path, columns: dict[str, list[Any]]) -> None:
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    kinds = {
        "list<element: int32>": pa.list_(pa.field("element", pa.int32())),
        "fixed_size_list<element: uint16>[2]": pa.list_(pa.field("element", pa.uint16()), 2),
    }
    arrays = {
        name: pa.array(values, type=kinds.get(kind, kind))
        for name, (kind, values) in columns.items()
    }
    pq.write_table(pa.table(arrays), path, row_group_size=2, compression="zstd")
