"""Counts of a cluster are those of one machine, byte for byte; so is what is trained from them."""

from __future__ import annotations

import gzip
import json
import random
from fractions import Fraction
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import jeton
from jeton.cluster import count_pretokens_on_ray, counting
from jeton.corpus import CorpusCare, NearDuplicateSettings
from jeton.corpus.care import Rule
from jeton.datasets import units
from jeton.errors import EmptyCorpusError, UsageError
from jeton.training import TrainSettings, save_counts

WORDS = ["boat", "lake", "drei", "Vögel", "東京", "12 345", "naïve", "running"]


@pytest.fixture(autouse=True)
def _small_units(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(units, "UNIT_BYTES", 1000)
    monkeypatch.setattr(counting, "MERGED_FILES", 3)
    monkeypatch.setattr(counting, "MAX_GROUP_UNITS", 2)


class InThisProcess:
    """A session whose tasks run here, the last one first."""

    n_slots = 1

    def __init__(self, _ray: Any, _tasks: Any, shared: Any) -> None:
        self.shared = shared

    @classmethod
    def open(cls, tasks: Any, shared: Any, **_: Any) -> Any:
        return cls(None, tasks, shared)

    def __enter__(self) -> Any:
        return self

    def __exit__(self, *_: object) -> None:
        pass

    def results(self, function: Any, calls: Any, _workers: Any) -> Any:
        for number in reversed(range(len(calls))):
            yield number, function(self.shared, *calls[number])


def texts(n: int = 60) -> list[str]:
    rng = random.Random(2)
    return [" ".join(rng.choices(WORDS, k=rng.choice((0, 5, 40)))) for _ in range(n)]


def corpus(folder: Path) -> Path:
    folder.mkdir()
    rows = [json.dumps({"text": text}) + "\n" for text in texts()]
    (folder / "a.jsonl").write_text("".join(rows) + '{"text": null}\n{"text": 7}\n')
    (folder / "b.jsonl.gz").write_bytes(gzip.compress("".join(rows[:20]).encode()))
    pq.write_table(pa.table({"text": texts(30)}), folder / "c.parquet", row_group_size=4)
    (folder / "d.txt").write_text("one boat here, and running lakes")
    (folder / "e.txt").write_text("")
    (folder / "picture.bin").write_bytes(b"\0\1")
    return folder


def saved(corpus: Any, path: Path) -> bytes:
    save_counts(path, corpus)
    return path.read_bytes()


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"care": CorpusCare(weights={"a": Fraction(5, 2), "d": Fraction(0)})},
        {
            "care": CorpusCare(
                quality=[Rule(name="words", figure="n_words", at_least=5)],
                weights={"d": Fraction(1, 3)},
            )
        },
        {"settings": TrainSettings(algorithm="unigram")},
        {"settings": TrainSettings(pattern="gpt2", indents=True)},
        {"base": "jeton-general-32k"},
    ],
)
def test_the_sum_of_parts_is_the_whole(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, options: dict[str, Any]
) -> None:
    monkeypatch.setattr(counting, "RaySession", InThisProcess)
    source = corpus(tmp_path / "in")
    given: dict[str, Any] = {"on_bad_record": "skip", "digests": True, **options}
    local = jeton.count_pretokens([source], **given)
    parts = count_pretokens_on_ray([source], folder=tmp_path / "parts", **given)
    assert saved(local, tmp_path / "local") == saved(parts, tmp_path / "cluster")
    assert parts.skipped == local.skipped
    assert parts.n_cut_documents == local.n_cut_documents
    assert not (tmp_path / "parts").exists()


def test_a_run_that_died_goes_on_with_the_parts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    source = corpus(tmp_path / "in") / "a.jsonl"
    given: dict[str, Any] = {"folder": tmp_path / "parts", "on_bad_record": "skip"}
    seen: list[int] = []

    class Dies(InThisProcess):
        def results(self, function: Any, calls: Any, _workers: Any) -> Any:
            for number in range(len(calls)):
                if len(seen) == 2:
                    raise MemoryError("the power went out")
                seen.append(number)
                yield number, function(self.shared, *calls[number])

    monkeypatch.setattr(counting, "RaySession", Dies)
    with pytest.raises(MemoryError):
        count_pretokens_on_ray(source, **given)
    monkeypatch.setattr(counting, "RaySession", InThisProcess)
    with pytest.raises(UsageError, match="not finished"):
        count_pretokens_on_ray(source, **given)
    with pytest.raises(UsageError, match="not those that it began with"):
        count_pretokens_on_ray(source, resume=True, **{**given, "on_bad_record": "stop"})
    parts = count_pretokens_on_ray(source, resume=True, **given)
    local = jeton.count_pretokens(source, on_bad_record="skip")
    assert saved(local, tmp_path / "local") == saved(parts, tmp_path / "cluster")


@pytest.mark.parametrize(
    ("care", "what"),
    [
        (CorpusCare(exact_duplicates=True), "duplicates"),
        (CorpusCare(near_duplicates=NearDuplicateSettings()), "near duplicates"),
        (CorpusCare(temperature=0.5), "balance"),
    ],
)
def test_what_needs_all_documents_is_refused(tmp_path: Path, care: CorpusCare, what: str) -> None:
    with pytest.raises(UsageError, match=f"{what} needs all documents in one place"):
        count_pretokens_on_ray(tmp_path, folder=tmp_path / "p", care=care)


def test_other_refusals(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(counting, "RaySession", InThisProcess)
    (tmp_path / "a.txt").write_text("")
    (tmp_path / "p").mkdir()
    (tmp_path / "p" / "notes.txt").write_text("mine")
    with pytest.raises(EmptyCorpusError):
        count_pretokens_on_ray(tmp_path / "a.txt", folder=tmp_path / "q")
    with pytest.raises(UsageError, match="something else"):
        count_pretokens_on_ray(tmp_path / "a.txt", folder=tmp_path / "p")
    with pytest.raises(UsageError, match="each language"):
        count_pretokens_on_ray(
            tmp_path, folder=tmp_path / "r", settings=TrainSettings(algorithm="parity-bpe")
        )
