"""Keep results as JSON under benches/results/; write BENCHMARKS.md from the newest of each."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from benches.harness import Row

__all__ = ["DISTRIBUTIONS", "case", "main", "newest", "render", "table", "write"]

ROOT = Path(__file__).resolve().parent.parent
RESULTS = Path(__file__).resolve().parent / "results"
BEGIN = "<!-- results: begin (written by `make bench`) -->"
END = "<!-- results: end -->"
KINDS = {
    "encode": "Encoding and counting",
    "hostile": "Hostile text",
    "growing": "Texts that grow",
    "train": "Training",
    "audit": "The cost of an audit",
}

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
    "ffbpe": "ffbpe",
    "rustbpe": "rustbpe",
    "bpeasy": "bpeasy",
}
"""Library -> the name it is installed under."""


def case(operation: str, vocabulary: str, text: str, rows: Sequence[Row]) -> dict[str, Any]:
    """Return one table as it is recorded."""
    return {
        "operation": operation,
        "vocabulary": vocabulary,
        "text": text,
        "rows": [row.to_dict() for row in rows],
    }


def write(result: Mapping[str, Any], *, folder: Path = RESULTS) -> Path:
    """Write one record, whole or not at all; one file for each kind and day."""
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{result['date']}-{result['kind']}.json"
    temporary = path.with_suffix(".json.tmp")
    temporary.write_text(
        json.dumps(result, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8"
    )
    temporary.replace(path)
    return path


def newest(kind: str, *, folder: Path = RESULTS) -> dict[str, Any] | None:
    """Return the newest record of a kind, or None."""
    paths = sorted(folder.glob(f"*-{kind}.json"))
    if not paths:
        return None
    result: dict[str, Any] = json.loads(paths[-1].read_text(encoding="utf-8"))
    return result


def _figure(value: float | None, form: str) -> str:
    return "" if value is None else format(value, form)


def _remark(row: Mapping[str, Any]) -> str:
    return str(row["failed"] or row["wrong"] or row["note"] or "").replace("|", "\\|")


def table(measured: Mapping[str, Any]) -> str:
    """Return one case as a Markdown table."""
    lines = [
        f"**{measured['operation']}**: {measured['vocabulary']}, {measured['text']}",
        "",
        "| library | MB/s | median s | fastest s | slowest s | against the best peer | remark |",
        "| --- | --- | --- | --- | --- | --- | --- |",
    ]
    for row in measured["rows"]:
        seconds = row["seconds"]
        ratio = row["ratio_to_best_peer"]
        cells = [
            row["name"],
            _figure(row["megabytes_per_second"], ".1f"),
            _figure(row["median_seconds"], ".4f"),
            _figure(min(seconds, default=None), ".4f"),
            _figure(max(seconds, default=None), ".4f"),
            "" if ratio is None else f"{ratio:.2f}x",
            _remark(row),
        ]
        lines.append("| " + " | ".join(cells) + " |")
    return "\n".join([*lines, ""])


def _section(title: str, result: Mapping[str, Any]) -> str:
    machine = result["machine"]
    versions = ", ".join(f"{name} {number}" for name, number in result["versions"].items())
    parts = [
        f"## {title}",
        "",
        f"Measured {result['date']} by `{result['command']}` on {machine['cpu']} "
        f"({machine['cores']} cores, {machine['memory_gib']} GiB, {machine['system']}, "
        f"{machine['python']}).",
        f"Versions: {versions}.",
        "",
        "Read this first:",
        "",
        *(f"- {caveat}" for caveat in result["caveats"]),
        "",
    ]
    for vocabulary, reasons in result.get("absent", {}).items():
        if reasons:
            listed = "; ".join(f"{name} ({why})" for name, why in sorted(reasons.items()))
            parts += [f"Not in the tables of {vocabulary}: {listed}.", ""]
    parts += [table(measured) for measured in result["cases"]]
    return "\n".join(parts)


def render(*, folder: Path = RESULTS) -> str:
    """Return the generated part of BENCHMARKS.md."""
    found = {kind: newest(kind, folder=folder) for kind in KINDS}
    sections = [_section(KINDS[kind], result) for kind, result in found.items() if result]
    return "\n".join(sections) or "Nothing has been recorded yet: `make bench` records.\n"


def main() -> int:
    """Rewrite the generated part of BENCHMARKS.md."""
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
    sys.exit(main())
