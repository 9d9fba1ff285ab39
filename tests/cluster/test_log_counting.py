"""Parts of a log, counted apart, give the report of one machine, byte for byte."""

from __future__ import annotations

import json
import pickle
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest

import jeton.auditing.log_counting
from jeton._core import Tokenizer
from jeton.auditing import Audit
from jeton.cluster import count_logs_on_ray, log_counting
from jeton.corpus import InputFile
from jeton.corpus.requests import shards, stream
from jeton.corpus.requests.shards import LogShard
from jeton.report import to_json
from tests.auditing.tiny import train_tiny

CASES = Path(__file__).parents[1] / "cases"


class InThisProcess:
    """A session whose tasks run here, the last one first; values travel as bytes."""

    n_slots = 2

    def __init__(self, shared: Any) -> None:
        self.shared = pickle.dumps(shared)
        self.n_counted = 0

    def results(
        self, function: Any, calls: Sequence[Any], _workers: Any, *, n_kept: int = 0
    ) -> Iterator[tuple[int, Any]]:
        for number in reversed(range(len(calls))):
            arguments = [self.result(argument) for argument in calls[number]]
            self.n_counted += function is log_counting.count_part
            made = function(pickle.loads(self.shared), *arguments)
            if n_kept:
                first, *rest = made
                yield number, (first, *map(pickle.dumps, rest))
            else:
                yield number, pickle.loads(pickle.dumps(made))

    def result(self, reference: Any) -> Any:
        return pickle.loads(reference) if isinstance(reference, bytes) else reference


@pytest.fixture
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[InThisProcess]:
    made: list[InThisProcess] = []

    @contextmanager
    def opened(_: Any, shared: Any, **__: Any) -> Iterator[InThisProcess]:
        made.append(InThisProcess(shared))
        yield made[-1]

    monkeypatch.setattr(log_counting.RaySession, "open", opened)
    return made


@pytest.fixture(scope="module")
def tiny() -> Tokenizer:
    return train_tiny(vocab_size=300)


def files_of(case: dict[str, Any], folder: Path) -> list[str]:
    suffix = case.get("suffix", ".jsonl")
    paths = []
    for number, lines in enumerate(case["files"]):
        path = folder / f"log{number}{suffix}"
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        path.write_text("\n".join(texts) + "\n", encoding="utf-8")
        paths.append(str(path))
    return paths


def compare(paths: Sequence[str], tokenizer: Tokenizer, **options: Any) -> tuple[str, str]:
    audit = Audit(tokenizers=[tokenizer], logs=True, quality=False, **options)
    whole = to_json(audit.report(audit.count(paths)))
    audit = Audit(tokenizers=[tokenizer], logs=True, quality=False, **options)
    parts = to_json(audit.report(count_logs_on_ray(audit, paths)))
    return whole, parts


def cut_between_records(monkeypatch: pytest.MonkeyPatch, n_records: int = 1) -> None:
    """Parts of so many records, on one machine as well as on many."""

    def plan(files: Sequence[InputFile], *, format: Any) -> list[LogShard]:  # noqa: A002
        found: list[LogShard] = []
        for file in files:
            starts = [0]
            if shards._has_lines(file, format):
                lines = Path(file.path).read_bytes().splitlines(keepends=True)
                starts = [0, *accumulate(map(len, lines))][:-1:n_records] or [0]
            ends = [*starts[1:], -1]
            found += [LogShard(file, a, b) for a, b in zip(starts, ends, strict=True)]
        return found

    monkeypatch.setattr(stream, "plan_shards", plan)
    monkeypatch.setattr(jeton.auditing.log_counting, "plan_shards", plan)
    monkeypatch.setattr(shards, "SHARD_BYTES", 1)


COUNTING = sorted((CASES / "counting").glob("*.json"))


@pytest.mark.parametrize("path", COUNTING, ids=lambda path: path.stem)
def test_cases(
    path: Path,
    tmp_path: Path,
    sessions: list[InThisProcess],
    tiny: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    case = json.loads(path.read_text(encoding="utf-8"))
    if case.get("options"):
        pytest.skip("options")
    cut_between_records(monkeypatch)
    whole, parts = compare(files_of(case, tmp_path), tiny)
    assert parts == whole
