"""The tables of docs/reference/dimensions.md and docs/guides/ledger.md: amounts, and assumptions.

python -m scripts.ledger_page [--check]
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jeton.dimensions import DIMENSIONS, MODALITIES, plain_name
from jeton.economics.ledger.views import ISSUE_WORDS
from scripts.marked import Part

DOCS = Path(__file__).resolve().parents[1] / "docs"
PAGE = DOCS / "guides" / "ledger.md"
DIMENSIONS_PAGE = DOCS / "reference" / "dimensions.md"
COMMAND = "python -m scripts.ledger_page"
DIMENSIONS_PART = Part("dimensions", COMMAND)
ISSUES_PART = Part("assumptions", COMMAND)


def dimensions_table() -> str:
    """One row a dimension; the kinds of tokens that only differ by modality share a row."""
    lines = ["| name | in words | unit | part of |", "| --- | --- | --- | --- |"]
    for name, dimension in DIMENSIONS.items():
        kind = dict(dimension.attributes).get("modality")
        of_tokens = dimension.unit == "tokens"
        if of_tokens and kind in MODALITIES and kind != "text":
            continue
        if of_tokens and kind == "text":
            shown = name.replace("text", "KIND")
            words = plain_name(name).replace("text", "KIND")
        else:
            shown, words = name, plain_name(name)
        parent = (dimension.parent or "").replace("text", "KIND") if of_tokens else dimension.parent
        lines.append(
            f"| `{shown}` | {words} | {dimension.unit} | {f'`{parent}`' if parent else ''} |"
        )
    return "\n".join(lines)


def issues_table() -> str:
    """One row a kind of issue."""
    lines = ["| kind | treatment |", "| --- | --- |"]
    lines += [f"| `{kind}` | {words} |" for kind, words in ISSUE_WORDS.items()]
    return "\n".join(lines)


def main() -> int:
    """Write the tables, or with ``--check`` say whether they are stale."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true")
    check = parser.parse_args().check
    stale = DIMENSIONS_PART.update(DIMENSIONS_PAGE, dimensions_table(), check=check)
    return stale or ISSUES_PART.update(PAGE, issues_table(), check=check)


if __name__ == "__main__":
    sys.exit(main())
