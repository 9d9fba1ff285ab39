"""The language of fields, case by case (``fields.json``), and the fields that go with texts.

Each case is read from JSON Lines, JSON, Parquet and, where its records are flat, CSV. What is kept
of a record is found beside its chunks, and in every format of token sets.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.corpus import open_documents
from jeton.corpus.places import KeptFields, LeftOutRecord
from jeton.datasets import verify_dataset

CASES = json.loads(Path(__file__).with_name("fields.json").read_text(encoding="utf-8"))
TOKENIZER = "jeton-general-32k"
LINES = (
    '{"text": "first doc", "id": "A", "meta": {"url": "u/1"}}',
    '{"text": null, "id": "B"}',
    '{"text": "", "id": "C"}',
    "not json",
    '{"text": "fifth line", "id": 5}',
)


def is_flat(records: list[dict[str, Any]]) -> bool:
    """True for records that cells of a table can hold."""
    return not any(isinstance(v, dict | list) for record in records for v in record.values())


READ = [
    pytest.param(case, form, id=f"{case['name']}-{form}")
    for case in CASES
    for form in ("jsonl", "json", "parquet", "csv")
    if form != "csv" or is_flat(case["records"])
]


def write(records: list[dict[str, Any]], form: str, folder: Path) -> Path:
    path = folder / f"records.{form}"
    if form == "jsonl":
        path.write_text("".join(json.dumps(record) + "\n" for record in records))
    elif form == "json":
        path.write_text(json.dumps(records, indent=1))
    elif form == "parquet":
        pq.write_table(pa.Table.from_pylist(records), path)
    else:
        with path.open("w", newline="") as file:
            writer = csv.DictWriter(file, list(records[0]))
            writer.writeheader()
            # An empty cell is how a table says null.
            writer.writerows(record for record in records if any(record.values()))
    return path


@pytest.mark.parametrize(("case", "form"), READ)
def test_every_format_speaks_the_language(case: dict[str, Any], form: str, tmp_path: Path) -> None:
    path = write(case["records"], form, tmp_path)
    texts = case["texts"] if form != "csv" else [text for text in case["texts"] if text]
    for with_places in (False, True):
        left: list[LeftOutRecord] = []
        stream = open_documents(
            path,
            field=case["field"],
            with_places=with_places,
            on_left_out=left.append if with_places else None,
        )
        found: list[str] = []
        numbers: list[int] = []
        for _, batch in stream:
            found += list(batch)
            numbers += stream.batch_places.numbers if stream.batch_places is not None else ()
        assert found == texts
        if with_places and form != "csv":
            assert numbers == case["numbers"]
            gone = sorted({*range(len(case["records"]))} - {*numbers})
            assert [record.record for record in left] == gone
            assert all(record.reason == "the text is null" for record in left)


def test_kept_fields_are_those_of_the_language() -> None:
    record = {"text": "x", "id": 1, "meta": {"url": "u", "a.b": "dotted"}, "m.n": "flat"}
    kept = KeptFields(("id", "meta.url", "meta.a.b", "m.n", "none")).of(record, "text")
    wanted = {"id": 1, "meta.url": "u", "meta.a.b": "dotted", "m.n": "flat", "none": None}
    assert kept == wanted
    every = KeptFields(every=True).of(record, "text")
    assert every == {name: value for name, value in record.items() if name != "text"}


@pytest.fixture
def lines(tmp_path: Path) -> Path:
    path = tmp_path / "ids.jsonl"
    path.write_text("".join(line + "\n" for line in LINES))
    return path


@pytest.mark.parametrize("suffix", ["jsonl", "parquet"])
def test_chunks_lead_back_to_their_records(suffix: str, lines: Path, tmp_path: Path) -> None:
    output = tmp_path / f"chunks.{suffix}"
    words = ["chunk", lines, "-t", TOKENIZER, "--max-tokens", "20", "--on-bad-record", "skip"]
    words += ["--keep", "id,meta.url", "-o", output]
    result = CliRunner().invoke(app, list(map(str, words)))
    assert result.exit_code == 0, result.output
    if suffix == "jsonl":
        rows = [json.loads(line) for line in output.read_text().splitlines()]
        ids: list[Any] = ["A", 5]
    else:
        rows, ids = pq.read_table(output).to_pylist(), ["A", "5"]
    assert [(row["document"], row["id"], row["meta.url"]) for row in rows] == [
        (0, ids[0], "u/1"),
        (4, ids[1], None),
    ]
    listed = (tmp_path / f"chunks.{suffix}.left-out.jsonl").read_text().splitlines()
    told = [json.loads(line) for line in listed]
    assert [(row["record"], row["line"]) for row in told] == [(1, 2), (3, 4)]
    assert told[0]["reason"] == "the text is null"
    assert told[1]["reason"].startswith("not valid JSON")
    assert {row["source"] for row in told} == {str(lines)}


def test_a_kept_field_cannot_take_the_name_of_a_column(lines: Path) -> None:
    words = ["chunk", str(lines), "-t", TOKENIZER, "--max-tokens", "20", "--keep", "source"]
    result = CliRunner().invoke(app, words)
    told = result.output + str(result.exception)
    assert result.exit_code
    assert "'source'" in told
    assert "hint: --keep-all" in told


@pytest.mark.parametrize("shuffle", [None, 7])
@pytest.mark.parametrize("form", ["parquet", "arrow", "mds", "datatrove", "megatron", "numpy"])
def test_rows_of_tokens_lead_back_to_their_records(
    form: Any, shuffle: int | None, lines: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "set"
    made = jeton.tokenize_dataset(
        lines,
        tokenizer=TOKENIZER,
        output=folder,
        format=form,
        append_eos=True,
        on_bad_record="skip",
        keep=["id"],
        shuffle=shuffle,
        shard_tokens=6,
        workers=1,
    )
    assert made.n_documents == 2
    assert verify_dataset(folder, tokenizer=TOKENIZER).faults == ()
    tokenizer = jeton.load(TOKENIZER)
    wanted = {0: ("A", tokenizer.encode("first doc")), 4: (5, tokenizer.encode("fifth line"))}
    seen = []
    for shard in made.shards:
        for ids, told in rows_of(folder, form, [file.name for file in shard.files]):
            id_, expected = wanted[told["record"]]
            assert told["source"] == str(lines)
            assert told["id"] in (id_, str(id_))
            if ids is not None:
                assert ids[:-1] == expected
            seen.append(told["record"])
    assert sorted(seen) == [0, 4]


def rows_of(folder: Path, form: str, names: list[str]) -> list[tuple[Any, dict[str, Any]]]:
    """Ids of each row, where the format is read here, and the description of its record."""
    if form == "parquet":
        rows = pq.read_table(folder / names[0]).to_pylist()
        return [(row["input_ids"], row) for row in rows]
    if form == "arrow":
        with pa.memory_map(str(folder / names[0])) as file:
            rows = pa.ipc.open_stream(file).read_all().to_pylist()
        return [(row["input_ids"], row) for row in rows]
    lines = (folder / names[-1]).read_text(encoding="utf-8").splitlines()
    told = [json.loads(line) for line in lines]
    if form != "numpy":
        return [(None, row) for row in told]
    name = next(name for name in names if name.endswith((".npy", ".bin")))
    ids = np.fromfile(folder / name, dtype=np.uint16).tolist()
    end = ids[-1]
    cuts = [at + 1 for at, id_ in enumerate(ids) if id_ == end]
    parts = [ids[a:b] for a, b in zip([0, *cuts], cuts, strict=False)]
    return list(zip(parts, told, strict=True))


def test_files_for_nanochat_have_a_shard_for_validation(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    records = ({"text": f"a document {i} of some words"} for i in range(40))
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    made = jeton.tokenize_dataset(
        path, tokenizer=TOKENIZER, output=tmp_path / "set", format="nanochat", workers=1
    )
    assert len(made.shards) >= 2
    check = verify_dataset(tmp_path / "set", tokenizer=TOKENIZER)
    assert (check.n_documents, check.n_compared, check.faults) == (40, 40, ())
    assert check.n_tokens == made.n_tokens


def test_verifying_finds_another_text_for_nanochat(tmp_path: Path) -> None:
    path = tmp_path / "docs.jsonl"
    path.write_text("".join(json.dumps({"text": f"text {i}"}) + "\n" for i in range(9)))
    jeton.tokenize_dataset(
        path, tokenizer=TOKENIZER, output=tmp_path / "set", format="nanochat", workers=1
    )
    shard = sorted((tmp_path / "set").glob("*.parquet"))[0]
    texts = pq.read_table(shard).column("text").to_pylist()
    pq.write_table(pa.table({"text": ["other", *texts[1:]]}), shard)
    kinds = {fault.kind for fault in verify_dataset(tmp_path / "set", tokenizer=TOKENIZER).faults}
    assert "other_document" in kinds


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        (b"\xef\xbb\xbf# T\xc3\xa9\r\n\r\nOne two three four.\r\n", "utf-8"),
        (b"One \xff\xfe two.\n\nThree \xe2\x82 four five.\n\nSix \xf0\x9f\x98 seven.\n", "utf-8"),
        ("\ufeffOne tw\u00f6.\n\nThree \U0001f600 four.\n".encode("utf-16-le"), "utf-16-le"),
        (b"plain text. And more of it.\n\nThe end of it.\n", "utf-8"),
    ],
)
def test_offsets_are_bytes_of_the_file(data: bytes, encoding: str, tmp_path: Path) -> None:
    path = tmp_path / "doc.txt"
    path.write_bytes(data)
    words = ["chunk", str(path), "-t", TOKENIZER, "--max-tokens", "9"]
    result = CliRunner().invoke(app, [*words, "--offsets", "bytes-of-file"])
    assert result.exit_code == 0, result.output
    rows = [json.loads(line) for line in result.stdout.splitlines() if line.startswith("{")]
    assert len(rows) > 1
    for row in rows:
        part = data[row["start_bytes"] : row["end_bytes"]]
        assert part.decode(encoding, "replace") == row["text"]
    assert rows[-1]["end_bytes"] == len(data)


def test_records_have_no_offsets_in_their_file(lines: Path) -> None:
    words = ["chunk", str(lines), "-t", TOKENIZER, "--max-tokens", "9", "--on-bad-record", "skip"]
    result = CliRunner().invoke(app, [*words, "--offsets", "bytes-of-file"])
    assert result.exit_code
    assert "no text file of one document" in result.output + str(result.exception)
