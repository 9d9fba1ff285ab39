"""Keep results as JSON under benches/results/; write BENCHMARKS.md from the newest of each kind.

Each kind of processor has a folder, and lines of its own in the tables. BENCHMARKS.md has the
table of all bars; ``python -m benches.record --show warm`` prints each case of a part.
"""

from __future__ import annotations

import argparse
import json
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benches import summary
from benches.harness import Row

__all__ = [
    "DISTRIBUTIONS",
    "case",
    "main",
    "newest",
    "newest_of_each",
    "render",
    "show",
    "table",
    "write",
]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
BEGIN = "<!-- results: begin (written by `make bench`) -->"
END = "<!-- results: end -->"
KINDS = {
    "warm": "Warm encoding",
    "first-pass": "First passes",
    "languages": "Languages",
    "lists": "Lists",
    "document": "One document",
    "batches": "Batches",
    "small": "Short strings",
    "loading": "Loading",
    "models": "WordPiece, Unigram, SentencePiece-BPE",
    "patterns": "Split patterns of one's own",
    "hostile": "Hostile text",
    "decoding": "Decoding, counting, offsets, padding, threads, segments",
    "memory": "Memory",
    "simd": "Each SIMD path",
    "instructions": "Instruction counts",
    "core-alone": "The core alone",
    "growing": "Texts that grow",
    "train-bpe": "Training byte-level BPE",
    "train-models": "Training Unigram, WordPiece, SentencePiece-BPE",
    "train-vocabularies": "Training superwords and smaller vocabularies",
    "audit": "The cost of an audit",
}
"""Kind of record -> its heading, in the order of the page."""

DISTRIBUTIONS = {
    "jeton": "jeton",
    "tiktoken": "tiktoken",
    "tokenizers": "tokenizers",
    "gigatoken": "gigatoken",
    "fastokens": "fastokens",
    "toktok": "toktok-rs",
    "splintr": "splintr-rs",
    "quicktok": "quicktok-v1",
    "rs-bpe": "rs-bpe",
    "tokie": "tokie",
    "kitoken": "kitoken",
    "sentencepiece": "sentencepiece",
    "blingfire": "blingfire",
    "ffbpe": "ffbpe",
    "rustbpe": "rustbpe",
    "bpeasy": "bpeasy",
}
"""Library -> the name it is installed under."""


def case(
    operation: str,
    vocabulary: str,
    text: str,
    rows: Sequence[Row],
    *,
    targets: Sequence[str] = (),
    n_texts: int | None = None,
    absent: Mapping[str, str | None] | None = None,
    figure: str = "MB/s",
) -> dict[str, Any]:
    """Return one table as it is recorded.

    Args:
        operation: what was done, in words.
        vocabulary: with which vocabulary.
        text: on what.
        rows: who did it.
        targets: the keys of the bars that it belongs to (``benches.targets``).
        n_texts: texts that each round worked through.
        absent: library -> why it is not there.
        figure: how a reader sees a row: "MB/s", "us" (a text), "ms", "MB", "instructions",
            "s", "nats" (natural logarithms a character).
    """
    return {
        "operation": operation,
        "vocabulary": vocabulary,
        "text": text,
        "rows": [row.to_dict() for row in rows],
        "targets": list(targets),
        "n_texts": n_texts,
        "absent": dict(absent or {}),
        "figure": figure,
    }


def write(result: Mapping[str, Any], *, folder: Path = RESULTS) -> Path:
    """Write one record, whole or not at all; one file for each processor, kind and day."""
    own = folder / _folder_name(result["machine"]["cpu"])
    own.mkdir(parents=True, exist_ok=True)
    path = own / f"{result['date']}-{result['kind']}.json"
    temporary = path.with_suffix(".json.tmp")
    temporary.write_text(
        json.dumps(result, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )
    temporary.replace(path)
    return path


def _plain(cpu: str) -> str:
    """A processor's name without the marks of its trade."""
    return re.sub(r"\((R|TM)\)", "", cpu, flags=re.IGNORECASE)


def _folder_name(cpu: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", _plain(cpu).lower()).strip("-") or "unknown"


def newest(kind: str, *, cpu: str, folder: Path = RESULTS) -> dict[str, Any] | None:
    """Return the newest record of a kind from one kind of processor, or None."""
    # The date is spelled out: "models" is not "train-models".
    paths = sorted((folder / _folder_name(cpu)).glob(f"????-??-??-{kind}.json"))
    if not paths:
        return None
    result: dict[str, Any] = json.loads(paths[-1].read_text(encoding="utf-8"))
    return result


def newest_of_each(kind: str, *, folder: Path = RESULTS) -> list[dict[str, Any]]:
    """Return the newest record of a kind from each kind of processor, the newest of these first."""
    paths = {path.parent: path for path in sorted(folder.glob(f"*/????-??-??-{kind}.json"))}
    found = [json.loads(path.read_text(encoding="utf-8")) for path in paths.values()]
    return sorted(found, key=lambda result: str(result["date"]), reverse=True)


def _figure(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _remark(row: Mapping[str, Any]) -> str:
    return str(row["failed"] or row["wrong"] or row["note"] or "").replace("|", "\\|")


def _size(measured: Mapping[str, Any]) -> str:
    """How much text there was, where it is the same for all."""
    sizes = {row["n_bytes"] for row in measured["rows"] if row["n_bytes"]}
    if len(sizes) != 1:
        return ""
    n_texts = measured.get("n_texts")
    of = f" in {n_texts:,} texts" if n_texts else ""
    return f" ({sizes.pop() / 1e6:.3g} MB{of})"


def table(measured: Mapping[str, Any]) -> str:
    """Return one case as a Markdown table."""
    unit = measured.get("figure", "MB/s")
    shown = "s" if unit in ("MB/s", "us", "ms") else unit
    lines = [
        f"**{measured['operation']}**: {measured['vocabulary']}, {measured['text']}"
        f"{_size(measured)}",
        "",
        f"| library | {unit} | median {shown} | least {shown} | most {shown} | rounds | "
        "against the best peer | remark |",
        "| --- | --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in measured["rows"]:
        values = [value / summary.SCALES[shown] for value in row["values"]]
        ratio = row["ratio_to_best_peer"]
        form = ".4g" if shown in ("s", "nats") else ",.1f" if shown == "MB" else ",.0f"
        middle = row["median_value"]
        cells = [
            row["name"],
            summary.figure(measured, row),
            _figure(None if middle is None else middle / summary.SCALES[shown], form),
            _figure(min(values, default=None), form),
            _figure(max(values, default=None), form),
            str(len(values) or ""),
            "" if ratio is None else f"{ratio:.2f}x",
            _remark(row),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    absent = measured.get("absent") or {}
    if absent:
        listed = "; ".join(f"{name} ({why})" for name, why in sorted(absent.items()))
        lines += ["", f"Not there: {listed}."]
    return "\n".join([*lines, ""])


def _section(title: str, results: Sequence[Mapping[str, Any]], common: Sequence[str]) -> str:
    """The newest record in full; where others lie."""
    result, *others = results
    own = [caveat for caveat in result["caveats"] if caveat not in common]
    elsewhere = [
        f"Recorded on {_plain(other['machine']['cpu'])}, too: benches/results/"
        f"{_folder_name(other['machine']['cpu'])}/{other['date']}-{other['kind']}.json."
        for other in others
    ]
    parts = [
        f"## {title}",
        "",
        f"Measured {result['date']} by `{result['command']}` on {_machine(result)}.",
        *elsewhere,
        "",
        *(f"- {caveat}" for caveat in own),
        *([""] if own else []),
    ]
    parts += [table(measured) for measured in result["cases"]]
    return "\n".join(parts)


def _machine(result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    return (
        f"{_plain(machine['cpu'])} ({machine['cores']} cores, {machine['memory_gib']} GiB, "
        f"{machine['system']}, {machine['python']})"
    )


def _cases(results: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """All cases of some records; each says where it was measured."""
    return [
        {**measured, "machine": _plain(result["machine"]["cpu"])}
        for result in results
        for measured in result["cases"]
    ]


def _paths(results: Sequence[Mapping[str, Any]]) -> list[str]:
    lines = [
        "### Each SIMD path",
        "",
        "Most processors have AVX2 and not AVX-512. Warm, one by one, into arrays, one core:",
        "",
    ]
    for result in results:
        lines += [f"{_machine(result)}:", "", summary.path_table(result["cases"])]
    return lines


def _head(found: Mapping[str, Sequence[Mapping[str, Any]]], common: Sequence[str]) -> str:
    """Caveats, machines, dates and versions, then the table of all bars."""
    results = [result for of_kind in found.values() for result in of_kind]
    versions: dict[str, str] = {}
    for result in results:
        versions |= result["versions"]
    machines = dict.fromkeys(map(_machine, results))
    dates = sorted({result["date"] for result in results})
    listed = ", ".join(f"{name} {number}" for name, number in sorted(versions.items()))
    cases = _cases(results)
    return "\n".join(
        [
            "## All cases",
            "",
            "Read this first:",
            "",
            *(f"- {caveat}" for caveat in common),
            "",
            f"Machines: {'; '.join(machines)}. "
            f"Measured {' to '.join({dates[0]: 0, dates[-1]: 0})}.",
            f"Versions: {listed}.",
            "",
            summary.table(cases),
            *(_paths(found["simd"]) if "simd" in found else ()),
        ]
    )


def _found(folder: Path) -> dict[str, list[dict[str, Any]]]:
    """The newest records of each kind, a record for each kind of processor."""
    found = {}
    for kind in KINDS:
        results = newest_of_each(kind, folder=folder)
        if results:
            found[kind] = results
    return found


def render(*, folder: Path = RESULTS) -> str:
    """Return the generated part of BENCHMARKS.md."""
    found = _found(folder)
    if not found:
        return "Nothing has been recorded yet: `make bench` records.\n"
    from benches.machine import CAVEATS

    return _head(found, CAVEATS)


def show(parts: Sequence[str], *, folder: Path = RESULTS) -> str:
    """Return each case and each library of some parts (``all``: of all), as Markdown."""
    found = _found(folder)
    from benches.machine import CAVEATS

    wanted = found if "all" in parts else {kind: found[kind] for kind in parts if kind in found}
    sections = [_section(KINDS[kind], results, CAVEATS) for kind, results in wanted.items()]
    results = [result for of_kind in wanted.values() for result in of_kind]
    return "\n".join([summary.case_table(_cases(results)), *sections])


def main(arguments: Sequence[str] = ()) -> int:
    """Rewrite the generated part of BENCHMARKS.md, or print parts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--show", nargs="+", choices=[*KINDS, "all"], help="print parts, write nothing"
    )
    options = parser.parse_args(arguments)
    if options.show:
        print(show(options.show))
        return 0
    path = ROOT / "BENCHMARKS.md"
    text = path.read_text(encoding="utf-8")
    if text.count(BEGIN) != 1 or text.count(END) != 1:
        print(f"error: {path.name} lacks the markers of the results", file=sys.stderr)
        return 2
    before, rest = text.split(BEGIN)
    after = rest.split(END)[1]
    path.write_text(f"{before}{BEGIN}\n\n{render()}\n{END}{after}", encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
