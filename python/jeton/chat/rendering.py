"""Compiling and rendering a template in this process.

Every fault of a template becomes one error that names the fault. This code runs in the caller's
process (templates that are trusted) and in the child that can be killed.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from types import TracebackType
from typing import Any

from jinja2 import Template, nodes
from jinja2.exceptions import SecurityError, TemplateSyntaxError, UndefinedError
from jinja2.exceptions import TemplateError as JinjaError

from jeton.chat.environment import ChatEnvironment, RefusedError
from jeton.chat.limits import stopped
from jeton.chat.text import Run, Text, runs_of
from jeton.errors import TemplateError

_FILE = "<template>"
"""The name that Jinja gives to templates without a file."""
_MAX_MESSAGE = 500
"""Characters of a foreign message that an error repeats."""


class Compiled:
    """A compiled template."""

    def __init__(self, source: str) -> None:
        environment = ChatEnvironment()
        try:
            self._literals = _literals(environment, source)
            self._template: Template = environment.from_string(source)
        except Exception as error:
            raise named(error, None) from error

    @property
    def literals(self) -> tuple[str, ...]:
        """The text that the template writes, and its string constants."""
        return self._literals

    def render(
        self, variables: Mapping[str, Any], *, max_chars: int
    ) -> tuple[str, tuple[Run, ...]]:
        """The text of a template and its runs.

        Raises:
            TemplateError: The template failed or refused; ``reason`` says which.
            TemplateLimitError: The text is longer than ``max_chars``, or the template recursed.
        """
        pieces: list[str] = []
        n_chars = 0
        try:
            context = self._template.new_context(dict(variables))
            for piece in self._template.root_render_func(context):
                n_chars += len(piece)
                if n_chars > max_chars:
                    raise stopped("output", limit=f"{max_chars} characters")
                pieces.append(piece)
        except Exception as error:
            raise named(error, self._template) from error
        text = ChatEnvironment.concat(pieces)
        return str.__str__(Text(text)), runs_of(text)


def _literals(environment: ChatEnvironment, source: str) -> tuple[str, ...]:
    tree = environment.parse(source)
    found = [node.data for node in tree.find_all(nodes.TemplateData)]
    found += [node.value for node in tree.find_all(nodes.Const) if isinstance(node.value, str)]
    return tuple(dict.fromkeys(found))


def named(error: Exception, template: Template | None) -> TemplateError:
    """The error of a template as one of ours."""
    if isinstance(error, TemplateError):
        return error
    line = getattr(error, "lineno", None) or _line(error.__traceback__, template)
    said = _plain(str(error))[:_MAX_MESSAGE]
    where = "" if line is None else f" in line {line}"
    if isinstance(error, RecursionError):
        return stopped("recursion", limit="Python's stack", line=line)
    if isinstance(error, MemoryError):
        return stopped("memory", limit="what there is", line=line)
    if isinstance(error, OverflowError):
        return stopped("size", limit=said, line=line)
    kind = type(error).__name__
    if isinstance(error, RefusedError):
        reason, what, kind = "refused", "refuses", "TemplateError"
    elif isinstance(error, SecurityError):
        reason, what = "security", "reaches outside"
    elif isinstance(error, TemplateSyntaxError):
        reason, what = "syntax", "cannot be read"
    elif isinstance(error, UndefinedError):
        reason, what = "undefined", "needs something that is not there"
    else:
        reason, what = "failed", "failed"
    named_kind = "" if isinstance(error, JinjaError) else f"{kind}: "
    return TemplateError(
        f"the chat template {what}{where}: {named_kind}{said}",
        reason=reason,
        line=line,
        kind=kind,
        said=said,
    )


# Strings and mappings of a template are of classes of ours; a template's author knows Python's.
_OWN_CLASSES = (
    (re.compile(r"\bjeton\.chat\.text\.Text\b|(?<=')Text(?=')|\bText(?= object\b)"), "str"),
    (re.compile(r"\bjeton\.chat\.\w+\._?(?=\w)|(?<=')_(?=(?:Namespace|Dict|Json)')"), ""),
)


def _plain(said: str) -> str:
    """A message without the names of classes of this package."""
    for pattern, name in _OWN_CLASSES:
        said = pattern.sub(name, said)
    return said


def _line(traceback: TracebackType | None, template: Template | None) -> int | None:
    """The line of the template that was at work last."""
    line = None
    while traceback is not None:
        if template is not None and traceback.tb_frame.f_code.co_filename == _FILE:
            line = template.get_corresponding_lineno(traceback.tb_lineno)
        traceback = traceback.tb_next
    return line
