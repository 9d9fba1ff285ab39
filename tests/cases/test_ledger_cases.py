"""Whole logs into money: one file a case, each in another form in which logs are kept.

A case in ``ledger/`` has the files of a log (``records``, written by the file's suffix, or ``text``
as it stands), the sum that the price list asks for, and the arithmetic behind it.
"""

from __future__ import annotations

import csv
import gzip
import io
import json
from datetime import date
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

import jeton

CASES = sorted((Path(__file__).parent / "ledger").glob("*.json"))


def content(file: dict[str, Any]) -> bytes:
    """The bytes of a file of a case."""
    name, records = file["name"].removesuffix(".gz"), file.get("records", [])
    if "text" in file:
        data = file["text"].encode()
    elif name.endswith(".json"):
        data = json.dumps(records).encode()
    elif name.endswith(".csv"):
        table = io.StringIO()
        writer = csv.DictWriter(table, list(dict.fromkeys(k for row in records for k in row)))
        writer.writeheader()
        writer.writerows(records)
        data = table.getvalue().encode()
    elif name.endswith(".parquet"):
        arrow = pytest.importorskip("pyarrow")
        parquet = pytest.importorskip("pyarrow.parquet")
        sink = io.BytesIO()
        parquet.write_table(arrow.Table.from_pylist(records), sink)
        data = sink.getvalue()
    else:
        # A file that is read while it grows ends in a part of a line.
        data = "".join(json.dumps(record) + "\n" for record in records).encode()
        data += file.get("tail", "").encode()
    return gzip.compress(data) if file["name"].endswith(".gz") else data


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
def test_case(path: Path, tmp_path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    assert case["arithmetic"], "a case shows its arithmetic"
    paths = []
    for file in case["files"]:
        place = tmp_path / file["name"]
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(content(file))
        paths.append(place)
    ledger = jeton.ledger(paths, on=date(2026, 11, 3), **case.get("options", {}))
    assert ledger.usd == Decimal(case["usd"]), case["arithmetic"]
    assert ledger.n_requests == case["n_requests"]
    assert [entry.kind for entry in ledger.not_priced] == case.get("not_priced", [])
    for kind in case.get("issues", []):
        assert kind in {issue.kind for issue in ledger.issues}
    bases = {use.logged_as: str(use.basis) for use in ledger.by_model}
    assert bases == case.get("basis", bases)
    # The same sum, however it is taken apart.
    for parts in (ledger.by_model, ledger.by_day, ledger.dimensions):
        assert sum((part.usd for part in parts), Decimal(0)) == ledger.usd


def test_there_are_cases() -> None:
    assert len(CASES) >= 150
