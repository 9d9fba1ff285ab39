"""Time builds of the package in turn, to decide whether a mechanism pays: nothing is recorded.

``python -m benches.ablation before=/tmp/before after=python`` compares two folders that hold the
package ``jeton``. ``name=FOLDER,VARIABLE=VALUE`` sets a variable for one of them. Each build runs
in fresh processes with a cache of its own, one build after the other, round by round.
"""

from __future__ import annotations

import argparse
import gc
import hashlib
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from statistics import median
from time import perf_counter
from typing import Any

from benches import texts, vocabularies
from benches.clock import seconds_of
from benches.isolated import ROOT
from benches.script_text import LANGUAGES

__all__ = ["CASES", "Build", "ask", "documents_of", "main", "passes", "ratios", "real_time"]

FIRST_BYTES = 4_000_000
"""Text of a first pass; languages have less."""
WARM_BYTES = 4_000_000
"""Text of a warm round: a short sample is repeated."""
WARM_ROUNDS = 5
TIMEOUT_S = 120.0
VOCABULARIES = ("cl100k_base", "o200k_base")
CASES = (*LANGUAGES, *texts.KINDS)


@dataclass(frozen=True, slots=True)
class Build:
    """A build of the package.

    Attributes:
        name: its column.
        folder: where the package ``jeton`` is.
        variables: what its environment has besides.
    """

    name: str
    folder: Path
    variables: Mapping[str, str]

    @classmethod
    def parse(cls, words: str) -> Build:
        """Read ``name=FOLDER[,VARIABLE=VALUE...]``."""
        name, _, rest = words.partition("=")
        folder, *pairs = rest.split(",")
        if not (Path(folder) / "jeton").is_dir():
            raise ValueError(f"{words!r}: no package jeton in {folder!r}")
        return cls(name, Path(folder).resolve(), dict(pair.split("=", 1) for pair in pairs))


def documents_of(case: str, corpora: Path = texts.CORPORA) -> list[str]:
    """Documents of one of ``CASES``; none where there is no corpus."""
    sample = (
        texts.language_sample(case, max_bytes=FIRST_BYTES, corpora=corpora)
        if case in LANGUAGES
        else texts.sample(case, max_bytes=FIRST_BYTES, corpora=corpora)
    )
    return [] if sample is None else list(sample.documents)


def real_time(cpu: int | None, priority: int | None) -> None:
    """Stay on one processor, and before all ordinary processes, as far as that is allowed."""
    if cpu is not None:
        os.sched_setaffinity(0, {cpu})
    if priority is not None:
        with suppress(PermissionError):
            os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(priority))


def passes(tokenizer: Any, documents: list[str], warm_rounds: int) -> dict[str, Any]:
    """Time a first pass, and warm rounds over at least ``WARM_BYTES`` each."""
    import numpy as np

    def encode() -> Any:
        return tokenizer.encode_batch(documents, num_threads=1)

    n_bytes = sum(len(text.encode()) for text in documents)
    repeats = -(-WARM_BYTES // n_bytes)

    def encode_again() -> None:
        for _ in range(repeats):
            encode()

    first_s, batch = seconds_of(encode)
    digest = hashlib.blake2b(np.asarray(batch.ids).tobytes(), digest_size=8).hexdigest()
    del batch
    warm = [seconds_of(encode_again)[0] / repeats for _ in range(warm_rounds)]
    return {
        "first": first_s,
        "warm": min(warm, default=float("nan")),
        "n_bytes": n_bytes,
        "digest": digest,
    }


def _work(request: Mapping[str, Any]) -> dict[str, Any]:
    """The seconds of one build, in this process."""
    real_time(request["cpu"], request["priority"])
    import jeton

    answer = {}
    for case, file in request["files"].items():
        documents = json.loads(Path(file).read_text(encoding="utf-8"))
        gc.collect()
        start = perf_counter()
        tokenizer = jeton.load(request["path"], cache=request["cache"])
        load_s = perf_counter() - start
        answer[case] = {
            "load": load_s,
            **passes(tokenizer, documents, request["warm_rounds"]),
        }
        del tokenizer
    return answer


def ask(
    module: str,
    build: Build,
    request: Mapping[str, Any],
    cache: Path,
    *,
    timeout_s: float = TIMEOUT_S,
) -> dict[str, Any]:
    """Have ``module --work`` of a build answer a request, in a fresh process with its own cache."""
    environment = {
        **os.environ,
        "PYTHONPATH": str(build.folder),
        "JETON_CACHE_DIR": str(cache / build.name),
        **build.variables,
    }
    finished = subprocess.run(
        [sys.executable, "-m", module, "--work", json.dumps(request)],
        cwd=ROOT,
        env=environment,
        capture_output=True,
        text=True,
        timeout=timeout_s,
        check=False,
    )
    if finished.returncode != 0:
        raise RuntimeError(f"{build.name}: {finished.stderr.strip().splitlines()[-1:]}")
    answer: dict[str, Any] = json.loads(finished.stdout)
    return answer


def ratios(seconds: Mapping[str, Sequence[float]]) -> Iterator[tuple[str, float, float]]:
    """Each later build's speed over the first one's: by least and by median seconds."""
    (_, base), *others = seconds.items()
    for name, own in others:
        yield name, min(base) / min(own), median(base) / median(own)


def _print_table(
    vocabulary: str, kind: str, all_seconds: Mapping[str, Mapping[str, Sequence[float]]], sizes: Any
) -> None:
    names = list(next(iter(all_seconds.values())))
    columns = [f"{name}: least, median" for name in names[1:]]
    unit = "ms" if kind == "load" else "MB/s"
    print(f"\n{vocabulary}, {kind}\n\n| text | {names[0]}, {unit} | {' | '.join(columns)} |")
    print("|" + " --- |" * (len(names) + 1))
    for case, seconds in all_seconds.items():
        least = min(seconds[names[0]])
        figure = f"{least * 1e3:.1f}" if kind == "load" else f"{sizes[case] / least / 1e6:.1f}"
        cells = [f"{one:.2f}x {half:.2f}x" for _, one, half in ratios(seconds)]
        print(f"| {case} | {figure} | {' | '.join(cells)} |", flush=True)


def _measure(options: argparse.Namespace, folder: Path) -> int:
    files: dict[str, str] = {}
    for case in options.case or CASES:
        documents = documents_of(case)
        if documents:
            path = folder / f"{case}.json"
            path.write_text(json.dumps(documents), encoding="utf-8")
            files[case] = str(path)
    for vocabulary in options.vocabulary or VOCABULARIES:
        prepared = vocabularies.prepare(vocabulary, target=vocabularies.BUILD)
        source = prepared and (prepared.rank_file or prepared.hf_json)
        if source is None:
            print(f"{vocabulary}: no file here; left out", file=sys.stderr)
            continue
        request = {
            "path": str(source),
            "files": files,
            "cache": not options.from_file,
            "cpu": options.cpu,
            "priority": options.priority,
            "warm_rounds": WARM_ROUNDS,
        }
        kinds = ("load", "first", "warm")
        times: dict[str, Any] = {
            kind: {case: {build.name: [] for build in options.build} for case in files}
            for kind in kinds
        }
        sizes: dict[str, int] = {}
        digests: dict[str, set[str]] = {case: set() for case in files}
        for round_number in range(options.rounds + 1):
            # The first round fills the caches of compiled files, and counts for the ids only.
            for build in options.build if round_number % 2 else reversed(options.build):
                warm_rounds = WARM_ROUNDS if round_number else 0
                asked = {**request, "warm_rounds": warm_rounds}
                answer = ask("benches.ablation", build, asked, folder)
                for case, found in answer.items():
                    digests[case].add(found["digest"])
                    sizes[case] = found["n_bytes"]
                    for kind in kinds if round_number else ():
                        times[kind][case][build.name].append(found[kind])
        for kind in kinds:
            _print_table(vocabulary, kind, times[kind], sizes)
        differing = [case for case, all_digests in digests.items() if len(all_digests) > 1]
        if differing:
            print(f"error: ids differ between the builds: {', '.join(differing)}", file=sys.stderr)
            return 1
    return 0


def main(arguments: Sequence[str] | None = None) -> int:
    """Time the builds; return the exit code: 1 if their ids differ."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("build", nargs="*", help="name=FOLDER[,VARIABLE=VALUE...], two or more")
    parser.add_argument("--rounds", type=int, default=7, help="processes of each build")
    parser.add_argument("--case", action="append", choices=CASES, help="may be repeated")
    parser.add_argument("--vocabulary", action="append", help="may be repeated")
    parser.add_argument("--cpu", type=int, help="the processor that all run on")
    parser.add_argument("--priority", type=int, help="real-time priority, where it is allowed")
    parser.add_argument("--from-file", action="store_true", help="load without compiled files")
    parser.add_argument("--work", help=argparse.SUPPRESS)
    options = parser.parse_args(arguments)
    if options.work:
        print(json.dumps(_work(json.loads(options.work))))
        return 0
    try:
        options.build = [Build.parse(words) for words in options.build]
    except ValueError as error:
        parser.error(str(error))
    if len({build.name for build in options.build}) < 2:
        parser.error("at least two builds with different names are compared")
    with tempfile.TemporaryDirectory() as folder:
        return _measure(options, Path(folder))


if __name__ == "__main__":
    sys.exit(main())
