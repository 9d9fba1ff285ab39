"""Errors of ours as the command line shows them: each has a hint, by its class if not by itself."""

from __future__ import annotations

from collections.abc import Mapping

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

__all__ = ["jeton_message"]

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
