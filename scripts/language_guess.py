"""How often the gate's guess of a document's language is right, on texts whose language is known.

Writes the table in docs/reference/languages.md:

    python -m scripts.language_guess --shared ../shared

Texts: the corpora ``multilingual`` and ``po_parallel``, whose rows have a field ``lang``.
"""

from __future__ import annotations

import argparse
import json
from collections import Counter, defaultdict
from pathlib import Path

from jeton._core import decompress
from jeton.corpus.languages import language_class
from scripts.marked import Part

PAGE = Path(__file__).resolve().parents[1] / "docs" / "reference" / "languages.md"
PART = Part("languages", "python -m scripts.language_guess")

CORPORA = ("multilingual", "po_parallel")
MAX_CORPUS_BYTES = 1 << 30

EXPECTED = {
    "ar": "arabic",
    "bg": "bulgarian",
    "bn": "bengali",
    "ca": "catalan",
    "cs": "czech",
    "da": "danish",
    "de": "german",
    "el": "greek",
    "en": "english",
    "es": "spanish",
    "fa": "persian",
    "fi": "finnish",
    "fr": "french",
    "hi": "devanagari",
    "id": "indonesian",
    "it": "italian",
    "ja": "japanese",
    "ko": "korean",
    "nl": "dutch",
    "pl": "polish",
    "pt_BR": "portuguese",
    "pt_PT": "portuguese",
    "ro": "romanian",
    "ru": "russian",
    "sv": "swedish",
    "ta": "tamil",
    "th": "thai",
    "tr": "turkish",
    "uk": "ukrainian",
    "zh": "chinese",
    "zh-cn": "chinese",
    "zh_TW": "chinese",
}
"""Right answer for each code of the corpora; a script, where it has no list of words."""


def main() -> None:
    """Count, and write the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--shared", type=Path, required=True)
    shared: Path = parser.parse_args().shared
    guesses: dict[str, Counter[str]] = defaultdict(Counter)
    for name in CORPORA:
        path = shared / "data" / "corpora" / f"{name}.jsonl.zst"
        lines = decompress(path.read_bytes(), max_bytes=MAX_CORPUS_BYTES).decode().splitlines()
        for row in map(json.loads, lines):
            if row.get("lang") in EXPECTED:
                guesses[row["lang"]][language_class(row["text"].lower())] += 1
    PART.rewrite(PAGE, table(guesses))


def table(guesses: dict[str, Counter[str]]) -> str:
    """Rows by language: documents, how many of them right, and what the others were taken for."""
    lines = ["| language | documents | right | taken for |", "| --- | ---: | ---: | --- |"]
    for code, expected in EXPECTED.items():
        counts = guesses.get(code)
        if not counts:
            continue
        n = counts.total()
        others = [f"{name} {k / n:.1%}" for name, k in counts.most_common(4) if name != expected]
        right = counts[expected] / n
        lines.append(f"| {code} | {n:,} | {right:.1%} | {', '.join(others[:2])} |")
    return "\n".join(lines)


if __name__ == "__main__":
    main()
