"""The table of ``serving-memory.md``: memory as worked out, against published start-up logs.

``python -m scripts.serving_memory_page`` rewrites the table from ``tests/cases/memory/log-*.json``;
``--check`` only says whether it is up to date.
"""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from jeton.catalog import gpu, model
from jeton.economics import MemoryPlan, fit_on
from scripts.marked import Part

__all__ = ["main", "table"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "serving-memory.md"
LOGS = ROOT / "tests" / "cases" / "memory"
PART = Part("published logs", "python -m scripts.serving_memory_page")

_GIB = 2**30


def table() -> str:
    """Return one row for each published log, the nearest first."""
    lines = [
        "| model | GPUs | engine | published | worked out | off | source |",
        "| --- | --- | --- | ---: | ---: | ---: | --- |",
    ]
    cases = [json.loads(file.read_text(encoding="utf-8")) for file in LOGS.glob("log-*.json")]
    cases.sort(key=lambda case: (abs(case["error_of_usable_memory"]), case["model"]))
    return "\n".join([*lines, *(_row(case) for case in cases)])


def _row(case: dict[str, Any]) -> str:
    plan = MemoryPlan(**case["arguments"])
    fit = fit_on(model(case["model"]), gpu(case["gpu"]), plan, request_tokens=1)
    published = case["published"]
    if "tokens" in published:
        theirs, ours = f"{published['tokens']:,} tokens", f"{fit.kv_cache_tokens:,} tokens"
    else:
        theirs, ours = (
            f"{published['kv_gib']:.2f} GiB",
            f"{fit.budget.kv_bytes / _GIB:.2f} GiB",
        )
    return (
        f"| {case['model']} | {fit.group} | {case['engine']} | {theirs} | {ours} | "
        f"{case['error_of_usable_memory']:+.1%} | {case['source']} |"
    )


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    return PART.update(PAGE, table(), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
