"""The JSON report: schema ``jeton.audit/2``, money as decimal strings."""

from __future__ import annotations

import json
import os
import re
from importlib.resources import files
from typing import TYPE_CHECKING, Any

from jeton._files import write_whole

if TYPE_CHECKING:
    from jeton.auditing.result import AuditReport

# Characters that are legal inside JSON strings but that change how a file reads or breaks readers:
# DEL and C1 controls, line and paragraph separators, direction controls, invisible characters (tag
# characters among them), and surrogates, which UTF-8 cannot carry. (C0 controls are escaped by the
# encoder already.)
_HAZARDS = re.compile(
    "[\x7f-\x9f\xad\u061c\u180e\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff"
    "\ud800-\udfff\U000e0000-\U000e007f]"
)
# Characters that could end the script element or start an entity where the JSON stands inside HTML.
_HTML_HAZARDS = re.compile("[<>&]")


def to_json(report: AuditReport) -> str:
    """Return the report as JSON text with a line end; the same report gives the same text.

    Raises:
        ValueError: A figure is not a finite number (JSON has none such).
    """
    return safe_json(report.to_dict())


def safe_json(data: dict[str, Any]) -> str:
    """Return any of our results as JSON text with a line end, its hazards escaped.

    Raises:
        ValueError: A figure is not a finite number.
    """
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, indent=2)
    return _HAZARDS.sub(_escape, text) + "\n"


def embed_json(data: dict[str, Any]) -> str:
    """Return compact JSON that is inert inside an HTML ``script`` element."""
    text = json.dumps(data, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    return _HTML_HAZARDS.sub(_escape, _HAZARDS.sub(_escape, text))


def write_json(report: AuditReport, path: str | os.PathLike[str]) -> None:
    """Write the report as JSON, whole or not at all.

    Raises:
        OSError: The file cannot be written.
    """
    write_whole(path, to_json(report))


def schema() -> dict[str, Any]:
    """Return the JSON Schema (draft 2020-12) that every report of this version satisfies."""
    text = files("jeton.report").joinpath("schema/audit-2.schema.json").read_text(encoding="utf-8")
    data: dict[str, Any] = json.loads(text)
    return data


def _escape(match: re.Match[str]) -> str:
    units = match.group().encode("utf-16-be", "surrogatepass").hex()
    return "".join(f"\\u{units[start : start + 4]}" for start in range(0, len(units), 4))
