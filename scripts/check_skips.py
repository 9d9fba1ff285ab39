"""Fail when a test was skipped although what it needs is, or should be, there.

Reads the JUnit file of a pytest run. A skip for want of the shared data is a failure where that
data lies beside the project; a skip for want of a browser or a package is a failure
under continuous integration (``CI=true``). Silent when all is well, so that pytest's own last line
stays last.
"""

from __future__ import annotations

import argparse
import os
import re
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterator
from pathlib import Path

__all__ = ["forbidden_skips", "main", "skips"]

SHARED_REASON = re.compile(r"\bshared\b", re.IGNORECASE)
BROWSER_REASON = re.compile(r"\b(chromium|browser|playwright)\b", re.IGNORECASE)
MISSING_PACKAGE = re.compile(r"could not import ", re.IGNORECASE)
"""As ``pytest.importorskip`` says it: CI has installed all packages, so none may be missing."""


def skips(junit: Path) -> Iterator[tuple[str, str]]:
    """Yield (test, reason) for each skipped test of a JUnit file; expected failures are not skips.

    Raises:
        OSError: the file cannot be read.
        xml.etree.ElementTree.ParseError: it is not XML.
    """
    for case in ET.parse(junit).getroot().iter("testcase"):
        for skipped in case.findall("skipped"):
            if skipped.get("type") == "pytest.xfail":
                continue
            name = f"{case.get('classname', '')}::{case.get('name', '')}"
            yield name, f"{skipped.get('message') or ''} {skipped.text or ''}".strip()


def forbidden_skips(
    junit: Path, *, shared_exists: bool, continuous_integration: bool
) -> list[tuple[str, str]]:
    """Return the skips that this machine has no excuse for."""
    patterns = []
    if shared_exists:
        patterns.append(SHARED_REASON)
    if continuous_integration:
        patterns += [BROWSER_REASON, MISSING_PACKAGE]
    return [
        (name, reason)
        for name, reason in skips(junit)
        if any(pattern.search(_without_paths(reason)) for pattern in patterns)
    ]


def _without_paths(reason: str) -> str:
    """Drop words that hold a slash: the file that a skip comes from says nothing of its cause."""
    return " ".join(word for word in reason.split() if "/" not in word and "\\" not in word)


def main(arguments: list[str] | None = None) -> int:
    """Return 0 when every skip is excused, 1 when one is not, 2 when the file cannot be read."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("junit", type=Path, help="the file of `pytest --junit-xml`")
    parser.add_argument("--shared", type=Path, required=True, help="folder of the shared data")
    options = parser.parse_args(arguments)
    try:
        found = forbidden_skips(
            options.junit,
            shared_exists=options.shared.is_dir(),
            continuous_integration=os.environ.get("CI", "").lower() == "true",
        )
    except (OSError, ET.ParseError) as error:
        print(f"error: {options.junit}: {error}", file=sys.stderr)
        return 2
    for name, reason in found:
        print(f"error: {name} was skipped though it can run here: {reason}", file=sys.stderr)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
