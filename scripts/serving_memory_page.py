"""The table of ``serving-memory.md``: memory as worked out, against published start-up logs.

``python -m scripts.serving_memory_page`` rewrites the table from
``tests/cases/memory/published-logs.json``; ``--check`` only says whether it is up to date.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from scripts.marked import Part
from scripts.published_logs import Judged, judge, published_logs

__all__ = ["main", "table"]

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "guides" / "serving-memory.md"
PART = Part("published logs", "python -m scripts.serving_memory_page")


def table() -> str:
    """Return the rates, and one row for each published log."""
    logs = published_logs()
    rows = [judge(log) for log in logs]
    lines = [*_rates(rows, [judge(log, calibrated=True) for log in logs]), ""]
    lines += [
        "| date | model | GPUs | engine | weights, GiB | off | cache | off | source |",
        "| --- | --- | --- | --- | ---: | ---: | ---: | ---: | --- |",
    ]
    return "\n".join([*lines, *map(_row, rows)])


def _rates(rows: Sequence[Judged], calibrated: Sequence[Judged]) -> list[str]:
    weights = [row.weights_off for row in rows if row.weights_off is not None]
    settings = [
        row.cache_off for row in rows if row.cache_off is not None and not row.is_calibrated
    ]
    printed = [
        row.cache_off for row in calibrated if row.cache_off is not None and row.is_calibrated
    ]
    recent = sum(row.log["date"] >= "2026" for row in rows)
    return [
        f"{len(rows)} logs, {recent} of them of 2026. Share of them within:",
        "",
        "| figure | logs | 0.5% | 1% | 5% | 10% |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
        _rate("weights of a GPU", weights),
        _rate("cache, from the settings", settings),
        _rate("cache, from the log's bytes (`--calibrate`)", printed),
    ]


def _rate(name: str, offs: Sequence[float]) -> str:
    shares = [
        sum(abs(off) <= most for off in offs) / len(offs) for most in (0.005, 0.01, 0.05, 0.1)
    ]
    return f"| {name} | {len(offs)} | " + " | ".join(f"{share:.0%}" for share in shares) + " |"


def _row(row: Judged) -> str:
    log = row.log
    weights = "" if row.weights is None else f"{row.weights[0]:.2f} / {row.weights[1]:.2f}"
    cache = ""
    if row.cache is not None:
        places = 0 if row.unit == "tokens" else 2
        theirs, ours = (f"{value:,.{places}f}" for value in row.cache)
        cache = f"{theirs} / {ours} {row.unit}{' *' if row.is_calibrated else ''}"
    off = "both refuse" if row.both_refuse else _off(row.cache_off)
    source = log["source"].removeprefix("https://").removeprefix("github.com/")
    source = source.replace("/issues/", "#").replace("/pull/", "#").rstrip("/")
    return (
        f"| {log['date']} | {row.model} | {row.gpus} | {log['engine']} {log['version']} | "
        f"{weights} | {_off(row.weights_off)} | {cache} | {off} | {source} |"
    )


def _off(off: float | None) -> str:
    if off is None:
        return ""
    return f"{off:+.1%}" if abs(off) < 10 else "did not fit"


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    return PART.update(PAGE, table(), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
