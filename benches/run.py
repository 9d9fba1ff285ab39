"""Run every benchmark, one after the other; without ``--quick``, record them and BENCHMARKS.md."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable

from benches import audit, encode, growing, hostile, record, train

__all__ = ["main"]

PROGRAMS: tuple[Callable[[list[str] | None], int], ...] = (
    encode.main,
    hostile.main,
    growing.main,
    train.main,
    audit.main,
)


def main(arguments: list[str] | None = None) -> int:
    """Run them all; return the highest exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--quick", action="store_true", help="little text; nothing is recorded")
    options = parser.parse_args(arguments)
    passed = ["--quick"] if options.quick else ["--record"]
    codes = [program(passed) for program in PROGRAMS]
    if not options.quick:
        codes.append(record.main())
    return max(codes)


if __name__ == "__main__":
    sys.exit(main())
