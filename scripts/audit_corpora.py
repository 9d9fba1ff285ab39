"""The audit of every corpus as a table: what it finds, how long it takes, how much memory.

Each file is a workload and is audited by a process of its own, so that time and memory are those of
a first run: start, reading, counting, analyses and checks. Seconds are wall-clock time.

    python -m scripts.audit_corpora CORPORA_DIR --vocab VOCAB_DIR [--write PAGE]

``CORPORA_DIR`` holds ``*.jsonl`` or ``*.jsonl.zst`` with the field ``text``. Memory needs Linux.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from time import perf_counter
from typing import Any

from scripts.marked import Part

PART = Part("audits of the corpora", "python -m scripts.audit_corpora")

TOKENIZERS = ("cl100k_base", "o200k_base", "llama3")
"""The first is the one in use, the others are candidates."""

TIMEOUT_S = 3_600.0
"""No audit of a corpus of some hundred megabytes comes near an hour."""

_MB = 1_000_000

NOTHING = "-"
"""Text of a cell without a figure."""


def audit_once(path: str, tokenizers: Sequence[str]) -> dict[str, Any]:
    """Audit one file in this process: what the row of the table holds."""
    started = perf_counter()
    import jeton
    from benches.isolated import peak_memory_bytes

    report = jeton.audit(path, tokenizers=tokenizers, current=tokenizers[0])
    seconds = perf_counter() - started
    current = next(t for t in report.tokenizers if t.is_current)
    return {
        "n_documents": report.corpus.n_documents,
        "n_bytes": report.corpus.n_bytes,
        "n_tokens": current.n_tokens,
        "bytes_per_token": [t.bytes_per_token for t in report.tokenizers],
        "findings": [finding.id for finding in report.findings],
        "seconds": seconds,
        "peak_bytes": peak_memory_bytes(),
    }


def main(arguments: Sequence[str] | None = None) -> int:
    """Audit all corpora and print or write the table; if one fails, write nothing (exit code 1)."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("corpora", type=Path, help="folder of JSON lines, compressed or not")
    parser.add_argument("--vocab", help="folder of published vocabularies")
    parser.add_argument("--tokenizer", action="append", help="the first is the one in use")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="put the table into this page")
    options = parser.parse_args(arguments)
    if options.vocab is not None:
        os.environ["JETON_VOCAB_DIR"] = str(Path(options.vocab).resolve())
    tokenizers = options.tokenizer or list(TOKENIZERS)
    paths = sorted([*options.corpora.glob("*.jsonl"), *options.corpora.glob("*.jsonl.zst")])
    if not paths:
        sys.stderr.write(f"error: {options.corpora} has no *.jsonl or *.jsonl.zst\n")
        return 2
    if options.write is not None:
        try:  # before the work, not after it
            PART.of(options.write.read_text(encoding="utf-8"))
        except ValueError as error:
            sys.stderr.write(f"error: {options.write}: {error}\n")
            return 2
    rows: dict[str, Mapping[str, Any]] = {}
    loads = [_load()]
    for path in paths:
        row = _isolated(path, tokenizers)
        loads.append(_load())
        sys.stderr.write(f"{path.name}: {row.get('failed') or format(row['seconds'], '.1f')}\n")
        rows[path.name.partition(".")[0]] = row
    text = "\n".join([_conditions(loads), "", *table(rows, tokenizers)])
    has_failed = any("failed" in row for row in rows.values())
    if options.write is None or has_failed:
        # A page that has figures keeps them.
        print(text)
    else:
        PART.rewrite(options.write, text)
    return 1 if has_failed else 0


def table(rows: Mapping[str, Mapping[str, Any]], tokenizers: Sequence[str]) -> list[str]:
    """The rows as Markdown; a corpus whose audit failed says why."""
    header = [
        "corpus",
        "documents",
        "MB",
        "tokens",
        *(f"bytes per token, {name}" for name in tokenizers),
        "seconds",
        "peak MB",
        "findings",
    ]
    lines = [_line(header), _line(["---", *["---:"] * (len(header) - 2), "---"])]
    for name, row in rows.items():
        if "failed" in row:
            lines.append(_line([name, *[NOTHING] * (len(header) - 2), f"failed: {row['failed']}"]))
            continue
        peak = row["peak_bytes"]
        found = Counter(row["findings"])
        lines.append(
            _line(
                [
                    name,
                    f"{row['n_documents']:,}",
                    f"{row['n_bytes'] / _MB:,.1f}",
                    f"{row['n_tokens']:,}",
                    *(f"{value:.2f}" for value in row["bytes_per_token"]),
                    f"{row['seconds']:.1f}",
                    NOTHING if peak is None else f"{peak / _MB:,.0f}",
                    # A check may speak of several places: each candidate, each term.
                    ", ".join(f"`{id_}`" + f" x {n}" * (n > 1) for id_, n in found.items()),
                ]
            )
        )
    return lines


def _line(cells: Sequence[str]) -> str:
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _isolated(path: Path, tokenizers: Sequence[str]) -> dict[str, Any]:
    from benches.isolated import run_task

    arguments = {"path": str(path.resolve()), "tokenizers": list(tokenizers)}
    return run_task("scripts.audit_corpora:audit_once", arguments, timeout_s=TIMEOUT_S)


def _load() -> float | None:
    """Processes that want to run, mean over the last minute; None where that is not known."""
    return os.getloadavg()[0] if hasattr(os, "getloadavg") else None


def _conditions(loads: Sequence[float | None]) -> str:
    """Where and when it was measured, and whether the machine had anything else to do."""
    from benches.machine import header

    head = header(kind="audits", command="", distributions=())
    machine, n_cpus = head["machine"], os.cpu_count() or 1
    text = f"Measured {head['date']} on {machine['cpu']} ({machine['system']}, {n_cpus} cores)."
    known = [load for load in loads if load is not None]
    if known and known[0] > 0.5:
        # The load before the first audit is that of others.
        text += (
            f" **Other work ran on the machine** (load {known[0]:.1f} before, up to "
            f"{max(known):.1f} meanwhile): an idle one takes less time."
        )
    return text


if __name__ == "__main__":
    sys.exit(main())
