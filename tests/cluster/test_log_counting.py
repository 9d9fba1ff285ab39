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
from jeton.cluster import count_logs_on_ray, token_counting
from jeton.cluster.sessions import RaySession
from jeton.corpus import InputFile
from jeton.corpus.requests import answers, joining, shards, stream
from jeton.corpus.requests.shards import LogShard
from jeton.errors import EmptyCorpusError, RecordError, UsageError
from jeton.report import to_json
from jeton.workload.counting.counts import CoreSums, Counts
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
        error: Exception | None = None
        for number in reversed(range(len(calls))):
            arguments = [self.result(argument) for argument in calls[number]]
            self.n_counted += function is token_counting.count_part
            try:
                made = function(self.shared, *arguments)
            except Exception as one:
                error = one  # that of the first call
                continue
            if n_kept:
                first, *rest = made
                yield number, (first, *map(pickle.dumps, rest))
            else:
                yield number, pickle.loads(pickle.dumps(made))
        if error is not None:
            raise error

    def result(self, reference: Any) -> Any:
        return pickle.loads(reference) if isinstance(reference, bytes) else reference


@pytest.fixture(autouse=True)
def sessions(monkeypatch: pytest.MonkeyPatch) -> list[InThisProcess]:
    made: list[InThisProcess] = []

    @contextmanager
    def opened(_: Any, shared: Any, **__: Any) -> Iterator[InThisProcess]:
        made.append(InThisProcess(shared))
        yield made[-1]

    monkeypatch.setattr(RaySession, "open", opened)
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
    monkeypatch.setattr(token_counting, "MERGED_PARTS", 3)


def reports(paths: Any, tokenizer: Tokenizer, **options: Any) -> tuple[str, str]:
    """The report of one machine and that of the parts."""
    found = []
    for is_whole in (True, False):
        audit = Audit(tokenizers=[tokenizer], logs=True, quality=False, **options)
        counts = audit.count(paths) if is_whole else count_logs_on_ray(audit, paths)
        found.append(to_json(audit.report(counts)))
    return found[0], found[1]


def figures(counts: Counts) -> list[Any]:
    """Figures behind a report that differ from log to log in these cases."""
    requests = counts.requests
    assert requests is not None
    ledger, n_counted = requests.pricing.ledger(
        requests.counted(counts.request_tokens),
        factors={},
        output_tokens=None,
        requests_per_day=None,
    )
    evidence = requests.evidence(
        counts.request_tokens,
        counts.request_digests,
        counts.request_beginnings,
        counts.request_blocks,
    )
    assert evidence is not None
    assert evidence.columns is not None
    columns = [getattr(evidence.columns, name).tolist() for name in ("time_s", "output_tokens")]
    models = [evidence.models[m] if m >= 0 else "" for m in evidence.model.tolist()]
    return [
        requests.summary,
        counts.corpus(),
        CoreSums.of(counts.text_stats)._values["script_chars"],
        ledger.by_model,
        ledger.by_domain,
        ledger.issues,
        ledger.not_priced,
        n_counted,
        repr(columns),
        models,
        evidence.counted_tokens.tolist(),
        evidence.block_numbers.tolist(),
        {key: sums.tolist() for key, sums in sorted(requests.times.cells.items()) if sums.any()},
    ]


def logs_of_cases() -> list[tuple[str, list[tuple[str, bytes]]]]:
    """Files of the cases of counting and of the ledger that need no options."""
    found = []
    for path in sorted((CASES / "counting").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        files = []
        for number, lines in enumerate(case["files"]):
            texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
            name = f"log{number}{case.get('suffix', '.jsonl')}"
            files.append((name, ("\n".join(texts) + "\n").encode()))
        if not case.get("options"):
            found.append((path.stem, files))
    for path in sorted((CASES / "ledger").glob("*.json")):
        case = json.loads(path.read_text(encoding="utf-8"))
        if not case.get("options"):
            found.append((path.stem, [(file["name"], content(file)) for file in case["files"]]))
    return found


def write(folder: Path, files: Sequence[tuple[str, bytes]]) -> list[Path]:
    paths = []
    for name, data in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        paths.append(path)
    return paths


def test_logs_of_every_shape_cut_between_all_records(
    tmp_path: Path,
    tiny: Tokenizer,
    monkeypatch: pytest.MonkeyPatch,
    sessions: list[InThisProcess],
) -> None:
    cut(monkeypatch)
    audit = Audit(tokenizers=[tiny], logs=True)
    logs = logs_of_cases()
    for name, files in logs:
        paths = write(tmp_path / name, files)
        parts = figures(count_logs_on_ray(audit, paths))
        assert parts == figures(audit.count(paths)), name
    assert len(logs) > 150
    assert sum(session.n_counted for session in sessions) > 500


@given(data=st.data())
@settings(
    max_examples=5, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
def test_mixed_logs_give_the_report_of_one_machine(
    data: st.DataObject, tmp_path_factory: pytest.TempPathFactory, tiny: Tokenizer
) -> None:
    """Records of all shapes, repeated and mixed, with limits that they reach."""
    lines = [
        line + b"\n"
        for _, files in logs_of_cases()
        for name, text in files
        if name.endswith(".jsonl") and not text.startswith(b"[")
        for line in text.splitlines()
    ]
    texts = [
        json.dumps({"prompt": f"the statement {n}", "model": "gpt-4o", **more}).encode() + b"\n"
        for n in range(3)
        for more in ({}, {"id": f"r{n}"}, {"id": "r1", "usage": {"input_tokens": 5 + n}})
    ]
    rng = random.Random(data.draw(st.integers(0, 10_000)))
    log = rng.choices(lines, k=30) + rng.choices(texts, k=10)
    for _ in range(3):
        place = rng.randrange(len(log))
        log[place:place] = rng.choices(log, k=4)
    rng.shuffle(log)
    folder = tmp_path_factory.mktemp("mixed")
    middle = data.draw(st.integers(1, len(log)))
    files = [("a.jsonl", b"".join(log[:middle])), ("b.jsonl", b"".join(log[middle:]))]
    paths = write(folder, files)
    with pytest.MonkeyPatch.context() as patch:
        cut(patch, data.draw(st.integers(1, 9)))
        patch.setattr(answers, "MAX_ANSWERS", data.draw(st.sampled_from([3, 10, 1_000])))
        patch.setattr(joining, "MAX_SPANS", data.draw(st.sampled_from([2, 5, 1_000])))
        patch.setattr(token_counting, "MAX_ROUNDS", data.draw(st.integers(0, 3)))
        whole, parts = reports(paths, tiny)
    assert parts == whole


def test_small_files_go_together(
    tmp_path: Path, tiny: Tokenizer, monkeypatch: pytest.MonkeyPatch, sessions: list[InThisProcess]
) -> None:
    record = json.dumps({"prompt": "the statement", "usage": {"input_tokens": 9}}) + "\n"
    files = [(f"{n}.jsonl", (record * (1 + 30 * (n == 4))).encode()) for n in range(9)]
    monkeypatch.setattr(shards, "SHARD_BYTES", 3 * len(record))
    whole, parts = reports(write(tmp_path, files), tiny, domains="file")
    assert parts == whole
    assert 8 <= sessions[0].n_counted <= 15


def test_bad_lines_have_the_numbers_of_the_file(
    tmp_path: Path, tiny: Tokenizer, monkeypatch: pytest.MonkeyPatch
) -> None:
    record = json.dumps({"prompt": "the \u6f22 statement", "model": "m"}) + "\n"
    lines = [record] * 20
    lines[3], lines[12], lines[17] = "{bad\n", "\n", "7\n"
    data = "".join(lines).encode().replace(b"statement", b"state\xffment", 7)
    paths = write(tmp_path, [("log.jsonl", data)])
    monkeypatch.setattr(shards, "SHARD_BYTES", 100)
    whole, parts = reports(paths, tiny)
    assert parts == whole
    assert "log.jsonl, line 18: it is a number" in whole
    audit = Audit(tokenizers=[tiny], logs=True, strict=True)
    with pytest.raises(RecordError, match="line 4"):
        audit.count(paths)
    with pytest.raises(RecordError, match="line 4"):
        count_logs_on_ray(audit, paths)


def test_refusals(tmp_path: Path, tiny: Tokenizer) -> None:
    path = tmp_path / "log.jsonl"
    path.write_text('{"a": 1}\n')
    with pytest.raises(EmptyCorpusError, match="no request in 1 records"):
        count_logs_on_ray(Audit(tokenizers=[tiny], logs=True), path)
    with pytest.raises(UsageError, match="only request logs"):
        count_logs_on_ray(Audit(tokenizers=[tiny]), path)
    with pytest.raises(UsageError, match="standard input"):
        count_logs_on_ray(Audit(tokenizers=[tiny], logs=True), [{"prompt": "x"}])
