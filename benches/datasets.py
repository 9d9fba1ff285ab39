"""JSONL.zst to Megatron's ``.bin`` and ``.idx``: Jeton, datatrove and a script like Megatron's.

    python -m benches.datasets TEXT.jsonl.zst [--vocab DIR] [--rivals PYTHON] [--memory-gb N]

All work with cl100k_base and two workers, on the same two files. ``--rivals`` is a Python that has
datatrove, orjson, tokenizers, megatron-core and zstandard; without it only Jeton runs. Each
contender has a process of its own, and rounds go by turns. Time is the least of the rounds, with
reading and writing, without imports and loading; the seconds of all processors are beside it, which
other programs disturb less. The number of ids of each is compared with that of ``encode_batch``.

- encode_batch: the same texts, already in memory, two threads: the most that could be reached.
- read: the files read on one thread (zstd and JSON), without any ids.
- script: a pool of two processes that call ``Tokenizer.encode`` of tokenizers for each line, and
  one that adds each document to ``IndexedDatasetBuilder`` of megatron-core.
- datatrove: ``JsonlReader`` and ``DocumentTokenizer``, a task for each file, its own format. It
  starts its processes in each run, which is in its time; their processor time cannot be seen.

The rivals get a part of the text (``--rival-mb``), and speeds are compared. ``--memory-gb`` then
tokenizes so much text, the file again and again, and looks at the memory of the process.
``--stages`` does nothing but divide the processor time of one compressed file by its threads: the
text three times, stored as it is, with zstd 3 and with gzip 6.
"""

from __future__ import annotations

import argparse
import itertools
import json
import multiprocessing
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

ROUNDS = 3
WORKERS = 2
TOKENIZER = "cl100k_base"
MIB = 1 << 20


def documents(paths: list[str]) -> Iterator[str]:
    """The texts of files of records."""
    import zstandard

    for path in paths:
        with zstandard.open(path, "rt", encoding="utf-8") as stream:
            for line in stream:
                yield json.loads(line)["text"]


def encode_batch(paths: list[str], folder: Path) -> Callable[[], int]:
    """Encodes texts that are in memory."""
    import jeton
    from jeton._core import DocumentReader

    tokenizer = jeton.load(TOKENIZER)
    batches = [batch for path in paths for batch in DocumentReader(path, format="jsonl")]
    return lambda: sum(len(tokenizer.encode_batch(b, num_threads=WORKERS).ids) for b in batches)


def read_alone(paths: list[str], folder: Path) -> Callable[[], int]:
    """Reads the texts of the files, and makes no ids."""
    from jeton._core import DocumentReader

    return lambda: sum(len(b) * 0 for path in paths for b in DocumentReader(path, format="jsonl"))


def with_jeton(paths: list[str], folder: Path) -> Callable[[], int]:
    """Tokenizes files to Megatron's format."""
    import jeton

    tokenizer = jeton.load(TOKENIZER)

    def run() -> int:
        shutil.rmtree(folder, ignore_errors=True)
        return jeton.tokenize_dataset(
            paths, tokenizer=tokenizer, output=folder, workers=WORKERS
        ).n_tokens

    return run


_TOKENIZER: Any = None


def _load_tokenizers(path: str) -> None:
    global _TOKENIZER
    os.environ["TOKENIZERS_PARALLELISM"] = "false"
    from tokenizers import Tokenizer

    _TOKENIZER = Tokenizer.from_file(path)


def _ids(text: str) -> list[int]:
    return list(_TOKENIZER.encode(text, add_special_tokens=False).ids)


def with_script(paths: list[str], folder: Path) -> Callable[[], int]:
    """Tokenizes as Megatron's own script does."""
    import numpy as np
    from megatron.core.datasets.indexed_dataset import IndexedDatasetBuilder

    file = str(folder.parent / "tokenizer.json")

    def run() -> int:
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir()
        builder = IndexedDatasetBuilder(str(folder / "all.bin"), dtype=np.int32)
        n_tokens = 0
        fork = multiprocessing.get_context("fork")
        with fork.Pool(WORKERS, _load_tokenizers, (file,)) as pool:
            for ids in pool.imap(_ids, documents(paths), 32):
                builder.add_document(np.array(ids, dtype=np.int32), [len(ids)])
                n_tokens += len(ids)
        builder.finalize(str(folder / "all.idx"))
        return n_tokens

    return run


def with_datatrove(paths: list[str], folder: Path) -> Callable[[], int]:
    """Tokenizes with datatrove's pipeline."""
    from datatrove.executor import LocalPipelineExecutor
    from datatrove.pipeline.readers import JsonlReader
    from datatrove.pipeline.tokens import DocumentTokenizer

    file = str(folder.parent / "tokenizer.json")

    def run() -> int:
        shutil.rmtree(folder, ignore_errors=True)
        source = JsonlReader(str(Path(paths[0]).parent), glob_pattern="*.zst", compression="zstd")
        writer = DocumentTokenizer(
            str(folder / "out"), tokenizer_name_or_path=file, shuffle_documents=False
        )
        LocalPipelineExecutor(
            [source, writer], tasks=WORKERS, workers=WORKERS, logging_dir=str(folder / "log")
        ).run()
        return sum(path.stat().st_size for path in (folder / "out").rglob("*.ds")) // 4

    return run


CONTENDERS: dict[str, Callable[[list[str], Path], Callable[[], int]]] = {
    "encode_batch": encode_batch,
    "read": read_alone,
    "jeton": with_jeton,
    "script": with_script,
    "datatrove": with_datatrove,
}


def _busy_seconds() -> float:
    used = (resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN))
    return sum(u.ru_utime + u.ru_stime for u in used)


def serve(name: str, folder: str) -> None:
    """Run a contender once for each line on standard input; print each result as JSON."""
    paths = sorted(str(path) for path in Path(folder, "in").glob("*.zst"))
    run = CONTENDERS[name](paths, Path(folder) / f"out-{name}")
    for _ in sys.stdin:
        start, busy = time.perf_counter(), _busy_seconds()
        n_tokens = run()
        told = {
            "seconds": time.perf_counter() - start,
            "cpu_seconds": _busy_seconds() - busy,
            "n_tokens": n_tokens,
        }
        print("result " + json.dumps(told), flush=True)


def ask(process: subprocess.Popen[str]) -> dict[str, Any]:
    """Let a contender run once."""
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write("\n")
    process.stdin.flush()
    for line in process.stdout:
        if line.startswith("result "):
            told: dict[str, Any] = json.loads(line.removeprefix("result "))
            return told
    raise SystemExit(f"a contender ended with {process.wait()}")


def make_inputs(source: str, folder: Path, n_bytes: int | None) -> int:
    """Write two files of equal size with the first documents; return the bytes of text."""
    from jeton._core import DocumentReader, compress_zstd

    texts: list[str] = []
    n = 0
    for batch in DocumentReader(source, format="jsonl"):
        for text in batch:
            texts.append(text)
            n += len(text.encode())
            if n_bytes is not None and n >= n_bytes:
                break
        if n_bytes is not None and n >= n_bytes:
            break
    (folder / "in").mkdir(parents=True)
    half = len(texts) // 2
    for number, part in enumerate((texts[:half], texts[half:])):
        lines = "".join(json.dumps({"text": text}) + "\n" for text in part)
        (folder / "in" / f"{number}.jsonl.zst").write_bytes(compress_zstd(lines.encode()))
    return n


def compare(names: list[str], folder: Path, n_bytes: int, python: str) -> dict[str, Any]:
    """Time contenders by turns."""
    own = ("encode_batch", "read", "jeton")
    pythons = {name: sys.executable if name in own else python for name in names}
    processes = {
        name: subprocess.Popen(
            [pythons[name], "-m", "benches.datasets", "--serve", name, str(folder)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
        )
        for name in names
    }
    found: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    try:
        for _ in range(ROUNDS + 1):
            for name in names:
                found[name].append(ask(processes[name]))
    finally:
        for process in processes.values():
            assert process.stdin is not None
            process.stdin.close()
            process.wait()
    rows: dict[str, Any] = {}
    for name, told in found.items():
        # The first round warms caches.
        timed = told[1:]
        rows[name] = {
            "mb_per_s": n_bytes / 1e6 / min(one["seconds"] for one in timed),
            "mb_per_cpu_s": None
            if name == "datatrove"
            else n_bytes / 1e6 / min(one["cpu_seconds"] for one in timed),
            "n_tokens": told[0]["n_tokens"],
            "seconds": [one["seconds"] for one in timed],
        }
    return rows


def check(rows: dict[str, Any]) -> None:
    """Refuse results that do not have the ids of the reference."""
    wanted = rows["encode_batch" if "encode_batch" in rows else "jeton"]["n_tokens"]
    for name, row in rows.items():
        if name != "read" and row["n_tokens"] != wanted:
            raise SystemExit(f"{name} wrote {row['n_tokens']:,} ids; expected {wanted:,}")


def memory(source: str, folder: Path, gigabytes: float) -> dict[str, Any]:
    """Tokenize one file of so much text; return the memory of the process as it goes on."""
    from jeton._core import DocumentReader

    size = sum(batch.n_bytes for batch in DocumentReader(source, format="jsonl"))
    n_times = max(1, round(gigabytes * 1e9 / size))
    path, data = folder / "large.jsonl.zst", Path(source).read_bytes()
    with path.open("wb") as stream:
        for part in itertools.repeat(data, n_times):
            stream.write(part)
    start = time.perf_counter()
    command = [sys.executable, "-m", "jeton", "tokenize", str(path), "-t", TOKENIZER, "-q"]
    command += ["--workers", str(WORKERS), "-o", str(folder / "large")]
    process = subprocess.Popen(command, stdout=subprocess.DEVNULL)
    seen: list[int] = []
    status = Path(f"/proc/{process.pid}/status")
    while process.poll() is None:
        lines = status.read_text().splitlines()
        seen += [int(line.split()[1]) for line in lines if line.startswith("VmRSS")]
        time.sleep(0.2)
    seconds = time.perf_counter() - start
    if process.returncode:
        raise SystemExit(f"jeton tokenize ended with {process.returncode}")
    made = json.loads((folder / "large" / "manifest.json").read_text())
    quarter = len(seen) // 4
    return {
        "text_gb": size * n_times / 1e9,
        "n_tokens": made["n_tokens"],
        "seconds": seconds,
        "largest_mb": max(seen) / 1024,
        "largest_mb_by_quarter": [
            max(seen[i * quarter : (i + 1) * quarter]) / 1024 for i in range(4 if quarter else 0)
        ],
    }


def stages(source: str, folder: Path) -> dict[str, Any]:
    """Processor seconds of one compressed file: decompression, parsing, all; least of rounds."""
    import gzip

    import jeton
    from jeton._core import DocumentReader, compress_zstd, decompress

    tokenizer = jeton.load(TOKENIZER)
    stored = Path(source).read_bytes()
    lines = decompress(stored) * 3
    packed = {
        "as-it-is.zst": stored * 3,
        "zstd-3.zst": compress_zstd(lines, level=3),
        "gzip-6.gz": gzip.compress(lines, 6),
    }
    found: dict[str, Any] = {}
    for name, data in packed.items():
        path = folder / name.replace(".", ".jsonl.")
        path.write_bytes(data)
        rows: list[dict[str, float]] = []
        for _ in range(ROUNDS + 1):
            row: dict[str, float] = {}
            for ahead in (False, True):
                busy, own = time.process_time(), time.thread_time()
                for _ in DocumentReader(str(path), format="jsonl", decompress_ahead=ahead):
                    pass
                own = time.thread_time() - own
                if ahead:
                    row |= {"parse": own, "decompress": time.process_time() - busy - own}
                else:
                    row["read_by_one_thread"] = own
            output = folder / "out"
            busy = time.process_time()
            jeton.tokenize_dataset(path, tokenizer=tokenizer, output=output, workers=WORKERS)
            row["all"] = time.process_time() - busy
            shutil.rmtree(output)
            rows.append(row)
        least = {key: min(row[key] for row in rows[1:]) for key in rows[0]}
        slowest = max(least["parse"], least["decompress"])
        least["cores_busy"] = least["all"] / slowest
        least["cores_busy_with_one_reader"] = least["all"] / least["read_by_one_thread"]
        found[name] = least
    return found


def main() -> None:
    """Run every contender, print a table, keep the record."""
    from benches.machine import header
    from benches.record import write

    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("text", nargs="?", help="a file of records, .jsonl.zst")
    parser.add_argument("--rivals", metavar="PYTHON")
    parser.add_argument("--rival-mb", type=int, default=8)
    parser.add_argument("--memory-gb", type=float, default=0.0)
    parser.add_argument("--stages", action="store_true", help="processor time by thread")
    parser.add_argument("--folder", help="where files go; by default the system's temporary ones")
    parser.add_argument("--record", action="store_true", help="keep the figures")
    parser.add_argument("--serve", nargs=2, metavar=("NAME", "FOLDER"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.serve:
        serve(*options.serve)
        return
    if not options.text:
        parser.error("name a file of records")
    load_before = os.getloadavg()[0]
    if options.stages:
        with tempfile.TemporaryDirectory(dir=options.folder) as folder:
            print(json.dumps(stages(options.text, Path(folder)), indent=1))
        print(f"load before and after: {load_before:.1f}, {os.getloadavg()[0]:.1f}")
        return
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        place = Path(folder)
        n_bytes = make_inputs(options.text, place / "own", None)
        rows = compare(["encode_batch", "read", "jeton"], place / "own", n_bytes, sys.executable)
        check(rows)
        result: dict[str, Any] = {"own": rows, "text_mb": n_bytes / 1e6}
        ratio = rows["jeton"]["mb_per_s"] / rows["encode_batch"]["mb_per_s"]
        result["share_of_encode_batch"] = ratio
        # By seconds of the processors: reading and encoding, and nothing else.
        least = sum(1 / rows[name]["mb_per_cpu_s"] for name in ("encode_batch", "read"))
        result["share_of_read_and_encode"] = rows["jeton"]["mb_per_cpu_s"] * least
        _print(rows)
        both = result["share_of_read_and_encode"]
        print(f"\nJeton reaches {ratio:.0%} of encode_batch, {both:.0%} of reading and encoding\n")
        if options.rivals:
            import jeton

            n_bytes = make_inputs(options.text, place / "rivals", options.rival_mb * MIB)
            jeton.load(TOKENIZER).save(place / "rivals" / "tokenizer.json")
            rows = compare(
                ["jeton", "script", "datatrove"], place / "rivals", n_bytes, options.rivals
            )
            check(rows)
            for name in ("script", "datatrove"):
                result[f"times_{name}"] = rows["jeton"]["mb_per_s"] / rows[name]["mb_per_s"]
                print(f"Jeton is {result[f'times_{name}']:.0f} times as fast as {name}")
            result["rivals"] = rows
            _print(rows)
        if options.memory_gb:
            result["memory"] = memory(options.text, place, options.memory_gb)
            print(json.dumps(result["memory"], indent=1))
    result["load"] = [load_before, os.getloadavg()[0]]
    print(f"load before and after: {load_before:.1f}, {result['load'][1]:.1f}")
    if options.record:
        head = header(
            kind="datasets",
            command="python -m benches.datasets",
            distributions=["jeton", "numpy"],
            caveats=["two cores that other programs share: ratios within the run hold better"],
        )
        print(write({**head, "result": result}))


def _print(rows: dict[str, Any]) -> None:
    print("\n| contender | MB/s | MB per second of all processors | ids |")
    print("| --- | ---: | ---: | ---: |")
    for name, row in rows.items():
        busy = "" if row["mb_per_cpu_s"] is None else f"{row['mb_per_cpu_s']:.1f}"
        print(f"| {name} | {row['mb_per_s']:.1f} | {busy} | {row['n_tokens']:,} |", flush=True)


if __name__ == "__main__":
    main()
