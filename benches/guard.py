"""Speed of the guard's scanner beside the ways of others, in one run: ``python -m benches.guard``.

Rivals, written after their sources because their packages are heavy: the method of llm-guard's
``InvisibleText`` (each character's category, Cf, Co and Cn are removed) and the regular expression
that scanners of source code use. Each reads the same text. Times are those of the processor, the
best of `ROUNDS`.
"""

from __future__ import annotations

import re
import sys
import time
import unicodedata
from collections.abc import Callable
from pathlib import Path

from jeton.corpus import open_documents
from jeton.guard import scan
from tests.guard.carriers import CARRIERS

__all__ = ["RIVALS", "expression", "invisible_text", "main"]

ROUNDS = 5
BYTES = 4_000_000
CORPORA = Path(__file__).resolve().parents[2] / "shared" / "data" / "corpora"

_BANNED = frozenset({"Cf", "Co", "Cn"})
_EXPRESSION = re.compile(
    "[\u00ad\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff\U000e0000-\U000e007f]"
)


def invisible_text(text: str) -> bool:
    """Return True if llm-guard's method finds something."""
    if text.isascii():
        return False
    return any(unicodedata.category(char) in _BANNED for char in text)


def expression(text: str) -> bool:
    """Return True if the regular expression finds something."""
    return _EXPRESSION.search(text) is not None


RIVALS: dict[str, Callable[[str], bool]] = {
    "llm-guard's InvisibleText (its method)": invisible_text,
    "a regular expression of code scanners": expression,
}
"""Others, by name."""


def _texts() -> dict[str, str]:
    ascii_text = "The committee met on Tuesday, and agreed on 12 points of the budget.\n"
    found = {
        "ASCII prose": ascii_text * (BYTES // len(ascii_text)),
        "twenty languages": "\n".join(CARRIERS.values()) * (BYTES // 4000),
    }
    for name in ("english", "code", "multilingual", "udhr"):
        path = CORPORA / f"{name}.jsonl.zst"
        if not path.is_file():
            continue
        pieces: list[str] = []
        size = 0
        for _, batch in open_documents([str(path)]):
            for text in batch:
                pieces.append(text)
                size += len(text)
            if size >= BYTES:
                break
        found[f"corpus {name}"] = "\n".join(pieces)[:BYTES]
    return found


def _best(function: Callable[[str], object], text: str) -> float:
    times = []
    for _ in range(ROUNDS):
        start = time.process_time()
        function(text)
        times.append(time.process_time() - start)
    return min(times)


def main() -> int:
    """Print a table of megabytes of UTF-8 a second."""
    names = ["jeton", *RIVALS]
    print("| text | " + " | ".join(names) + " |")
    print("| --- |" + " ---: |" * len(names))
    for name, text in _texts().items():
        n_bytes = len(text.encode())
        cells = []
        for function in (scan, *RIVALS.values()):
            seconds = _best(function, text)
            cells.append(f"{n_bytes / max(seconds, 1e-9) / 1e6:,.0f} MB/s")
        print(f"| {name} | " + " | ".join(cells) + " |")
    return 0


if __name__ == "__main__":
    sys.exit(main())
