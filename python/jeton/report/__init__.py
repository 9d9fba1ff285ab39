"""How reports look: JSON, terminal, Markdown, and one HTML page.

An audit is made once into a tree (`tree`, `sections`) from `AuditReport.to_dict`; `terminal`,
`markdown` and `page` write the same tree. A form is imported when it is first used: most runs want
one or two of them. Each other page (`compare`, `sweep`, `route`, `plans`, `inspector`,
`prediction`) has a module with a template in ``templates/``.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
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

_LAZY = {
    "print_audit": "jeton.report.terminal",
    "safe_json": "jeton.report.json_report",
    "schema": "jeton.report.json_report",
    "to_html": "jeton.report.page",
    "to_json": "jeton.report.json_report",
    "to_markdown": "jeton.report.markdown",
    "write_html": "jeton.report.page",
    "write_json": "jeton.report.json_report",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
