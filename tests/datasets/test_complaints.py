"""Complaints about tools that tokenize data sets and pack them, by number: none can happen here.

`TOKENIZING` and `PACKING` name the tests that show it. A complaint without one has its test below.
"""

from __future__ import annotations

import ast
import json
import threading
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton._core import from_tiktoken
from jeton.corpus import InputFile
from jeton.datasets import reading, units
from jeton.datasets.formats import FORMATS as SHARD_FORMATS
from jeton.datasets.formats import ShardLayout
from jeton.datasets.options import FORMAT_NAMES, DatasetOptions
from jeton.datasets.pieces import TokenPiece
from jeton.datasets.spool import PieceSpool
from jeton.datasets.units import plan_units
from jeton.errors import JetonWarning, LimitError
from jeton.formats.megatron_index import read_megatron_index

TESTS = Path(__file__).resolve().parent.parent
TOKENIZER = "jeton-general-32k"

RUNS, FORMATS, VERIFY = (f"datasets/test_{name}.py" for name in ("runs", "formats", "verify"))
PACKS, TOKENS = "planning/test_packing.py", "planning/test_packed_tokens.py"

TOKENIZING: dict[str, tuple[str, ...]] = {
    "the beginning token is lost when the backend is another": (
        f"{VERIFY}::test_faults_of_other_tools",
        f"{VERIFY}::test_template_and_asked_tokens_are_there_once",
        f"{RUNS}::test_resume_refuses_what_differs",
    ),
    "an end token takes the place of the template": (
        f"{VERIFY}::test_template_and_asked_tokens_are_there_once",
    ),
    "the width of ids forgets added tokens": (
        f"{FORMATS}::test_added_tokens_widen_ids",
        f"{FORMATS}::test_width_follows_the_largest_id",
    ),
    "pointers overflow, an index of many documents fills the memory": (
        "datasets/test_complaints.py::test_places_beyond_32_bits",
    ),
    "an empty first document, documents forgotten in a merge": (
        "datasets/test_complaints.py::test_empty_documents_at_the_ends",
        f"{VERIFY}::test_cut_files_and_lonely_ones",
    ),
    "a width that was asked for cuts ids off, an empty file of ids": (
        f"{VERIFY}::test_ids_that_two_bytes_cut_off",
        f"{RUNS}::test_nothing_to_tokenize",
    ),
    "no run can be resumed, rows are lost with many workers": (
        f"{RUNS}::test_kill_9_and_resume",
        f"{RUNS}::test_a_run_that_died_after_any_shard_goes_on_with_the_same_bytes",
        f"{RUNS}::test_same_bytes_for_any_number_of_workers",
    ),
    "a full disk, hundreds of files from one machine": (
        f"{RUNS}::test_a_full_disk_is_an_error_and_the_run_resumes",
        f"{RUNS}::test_a_folder_that_cannot_be_written",
        f"{RUNS}::test_many_small_files_are_one_shard",
    ),
    "one long file keeps one worker busy and the others idle": (
        "datasets/test_complaints.py::test_work_is_cut_by_bytes",
    ),
    "memory grows with the corpus": (
        "datasets/test_complaints.py::test_pieces_without_room_go_to_the_disk",
    ),
    "compressed files must be cut first, the result depends on workers, no way back to rows": (
        f"{RUNS}::test_same_bytes_for_any_number_of_workers",
        f"{RUNS}::test_shards_name_their_documents",
    ),
    "files vanish or grow while they are read": (
        f"{RUNS}::test_a_file_that_changes_or_goes_while_it_is_read",
    ),
    "a line of hundreds of megabytes": (
        f"{RUNS}::test_lines_longer_than_ranges",
        "datasets/test_complaints.py::test_a_line_beyond_the_limit_is_named",
        "datasets/test_long_lines.py::test_tokenize",
    ),
    "a worker of a cluster dies": (
        "cluster/test_ray.py::"
        "test_a_cluster_gives_the_bytes_of_one_machine_though_a_worker_is_killed",
    ),
}
"""A complaint: tests (``FILE::NAME``) that show it cannot happen here."""

PACKING: dict[str, tuple[str, ...]] = {
    "a capacity of a power of two plus one packs nothing": (
        f"{PACKS}::test_capacities_about_powers_of_two_pack",
    ),
    "tokens dropped without a word, long documents clog the buffer": (
        "cases/packing/overflow.json",
        f"{PACKS}::test_every_document_is_packed_once",
    ),
    "documents see one another, positions begin at 0 everywhere, bounds are lost": (
        f"{PACKS}::test_packed_rows_keep_documents_apart",
    ),
    "documents are lost or counted twice": (
        f"{PACKS}::test_every_document_is_packed_once",
        f"{PACKS}::test_the_seed_shuffles_bins_and_loses_none",
    ),
    "time grows with the square of the bins": (
        "datasets/test_complaints.py::test_a_million_lengths_are_packed_at_once",
    ),
    "padding for a multiple is forgotten": (
        f"{TOKENS}::test_segments_are_filled_up_to_a_multiple",
    ),
    "packs cannot be kept without the tokens": (
        f"{PACKS}::test_files_give_the_same_pack_back",
        f"{TOKENS}::test_tokens_are_those_of_the_documents",
    ),
    "ranks wait for the longest": ("cases/packing/commands.json",),
    "no documents, lengths of 0, capacity of 0": (
        "cases/packing/arguments.json",
        "cases/packing/files.json",
    ),
}


@pytest.mark.parametrize("complaint", [*TOKENIZING, *PACKING])
def test_a_complaint_has_a_test(complaint: str) -> None:
    for place in {**TOKENIZING, **PACKING}[complaint]:
        file, _, name = place.partition("::")
        text = (TESTS / file).read_text(encoding="utf-8")
        if name:
            names = {n.name for n in ast.parse(text).body if isinstance(n, ast.FunctionDef)}
            assert name in names, place
        else:
            assert json.loads(text), place


def test_places_beyond_32_bits(tmp_path: Path) -> None:
    """Three documents of 2^31 - 1 ids: their places need more than 32 bits."""
    layout = ShardLayout(tmp_path, np.dtype("<i4"), DatasetOptions(), "", 100_000)
    writer: Any = SHARD_FORMATS["megatron"].open_shard(layout, 0)
    longest = 2**31 - 1
    # The ids themselves would take 24 GB.
    writer._lengths.append(np.array([longest] * 3, np.int64))
    writer.close()
    index = read_megatron_index(tmp_path / "tokens-00000.idx")
    assert index.lengths.tolist() == [longest] * 3
    assert index.pointers.tolist() == [0, 4 * longest, 8 * longest]
    ids = np.broadcast_to(np.uint32(1), 2**31)
    longer = SHARD_FORMATS["megatron"].open_shard(layout, 1)
    with pytest.raises(LimitError, match=r"2,147,483,648 tokens; .*lengths up to 2,147,483,647"):
        longer.append(ids, np.array([0, 2**31]), None)
    longer.abandon()


@pytest.mark.parametrize("kind", FORMAT_NAMES)
def test_empty_documents_at_the_ends(tmp_path: Path, kind: Any) -> None:
    texts = ["", "", "one boat", "", "two boats", ""]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JetonWarning)  # nanochat wants two shards
        made = jeton.tokenize_dataset(
            iter(texts), tokenizer=TOKENIZER, output=tmp_path / "o", format=kind, append_eos=True
        )
    assert (made.n_documents, made.read.n_empty_documents) == (2, 4)
    check = jeton.verify_dataset(tmp_path / "o")
    assert check.to_dict()["faults"] == []
    assert check.n_documents == 2


def test_work_is_cut_by_bytes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_BYTES", 4000)
    line = json.dumps({"text": "one boat"}) + "\n"
    (tmp_path / "large.jsonl").write_text(line * 4000)
    small = [tmp_path / f"{i:03d}.jsonl" for i in range(200)]
    for path in small:
        path.write_text(line)
    files = [
        InputFile(str(path), "jsonl", path.stat().st_size)
        for path in (tmp_path / "large.jsonl", *small)
    ]
    sizes = [
        unit.end - unit.start
        if unit.end >= 0
        else sum(files[number].n_bytes or 0 for number in unit.files)
        for unit in plan_units(files, DatasetOptions())
    ]
    assert sum(sizes) == sum(file.n_bytes or 0 for file in files)
    assert max(sizes) <= 4000
    assert len(sizes) < 2 * sum(sizes) / 4000


def test_pieces_without_room_go_to_the_disk(tmp_path: Path) -> None:
    spool = PieceSpool(tmp_path, 4000, threading.Event())
    for i in range(10):
        ids = np.full(500, i, np.uint32)
        spool.put(TokenPiece(ids, np.array([0, 500], np.int64), ((0, 1),)))
    spool.finish()
    assert spool._n_bytes <= 4000
    assert [int(piece.ids[0]) for piece in spool.take_all()] == list(range(10))


def test_a_million_lengths_are_packed_at_once() -> None:
    """A packer that looks at every bin for every document would take hours."""
    lengths = np.random.default_rng(1).integers(1, 4097, 1_000_000)
    packed = jeton.pack(lengths, capacity=4096)
    assert np.array_equal(np.sort(packed.documents), np.arange(len(lengths)))
    assert packed.report.fill > 0.99


def test_a_line_beyond_the_limit_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_BYTES", 500)
    monkeypatch.setattr(reading, "MIN_SCAN_BYTES", 300)
    monkeypatch.setattr(reading, "MAX_LINE_BYTES", 2000)
    path = tmp_path / "a.jsonl"
    path.write_text('{"text": "short"}\n' + json.dumps({"text": "boat " * 1000}) + "\n")
    with pytest.raises(LimitError, match=r"a\.jsonl: the line .* is longer than 2,000 bytes"):
        jeton.tokenize_dataset(path, tokenizer=TOKENIZER, output=tmp_path / "o")


def test_a_tokenizer_keeps_its_cache_where_nothing_is_put_around(tmp_path: Path) -> None:
    from jeton.datasets.boundaries import BoundaryTokens

    plain = from_tiktoken(b"YQ== 0\n" + b"".join(_ranks()), pattern="gpt2")
    framed = BoundaryTokens().frame(plain)
    assert framed.encode("one boat") == plain.encode("one boat")
    # One cache: words that either of them meets are kept for both.
    before = plain.integers_used_bytes
    framed.encode(" ".join(f"boat{n}" for n in range(200)))
    assert plain.integers_used_bytes == framed.integers_used_bytes > before


def _ranks() -> list[bytes]:
    import base64

    return [
        base64.b64encode(bytes([byte])) + b" %d\n" % (byte + 1)
        for byte in range(256)
        if byte != ord("a")
    ]
