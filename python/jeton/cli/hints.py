"""Errors of ours as the command line shows them: each has a hint, by its class if not by itself.

The library's messages speak of arguments (``field=``). A user of the shell reads options.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping

from jeton.errors import (
    EmptyCorpusError,
    FormatError,
    InvalidTextError,
    JetonError,
    LimitError,
    ModelConfigError,
    PatternError,
    RecordError,
    TemplateError,
)

_BY_CLASS: Mapping[type[JetonError], str] = {
    EmptyCorpusError: "give files that hold text",
    FormatError: "fetch the file again, or write it anew",
    InvalidTextError: "write the text as UTF-8",
    LimitError: "give less at once",
    ModelConfigError: "give the model's config.json, as it was published",
    PatternError: "correct the pattern",
    RecordError: "correct that place of the file",
    TemplateError: "correct the chat template",
}


def jeton_message(error: JetonError) -> str:
    """The words of an error of ours, with a hint."""
    message = str(error)
    if "\nhint: " in message:
        return message
    hint = next((text for kind, text in _BY_CLASS.items() if isinstance(error, kind)), None)
    return message if hint is None else f"{message}\nhint: {hint}"


_VALUE = re.compile(r"\b[a-z_]+=('[^']*'|[^\s,;()]*) \((--[a-z-]+)\)")
"""An argument with its value, and the option that takes it."""

_BOTH = (
    re.compile(r"(--[a-z-]+(?: [A-Z]+)?) \([a-z_]+=[^)]*\)"),
    re.compile(r"[a-z_]+=(?:\.\.\.|'[^']*'), (--?[a-z-]+(?: [a-z]+)?)"),
)
"""An argument and the option that means it; the option stays."""

_ARGUMENT = re.compile(r"(?<![\w-])([a-z_]+)=('[^']*'|[\w.]*\w)?")
_ITERATOR = re.compile(r"to pass texts, pass an iterator: iter\(texts\)")


def in_options(message: str, options: Collection[str]) -> str:
    """Return a message whose arguments of Python are options of a command, where it has them.

    Example:
        >>> in_options("name one with field= (--field), or pattern='gpt2'", {"--pattern"})
        'name one with --field, or --pattern gpt2'
    """

    def option(match: re.Match[str]) -> str:
        name = f"--{match[1].replace('_', '-')}"
        if name not in options:
            return match[0]
        value = (match[2] or "").strip("'")
        return f"{name} {value}" if value and value != "True" else name

    message = _VALUE.sub(_with_value, message)
    for both in _BOTH:
        message = both.sub(r"\1", message)
    texts = "--text gives a text" if "--text" in options else "- reads a text from standard input"
    return _ARGUMENT.sub(option, _ITERATOR.sub(texts, message))


def _with_value(match: re.Match[str]) -> str:
    value = match[1]
    return match[2] if value in ("", "...", "True") else f"{match[2]} {value}"
