"""Facts about a template without running it, and reasons why one failed."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from jeton.errors import TemplateError, TemplateLimitError

# As transformers 5.23.0 looks for it (utils/chat_template_utils.py).
_BLOCK = re.compile(r"\{%[-+]?\s*generation\s*[-+]?%\}")
_SHOWN_CHARS = 100
"""Characters of a line of the template that an error shows."""
_QUOTED = re.compile(r"'([A-Za-z_]\w*)'")


def has_generation_block(source: str) -> bool:
    """True if a template marks what the assistant said."""
    return _BLOCK.search(source) is not None


def explained(
    error: TemplateError, source: str, messages: Sequence[Mapping[str, Any]]
) -> TemplateError:
    """The error with the line of the template, and with what in the messages may be the reason."""
    if isinstance(error, TemplateLimitError) or error.reason not in ("undefined", "failed"):
        return error
    words = str(error).rstrip(".")
    excerpt = _excerpt(source, error)
    if excerpt:
        words += f"; it reads {excerpt!r}"
    field = _text_arguments(messages)
    if field is not None and "arguments" in source:
        words += (
            f"\nhint: {field} is a text, and the template may want a mapping: json.loads it first"
        )
    return TemplateError(
        words, reason=error.reason, line=error.line, kind=error.kind, said=error.said
    )


def _excerpt(source: str, error: TemplateError) -> str:
    """The line at fault; of a long one the part around the name that the error quotes."""
    lines = source.splitlines()
    if error.line is None or not 0 < error.line <= len(lines):
        return ""
    line = lines[error.line - 1].strip()
    if len(line) <= _SHOWN_CHARS:
        return line
    for name in reversed(_QUOTED.findall(error.said)):
        at = line.find(name)
        if at >= 0:
            start = max(0, at + len(name) // 2 - _SHOWN_CHARS // 2)
            return line[start : start + _SHOWN_CHARS]
    return ""


def _text_arguments(messages: Sequence[Mapping[str, Any]]) -> str | None:
    """Where a tool call has its arguments as JSON in a string, as OpenAI's interface has them."""
    for i, message in enumerate(messages):
        calls = message.get("tool_calls")
        for j, call in enumerate(calls if isinstance(calls, list) else ()):
            if not isinstance(call, Mapping):
                continue
            inside = call.get("function")
            holder = inside if isinstance(inside, Mapping) else call
            if isinstance(holder.get("arguments"), str):
                within = ".function" if holder is inside else ""
                return f"messages[{i}].tool_calls[{j}]{within}.arguments"
    return None
