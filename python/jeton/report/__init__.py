"""How reports look: JSON, terminal, Markdown, and one HTML page. The only layer that knows looks.

Every form is made from `AuditReport.to_dict`, so that all show the same numbers.
"""

from __future__ import annotations

from jeton.report.json_report import safe_json, schema, to_json, write_json
from jeton.report.markdown import to_markdown
from jeton.report.page import to_html, write_html
from jeton.report.terminal import print_audit

__all__ = [
    "print_audit",
    "safe_json",
    "schema",
    "to_html",
    "to_json",
    "to_markdown",
    "write_html",
    "write_json",
]
