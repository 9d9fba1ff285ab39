"""Write the table of known failures in docs/doctor.md from what the doctor looks for.

``doctor_page.py`` rewrites the part between the two markers; ``--check`` only says whether it is up
to date (exit code 1 when it is not).
"""

from __future__ import annotations

import sys
from pathlib import Path

from jeton.doctor import Failure, failures

__all__ = ["BEGIN", "END", "PAGE", "main", "render"]

PAGE = Path(__file__).resolve().parent.parent / "docs" / "doctor.md"
BEGIN = "<!-- failures: begin (written by scripts/doctor_page.py) -->"
END = "<!-- failures: end -->"


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
    """Rewrite or check the page."""
    text = PAGE.read_text(encoding="utf-8")
    before, _, rest = text.partition(BEGIN)
    _, _, after = rest.partition(END)
    new = f"{before}{BEGIN}\n\n{render()}\n\n{END}{after}"
    if new == text:
        return 0
    if "--check" in (sys.argv[1:] if arguments is None else arguments):
        print("docs/doctor.md is out of date\nhint: python scripts/doctor_page.py")
        return 1
    PAGE.write_text(new, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
