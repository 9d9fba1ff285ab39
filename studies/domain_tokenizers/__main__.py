"""Measure domain tokenizers, then write docs/studies/domain-tokenizers.md and its figures.

    python -m studies.domain_tokenizers            # measure, show where the targets stand
    python -m studies.domain_tokenizers --write    # and write the figures, the page and its plot

What is trained or measured is kept in the work folder, so a run that was killed goes on where it
was; remove the folder to begin anew. All of it takes some ten minutes on two cores and 4 GB.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from studies.claims.data import Data
from studies.claims.figures import Figures
from studies.claims.measuring import domains as group
from studies.domain_tokenizers.measuring import measure
from studies.domain_tokenizers.recipes import TARGET_SIZE
from studies.domain_tokenizers.texts import DOMAINS
from studies.domain_tokenizers.tokens import TARGET_CHANGE

ROOT = Path(__file__).resolve().parents[2]


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure; exit 2 where there is nothing to measure on."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--work", type=Path, default=group.WORK, help="folder of what was made")
    parser.add_argument("--docs", type=Path, default=ROOT / "docs" / "studies" / "studies")
    parser.add_argument("--write", action="store_true", help="write figures, page and plot")
    options = parser.parse_args(arguments)
    data = Data(options.shared)
    if not (data.folder / "corpora").is_dir():
        sys.stderr.write(
            f"error: no corpora at {data.folder / 'corpora'}\n"
            "hint: put the shared folder beside the project, or pass --shared FOLDER\n"
        )
        return 2
    figures = Figures(measure(data, options.work))
    for domain in DOMAINS:
        same = figures.value(f"change.{domain}.same.superwords.{TARGET_SIZE}")
        sys.stdout.write(f"{domain}: {same:+.1%} on the same sources")
        sys.stdout.write("" if same <= TARGET_CHANGE else " (missed)")
        for source in DOMAINS[domain]:
            key = f"by-source.{domain}.{source.name}.new.superwords.{TARGET_SIZE}"
            if key in figures:
                value = figures.value(key)
                sys.stdout.write(f"; {source.name} {value:+.1%}")
                sys.stdout.write("" if value < 0 else " (missed)")
        sys.stdout.write("\n")
    if options.write:
        Figures.write(options.docs / "figures", "domains", figures, group.ABOUT, group.COMMAND)
        from studies.claims.pages import write_pages

        write_pages(options.docs, Figures.read(options.docs / "figures"))
    return 0


if __name__ == "__main__":
    sys.exit(main())
