"""Figures of the measured results, and the tables of the page about them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._files import write_whole
from scripts.marked import Part
from studies.new_rows.rows import WAYS
from studies.new_rows.texts import DOMAINS, GENERAL, interval

__all__ = ["FIGURES", "PAGE", "PART", "figures_of", "tables", "update", "write_figures"]

_DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"
PAGE = _DOCS / "new-rows.md"
FIGURES = _DOCS / "new-rows.json"
PART = Part("tables", "python -m studies.new_rows MODEL CORPORA")
YARDSTICK, TRAINED_YARDSTICK = "mean", "asymmetric+untied"
"""The ways that all others are compared with, before and after training."""
_PARTS = {"old": "rows", "tokens": "rows", "before": "rows", "after": "training"}
_NAMES = tuple(way.name for way in WAYS)

Figures = dict[str, Any]


def write_figures(found: dict[str, Any], *, part: str | None = None) -> None:
    """Writes the figures of measured results.

    Args:
        found: The results by kind.
        part: ``rows`` or ``training`` if one part alone was measured: figures of the other stay.
    """
    figures = figures_of(found)
    if part is not None and FIGURES.is_file():
        kept = json.loads(FIGURES.read_text(encoding="utf-8"))
        figures = {kind: (figures if part == _PARTS[kind] else kept)[kind] for kind in figures}
    write_whole(FIGURES, json.dumps(figures, indent=1) + "\n")


def update(*, check: bool) -> int:
    """Writes the page's tables, or says whether they are stale; returns the exit code."""
    figures = json.loads(FIGURES.read_text(encoding="utf-8"))
    return PART.update(PAGE, tables(figures), check=check)


def figures_of(found: dict[str, Any]) -> Figures:
    """Returns differences to the old model with intervals, by document."""
    old = {
        text: {
            "documents": len(one["bytes"]),
            "bytes": sum(one["bytes"]),
            "bits_per_byte": round(sum(one["bits"]) / sum(one["bytes"]), 4),
        }
        for text, one in found["old"].items()
    }
    tokens = dict(sorted(found["tokens"].items(), key=lambda item: _order((f"{item[0]}/", {}))))
    before = []
    for key, one in sorted(found["before"].items(), key=_order):
        place, _, _ = key.rpartition("/")
        mean = found["before"].get(f"{place}/{YARDSTICK}")
        row = _row(found, key, one["bits"], None if mean is None else mean["bits"])
        before.append({**row, "equal_to": one.get("equal_to", "").rpartition("/")[2] or None})
    after = []
    for key, one in sorted(found["after"].items(), key=_order):
        kept = {name: one[name] for name in ("steps", "tokens_per_step", "loss", "seconds")}
        start = _row(found, key, found["before"][key]["bits"], None)["texts"]
        place, _, _ = key.rpartition("/")
        first = found["after"].get(f"{place}/{TRAINED_YARDSTICK}")
        row = _row(found, key, one["bits"], None if first is None else first["bits"])
        after.append({**row, **kept, "start": start})
    return {"old": old, "tokens": tokens, "before": before, "after": after}


def _order(item: tuple[str, dict[str, Any]]) -> tuple[int, int, int]:
    domain, n_tokens, way = item[0].split("/")
    place = _NAMES.index(way) if way in _NAMES else len(_NAMES)
    return DOMAINS.index(domain), int(n_tokens), place


def _row(
    found: dict[str, Any],
    key: str,
    bits: dict[str, list[float]],
    against: dict[str, list[float]] | None,
) -> dict[str, Any]:
    domain, n_tokens, way = key.split("/")
    cells = {}
    for text, values in bits.items():
        size = np.array(found["old"][text]["bytes"], dtype=np.float64)
        now = np.array(values)
        cell = {"bits_per_byte": round(float(now.sum() / size.sum()), 4)}
        cell |= _difference("more", now - np.array(found["old"][text]["bits"]), size)
        if against is not None:
            cell |= _difference("over", now - np.array(against[text]), size)
        cells["general" if text == GENERAL else "domain"] = cell
    return {"domain": domain, "n_tokens": int(n_tokens), "way": way, "texts": cells}


def _difference(
    name: str, bits: NDArray[np.float64], size: NDArray[np.float64]
) -> dict[str, float]:
    low, high = interval(bits, size)
    return {
        name: round(float(bits.sum() / size.sum()), 4),
        f"{name}_low": round(low, 4),
        f"{name}_high": round(high, 4),
    }


def tables(figures: Figures) -> str:
    """Returns the tables as Markdown."""
    blocks = [_tokens(figures)]
    for text, words in (("domain", "held-out text of the domain"), ("general", "general text")):
        blocks.append(f"Bits per byte more than the old model, before training, on {words}:")
        blocks.append(_before(figures, text))
    if figures["after"]:
        one = figures["after"][0]
        blocks.append(
            f"After {one['steps']} steps of {one['tokens_per_step']} tokens in which only the new "
            "rows move, bits per byte more than the old model:"
        )
        blocks.append(_after(figures))
    return "\n\n".join(blocks)


def _tokens(figures: Figures) -> str:
    lines = [
        "| new tokens | learned from | tokens saved, held-out text | tokens saved, general text |",
        "| --- | ---: | ---: | ---: |",
    ]
    for key, one in figures["tokens"].items():
        domain, _, n_tokens = key.partition("/")
        lines.append(
            f"| {domain}, {int(n_tokens):,} | {one['learned_bytes'] / 1e6:.1f} MB "
            f"| {_share(one[domain])} | {_share(one[GENERAL])} |"
        )
    return "\n".join(lines)


def _share(one: dict[str, float]) -> str:
    return f"{one['saved']:.2%} ({one['low']:.2%} to {one['high']:.2%})"


def _before(figures: Figures, text: str) -> str:
    columns = list(dict.fromkeys((row["domain"], row["n_tokens"]) for row in figures["before"]))
    heads = [f"{domain}, {n_tokens:,}" for domain, n_tokens in columns]
    lines = [f"| `--init` | {' | '.join(heads)} |", f"| --- |{' ---: |' * len(columns)}"]
    old = [
        f"{figures['old'][domain if text == 'domain' else GENERAL]['bits_per_byte']:.3f}"
        for domain, _ in columns
    ]
    lines.append(f"| old model, its bits per byte | {' | '.join(old)} |")
    found = {(row["domain"], row["n_tokens"], row["way"]): row for row in figures["before"]}
    equal: dict[str, list[str]] = {}
    for row in figures["before"]:
        names = equal.setdefault(row["equal_to"] or row["way"], [])
        if row["way"] not in names:
            names.append(row["way"])
    for way, names in equal.items():
        rows = [found.get((domain, n_tokens, way)) for domain, n_tokens in columns]
        cells = ["" if row is None else _more(row["texts"][text]) for row in rows]
        lines.append(f"| {', '.join(map(_label, names))} | {' | '.join(cells)} |")
    return "\n".join(lines)


def _after(figures: Figures) -> str:
    lines = [
        "| new tokens, `--init` | domain, before | domain, after | against the first "
        "| general, before | general, after |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for row in figures["after"]:
        domain = row["texts"]["domain"]
        first = "" if not (domain["over_low"] or domain["over_high"]) else _over(domain)
        lines.append(
            f"| {row['domain']}, {row['n_tokens']:,}: {_label(row['way'])} "
            f"| {_more(row['start']['domain'])} | {_more(domain)} | {first} "
            f"| {_more(row['start']['general'])} | {_more(row['texts']['general'])} |"
        )
    return "\n".join(lines)


def _more(cell: dict[str, float]) -> str:
    return f"{cell['more']:+.3f} ({cell['more_low']:.3f} to {cell['more_high']:.3f})"


def _over(cell: dict[str, float]) -> str:
    return f"{cell['over']:+.3f} ({cell['over_low']:.3f} to {cell['over_high']:.3f})"


def _label(way: str) -> str:
    init, *marks = way.split("+")
    words = {"donor": "with a donor", "untied": "untied"}
    return ", ".join([f"`{init}`", *(words[mark] for mark in marks)])
