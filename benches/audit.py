"""Time an audit against plain encoding: what the measuring costs on top of the tokenizing.

The ratio is audit time over the time of counting the same inputs with the same tokenizer, read by
the same reader; both in one alternated run. Small inputs are files in one process. Large ones are
JSON lines (``--gigabytes``: of any size) and request logs, each run in a fresh process with its
peak memory, beside a row of reading alone.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Iterator, Mapping
from dataclasses import replace
from functools import partial
from itertools import count, cycle
from pathlib import Path
from time import perf_counter
from typing import Any, Literal, TypeAlias

import jeton
from benches import record, texts, vocabularies
from benches.harness import DEFAULT_ROUNDS, Entry, Row, compare
from benches.isolated import peak_memory_bytes, run_task, start_peak_memory
from benches.machine import header
from jeton._core import TextBatch
from jeton.auditing.result import AuditReport
from jeton.corpus import open_documents, open_requests

__all__ = [
    "audit_once",
    "count_once",
    "encode_once",
    "main",
    "read_once",
    "write_documents",
    "write_log",
]

BUILD = vocabularies.ROOT / "build" / "bench"
TOKENIZER = "cl100k_base"
LARGE_BYTES = 200_000_000
"""Bytes of each large input by default: some seconds a run, far above any start-up cost."""

LARGE_ROUNDS = 3
TIMEOUT_S = 3_600.0
CAVEATS = (
    "all rows of a table read the same files from the page cache",
    "plain encoding counts tokens and keeps nothing; the audit also measures the text, checks the "
    "round trip, collects the statistics and ranks the findings",
    "the expensive analyses of an audit see a sample of bounded size: some seconds, whatever the "
    'size of the inputs, which is most of an audit of little text; "the audit\'s pass" is what '
    "grows with the inputs",
    "the last column but one is the speed over that of plain encoding, by the clock, with as many "
    "threads; CPU seconds are those of all threads in the last round",
    "large inputs: real text, repeated with a number before each document so that none is a copy; "
    "each run in a fresh process, memory is the most resident bytes above those at its start",
    "MB/s count the text, not the file around it",
)

Kind: TypeAlias = Literal["documents", "log"]


def _write(sample: texts.Sample) -> list[str]:
    folder = BUILD / f"audit-{sample.name}"
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.txt"):
        old.unlink()
    paths = []
    for index, text in enumerate(sample.documents):
        path = folder / f"{index:06}.txt"
        path.write_text(text, encoding="utf-8")
        paths.append(str(path))
    return paths


def _plain(tokenizer: jeton.Tokenizer, paths: list[str]) -> int:
    from jeton._core import DocumentReader

    return sum(
        int(tokenizer.count_batch(batch).sum())
        for path in paths
        for batch in DocumentReader(path, format="text")
    )


def _check_total(expected: int, total: int) -> str | None:
    return None if total == expected else f"{total} tokens, expected {expected}"


def _audit(path: Path, paths: list[str]) -> AuditReport:
    return jeton.audit(paths, tokenizers=[str(path)])


def _check_report(expected: int, report: AuditReport) -> str | None:
    return _check_total(expected, report.tokenizers[0].n_tokens)


# Large inputs.


def _numbered(n_bytes: int) -> Iterator[tuple[int, str]]:
    """Real documents with a number before each, until there are so many bytes of text."""
    documents = [
        text for sample in texts.samples(max_bytes=64_000_000) for text in sample.documents
    ]
    n_written = 0
    for number, text in zip(count(), cycle(documents), strict=False):
        if n_written >= n_bytes:
            return
        n_written += len(text.encode())
        yield number, f"{number} {text}"


def write_documents(path: Path, n_bytes: int) -> None:
    """Write JSON lines with about ``n_bytes`` of text."""
    with path.open("w", encoding="utf-8") as file:
        for _, text in _numbered(n_bytes):
            file.write(json.dumps({"text": text}, ensure_ascii=False) + "\n")


def write_log(path: Path, n_bytes: int) -> None:
    """Write a log of chat completions with about ``n_bytes`` of text sent."""
    with path.open("w", encoding="utf-8") as file:
        for number, text in _numbered(n_bytes):
            answer = {"role": "assistant", "content": text[:200]}
            response = {
                "id": f"chatcmpl-{number}",
                "object": "chat.completion",
                "created": 1_767_225_600 + number,
                "model": "gpt-4o-2024-08-06",
                "choices": [{"index": 0, "message": answer, "finish_reason": "stop"}],
                "usage": {"prompt_tokens": len(text) // 4, "completion_tokens": 50},
            }
            messages = [
                {"role": "system", "content": "You are a helpful assistant."},
                {"role": "user", "content": text},
            ]
            request = {"model": "gpt-4o", "messages": messages, "temperature": 0}
            file.write(json.dumps({"request": request, "response": response}) + "\n")


def _batches(path: str, kind: Kind) -> Iterator[TextBatch]:
    if kind == "log":
        yield from (batch.texts for batch in open_requests(path))
    else:
        yield from (batch for _, batch in open_documents(path))


def _cpu_seconds() -> float:
    """Returns the CPU seconds of this process and of the children that it waited for."""
    used = os.times()
    return used.user + used.system + used.children_user + used.children_system


def _timed(run: Any) -> dict[str, Any]:
    before = start_peak_memory()
    start, cpu_start = perf_counter(), _cpu_seconds()
    n_tokens, n_bytes = run()
    seconds, cpu_seconds = perf_counter() - start, _cpu_seconds() - cpu_start
    peak = peak_memory_bytes()
    return {
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "added_memory_bytes": None if before is None or peak is None else peak - before,
        "n_tokens": n_tokens,
        "n_bytes": n_bytes,
    }


def read_once(path: str, kind: Kind, tokenizer: str) -> dict[str, Any]:
    """In a fresh process: read, and count nothing but bytes."""
    del tokenizer
    return _timed(lambda: (None, sum(batch.n_bytes for batch in _batches(path, kind))))


def encode_once(path: str, kind: Kind, tokenizer: str) -> dict[str, Any]:
    """In a fresh process: read and count tokens."""
    tok = jeton.load(tokenizer)

    def run() -> tuple[int, int]:
        n_tokens = n_bytes = 0
        for batch in _batches(path, kind):
            n_tokens += int(tok.count_batch(batch).sum())
            n_bytes += batch.n_bytes
        return n_tokens, n_bytes

    return _timed(run)


def audit_once(path: str, kind: Kind, tokenizer: str) -> dict[str, Any]:
    """In a fresh process: audit. Tokens that a chat's format adds are no tokens of the text."""
    tok = jeton.load(tokenizer)
    options: dict[str, Any] = {"logs": True} if kind == "log" else {}

    def run() -> tuple[int | None, int]:
        report = jeton.audit([path], tokenizers=[tok], **options)
        n_tokens = report.tokenizers[0].n_tokens if kind == "documents" else None
        return n_tokens, report.corpus.n_bytes

    return _timed(run)


def count_once(path: str, kind: Kind, tokenizer: str) -> dict[str, Any]:
    """In a fresh process: the one pass over the text that an audit makes, without the rest."""
    from jeton.auditing import Audit

    options: dict[str, Any] = {"logs": True} if kind == "log" else {}
    auditor = Audit(tokenizers=[jeton.load(tokenizer)], **options)
    return _timed(lambda: (None, auditor.count([path]).corpus().n_bytes))


TASKS = {
    "reading alone": "benches.audit:read_once",
    "plain encoding": "benches.audit:encode_once",
    "the audit's pass": "benches.audit:count_once",
    "audit": "benches.audit:audit_once",
}


def _rows(arguments: Mapping[str, Any], *, rounds: int) -> list[Row]:
    """Alternate the tasks, each in a fresh process."""
    seconds: dict[str, list[float]] = {name: [] for name in TASKS}
    last: dict[str, dict[str, Any]] = {}
    for turn in range(rounds):
        order = list(TASKS)[turn % len(TASKS) :] + list(TASKS)[: turn % len(TASKS)]
        for name in order:
            result = run_task(TASKS[name], arguments, timeout_s=TIMEOUT_S)
            last[name] = result
            if "failed" not in result:
                seconds[name].append(result["seconds"])
    plain = last["plain encoding"]
    rows = []
    for name, result in last.items():
        if "failed" in result:
            rows.append(Row(name, (), None, result["failed"], 0))
            continue
        wrong = None
        for figure in ("n_tokens", "n_bytes"):
            expected = plain.get(figure)
            if expected is not None and result[figure] not in (None, expected):
                wrong = f"{result[figure]} as {figure}, expected {expected}"
        memory = result["added_memory_bytes"]
        note = f"{result['cpu_seconds']:.1f} s of CPU"
        if memory is not None:
            note = f"{memory / 1e6:.0f} MB, {note}"
        rows.append(Row(name, tuple(seconds[name]), wrong, None, result["n_bytes"], note=note))
    seconds_plain = next(row.median_value for row in rows if row.name == "plain encoding")
    return [
        replace(row, ratio_to_best_peer=seconds_plain / row.median_value)
        if seconds_plain and row.median_value and row.exact and row.name != "plain encoding"
        else row
        for row in rows
    ]


def _large(kind: Kind, n_bytes: int, tokenizer: Path, *, rounds: int) -> dict[str, Any]:
    BUILD.mkdir(parents=True, exist_ok=True)
    path = BUILD / f"audit-{kind}-{n_bytes}.jsonl"
    if not path.is_file():
        partial_path = path.with_suffix(".part")
        (write_log if kind == "log" else write_documents)(partial_path, n_bytes)
        partial_path.replace(path)
    arguments = {"path": str(path), "kind": kind, "tokenizer": str(tokenizer)}
    rows = _rows(arguments, rounds=rounds)
    words = "request log" if kind == "log" else "documents"
    return record.case("audit", TOKENIZER, f"{words}, {n_bytes / 1e9:g} GB", rows)


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="little text, few rounds")
    parser.add_argument("--record", action="store_true", help="keep the result")
    parser.add_argument("--requests", action="store_true", help="request logs alone")
    parser.add_argument(
        "--gigabytes", type=float, metavar="N", help="one large input of N GB alone, one round"
    )
    options = parser.parse_args(arguments)
    files = vocabularies.prepare(TOKENIZER, target=BUILD)
    if files is None or files.rank_file is None:
        print(f"error: no file of {TOKENIZER}\nhint: set JETON_VOCAB_DIR", file=sys.stderr)
        return 2
    rank_file = files.rank_file
    cases = []
    if options.gigabytes is None and not options.requests:
        cases += _small(rank_file, quick=options.quick)
    n_bytes = 2_000_000 if options.quick else LARGE_BYTES
    rounds = 1 if options.quick else LARGE_ROUNDS
    if options.gigabytes is not None:
        n_bytes, rounds = int(options.gigabytes * 1e9), 1
    kinds: tuple[Kind, ...] = ("documents", "log")
    if options.requests:
        kinds = ("log",)
    elif options.gigabytes is not None:
        kinds = ("documents",)
    for kind in kinds:
        cases.append(_large(kind, n_bytes, rank_file, rounds=rounds))
        print(record.table(cases[-1]), flush=True)
    if options.record:
        head = header(kind="audit", command="make bench", distributions=["jeton"], caveats=CAVEATS)
        print(f"recorded: {record.write({**head, 'cases': cases}).name}")
    return 0


def _small(rank_file: Path, *, quick: bool) -> list[dict[str, Any]]:
    """Text files, all in this process."""
    tokenizer = jeton.load(str(rank_file))
    cases = []
    max_bytes = 200_000 if quick else texts.DEFAULT_SAMPLE_BYTES
    for sample in texts.samples(max_bytes=max_bytes)[:2]:
        paths = _write(sample)
        expected = _plain(tokenizer, paths)
        entries = [
            Entry(
                "plain encoding",
                run=partial(_plain, tokenizer, paths),
                check=partial(_check_total, expected),
            ),
            Entry(
                "audit",
                run=partial(_audit, rank_file, paths),
                check=partial(_check_report, expected),
            ),
        ]
        rounds = 2 if quick else DEFAULT_ROUNDS
        rows = compare(entries, n_bytes=sample.n_bytes, rounds=rounds)
        cases.append(record.case("audit", TOKENIZER, sample.name, rows))
        print(record.table(cases[-1]), flush=True)
    return cases


if __name__ == "__main__":
    sys.exit(main())
