"""Write the table of known failures in docs/reference/failures.md from what the doctor looks for.

``python -m scripts.doctor_page`` rewrites the part between the two markers; ``--check`` only says
whether it is up to date (exit code 1 when it is not).
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from jeton.doctor import Failure, failures
from scripts.marked import Part

__all__ = ["PAGE", "PART", "main", "render"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "reference" / "failures.md"
PART = Part("failures", "python -m scripts.doctor_page")


def render() -> str:
    """The sections of all known failures."""
    lines: list[str] = []
    area = ""
    for failure in failures():
        if failure.area != area:
            area = failure.area
            title = area if area.isupper() else area[:1].upper() + area[1:]
            lines += [f"### {title}", ""]
        lines += [*_section(failure), ""]
    return "\n".join(lines).strip()


def _section(failure: Failure) -> list[str]:
    lines = [
        f"**`{failure.id}`** ({failure.severity}): {failure.name}",
        "",
        f"- You see: {failure.symptom}",
        f"- Because: {failure.cause}",
        f"- Do: {failure.remedy}",
        f"- Needs: {'; '.join(kind.value for kind in failure.needs)}",
    ]
    if failure.source:
        lines.append(f"- Source: {failure.source}")
    # A page is HTML in the end: what looks like a tag outside of code would vanish.
    return [line if "`" in line else line.replace("<", "&lt;") for line in lines]


def main(arguments: list[str] | None = None) -> int:
    """Rewrite or check the page; return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--check", action="store_true", help="change nothing, say if it is stale")
    options = parser.parse_args(arguments)
    return PART.update(PAGE, render(), check=options.check)


if __name__ == "__main__":
    sys.exit(main())
