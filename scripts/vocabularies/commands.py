"""Commands of ``build_vocabularies.py``: build, check, document, measure split patterns."""

from __future__ import annotations

import datetime
import json
import sys
from pathlib import Path
from typing import Any

from jeton import formats
from jeton._files import write_whole
from scripts.vocabularies import building, tables
from scripts.vocabularies.sources import catalogue

__all__ = ["ARTEFACTS", "DOCUMENT", "build_all", "check", "document", "measure_patterns"]

ROOT = Path(__file__).resolve().parents[2]
ARTEFACTS = ROOT / "python" / "jeton" / "vocabularies"
DOCUMENT = ROOT / "docs" / "reference" / "vocabularies.md"

MEASURED_PATTERNS = ("llama3", "cl100k_base", "o200k_base", "r50k_base")

# These tell of the build, not of what was built.
_MAY_DIFFER = ("date", "jeton_version")


def build_all(data: Path, *, date: datetime.date | None, replace: bool) -> int:
    """Train all tokenizers, write artefacts and cards; return the exit code."""
    built = _build(data, date=date)
    changed = [
        name
        for name, one in built.items()
        if _fingerprint_there(name) not in (None, one.tokenizer.fingerprint)
    ]
    if changed and not replace:
        print(
            f"error: {', '.join(changed)} would get other ids, and the ids of a version never "
            "change\nhint: add the next version to sources.toml; --replace before a first release",
            file=sys.stderr,
        )
        return 1
    ARTEFACTS.mkdir(parents=True, exist_ok=True)
    n_bytes = 0
    for one in built.values():
        for path in building.write(one, ARTEFACTS):
            size = path.stat().st_size
            n_bytes += size
            print(f"{path.relative_to(ROOT).as_posix()}  {size:,} bytes")
        print(f"  fingerprint {one.tokenizer.fingerprint}")
    print(f"together {n_bytes:,} bytes")
    return 0


def check(data: Path) -> int:
    """Train all tokenizers and compare with what is there; return the exit code."""
    n_different = 0
    for name, one in _build(data, date=None).items():
        wanted = _comparable(building.card_data(one.card))
        path = ARTEFACTS / f"{name}{building.CARD_SUFFIX}"
        found = _comparable(json.loads(path.read_text("utf-8"))) if path.is_file() else {}
        different = sorted(key for key in wanted | found if wanted.get(key) != found.get(key))
        if _fingerprint_there(name) != one.tokenizer.fingerprint:
            different.insert(0, "the tokenizer")
        n_different += bool(different)
        print(f"{name}: {'differs in ' + ', '.join(different) if different else 'equal'}")
    return 1 if n_different else 0


def document(data: Path) -> int:
    """Rewrite the generated parts of docs/reference/vocabularies.md; return the exit code."""
    text = DOCUMENT.read_text(encoding="utf-8")
    corpus = building.read_corpus(
        data, [], patterns={}, sources=set(catalogue().sources), on_file=_say
    )
    for marker, part in tables.generated_parts(corpus, data=data, artefacts=ARTEFACTS).items():
        text = tables.replace_part(text, marker, part)
    write_whole(DOCUMENT, text)
    return 0


def measure_patterns(data: Path) -> int:
    """Print held-out bytes per token of each tokenizer under several split patterns."""
    # With superwords the pattern cuts words within phrases only, and decides less.
    names = [name for name, recipe in catalogue().recipes.items() if recipe.algorithm == "bpe"]
    patterns = {name: list(MEASURED_PATTERNS) for name in names}
    corpus = building.read_corpus(data, names, patterns=patterns, on_file=_say)
    print(tables.row("tokenizer", *MEASURED_PATTERNS))
    print(tables.rule(len(MEASURED_PATTERNS)))
    for name in names:
        cells = []
        for pattern in MEASURED_PATTERNS:
            held = building.build(corpus, name, pattern=pattern).card.heldout
            total = sum(h.n_bytes for h in held) / sum(h.n_tokens for h in held)
            cells.append(f"{total:.3f}")
        print(tables.row(f"`{name}`", *cells))
    return 0


def _build(data: Path, *, date: datetime.date | None) -> dict[str, building.Built]:
    names = list(catalogue().mixes)
    patterns = {name: [building.PATTERN] for name in names}
    corpus = building.read_corpus(data, names, patterns=patterns, on_file=_say)
    return {
        name: building.build(corpus, name, pattern=building.PATTERN, date=date) for name in names
    }


def _fingerprint_there(name: str) -> str | None:
    path = ARTEFACTS / f"{name}{building.ARTEFACT_SUFFIX}"
    return formats.load_file(path).fingerprint if path.is_file() else None


def _comparable(card: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in card.items() if key not in _MAY_DIFFER}


def _say(file: str) -> None:
    print(f"reading {file}", file=sys.stderr, flush=True)
