"""Packing a million lengths on one core: Jeton, axolotl's packer, and TRL's.

    python -m benches.packing [--documents N] [--capacity N] [--rivals PYTHON]

``--rivals`` is a Python that has axolotl and TRL with what they import; without it only Jeton runs.
Each contender packs the same lengths in a process of its own, bound to one core, and its bins are
checked: every document once, none above the capacity. Time is the least of the runs, without
imports and compilation; that of the processor too, which other programs disturb less. The table is
for ``docs/guides/packing.md``.

- axolotl: ``pack_parallel`` of its multipack sampler with one process and the defaults of its
  configuration (groups of 100,000, at most 200 documents a bin). Its sampler packs without sorting.
- TRL: ``_pack_bfd``, which also moves the tokens; they are one byte each here.
- Jeton: ``jeton.pack`` with the report, arrays in and out.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

RUNS = 3
MEDIAN_TOKENS = 400
MAX_BIN_DOCUMENTS = 200
GROUP_SIZE = 100_000


def make_lengths(n_documents: int, capacity: int) -> Any:
    """Log-normal with sigma 1, as documents of the web are spread; the longest fill a bin."""
    generator = np.random.Generator(np.random.PCG64(1))
    drawn = generator.lognormal(np.log(MEDIAN_TOKENS), 1.0, n_documents)
    return np.clip(drawn, 1, capacity).astype(np.int64)


def jeton_method(method: Any) -> Callable[[Any, int], Callable[[], Any]]:
    """Packs by one of Jeton's methods."""

    def prepare(lengths: Any, capacity: int) -> Callable[[], Any]:
        import jeton

        def run() -> Any:
            packed = jeton.pack(lengths, capacity=capacity, method=method)
            return packed.bin_offsets, packed.documents

        return run

    return prepare


def axolotl(lengths: Any, capacity: int) -> Callable[[], Any]:
    """Packs by axolotl's sampler; the first call compiles."""
    from axolotl.utils.samplers.multipack import pack_parallel

    narrow = lengths.astype(np.int32)

    def pack(some: Any) -> Any:
        return pack_parallel(some, capacity, GROUP_SIZE, MAX_BIN_DOCUMENTS, num_processes=1)

    pack(narrow[:100])
    return lambda: flat(pack(narrow))


def trl(lengths: Any, capacity: int) -> Callable[[], Any]:
    """Packs by TRL's best fit; each token holds nothing, so documents are told by their order."""
    import pyarrow as pa
    from trl.data_utils import _pack_bfd

    offsets = np.concatenate([[0], np.cumsum(lengths)])
    tokens = pa.array(np.zeros(int(offsets[-1]), dtype=np.int8))
    lists = pa.LargeListArray.from_arrays(pa.array(offsets), tokens)
    table = pa.table({"input_ids": lists})
    return lambda: _pack_bfd(table, capacity).column("seq_lengths").combine_chunks()


def flat(bins: Any) -> Any:
    """Bins of lists as offsets and documents."""
    sizes = np.array([len(one) for one in bins])
    documents = np.concatenate([np.asarray(one) for one in bins])
    return np.concatenate([[0], np.cumsum(sizes)]), documents


CONTENDERS: dict[str, Callable[[Any, int], Callable[[], Any]]] = {
    "jeton best-fit": jeton_method("best-fit"),
    "jeton first-fit": jeton_method("first-fit"),
    "axolotl": axolotl,
    "trl bfd": trl,
}


def check(found: Any, lengths: Any, capacity: int) -> int:
    """Returns the number of bins, if every document is in one and none is too full."""
    if isinstance(found, tuple):
        offsets, documents = found
        if not np.array_equal(np.sort(documents), np.arange(len(lengths))):
            raise SystemExit("a document is missing or packed twice")
        packed = lengths[documents]
    else:
        offsets, packed = found.offsets.to_numpy(), found.values.to_numpy()
        if not np.array_equal(np.sort(packed), np.sort(lengths)):
            raise SystemExit("a length is missing or packed twice")
    loads = np.add.reduceat(packed, offsets[:-1])
    if loads.max() > capacity:
        raise SystemExit("a bin is too full")
    return len(loads)


def one(name: str, file: str, capacity: int, runs: int) -> None:
    """Runs one contender and prints what it did as JSON."""
    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    lengths = np.load(file)
    run = CONTENDERS[name](lengths, capacity)
    seconds, busy = [], []
    for _ in range(runs):
        start, start_busy = time.perf_counter(), time.process_time()
        found = run()
        seconds.append(time.perf_counter() - start)
        busy.append(time.process_time() - start_busy)
    n_bins = check(found, lengths, capacity)
    fill = int(lengths.sum()) / (n_bins * capacity)
    told = {"seconds": min(seconds), "cpu_seconds": min(busy), "n_bins": n_bins, "fill": fill}
    print(json.dumps(told))


def main() -> None:
    """Runs every contender and prints a table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    parser.add_argument("--documents", type=int, default=1_000_000)
    parser.add_argument("--capacity", type=int, default=4096)
    parser.add_argument("--runs", type=int, default=RUNS)
    parser.add_argument("--rivals", help="a Python that has axolotl and TRL")
    parser.add_argument("--only", action="append", choices=list(CONTENDERS))
    parser.add_argument("--one", nargs=2, metavar=("NAME", "FILE"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        name, file = options.one
        one(name, file, options.capacity, options.runs)
        return
    print(
        "| packer | seconds | of the processor | bins | fill |\n| --- | ---: | ---: | ---: | ---: |"
    )
    with tempfile.TemporaryDirectory() as folder:
        lengths = Path(folder) / "lengths.npy"
        np.save(lengths, make_lengths(options.documents, options.capacity))
        for name in options.only or CONTENDERS:
            python = sys.executable if name.startswith("jeton") else options.rivals
            if python is None:
                continue
            words = ["--capacity", str(options.capacity), "--runs", str(options.runs)]
            words += ["--one", name, str(lengths)]
            done = subprocess.run(
                # Without the folder of this file, which holds a module of the name datasets.
                [python, "-P", __file__, *words],
                capture_output=True,
                text=True,
                check=False,
            )
            if done.returncode:
                last = (done.stderr.strip().splitlines() or [f"exit code {done.returncode}"])[-1]
                print(f"| {name} | {last} | | | |")
                continue
            told = json.loads(done.stdout.strip().splitlines()[-1])
            seconds, fill = told["seconds"], told["fill"]
            busy = told["cpu_seconds"]
            print(
                f"| {name} | {seconds:.3f} | {busy:.3f} | {told['n_bins']:,} | {fill:.2%} |",
                flush=True,
            )


if __name__ == "__main__":
    main()
