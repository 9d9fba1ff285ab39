"""Documents in object stores, for every function that reads documents."""

from __future__ import annotations

import gzip
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton._core import compress_zstd
from jeton.cli.app import app
from jeton.corpus import expand_inputs, open_documents
from jeton.corpus import objects as object_module
from jeton.errors import CorpusError, RecordError, UsageError
from jeton.training import TrainSettings, load_counts, train_from_counts

fsspec = pytest.importorskip("fsspec")

RECORDS = [
    {"text": "The  ferry left at noon.  It was late."},
    {"text": None},
    {"text": "Two   boats."},
]
LINES = "".join(json.dumps(record) + "\n" for record in RECORDS).encode()
FILES = {
    "a.jsonl": LINES,
    "b/c.jsonl.zst": compress_zstd(LINES),
    "b/d.txt": b"A  plain text.  It has   two sentences.\n",
    "b/e.csv": b"id,text\n1,one   boat\n2,\n",
    "b/f.json": json.dumps(RECORDS).encode(),
    "b/g.txt.gz": gzip.compress(b"Packed   text.\n", mtime=0),
    "b/h.txt": "Two   bytes each.\n".encode("utf-16"),
}


@pytest.fixture(scope="module", params=["memory", "file"])
def stored(request: Any, tmp_path_factory: Any) -> Iterator[tuple[str, Path]]:
    """An address of the files, and a folder that holds the same."""
    folder = tmp_path_factory.mktemp("objects")
    memory = fsspec.filesystem("memory")
    for name, data in FILES.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_bytes(data)
        memory.pipe(f"/objects/{name}", data)
    yield ("memory://objects" if request.param == "memory" else f"file://{folder}"), folder
    memory.rm("/objects", recursive=True)


def texts_of(inputs: Any, **options: Any) -> list[str]:
    stream = open_documents(inputs, **options)
    texts = [text for _, batch in stream for text in batch]
    assert stream.n_null_documents == 4
    return texts


def test_all_formats_are_read_as_from_a_folder(stored: tuple[str, Path]) -> None:
    address, folder = stored
    assert texts_of(address) == texts_of(folder)
    assert texts_of(address, documents="line") == texts_of(folder, documents="line")
    assert [f.path.rsplit("/", 1)[1] for f in expand_inputs(f"{address}/b/*.txt*")] == [
        "d.txt",
        "g.txt.gz",
        "h.txt",
    ]


def test_chunks(stored: tuple[str, Path]) -> None:
    address, folder = stored

    def chunks(source: Any) -> list[tuple[str, int, list[str]]]:
        return [
            (
                found.source.rsplit("/", 1)[1],
                found.document,
                [c.text for c in found.chunking.chunks],
            )
            for found in jeton.chunk(source, tokenizer="jeton-general-32k", max_tokens=8)
        ]

    assert chunks(address) == chunks(folder)


def test_preprocessing(stored: tuple[str, Path], tmp_path: Path) -> None:
    address, folder = stored
    made = {}
    for name, source in (("far", address), ("near", str(folder))):
        words = ["--steps", "whitespace", "-t", "jeton-general-32k", "-o", str(tmp_path / name)]
        result = CliRunner().invoke(app, ["preprocess", source, *words])
        assert result.exit_code == 0, result.output
        made[name] = {
            str(path.relative_to(tmp_path / name)): path.read_bytes()
            for path in (tmp_path / name).rglob("*")
            if path.is_file()
        }
    assert made["far"] == made["near"]
    assert sorted(made["far"]) == sorted(FILES)


def test_counting_pretokens(stored: tuple[str, Path], tmp_path: Path) -> None:
    address, folder = stored
    for name, source in (("far", address), ("near", str(folder))):
        words = ["count-pretokens", source, "-o", str(tmp_path / f"{name}.counts"), "-q"]
        result = CliRunner().invoke(app, words)
        assert result.exit_code == 0, result.output
    far, near = (load_counts(tmp_path / f"{name}.counts") for name in ("far", "near"))
    assert far.counts.n_documents == near.counts.n_documents
    settings = TrainSettings(vocab_size=260)
    made = [train_from_counts(counts, settings=settings).fingerprint for counts in (far, near)]
    assert made[0] == made[1]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (
            ["chunk", "memory://void/a.txt", "-t", "jeton-general-32k", "--max-tokens", "9"],
            "nothing",
        ),
        (["count", "nosuch://a/b.txt", "-t", "jeton-general-32k"], "fsspec cannot open it"),
        (["count", "zip://a.txt::memory://b.zip", "-t", "jeton-general-32k"], "within addresses"),
    ],
)
def test_addresses_that_lead_nowhere(words: list[str], message: str) -> None:
    result = CliRunner().invoke(app, words)
    assert result.exit_code == 2
    assert message in result.output
    assert "hint: " in result.output


@pytest.mark.parametrize(
    "words",
    [
        ["chunk", "-t", "jeton-general-32k", "--max-tokens", "9", "-o", "memory://x/a.jsonl"],
        ["count-pretokens", "-o", "memory://x/a.counts"],
        ["preprocess", "--steps", "whitespace", "-t", "jeton-general-32k", "-o", "memory://x/out"],
        ["tokenize", "-t", "jeton-general-32k", "-o", "memory://x/out"],
    ],
)
def test_outputs_are_local(words: list[str], tmp_path: Path, monkeypatch: Any) -> None:
    monkeypatch.chdir(tmp_path)
    Path("a.txt").write_text("One boat.\n", encoding="utf-8")
    result = CliRunner().invoke(app, [words[0], "a.txt", *words[1:]])
    assert result.exit_code == 2
    assert "is an address" in result.output
    assert [path.name for path in tmp_path.iterdir()] == ["a.txt"]


def test_bad_records_name_the_object() -> None:
    memory = fsspec.filesystem("memory")
    memory.pipe("/bad/a.jsonl", b'{"text": "one"}\n{"text": 2}\n')
    memory.pipe("/bad/b.png", b"\x89PNG\r\n\x1a\n" + bytes(100))
    with pytest.raises(RecordError, match=r"memory://bad/a\.jsonl, line 2"):
        list(open_documents("memory://bad/a.jsonl"))
    with pytest.raises(RecordError, match=r"memory://bad/b\.png is a"):
        open_documents("memory://bad/b.png")
    skipped = open_documents("memory://bad").skipped
    assert [file.path for file in skipped] == ["memory://bad/b.png"]


def test_a_store_that_refuses(monkeypatch: Any) -> None:
    class Refused(Exception):
        pass

    def refuse(*_: Any, **__: Any) -> None:
        raise Refused("no credentials")

    fsspec.filesystem("memory").pipe("/refused/a.jsonl", b'{"text": "one"}\n')
    monkeypatch.setattr(type(fsspec.filesystem("memory")), "open", refuse)
    with pytest.raises(CorpusError, match="Refused: no credentials"):
        list(open_documents("memory://refused/a.jsonl"))


def test_without_fsspec(monkeypatch: Any) -> None:
    import sys

    monkeypatch.setitem(sys.modules, "fsspec", None)
    with pytest.raises(jeton.JetonError, match=r"jeton\[remote\]"):
        expand_inputs("memory://objects")
    assert not object_module.is_address("a/b.txt")
    assert object_module.is_address("s3://a/b.txt")
    assert issubclass(UsageError, jeton.JetonError)
