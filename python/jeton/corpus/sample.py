"""The small sample that comes with the package: notes of three kinds, a log of requests, and terms.

All of it was written for this purpose; people, cases and numbers are invented.
"""

from __future__ import annotations

from pathlib import Path

_FOLDER = Path(__file__).resolve().parent.parent / "sample"


def sample_files() -> dict[str, bytes]:
    """The files of the sample by their path in its folder."""
    files = sorted(path for path in _FOLDER.rglob("*") if path.suffix in (".jsonl", ".txt"))
    return {path.relative_to(_FOLDER).as_posix(): path.read_bytes() for path in files}
