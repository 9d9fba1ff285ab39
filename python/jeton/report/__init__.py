"""How reports look: JSON, terminal, Markdown, and one HTML page. The only layer that knows looks.

Every form is made from `AuditReport.to_dict`, so that all show the same numbers. A form is imported
when it is first used: most runs want one or two of them.
"""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Any

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


def __getattr__(name: str) -> Any:
    """Import a public name on first use (PEP 562)."""
    module = _LAZY.get(name)
    if module is None:
        raise AttributeError(f"module 'jeton.report' has no attribute {name!r}")
    value = getattr(import_module(module), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """The public names, whether imported yet or not."""
    return sorted(__all__)
