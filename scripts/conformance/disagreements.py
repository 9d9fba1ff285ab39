"""Where the references disagree over one vocabulary in two formats, and by what cause.

The rows are written by hand in ``disagreements.json``, each with a smallest text. ``report``
looks for more: it compares the two references on the golden texts and on parts of them, reduces
each difference to a smallest text, and shows those that no row explains.
"""

from __future__ import annotations

import json
import random
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from scripts.conformance.references import Reference, reference_of
from scripts.conformance.sets import Case, GoldenSet, read_set
from scripts.conformance.smallest import smallest
from scripts.marked import Part

__all__ = ["PAIRS_FILE", "PART", "Pair", "Row", "read_pairs", "render", "report"]

PAIRS_FILE = Path(__file__).with_name("disagreements.json")
SCHEMA = "jeton.disagreements/1"
PART = Part("disagreements")

N_PARTS = 20
"""Random parts of each golden text that are compared too."""

MAX_SMALLEST = 300
"""Differences of a pair that are reduced to a smallest text: more would take minutes."""

SHOWN_UNEXPLAINED = 20


@dataclass(frozen=True, slots=True)
class Row:
    """One cause of disagreement with a smallest text."""

    text: str
    special: bool
    """True if the second library is used as by default, where special tokens in the text count."""
    first_ids: list[int]
    second_ids: list[int]
    cause: str
    like: str | None
    """Regular expression of the smallest texts that this row explains."""
    categories: str | None
    """General categories of the characters' NFKD form (``Ll Mn``)."""

    def explains(self, text: str) -> bool:
        """True if a smallest text is of this row's kind."""
        if self.like is not None and re.fullmatch(self.like, text, re.DOTALL):
            return True
        found = " ".join(unicodedata.category(c) for c in unicodedata.normalize("NFKD", text))
        return self.categories is not None and bool(re.fullmatch(self.categories, found))


@dataclass(frozen=True, slots=True)
class Pair:
    """Two golden sets of one vocabulary."""

    first: str
    second: str
    n_golden_different: int
    rows: tuple[Row, ...]


def read_pairs(path: Path = PAIRS_FILE) -> tuple[Pair, ...]:
    """Read the pairs and their rows.

    Raises:
        ValueError: The file does not follow its schema.
    """
    document = json.loads(path.read_text(encoding="utf-8"))
    if document.get("schema") != SCHEMA:
        raise ValueError(f"{path} is not of schema {SCHEMA}")
    return tuple(
        Pair(
            first=pair["first"],
            second=pair["second"],
            n_golden_different=pair["n_golden_different"],
            rows=tuple(
                Row(
                    text=row["text"],
                    special=row.get("special", False),
                    first_ids=row["first_ids"],
                    second_ids=row["second_ids"],
                    cause=row["cause"],
                    like=row.get("like"),
                    categories=row.get("categories"),
                )
                for row in pair["rows"]
            ),
        )
        for pair in document["pairs"]
    )


def render(shared: Path) -> str:
    """Return the rows as a Markdown table; vocabularies and versions are those of the headers."""
    pairs = read_pairs()
    sets = {name: read_set(shared, name) for pair in pairs for name in (pair.first, pair.second)}
    lines = [
        "| first | second | golden texts that differ | smallest text | first gives | second gives "
        "| cause |",
        "| --- | --- | ---: | --- | --- | --- | --- |",
    ]
    agreeing = []
    for pair in pairs:
        first, second = sets[pair.first], sets[pair.second]
        for index, row in enumerate(pair.rows):
            head = f"| {_named(first)} | {_named(second)} | {pair.n_golden_different} "
            head = "| | | " if index else head
            default = " (special tokens on, its default)" if row.special else ""
            lines.append(
                f"{head}| {_shown(row.text)} | {row.first_ids} | {row.second_ids}{default} "
                f"| {row.cause} |"
            )
        if not pair.n_golden_different:
            agreeing.append(f"{first.files} and {second.files}")
    heading = "Pairs with equal ids for every golden text, special tokens off:"
    return "\n".join([*lines, "", heading, "", *(f"- {pair}" for pair in agreeing), ""])


def report(shared: Path) -> int:
    """Print what parts each pair; return 1 where a difference has no row, else 0."""
    n_unexplained = 0
    for pair in read_pairs():
        first, second = read_set(shared, pair.first), read_set(shared, pair.second)
        n_golden = sum(a.ids != b.ids for a, b in zip(first.cases, second.cases, strict=True))
        print(f"{pair.first} and {pair.second}: {n_golden} of {len(first.cases)} golden texts")
        references = reference_of(first), reference_of(second)
        if references[0] is None or references[1] is None:
            print("    parts of texts not compared: a reference is not installed")
            continue
        explained, unexplained = _kinds(pair, first.cases, references[0], references[1])
        for index, row in enumerate(pair.rows):
            if not row.special:
                print(f"    {explained[index]:5} smallest texts: {row.cause}")
        for text, count in unexplained.most_common(SHOWN_UNEXPLAINED):
            ids = [r.encode(text, special=False)[:8] for r in references if r is not None]
            print(f"    {count:5} not explained: {text!r} {ids[0]} {ids[1]}")
        n_unexplained += len(unexplained)
    return 1 if n_unexplained else 0


def _kinds(
    pair: Pair, cases: tuple[Case, ...], first: Reference, second: Reference
) -> tuple[Counter[int], Counter[str]]:
    def differ(text: str) -> bool:
        return first.encode(text, special=False) != second.encode(text, special=False)

    rows = [(index, row) for index, row in enumerate(pair.rows) if not row.special]
    explained: Counter[int] = Counter()
    unexplained: Counter[str] = Counter()
    for part in islice(filter(differ, _parts(cases)), MAX_SMALLEST):
        text = smallest(part, differ)
        index = next((i for i, row in rows if row.explains(text)), None)
        if index is None:
            unexplained[text] += 1
        else:
            explained[index] += 1
    return explained, unexplained


def _parts(cases: tuple[Case, ...]) -> Iterator[str]:
    rng = random.Random("parts of golden texts")
    for case in cases:
        yield case.text
    for case in cases:
        for _ in range(N_PARTS):
            start, end = sorted(rng.choices(range(len(case.text) + 1), k=2))
            yield case.text[start:end]


def _named(golden: GoldenSet) -> str:
    return f"{golden.files}, {golden.library} {golden.version}"


def _shown(text: str) -> str:
    named = all(0x20 < ord(c) < 0x7F for c in text) and "`" not in text and text.strip()
    if named:
        return f"`{text}`".replace("|", "\\|")
    points = " ".join(f"U+{ord(c):04X}" for c in text)
    visible = "".join(c for c in text if c.isprintable() and not unicodedata.combining(c))
    written = "" if set(text) & set("`|<> ") or visible != text else f"{text} "
    return f"{written}({points})"
