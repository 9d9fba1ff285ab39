"""Run the benchmarks one after the other, each in a process of its own, recording after each.

``--only KIND`` (may be repeated) redoes some, ``--only train`` all that train; ``--quick`` prints
the main cases, records nothing.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
from collections.abc import Sequence
from time import perf_counter

from benches import quick, record

__all__ = ["GROUPS", "PARTS", "main"]

PARTS = {
    "warm": "benches.warm",
    "first-pass": "benches.first_pass",
    "languages": "benches.languages",
    "lists": "benches.lists",
    "document": "benches.one_document",
    "batches": "benches.batches",
    "small": "benches.small",
    "loading": "benches.loading",
    "models": "benches.models",
    "patterns": "benches.patterns",
    "hostile": "benches.hostile",
    "decoding": "benches.decoding",
    "memory": "benches.memory",
    "simd": "benches.simd",
    "instructions": "benches.instructions",
    "core-alone": "benches.core_alone",
    "growing": "benches.growing",
    "train-bpe": "benches.train",
    "train-models": "benches.train_models",
    "train-vocabularies": "benches.train_vocabularies",
    "audit": "benches.audit",
}
"""Kind of record -> the module that makes it, in the order of the page."""

GROUPS = {"train": ("train-bpe", "train-models", "train-vocabularies")}
"""A name for several parts."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run them; return the highest exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="the main cases on little text")
    parser.add_argument(
        "--only", action="append", choices=[*PARTS, *GROUPS], help="may be repeated"
    )
    options = parser.parse_args(arguments)
    if options.quick and not options.only:
        return quick.main([])
    codes = []
    wanted = [kind for name in options.only or PARTS for kind in GROUPS.get(name, (name,))]
    for kind in dict.fromkeys(wanted):
        start = perf_counter()
        print(f"# {kind}", flush=True)
        # A part that fails leaves the record of the last time in place, and the others go on.
        command = [sys.executable, "-m", PARTS[kind], "--quick" if options.quick else "--record"]
        code = subprocess.run(command, cwd=record.ROOT, check=False).returncode
        print(f"# {kind}: {perf_counter() - start:.0f} s, exit code {code}", flush=True)
        codes.append(abs(code))
        if not options.quick:
            codes.append(record.main())
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
