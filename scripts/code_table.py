"""Cost and gain of the split pattern for code. The table of docs/guides/code.md.

    python -m scripts.code_table CODE.jsonl.zst [--write docs/guides/code.md]

Documents whose hash is 0 modulo 8 are measured, every third of the others is learned from.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import re
import sys
import warnings
from collections import Counter
from pathlib import Path
from typing import Any

import jeton
from jeton._core import Tokenizer, decompress
from jeton.errors import JetonWarning
from jeton.metrics import identifier_parts
from jeton.pretokenizing import IndentationTokenizer
from scripts.marked import Part

PART = Part("table", "python -m scripts.code_table")

VOCAB_SIZE = 32_000
WAYS: dict[str, dict[str, Any]] = {
    "`cl100k_base`": {"pattern": "cl100k_base"},
    "`o200k_base`": {"pattern": "o200k_base"},
    "`code`": {"pattern": "code"},
    "`code`, indents": {"pattern": "code", "indents": True},
    "superwords on `llama3`": {"algorithm": "superbpe", "phrases": "line"},
    "superwords on `code`": {"algorithm": "superbpe", "phrases": "line", "pattern": "code"},
}
_IDENTIFIER = re.compile(r"[A-Za-z_][A-Za-z_0-9]+")


def split(path: Path) -> tuple[list[str], list[str]]:
    """Documents to learn from, documents to measure."""
    text = decompress(path.read_bytes(), path=str(path)).decode("utf-8")
    learn: list[str] = []
    measure: list[str] = []
    for line in text.removesuffix("\n").split("\n"):
        document = json.loads(line)["text"]
        digest = int(hashlib.sha256(document.encode()).hexdigest(), 16)
        (learn if digest % 8 else measure).append(document)
    return learn[::3], measure


def shatter(tokenizer: Tokenizer, names: Counter[str]) -> tuple[float, float, float]:
    """Figures of names of several parts: recall and precision at parts, tokens."""
    n_parts = n_tokens = n_both = n_names = 0
    for name, count in names.items():
        parts = [part for part in identifier_parts(name) if part.strip("_")]
        if len(parts) < 2:
            continue
        wanted, place = set(), 0
        for part in parts[1:]:
            place = name.index(part, place + 1)
            # An underscore may go with either side.
            wanted.add(place)
        starts, end = set(), 0
        for id in tokenizer.encode(name)[:-1]:
            end += len(tokenizer.id_to_bytes(id))
            # The end of a token before underscores is the beginning of the part behind them.
            starts.add(end + len(name[end:]) - len(name[end:].lstrip("_")))
        n_names += count
        n_parts += count * len(wanted)
        n_tokens += count * len(starts)
        n_both += count * len(wanted & starts)
    return n_both / n_parts, n_both / n_tokens, 1 + n_tokens / n_names


def table(path: Path) -> str:
    """The table as Markdown."""
    learn, measure = split(path)
    names = Counter(name for text in measure for name in _IDENTIFIER.findall(text))
    n_bytes = sum(len(text.encode()) for text in measure)
    lines = [
        "| way | tokens | bytes per token | parts of names that begin a token | token ends inside "
        "names that end a part | tokens per name |",
        "| --- | ---: | ---: | ---: | ---: | ---: |",
    ]
    for name, options in WAYS.items():
        tokenizer = jeton.train(iter(learn), vocab_size=VOCAB_SIZE, **options)
        if options.get("indents"):
            marked = IndentationTokenizer(tokenizer)
            n_tokens = sum(len(ids) for ids in marked.encode_batch(measure))
        else:
            n_tokens = int(tokenizer.count_batch(measure).sum())
        recall, precision, per_name = shatter(tokenizer, names)
        lines.append(
            f"| {name} | {n_tokens:,} | {n_bytes / n_tokens:.2f} | {recall:.1%} | "
            f"{precision:.1%} | {per_name:.2f} |"
        )
        sys.stderr.write(lines[-1] + "\n")
    return "\n".join(lines)


def main() -> int:
    """Print the table, or write it between the markers of a page."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("corpus", type=Path, help="JSON lines with the field text")
    parser.add_argument("--write", type=Path, metavar="PAGE", help="rewrite its table")
    options = parser.parse_args()
    warnings.simplefilter("ignore", JetonWarning)
    made = table(options.corpus)
    if options.write is None:
        sys.stdout.write(made + "\n")
        return 0
    PART.rewrite(options.write, made)
    return 0


if __name__ == "__main__":
    sys.exit(main())
