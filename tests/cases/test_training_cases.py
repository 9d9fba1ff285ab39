"""Training from the command line: what is read, refused, written and said.

A case in ``training/`` has files and runs of ``jeton``, each with what is expected of it: ``code``
(0 if left out), parts of ``stdout`` and ``stderr``, parts that must not be there (``not``), files
that are there afterwards or ``absent``, and parts of JSON files (``json``). A run with ``same_as``
gives a tokenizer of the fingerprint of an earlier file; ``tokens`` lists those of a file.

A file's value is text, JSON, or an object with one key: ``$hex``, ``$gzip`` (text), ``$encoded``
(an encoding and a text), ``$lines`` (a line and how often), ``$runs`` (texts, each with how often).
"""

from __future__ import annotations

import bz2
import gzip
import io
import json
import lzma
import shutil
import tarfile
import warnings
import zipfile
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.training import TrainSettings, count_pretokens, learn_from_counts, read_card
from tests.cases.places import contains, load_cases

TEXT = "the low lower lowest newer newest wide wider widest town\n" * 30


@pytest.mark.parametrize("case", load_cases("training"))
def test_case(case: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    for name, value in case["files"].items():
        place = tmp_path / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_bytes(_data(value))
    for run in case["runs"]:
        result = CliRunner().invoke(app, run["words"])
        told = result.stdout + result.stderr
        assert result.exit_code == run.get("code", 0), told
        assert "Traceback" not in told
        for stream, text in (("stdout", result.stdout), ("stderr", result.stderr)):
            for part in run.get(stream, ()):
                assert part in text, f"{part!r} is not in {stream}: {text}"
        for part in run.get("not", ()):
            assert part not in told
        for name in run.get("files", ()):
            assert (tmp_path / name).exists(), sorted(map(str, tmp_path.rglob("*")))
        for name in run.get("absent", ()):
            assert not (tmp_path / name).exists()
        for name, part in run.get("json", {}).items():
            found = json.loads((tmp_path / name).read_text(encoding="utf-8"))
            assert contains(found, part), found
        for name, tokens in run.get("tokens", {}).items():
            found = jeton.load(name)
            assert [found.id_to_token(i) for i in range(found.vocab_size)] == tokens
        for name, other in run.get("same_as", {}).items():
            assert jeton.load(name).fingerprint == jeton.load(other).fingerprint
        for name, text_ids in run.get("same_ids", {}).items():
            ids = jeton.load(name).encode(text_ids["text"])
            assert ids == jeton.load(text_ids["as"]).encode(text_ids["text"])


def _data(value: Any) -> bytes:
    if isinstance(value, str):
        return value.encode()
    if isinstance(value, dict) and len(value) == 1:
        [(kind, what)] = value.items()
        if kind == "$hex":
            return bytes.fromhex(str(what))
        if kind == "$gzip":
            return gzip.compress(what.encode())
        if kind == "$encoded":
            return str(what[1]).encode(what[0])
        if kind == "$runs":
            return "".join(text * times for text, times in what).encode()
        if kind == "$lines":
            return (str(what[0]) + "\n").encode() * int(what[1])
    return json.dumps(value).encode()


def _packed(kind: str) -> bytes:
    data = TEXT.encode()
    stream = io.BytesIO()
    if kind == "zip":
        with zipfile.ZipFile(stream, "w") as file:
            file.writestr("a.txt", data)
    elif kind.startswith("tar"):
        with tarfile.open(fileobj=stream, mode="w") as archive:
            member = tarfile.TarInfo("a.txt")
            member.size = len(data)
            archive.addfile(member, io.BytesIO(data))
    packers = {
        "bz2": bz2.compress(data),
        "xz": lzma.compress(data),
        "lzma": lzma.compress(data, format=lzma.FORMAT_ALONE),
        "tar.gz": gzip.compress(stream.getvalue()),
    }
    return packers.get(kind, stream.getvalue())


@pytest.mark.parametrize("name", ["x.txt", "x", "x.jsonl"])
@pytest.mark.parametrize("kind", ["bz2", "xz", "lzma", "zip", "tar", "tar.gz"])
def test_no_archive_is_trained_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, name: str
) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_bytes(_packed(kind))
    result = CliRunner().invoke(app, ["train", name, "--vocab-size", "270", "-o", "t"])
    assert result.exit_code == 2
    assert "hint:" in result.stderr
    assert not (tmp_path / "t").exists()


@pytest.mark.parametrize(
    "words",
    [
        [],
        ["--algorithm", "superbpe"],
        ["--algorithm", "wordpiece", "-O", "lowercase=false"],
        ["--algorithm", "char-bpe", "--normalizer", "nfc"],
        ["--algorithm", "sentencepiece-bpe", "-O", "byte_fallback=true"],
        ["--hold-out", "0.2", "--duplicates", "--weight", "b=3", "--pattern", "gpt2"],
        ["--field", "prompt", "--on-bad-record", "skip"],
    ],
    ids=lambda words: " ".join(words) or "defaults",
)
@pytest.mark.filterwarnings("ignore::jeton.JetonWarning")
def test_a_card_is_enough_to_make_its_tokenizer_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    records = [
        {"prompt": f"the newest number is {i}", "text": f"wider {i} town"} for i in range(60)
    ]
    lines = "".join(json.dumps(record) + "\n" for record in records)
    (tmp_path / "a.jsonl").write_text(lines + '{"text": "one"}\n', encoding="utf-8")
    (tmp_path / "b.jsonl").write_text(lines, encoding="utf-8")
    command = ["train", "a.jsonl", "b.jsonl", "--vocab-size", "330", "-o", "t.jeton.json", *words]
    assert CliRunner().invoke(app, command).exit_code == 0
    card = read_card("t.card.json")
    settings = card.settings
    assert isinstance(settings, TrainSettings)
    with warnings.catch_warnings():
        corpus = count_pretokens(
            [source.name for source in card.sources],
            settings=settings,
            care=card.care,
            **card.reading,
        )
        learned = learn_from_counts(corpus, settings=settings, name=card.name)
    assert learned.tokenizer.fingerprint == card.fingerprint
    assert all(len(source.sha256) == 64 for source in card.sources)


def test_a_folder_of_a_sentencepiece_model_loads_in_every_library(tmp_path: Path) -> None:
    transformers = pytest.importorskip("transformers")
    sentencepiece = pytest.importorskip("sentencepiece")
    (tmp_path / "a.txt").write_text(TEXT, encoding="utf-8")
    for algorithm in ("unigram", "sentencepiece-bpe", "sentencepiece-char"):
        target = tmp_path / algorithm
        words = ["train", str(tmp_path / "a.txt"), "--algorithm", algorithm]
        result = CliRunner().invoke(app, [*words, "--vocab-size", "30", "-o", str(target)])
        assert result.exit_code == 0, result.stderr
        text = "newest town, the lowest"
        ids = jeton.load(target / "tokenizer.model").encode(text)
        assert jeton.load(target).encode(text) == ids
        theirs = transformers.AutoTokenizer.from_pretrained(str(target))
        assert theirs.encode(text, add_special_tokens=False) == ids
        model = sentencepiece.SentencePieceProcessor(model_file=str(target / "tokenizer.model"))
        assert model.encode(text) == ids
        shutil.rmtree(target)
