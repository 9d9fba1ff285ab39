"""Parts of SARIF 2.1.0 files that all of our writers share: log, rules, addresses, fingerprints."""

from __future__ import annotations

import os
from collections.abc import Sequence
from hashlib import blake2b
from pathlib import PurePath
from typing import Any
from urllib.parse import quote

from jeton._core import __version__

SARIF_SCHEMA = (
    "https://docs.oasis-open.org/sarif/sarif/v2.1.0/errata01/os/schemas/sarif-schema-2.1.0.json"
)
"""Published address of the schema (OASIS, errata 01, 2023-08-28)."""

_NO_SOURCES = ("-", "<texts>")
"""Inputs that are no files: standard input and texts in memory."""


def sarif_log(
    category: str,
    rules: Sequence[dict[str, Any]],
    results: Sequence[dict[str, Any]],
    uris: Sequence[str],
    properties: dict[str, Any],
) -> dict[str, Any]:
    """Return a log with one run; the category parts its alerts from those of other runs."""
    return {
        "$schema": SARIF_SCHEMA,
        "version": "2.1.0",
        "runs": [
            {
                "tool": {
                    "driver": {
                        "name": "jeton",
                        "version": __version__,
                        "semanticVersion": __version__,
                        "rules": list(rules),
                    }
                },
                "columnKind": "unicodeCodePoints",
                "automationDetails": {"id": category},
                "artifacts": [{"location": {"uri": uri}} for uri in uris],
                "results": list(results),
                "properties": properties,
            }
        ],
    }


def rule_entry(rule: str, short: str, full: str, level: str, help_: str) -> dict[str, Any]:
    """Return a rule with its help."""
    return {
        "id": rule,
        "shortDescription": {"text": short},
        "fullDescription": {"text": full},
        # Services for code scanning want it beside the descriptions.
        "help": {"text": help_},
        "defaultConfiguration": {"level": level},
    }


def is_file(source: str) -> bool:
    """True if an input is a file, not standard input or texts in memory."""
    return bool(source) and source not in _NO_SOURCES


def file_uri(source: str) -> str:
    """Return a path as a URI reference; bytes that are not UTF-8 are escaped as they are."""
    path = PurePath(source)
    escaped = quote(os.fsencode(path.as_posix()), safe="/")
    if path.is_absolute():
        return f"file://{escaped}"
    # A first segment with a colon would read as a scheme; quote() has escaped it.
    return escaped


def digest(*parts: str) -> str:
    """Return a fingerprint of some texts."""
    text = "\0".join(parts).encode("utf-8", "surrogateescape")
    return blake2b(text, digest_size=16).hexdigest()
