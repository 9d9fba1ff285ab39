"""Measure what the claims need, then write docs/studies/claims.md and case-studies/.

    python -m studies.claims                      # what this machine can measure, then the pages
    python -m studies.claims --only attention     # one group of figures, then the pages
    python -m studies.claims --pages              # the pages alone, from the figures
    python -m studies.claims --check              # measure, compare with the docs, write nothing

Groups that need the shared data are left as they are where it is absent. Groups that time something
are only measured when they are named: their figures depend on the machine. So is what takes long.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path
from time import monotonic

from studies.claims.data import Data
from studies.claims.figures import Figures, differences
from studies.claims.measuring import GROUPS, group

ROOT = Path(__file__).resolve().parents[2]
DOCS = ROOT / "docs" / "studies"


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure and write; exit 1 if ``--check`` found a difference."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--shared", type=Path, default=ROOT.parent / "shared")
    parser.add_argument("--docs", type=Path, default=DOCS, help="folder of the pages and figures")
    parser.add_argument("--only", action="append", choices=GROUPS, metavar="GROUP")
    parser.add_argument("--pages", action="store_true", help="write the pages alone")
    parser.add_argument("--check", action="store_true", help="compare with the docs, write nothing")
    options = parser.parse_args(arguments)
    folder = options.docs / "figures"
    wrong: list[str] = []
    if not options.pages:
        data = Data(options.shared)
        for name in options.only or GROUPS:
            wanted = group(name)
            if options.only is None and wanted.kind in ("timing", "named"):
                continue
            if wanted.kind != "arithmetic" and not data.folder.is_dir():
                sys.stderr.write(f"{name}: left as it is, {data.folder} is not there\n")
                continue
            started = monotonic()
            figures = wanted.measure(data)
            sys.stderr.write(f"{name}: {len(figures)} figures, {monotonic() - started:.1f} s\n")
            if options.check:
                old = Figures.read(folder).below(name)
                wrong += [f"{name}.{line}" for line in differences(old, figures)]
            else:
                Figures.write(folder, name, figures, wanted.about, wanted.command)
    if options.check:
        sys.stdout.write("".join(f"{line}\n" for line in wrong))
        return 1 if wrong else 0
    from studies.claims.pages import write_pages

    write_pages(options.docs, Figures.read(folder))
    return 0


if __name__ == "__main__":
    sys.exit(main())
