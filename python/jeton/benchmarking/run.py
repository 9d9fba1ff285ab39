"""`bench`: the installed libraries on the user's own text, ids first, then turns in rounds."""

from __future__ import annotations

import importlib.util
import json
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from statistics import median
from typing import Any, Literal

from jeton._core import TextBatch, Tokenizer, __version__, available_threads
from jeton.benchmarking.processes import (
    LibraryProcess,
    LibraryProcessError,
    describe_machine,
    write_formats,
)
from jeton.benchmarking.result import SCHEMA_VERSION, BenchReport, LibraryResult, Status, Timing
from jeton.benchmarking.worker import LIBRARIES
from jeton.corpus import open_documents
from jeton.errors import EmptyCorpusError, UsageError
from jeton.progress import OnProgress, tell_step
from jeton.registry import TokenizerLike, resolve
from jeton.workload.choice import choose_tokenizers
from jeton.workload.digests import digests_of
from jeton.workload.sampling.deep_sample import DeepSampler

MAX_BYTES = 4_000_000
"""Bytes of the text: half a second for a library of ten megabytes a second, so rounds stay short.
"""

N_ROUNDS = 5
"""Odd, so that the median is a round; a disturbance of two rounds does not move it."""

TIMEOUT_S = 120.0
"""For one answer. A library that needs longer for `MAX_BYTES` encodes 33 kB a second."""

WAYS: tuple[Literal["one_by_one", "batch"], ...] = ("one_by_one", "batch")

_REFERENCES = {"tiktoken": "tiktoken", "hf": "tokenizers", "sentencepiece": "sentencepiece"}
"""The library whose ids are right by definition, by the tokenizer's `reference`."""

_FIRST_CALL_CHARS = 200
"""About two sentences: what a first request would be."""

_ORDER: Mapping[Status, int] = {"ok": 0, "differs": 1, "cannot": 2, "failed": 3, "absent": 4}


@dataclass(slots=True)
class _Contestant:
    """A library with its process and what was measured so far."""

    result: LibraryResult
    process: LibraryProcess
    digests: dict[str, list[str]] = field(default_factory=dict)
    seconds: dict[str, list[float]] = field(default_factory=lambda: {way: [] for way in WAYS})


def bench(
    inputs: Any,
    *,
    tokenizer: TokenizerLike,
    libraries: Sequence[str] | None = None,
    max_bytes: int = MAX_BYTES,
    n_rounds: int = N_ROUNDS,
    timeout_s: float = TIMEOUT_S,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    format: Literal["text", "jsonl"] | None = None,
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> BenchReport:
    """Time the tokenization libraries that are installed on the user's own text.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts.
        tokenizer: The tokenizer: its name, its path, or an object.
        libraries: Libraries by name; None: all that are installed.
        max_bytes: If there is more text than this, an even draw is timed.
        n_rounds: Rounds in which the libraries take turns.
        timeout_s: Seconds for one answer of a library.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        format: Format of all inputs; None: by their names.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: ``"skip"`` leaves out records that cannot be read.
        num_threads: Threads of each library; None: as many as this process may use.
        on_progress: Told each step, in words: stage ``"step"``.

    Raises:
        UsageError: A library is not known, or a number is out of range.
        EmptyCorpusError: There is no text.
        CorpusError: A record cannot be read.
        OSError: A file cannot be read.
    """
    stream = open_documents(
        inputs,
        field=field,
        documents=documents,
        format=format,
        strict=strict,
        on_bad_record=on_bad_record,
    )
    return bench_texts(
        ((file.path, batch) for file, batch in stream),
        tokenizer=resolve(tokenizer),
        libraries=libraries,
        max_bytes=max_bytes,
        n_rounds=n_rounds,
        timeout_s=timeout_s,
        num_threads=num_threads,
        on_progress=on_progress,
    )


def bench_texts(
    texts: Iterable[tuple[str, TextBatch]],
    *,
    tokenizer: Tokenizer,
    libraries: Sequence[str] | None = None,
    max_bytes: int = MAX_BYTES,
    n_rounds: int = N_ROUNDS,
    timeout_s: float = TIMEOUT_S,
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> BenchReport:
    """Time libraries on batches of documents with the names of their inputs; see ``bench``."""
    if n_rounds < 1 or max_bytes < 1 or timeout_s <= 0:
        raise UsageError("n_rounds, max_bytes and timeout_s are above 0; one of them is not")
    names = _names(libraries)
    (chosen, *_), _ = choose_tokenizers([tokenizer], current=None)
    threads = num_threads or available_threads()
    sample, is_whole = _draw(texts, chosen.tokenizer, max_bytes)
    n_bytes = sum(len(text.encode()) for text in sample)
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        files = write_formats(chosen.tokenizer, folder)
        files["name"] = chosen.name
        path = folder / "texts.json"
        path.write_text(json.dumps(sample), encoding="utf-8")
        results: list[LibraryResult] = []
        running: list[_Contestant] = []
        for name in names:
            if not _is_installed(name):
                results.append(LibraryResult(name, "", "absent", "it is not installed"))
                continue
            tell_step(on_progress, f"loading {name}")
            process = LibraryProcess(num_threads=threads, timeout_s=timeout_s)
            stack.callback(process.close)
            contestant = _Contestant(LibraryResult(name, _version(name), "ok"), process)
            if _prepare(contestant, files, sample[0], path, threads):
                running.append(contestant)
            else:
                results.append(contestant.result)
        reference = _judge(running, chosen.tokenizer)
        for number in range(n_rounds):
            tell_step(on_progress, f"round {number + 1} of {n_rounds}")
            for turn in range(len(running)):
                _take_turn(running[(number + turn) % len(running)])
        for contestant in running:
            _ask_peak(contestant)
    compared_with = _compared_with(running)
    results += [_finished(c, running, compared_with, n_bytes) for c in running]
    return BenchReport(
        schema_version=SCHEMA_VERSION,
        jeton_version=__version__,
        date=datetime.now(tz=UTC).strftime("%Y-%m-%d"),
        machine=describe_machine(),
        tokenizer=chosen.name,
        fingerprint=chosen.tokenizer.fingerprint,
        reference=reference,
        compared_with=compared_with,
        n_documents=len(sample),
        n_bytes=n_bytes,
        is_whole=is_whole,
        n_rounds=n_rounds,
        num_threads=threads,
        libraries=tuple(sorted(results, key=_place)),
    )


def _names(libraries: Sequence[str] | None) -> list[str]:
    if libraries is None:
        return [name for name in LIBRARIES if _is_installed(name)]
    for name in libraries:
        if name not in LIBRARIES:
            raise UsageError(
                f"library {name!r} is not known; expected one of {', '.join(LIBRARIES)}"
            )
    # Jeton takes part in any case: it is what the others are compared with.
    return list(dict.fromkeys(["jeton", *libraries]))


def _is_installed(name: str) -> bool:
    spec = importlib.util.find_spec(name)
    # A folder that only happens to have the name has no origin: it is no library.
    return spec is not None and spec.origin is not None


def _draw(
    texts: Iterable[tuple[str, TextBatch]], tokenizer: Tokenizer, max_bytes: int
) -> tuple[list[str], bool]:
    sampler = DeepSampler(max_bytes=max_bytes)
    for source, batch in texts:
        sampler.add(source, batch, digests_of(batch))
    sample = sampler.sample(tokenizer, n_tokens_of_all=0, num_threads=None)
    found = [document.text for document in sample.documents if document.text]
    if not found:
        raise EmptyCorpusError("the inputs hold no text\nhint: check the inputs and the format")
    return found, sample.is_whole


def _version(name: str) -> str:
    try:
        return version(LIBRARIES[name].distribution)
    except PackageNotFoundError:
        return __version__ if name == "jeton" else ""


def _prepare(
    contestant: _Contestant, files: dict[str, Any], first: str, path: Path, num_threads: int
) -> bool:
    """Load the library, time its first call, take its ids; False where it falls out."""
    ask = contestant.process.ask
    try:
        loaded = ask("load", name=contestant.result.name, files=files, num_threads=num_threads)
        contestant.result = replace(
            contestant.result,
            import_s=loaded["import_s"],
            load_s=loaded["load_s"],
            load_bytes=loaded["load_bytes"],
            first_call_s=ask("first", text=first[:_FIRST_CALL_CHARS])["seconds"],
        )
        ask("read", path=str(path))
        checked = ask("check")
        contestant.digests = {way: checked[way] for way in WAYS}
        contestant.result = replace(contestant.result, first_pass_s=checked["first_pass_s"])
        ask("forget")
    except LibraryProcessError as error:
        _fall_out(contestant, error)
        return False
    return True


def _fall_out(contestant: _Contestant, error: LibraryProcessError) -> None:
    status: Status = "cannot" if error.cannot else "failed"
    contestant.result = replace(contestant.result, status=status, why=str(error))


def _judge(running: list[_Contestant], tokenizer: Tokenizer) -> str:
    """Compare ids before anything is timed; the name of the reference."""
    by_name = {contestant.result.name: contestant for contestant in running}
    wanted = _REFERENCES.get(tokenizer.reference, "jeton")
    name = wanted if wanted in by_name else "jeton" if "jeton" in by_name else ""
    if not name:
        return ""
    right = by_name[name].digests["one_by_one"]
    for contestant in running:
        different = {
            index
            for way in WAYS
            for index, (mine, its) in enumerate(zip(contestant.digests[way], right, strict=True))
            if mine != its
        }
        result = replace(
            contestant.result,
            n_different_texts=len(different),
            is_reference=contestant.result.name == name,
        )
        if different:
            words = f"{len(different):,} of {len(right):,} texts have other ids than {name}"
            result = replace(result, status="differs", why=words)
        contestant.result = result
    return name


def _take_turn(contestant: _Contestant) -> None:
    if contestant.result.status not in ("ok", "differs"):
        return
    try:
        for way in WAYS:
            seconds = contestant.process.ask("time", way=way)["seconds"]
            contestant.seconds[way].append(seconds)
    except LibraryProcessError as error:
        _fall_out(contestant, error)


def _ask_peak(contestant: _Contestant) -> None:
    if contestant.result.status not in ("ok", "differs"):
        return
    try:
        peak = contestant.process.ask("peak")["peak_bytes"]
    except LibraryProcessError as error:
        _fall_out(contestant, error)
        return
    contestant.result = replace(contestant.result, peak_bytes=peak)


def _compared_with(running: Sequence[_Contestant]) -> str:
    """Jeton where its ids are right, or else the first library whose ids are."""
    right = [c.result.name for c in running if c.result.status == "ok"]
    return "jeton" if "jeton" in right else right[0] if right else ""


def _finished(
    contestant: _Contestant, running: Sequence[_Contestant], compared_with: str, n_bytes: int
) -> LibraryResult:
    result = contestant.result
    if result.status not in ("ok", "differs"):
        return result
    base = next((c for c in running if c.result.name == compared_with), None)

    def timing(way: str) -> Timing:
        seconds = contestant.seconds[way]
        middle = median(seconds)
        ratio = None
        if base is not None and result.status == "ok":
            ratio = median(base.seconds[way]) / middle
        return Timing(middle, min(seconds), max(seconds), n_bytes / middle, ratio)

    return replace(result, one_by_one=timing("one_by_one"), batch=timing("batch"))


def _place(result: LibraryResult) -> tuple[int, float, str]:
    speed = result.batch.bytes_per_second if result.batch is not None else 0.0
    return _ORDER[result.status], -speed, result.name
