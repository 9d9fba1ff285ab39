"""Time text that has no friendly boundary, at growing sizes: is anything worse than linear?

Every run is a process of its own with a time limit, since some libraries hang or crash here.
"""

from __future__ import annotations

import argparse
import sys
from hashlib import blake2b
from pathlib import Path
from time import perf_counter
from typing import Any

import numpy as np

from benches import record, texts, vocabularies
from benches.harness import Row, rank
from benches.isolated import run_task
from benches.machine import header
from benches.peers import ENCODERS, make_adapter
from benches.peers.base import Unsupported

__all__ = ["encode_hostile", "main"]

SIZES_MB = (1, 4, 16)
TIMEOUT_S = 60.0
RUNS = 3
VOCABULARY = "cl100k_base"
CAVEATS = (
    "every run is a fresh process that loads the vocabulary (not timed) and encodes the text once",
    f"a run that takes more than {TIMEOUT_S:g} s is stopped",
    "right means: the same ids as the reference's on the same text; where the reference itself "
    "fails, as jeton's",
)


def encode_hostile(name: str, kind: str, n_bytes: int, folder: str) -> dict[str, Any]:
    """In a fresh process: encode one hostile text once. Seconds, and a digest of the ids."""
    files = vocabularies.prepare(VOCABULARY, target=Path(folder))
    if files is None:
        return {"failed": "the vocabulary is not here"}
    try:
        adapter = make_adapter(name)
        adapter.load(files)
    except Unsupported as reason:
        return {"unsupported": str(reason)}
    text = texts.hostile_text(kind, n_bytes)
    start = perf_counter()
    ids = adapter.encode_list(text)
    seconds = perf_counter() - start
    digest = blake2b(np.asarray(ids, dtype="<u4").tobytes(), digest_size=16).hexdigest()
    return {"seconds": seconds, "digest": digest, "n_tokens": len(ids)}


def _measure(kind: str, n_bytes: int, names: list[str], runs: int) -> list[Row]:
    times: dict[str, list[float]] = {name: [] for name in names}
    digests: dict[str, str] = {}
    failed: dict[str, str] = {}
    for turn in range(runs):
        for name in [*names[turn % len(names) :], *names[: turn % len(names)]]:
            if name in failed:
                continue
            folder = str(vocabularies.ROOT / "build" / "bench")
            arguments = {"name": name, "kind": kind, "n_bytes": n_bytes, "folder": folder}
            result = run_task("benches.hostile:encode_hostile", arguments, timeout_s=TIMEOUT_S)
            if "seconds" in result:
                times[name].append(result["seconds"])
                digests[name] = result["digest"]
            else:
                failed[name] = result.get("failed") or result["unsupported"]
    expected = digests.get("tiktoken") or digests.get("jeton")
    return rank(
        [
            Row(
                name=name,
                values=() if name in failed else tuple(times[name]),
                wrong=None if digests.get(name, expected) == expected else "its ids differ",
                failed=failed.get(name),
                n_bytes=n_bytes,
            )
            for name in names
        ]
    )


def main(arguments: list[str] | None = None) -> int:
    """Run the comparison; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="1 MB only, one run")
    parser.add_argument("--record", action="store_true", help="keep the result")
    parser.add_argument("--library", action="append", help="may be repeated; jeton always runs")
    options = parser.parse_args(arguments)
    if vocabularies.source_folder() is None:
        print(f"error: no file of {VOCABULARY}\nhint: set JETON_VOCAB_DIR", file=sys.stderr)
        return 2
    names = list(ENCODERS)
    if options.library:
        names = [name for name in names if name == "jeton" or name in options.library]
    cases = []
    for kind in texts.HOSTILE:
        for size_mb in SIZES_MB[:1] if options.quick else SIZES_MB:
            rows = _measure(kind, size_mb * 1_000_000, names, 1 if options.quick else RUNS)
            cases.append(record.case(f"{size_mb} MB, one call", VOCABULARY, kind, rows))
            print(record.table(cases[-1]), flush=True)
    if options.record:
        head = header(
            kind="hostile",
            command="make bench",
            distributions=[record.DISTRIBUTIONS[name] for name in names],
            caveats=CAVEATS,
        )
        print(f"recorded: {record.write({**head, 'cases': cases}).name}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
