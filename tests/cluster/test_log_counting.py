"""Parts of a log, counted apart, give the report of one machine, byte for byte."""

from __future__ import annotations

import json
import pickle
import random
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import accumulate
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import jeton.auditing.log_counting
from jeton._core import Tokenizer
from jeton.auditing import Audit
from jeton.cluster import count_logs_on_ray, log_counting
from jeton.corpus import InputFile
from jeton.corpus.requests import answers, joining, shards, stream
from jeton.corpus.requests.shards import LogShard
from jeton.errors import EmptyCorpusError, RecordError, UsageError
from jeton.report import to_json
from tests.auditing.tiny import train_tiny
from tests.cases.test_ledger_cases import content

CASES = Path(__file__).parents[1] / "cases"


class InThisProcess:
    """A session whose tasks run here, the last one first; values travel as bytes."""

    n_slots = 2

    def __init__(self, shared: Any) -> None:
        self.shared = pickle.loads(pickle.dumps(shared))
        self.n_counted = 0

    def results(
        self, function: Any, calls: Sequence[Any], _workers: Any, *, n_kept: int = 0
    ) -> Iterator[tuple[int, Any]]:
        for number in reversed(range(len(calls))):
            arguments = [self.result(argument) for argument in calls[number]]
            self.n_counted += function is log_counting.count_part
            made = function(self.shared, *arguments)
            if n_kept:
                first, *rest = made
                yield number, (first, *map(pickle.dumps, rest))
            else:
                yield number, pickle.loads(pickle.dumps(made))

    def result(self, reference: Any) -> Any:
        return pickle.loads(reference) if isinstance(reference, bytes) else reference


@pytest.fixture(autouse=True)
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


def cut(monkeypatch: pytest.MonkeyPatch, n_records: int = 1) -> None:
    """Cut files into parts of a number of records, on one machine as well as on many."""

    def plan(files: Sequence[InputFile], *, format: Any) -> list[LogShard]:  # noqa: A002
        found: list[LogShard] = []
        for file in files:
            starts = [0]
            if file.format != "memory" and shards._has_lines(file, format):
                lines = Path(file.path).read_bytes().splitlines(keepends=True)
                starts = [0, *accumulate(map(len, lines))][:-1:n_records] or [0]
            ends = [*starts[1:], -1]
            found += [LogShard(file, a, b) for a, b in zip(starts, ends, strict=True)]
        return found

    monkeypatch.setattr(stream, "plan_shards", plan)
    monkeypatch.setattr(jeton.auditing.log_counting, "plan_shards", plan)
    monkeypatch.setattr(shards, "SHARD_BYTES", 1)
    monkeypatch.setattr(log_counting, "MERGED_PARTS", 3)


def reports(paths: Any, tokenizer: Tokenizer, **options: Any) -> tuple[str, str]:
    """The report of one machine and that of the parts."""
    found = []
    for is_whole in (True, False):
        audit = Audit(tokenizers=[tokenizer], logs=True, quality=False, **options)
        counts = audit.count(paths) if is_whole else count_logs_on_ray(audit, paths)
        found.append(to_json(audit.report(counts)))
    return found[0], found[1]


def write_cases(folder: Path) -> list[Path]:
    """The logs of all cases of counting and of the ledger that need no options."""
    paths = []
    for path in sorted((CASES / "counting").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case.get("options"):
            continue
        for number, lines in enumerate(case["files"]):
            place = folder / f"{path.stem}-{number}{case.get('suffix', '.jsonl')}"
            texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            place.write_text("\n".join(texts) + "\n", encoding="utf-8")
            paths.append(place)
    for path in sorted((CASES / "ledger").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if case.get("options"):
            continue
        for file in case["files"]:
            place = folder / path.stem / file["name"]
            place.parent.mkdir(parents=True, exist_ok=True)
            place.write_bytes(content(file))
            paths.append(place)
    return paths


@pytest.mark.parametrize("n_records", [1, 3])
def test_logs_of_every_shape(
    n_records: int,
    tmp_path: Path,
    tiny: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    sessions: list[InThisProcess],
) -> None:
    paths = write_cases(tmp_path)
    cut(monkeypatch, n_records)
    whole, parts = reports(paths, tiny)
    assert json.loads(whole)["requests"]["n_requests"] > 300
    assert parts == whole
    assert sessions[0].n_counted > 500 / n_records
