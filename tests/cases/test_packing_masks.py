"""Masks beside ids, case by case: ``packing_masks.json``.

A case has columns, the documents and masks that are right, or the words of an error. Every case is
read from Parquet, Arrow and JSON Lines, and packed in every layout. What the rows that come out
teach are the tokens that the masks ask for, by the definition of each trainer.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jeton
from jeton.errors import JetonError
from jeton.planning.packing import open_tokens, read_lengths, write_packed_parquet
from jeton.planning.packing.files import LAYOUTS

CASES = json.loads(Path(__file__).with_name("packing_masks.json").read_text(encoding="utf-8"))
IGNORED = -100


def written(case: dict[str, Any], form: str, folder: Path) -> Path:
    path = folder / f"rows.{form}"
    table = pa.table(case["columns"])
    if form == "parquet":
        pq.write_table(table, path)
    elif form == "arrow":
        with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, table.schema) as stream:
            stream.write_table(table)
    else:
        lines = (json.dumps(row) for row in table.to_pylist())
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return path


@pytest.mark.parametrize("form", ["parquet", "arrow", "jsonl"])
@pytest.mark.parametrize("case", CASES, ids=[case["name"] for case in CASES])
def test_masks_are_followed_or_refused(case: dict[str, Any], form: str, tmp_path: Path) -> None:
    path = written(case, form, tmp_path)
    field = case.get("field")
    if "error" in case:
        with pytest.raises(JetonError) as caught:
            open_tokens(path, field=field)
        assert all(part in str(caught.value) for part in case["error"])
        return
    tokens = open_tokens(path, field=field)
    documents = case["documents"]
    assert tokens.ids.tolist() == [one for document in documents for one in document]
    assert tokens.lengths.tolist() == [len(document) for document in documents]
    assert read_lengths(path, field=field).tolist() == tokens.lengths.tolist()
    flat = [bool(mark) for marks in case["learned"] or () for mark in marks]
    found = [] if tokens.is_learned is None else tokens.is_learned.tolist()
    assert found == flat
    for layout in LAYOUTS:
        check_layout(case, tokens, layout, tmp_path)


def check_layout(case: dict[str, Any], tokens: Any, layout: Any, folder: Path) -> None:
    packed = jeton.pack(tokens.lengths, capacity=6, multiple=2)
    path = folder / f"{layout}.parquet"
    write_packed_parquet(packed, path, tokens=tokens, layout=layout)
    rows = pq.read_table(path).to_pylist()
    masks = case["learned"] or [[1] * len(document) for document in case["documents"]]
    wanted = sorted(
        (tuple(document[: at + 1]), document[at])
        for document, marks in zip(case["documents"], masks, strict=True)
        for at in range(1, len(document))
        if marks[at]
    )
    assert sorted(trained(rows, layout)) == wanted
    # Packed rows can be packed again.
    again = open_tokens(path)
    assert int(again.lengths.sum()) >= int(tokens.lengths.sum())


def trained(rows: list[dict[str, Any]], layout: str) -> list[tuple[tuple[int, ...], int]]:
    """Tokens that a trainer learns, each with what it may see before it."""
    found = []
    for row in rows:
        ids = row["input_ids"]
        for at in range(len(ids)):
            first = max(start for start in starts_of(row) if start <= at)
            if layout == "megatron":
                learns = at > 0 and bool(row["loss_mask"][at - 1])
            else:
                learns = row["labels"][at] != IGNORED
                assert not learns or row["labels"][at] == ids[at]
            if learns:
                assert at > first
                found.append((tuple(ids[first : at + 1]), ids[at]))
    return found


def starts_of(row: dict[str, Any]) -> list[int]:
    if "seq_start_id" in row:
        return list(row["seq_start_id"])
    if "seq_lengths" in row:
        lengths = row["seq_lengths"]
        assert sum(lengths) == len(row["input_ids"])
        return [sum(lengths[:at]) for at in range(len(lengths))]
    by_positions = [at for at, position in enumerate(row["position_ids"]) if position == 0]
    if "cu_seqlens" in row:
        assert row["cu_seqlens"] == [*by_positions, len(row["input_ids"])]
        spans = zip(row["cu_seqlens"], row["cu_seqlens"][1:], strict=False)
        assert row["max_seqlen"] == max((b - a for a, b in spans), default=0)
    return by_positions
