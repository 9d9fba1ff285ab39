"""One door for each danger: nothing in the package parses foreign files beside it."""

from __future__ import annotations

import re
from pathlib import Path

PACKAGE = Path(__file__).parents[2] / "python" / "jeton"

PARSERS = re.compile(r"\bjson\.loads?\(|\btomllib\.loads?\(|\bnp\.load\(|\bnumpy\.load\(")

OWN = re.compile(
    r"to_canonical|to_hf_json|__file__|json\.dumps|strict_json|cutting|_FILE|_TABLE|\.info\b"
)
"""Marks of lines that parse files of our own making."""

TRUSTED = {
    "_foreign.py",  # the door
    # Answers of our own processes.
    "benchmarking/processes.py", "benchmarking/worker.py", "chat/isolation.py", "chat/worker.py",
    "cluster/counting.py",
    # Files of the package.
    "catalog/_files.py", "corpus/languages.py", "formats/classes.py", "guard/characters.py",
    "checkpoint/vocabulary_tensors.py", "report/json_report.py", "report/tables.py",
    # Reads the strings of a report that is written here.
    "report/numbers.py",
}  # fmt: skip


def test_foreign_files_come_through_one_door() -> None:
    around = []
    for path in sorted(PACKAGE.rglob("*.py")):
        name = path.relative_to(PACKAGE).as_posix()
        # Stand-ins raise what the other library's parser raises.
        if name in TRUSTED or name.startswith(("compat/", "_reference/")):
            continue
        for number, line in enumerate(path.read_text(encoding="utf-8").split("\n"), 1):
            code = line.split("#")[0]
            if PARSERS.search(code) and not OWN.search(code) and ">>>" not in code:
                around.append(f"{name}:{number}: {line.strip()}")
    assert around == []
