"""Each record of a real log becomes one request with the right amounts: one file a case.

A case in ``counting/`` has the files of a log (``files``: lists of records, or of lines as they
stand), the rows that should come of them, and the arithmetic behind them. Each is read as files, as
records in memory, and row by row with corrections; all three must agree.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from jeton.corpus import RequestBatch, RequestColumns, RequestStream, open_requests
from jeton.dimensions import FACTS

CASES = sorted((Path(__file__).parent / "counting").glob("*.json"))

COUNTS = {
    "input": "input_tokens",
    "cache_read": "cache_read_tokens",
    "cache_write": "cache_write_tokens",
    "cache_write_1h": "cache_write_1h_tokens",
    "output": "output_tokens",
    "reasoning": "reasoning_tokens",
    "n_requests": "n_requests",
}


def corrected(batches: list[RequestBatch]) -> RequestColumns:
    """The rows that are left when all corrections were applied, in order."""
    rows: dict[int, RequestColumns] = {}
    for batch in batches:
        for place in range(len(batch)):
            rows[batch.first_row + place] = batch.columns.take([place])  # type: ignore[arg-type]
        for correction in batch.corrections:
            assert correction.row in rows, "a correction is of a row that is there"
            if correction.columns is None:
                del rows[correction.row]
            else:
                assert len(correction.columns) == 1
                rows[correction.row] = correction.columns
    return RequestColumns.concatenate(rows[number] for number in sorted(rows))


def row_of(columns: RequestColumns, stream: RequestStream, place: int) -> dict[str, Any]:
    """One row in the words of the cases; what is not known is left out."""
    row: dict[str, Any] = {}
    for name, column in COUNTS.items():
        number = int(getattr(columns, column)[place])
        if number >= 0 and not (name == "n_requests" and number == 1):
            row[name] = number
    for name, names in (("model", stream.models), ("provider", stream.providers)):
        number = int(getattr(columns, name)[place])
        if number >= 0:
            row[name] = names[number]
    asked = int(columns.model_asked[place])
    if asked >= 0 and stream.models[asked] != row.get("model"):
        row["model_asked"] = stream.models[asked]
    tariff = stream.tariffs[int(columns.tariff[place])]
    if tariff != "standard":
        row["tariff"] = tariff
    if columns.from_gateway_cache[place]:
        row["from_gateway_cache"] = True
    extras = {name: int(values[place]) for name, values in columns.extras.items()}
    row.update({name: number for name, number in sorted(extras.items()) if number})
    return row


def check(stream: RequestStream, expected: dict[str, Any]) -> None:
    batches = list(stream)
    columns = corrected(batches)
    rows = [row_of(columns, stream, place) for place in range(len(columns))]
    wanted = expected["rows"]
    # A row is compared in the facts that the case states, and in all of its amounts.
    facts = ("model", "provider", "model_asked", *FACTS)
    shown = [
        {k: v for k, v in row.items() if k not in facts or k in want}
        for row, want in zip(rows, wanted, strict=False)
    ] + rows[len(wanted) :]
    key = str if expected.get("any_order") else None
    if key:
        assert sorted(map(str, shown)) == sorted(map(str, wanted))
    else:
        assert shown == wanted
    assert stream.joined == expected.get("joined", {})
    summary = stream.summary()
    assert summary.n_requests == stream.n_requests == int(columns.n_requests.sum())
    for total, column in (
        (sum(m.input_tokens for m in summary.by_model), columns.input_tokens),
        (sum(m.output_tokens for m in summary.by_model), columns.output_tokens),
    ):
        assert total == int(column[column > 0].sum())
    found = {issue.kind: issue.n for issue in summary.issues}
    for kind, n in expected.get("issues", {}).items():
        assert found.get(kind, 0) == n, (kind, found)
    for kind, part in expected.get("issue_names", {}).items():
        examples = next(issue.examples for issue in summary.issues if issue.kind == kind)
        assert any(part in example for example in examples), examples
    for key_name, n in expected.get("distinct", {}).items():
        assert len(set(getattr(columns, key_name).tolist())) == n


@pytest.mark.parametrize("path", CASES, ids=lambda path: path.stem)
@pytest.mark.parametrize("way", ["files", "records", "row by row"])
def test_case(path: Path, way: str, tmp_path: Path) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    assert case["arithmetic"], "a case shows its arithmetic"
    assert case["source"].startswith("http"), "a case names the report it comes from"
    options = case.get("options", {})
    suffix = case.get("suffix", ".jsonl")
    files = case["files"]
    if way == "records":
        if suffix != ".jsonl" or any(isinstance(line, str) for file in files for line in file):
            pytest.skip("lines of this case are no JSON lines")
        stream = open_requests(iter([record for file in files for record in file]), **options)
    else:
        paths = []
        for number, lines in enumerate(files):
            file = tmp_path / f"log{number}{suffix}"
            texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            file.write_text("\n".join(texts) + "\n", encoding="utf-8")
            paths.append(file)
        more: dict[str, Any] = {"batch_bytes": 1} if way == "row by row" else {}
        stream = open_requests(paths, **options, **more)
    check(stream, case["expected"])


def test_there_are_cases() -> None:
    assert len(CASES) >= 60
