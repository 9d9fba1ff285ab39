"""Pin extras of a lock a second time: pip with hashes wants a line for ``pydantic[email]``, too.

``python scripts/pin_extras.py requirements/dev.lock``; `make lock` runs it behind uv, which writes
one line for a package and its extras.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

EXTRAS = {"pydantic": "email"}
"""Packages of a lock that another package asks for with an extra."""


def pinned(lock: str) -> str:
    """Return a lock with a line for each extra before the line of its package."""
    for name, extra in EXTRAS.items():
        line = re.compile(rf"^{name}(==.*\\\n(?:    --hash=\S+(?: \\)?\n)+)", re.MULTILINE)
        if f"{name}[{extra}]==" not in lock:
            lock = line.sub(rf"{name}[{extra}]\1\g<0>", lock)
    return lock


if __name__ == "__main__":
    for path in map(Path, sys.argv[1:]):
        path.write_text(pinned(path.read_text(encoding="utf-8")), encoding="utf-8")
