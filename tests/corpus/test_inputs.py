"""Which files are meant: folders, globs, links, missing and binary files."""

from __future__ import annotations

import errno
import gzip
import os
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton import _core, planning, training
from jeton.corpus import (
    CorpusCare,
    InputFile,
    expand_inputs,
    open_documents,
    open_requests,
)
from jeton.corpus.inputs import format_of
from jeton.locking.workload import measure_workload


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A folder with all that a folder can hold, in no particular order."""
    root = tmp_path / "data"
    for name in ("b.txt", "a.jsonl", "sub/deep/d.md", "sub/c.txt", "B.txt", ".hidden/x.txt"):
        (root / name).parent.mkdir(parents=True, exist_ok=True)
        (root / name).write_text(f"text of {name}\n")
    (root / ".secret").write_text("no\n")
    (root / "image.txt").write_bytes(b"\x89PNG\0\0")
    return root


def names(files: list[InputFile], root: Path) -> list[str]:
    return [os.path.relpath(file.path, root) for file in files if not file.skipped_because]


def test_a_folder_stands_for_its_files_in_sorted_order_without_hidden_ones(tree: Path) -> None:
    files = expand_inputs([tree])
    assert names(files, tree) == ["B.txt", "a.jsonl", "b.txt", "sub/c.txt", "sub/deep/d.md"]
    assert [file.format for file in files][1] == "jsonl"
    assert files[0].n_bytes == len("text of B.txt\n")


def test_a_binary_file_of_a_folder_is_listed_with_the_reason(tree: Path) -> None:
    skipped = [file for file in expand_inputs([tree]) if file.skipped_because]
    assert [Path(file.path).name for file in skipped] == ["image.txt"]
    assert "binary" in skipped[0].skipped_because


@pytest.mark.parametrize("suffix", ["", ".gz", ".zst"])
def test_compressed_files_are_judged_by_what_is_inside(tmp_path: Path, suffix: str) -> None:
    def store(data: bytes) -> bytes:
        if suffix == ".gz":
            return gzip.compress(data)
        return _core.compress_zstd(data) if suffix else data

    (tmp_path / f"text{suffix}").write_bytes(store(b"plain words " * 1000))
    (tmp_path / f"binary{suffix}").write_bytes(store(b"head" + b"\0" * 20_000))
    (tmp_path / f"late{suffix}").write_bytes(store(b"x" * 8192 + b"\0"))
    by_name = {Path(file.path).stem: file.skipped_because for file in expand_inputs(tmp_path)}
    assert by_name["text"] == "" == by_name["late"]
    assert "binary" in by_name["binary"]


def test_a_damaged_file_is_left_for_reading_to_complain_about(tmp_path: Path) -> None:
    (tmp_path / "damaged.gz").write_bytes(b"\x1f\x8b\x08 no gzip \0\0\0\0\0\0")
    assert expand_inputs(tmp_path)[0].skipped_because == ""


def test_a_binary_file_named_outright_is_read(tree: Path) -> None:
    assert [file.skipped_because for file in expand_inputs([tree / "image.txt"])] == [""]
    both = expand_inputs([tree, tree / "image.txt"])
    assert [file.skipped_because for file in both if file.path.endswith("image.txt")] == [""]


@pytest.mark.parametrize(
    ("pattern", "expected"),
    [
        ("*.txt", ["B.txt", "b.txt"]),
        ("**/*.txt", ["B.txt", "b.txt", "sub/c.txt"]),
        ("sub/**", ["sub/c.txt", "sub/deep/d.md"]),
        ("s*/*/?.md", ["sub/deep/d.md"]),
        ("[ab].*", ["a.jsonl", "b.txt"]),
        ("**/.hidden/*", [".hidden/x.txt"]),
        ("sub/../b.*", ["b.txt"]),
    ],
)
def test_globs(
    tree: Path, pattern: str, expected: list[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert names(expand_inputs([f"{tree}/{pattern}"]), tree) == expected
    monkeypatch.chdir(tree)
    assert names(expand_inputs([pattern]), tree) == expected


def test_a_name_with_glob_characters_that_exists_is_a_name(tmp_path: Path) -> None:
    (tmp_path / "a[1].txt").write_text("one")
    assert names(expand_inputs([tmp_path / "a[1].txt"]), tmp_path) == ["a[1].txt"]


def test_each_file_comes_once_however_it_is_named(tree: Path) -> None:
    (tree / "link.txt").symlink_to(tree / "b.txt")
    files = expand_inputs([tree / "b.txt", tree, f"{tree}/*.txt", f"{tree}/sub/../b.txt"])
    found = names(files, tree)
    assert found[0] == "b.txt"
    assert len(found) == len({os.path.realpath(tree / name) for name in found}) == 5


def test_linked_folders_end(tree: Path) -> None:
    for i in range(12):  # each further link doubled the work if links were followed blindly
        (tree / "sub" / f"up{i}").symlink_to(tree, target_is_directory=True)
        (tree / "sub" / "deep" / f"up{i}").symlink_to(tree / "sub", target_is_directory=True)
    expected = ["B.txt", "a.jsonl", "b.txt", "sub/c.txt", "sub/deep/d.md"]
    assert names(expand_inputs([tree]), tree) == expected
    found = names(expand_inputs([f"{tree}/**/*.*"]), tree)
    assert sorted(os.path.realpath(tree / name) for name in found) == sorted(
        os.path.realpath(tree / name) for name in expected
    )


def test_broken_links_and_pipes_of_a_folder_are_skipped(tmp_path: Path) -> None:
    (tmp_path / "broken").symlink_to(tmp_path / "nowhere")
    os.mkfifo(tmp_path / "pipe")
    reasons = [file.skipped_because for file in expand_inputs(tmp_path)]
    assert reasons == ["the link leads nowhere", "not a regular file"]


def test_standard_input_and_formats() -> None:
    assert expand_inputs("-") == [InputFile("-", "text")]
    assert expand_inputs(["-", "-"], format="jsonl") == [InputFile("-", "jsonl")]
    formats = {name: format_of(name) for name in ("a.jsonl.zst", "A.NDJSON.GZ", "a.pq", "a.json")}
    assert list(formats.values()) == ["jsonl", "jsonl", "parquet", "text"]
    assert format_of("a.parquet") == "parquet"
    assert format_of("folder.jsonl/readme") == "text"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("b.tx", "did you mean '{root}/b.txt'?"),
        ("a.json", "did you mean '{root}/a.jsonl'?"),
        ("a.parquet", "did you mean '{root}/a.jsonl'?"),
        ("zzzzzzzz", "has no name like it"),
        ("nowhere/b.txt", "there is no folder '{root}/nowhere' either"),
        ("b.txt/inside", "there is no folder '{root}/b.txt' either"),
        ("*.nothing", "`*` stands for part of a name"),
    ],
)
def test_a_missing_file_names_the_nearest(tree: Path, name: str, hint: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        expand_inputs([tree / name])
    first, second = str(caught.value).splitlines()
    assert name in first
    assert second.startswith("hint: ")
    assert hint.format(root=tree) in second
    assert caught.value.errno == 2


LONG = "The patient was given hydroxychloroquine. " * 300
TEXTS = {
    "longer than any name": LONG,
    "longer than any name, with a glob's characters": f"*{LONG}[*]?",
    "longer than any name, with folders": "a/b and c/d " * 300,
    "longer than most names": "a sentence of some words, " * 10,
    "of several lines": "one line\nanother",
    "of several lines, with a glob's characters": "/**\n * A comment.\n */",
    "with a NUL": "one\0two",
    "with a lone surrogate": "one \ud800 two",
}


@pytest.mark.parametrize("text", TEXTS.values(), ids=TEXTS)
def test_a_text_taken_for_a_path_is_told_so_in_short(text: str) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        expand_inputs(["-", text])
    first, second = str(caught.value).splitlines()
    assert first.startswith("there is no file '")
    assert len(first) < 140
    assert ascii(text[:3])[1:-1] in first
    assert f"({len(text):,} characters)" in first or first.endswith(repr(text))
    assert second == (
        "hint: a list of strings is read as paths; to pass texts, pass an iterator: iter(texts)"
    )
    assert caught.value.errno == errno.ENOENT


def test_words_that_no_file_is_called_may_be_meant_as_text(
    tree: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tree)
    with pytest.raises(FileNotFoundError, match="there is no file 'hello world'") as caught:
        expand_inputs(["hello world"])
    assert str(caught.value).endswith("to pass texts, pass an iterator: iter(texts)")
    (tree / "hello world.txt").write_text("there")
    with pytest.raises(FileNotFoundError, match=r"did you mean 'hello world\.txt'\?"):
        expand_inputs(["hello world"])


@pytest.mark.parametrize(
    ("number", "kind", "reason"),
    [
        (errno.EACCES, PermissionError, "permission denied"),
        (errno.EIO, OSError, "input/output error"),
    ],
)
def test_what_cannot_be_looked_at_says_why(
    tree: Path, monkeypatch: pytest.MonkeyPatch, number: int, kind: type[OSError], reason: str
) -> None:
    name = tree / "sub"

    def fail(path: Path, **options: bool) -> os.stat_result:
        raise OSError(number, os.strerror(number), str(path))

    monkeypatch.setattr(Path, "stat", fail)
    with pytest.raises(kind) as caught:
        expand_inputs([name])
    assert str(caught.value) == f"cannot look for {str(name)!r}: {reason}"
    assert caught.value.errno == number


def test_links_in_a_ring_are_an_error(tmp_path: Path) -> None:
    (tmp_path / "a").symlink_to(tmp_path / "b")
    (tmp_path / "b").symlink_to(tmp_path / "a")
    with pytest.raises(OSError, match=r"cannot look for '.*a': too many levels of symbolic links"):
        expand_inputs([tmp_path / "a"])


def _tokenizer() -> jeton.Tokenizer:
    return jeton.load("jeton-general-32k")


TAKERS: dict[str, Callable[[Any], Any]] = {
    "train": lambda texts: jeton.train(texts, vocab_size=300),
    "audit": lambda texts: jeton.audit(texts, tokenizers=["jeton-general-32k"]),
    "compare": lambda texts: jeton.compare(texts, tokenizers=["jeton-general-32k"]),
    "open_documents": open_documents,
    "open_requests": open_requests,
    "count_pretokens": training.count_pretokens,
    "count_languages": lambda texts: training.count_languages(
        {"one": texts}, settings=training.TrainSettings(algorithm="parity-bpe")
    ),
    "continue_training": lambda texts: training.continue_training(
        texts, base=_tokenizer(), vocab_size=40_000
    ),
    "count_pretokens, balanced": lambda texts: training.count_pretokens(
        texts, care=CorpusCare(temperature=0.5)
    ),
    "sweep": planning.sweep,
    "sweep, held-out text": lambda texts: planning.sweep(
        iter(["low lower lowest"] * 20), vocab_sizes=(270,), heldout=texts
    ),
    "recommend": planning.recommend,
    "cost_aware": lambda texts: planning.cost_aware(texts, model="llama-3.2-1b"),
    "measure_workload": lambda texts: measure_workload(texts, {"t": _tokenizer()}),
}


@pytest.mark.parametrize("take", TAKERS.values(), ids=TAKERS)
def test_every_function_that_takes_inputs_tells_texts_from_paths(
    take: Callable[[Any], Any],
) -> None:
    with pytest.raises(FileNotFoundError) as caught:
        take([LONG, LONG])
    first, second = str(caught.value).splitlines()
    assert len(first) < 140
    assert second.endswith("iter(texts)")
