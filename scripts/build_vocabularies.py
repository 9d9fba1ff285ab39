"""Train the tokenizers that travel with the package, from the texts of the shared data folder.

Without arguments: train all and write artefacts and cards. ``--check`` trains and compares with
what is there (exit code 1 when they differ). ``--document`` rewrites the tables of
docs/reference/vocabularies.md. ``--measure-patterns`` prints what other split patterns would give.
"""

from __future__ import annotations

import argparse
import datetime
import sys
from pathlib import Path

__all__ = ["main"]

ROOT = Path(__file__).resolve().parent.parent


def main(arguments: list[str] | None = None) -> int:
    """Run; return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    action = parser.add_mutually_exclusive_group()
    action.add_argument("--check", action="store_true", help="write nothing, compare")
    action.add_argument(
        "--document", action="store_true", help="rewrite the documentation's tables"
    )
    action.add_argument("--measure-patterns", action="store_true", help="compare split patterns")
    parser.add_argument(
        "--shared",
        type=Path,
        default=ROOT.parent / "shared",
        help="the shared folder (default: ../shared beside the project)",
    )
    parser.add_argument(
        "--date",
        type=datetime.date.fromisoformat,
        help="YYYY-MM-DD for the cards (default: a constant, so that builds are equal)",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="let a version that exists get other ids (only before its first release)",
    )
    options = parser.parse_args(arguments)
    sys.path.insert(0, str(ROOT))  # run as a file, the project's own scripts are not importable
    from scripts.vocabularies import commands

    data = options.shared / "data"
    if not (data / "corpora").is_dir():
        print(
            f"error: no corpora at {data / 'corpora'}; the bundled tokenizers are trained from "
            "the shared data folder\nhint: put it beside the project, or pass --shared FOLDER",
            file=sys.stderr,
        )
        return 2
    if options.check:
        return commands.check(data)
    if options.document:
        return commands.document(data)
    if options.measure_patterns:
        return commands.measure_patterns(data)
    return commands.build_all(data, date=options.date, replace=options.replace)


if __name__ == "__main__":
    sys.exit(main())
