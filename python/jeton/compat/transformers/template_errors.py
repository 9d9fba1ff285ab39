"""Errors of chat templates as ``transformers`` raises them, and as Jeton's besides."""

from __future__ import annotations

import builtins
from typing import Any

import jinja2.exceptions

from jeton.errors import TemplateError, TemplateLimitError

__all__ = ["as_jinja"]


def as_jinja(error: TemplateError) -> TemplateError:
    """The error, of the class that Jinja or Python has for it, too.

    A refusal (``raise_exception``) reads exactly as the template words it: programs look for those
    words to find out that a model has no system role.
    """
    kind = _class_of(error.kind)
    if kind is None or isinstance(error, TemplateLimitError):
        return error
    words = error.said if error.reason == "refused" else str(error)
    made: TemplateError = _joined(kind)(words, error)
    return made


def _class_of(name: str) -> type[Exception] | None:
    for module in (jinja2.exceptions, builtins):
        found = getattr(module, name, None)
        if isinstance(found, type) and issubclass(found, Exception):
            return found
    return None


_made: dict[type[Exception], Any] = {}


def _joined(kind: type[Exception]) -> Any:
    """A class of errors that is both; the same one each time."""
    if kind not in _made:
        _made[kind] = _class(kind)
    return _made[kind]


def _class(kind: type[Exception]) -> Any:

    def init(self: Any, words: str, error: TemplateError) -> None:
        # Jinja's classes take arguments of their own, which are known already.
        Exception.__init__(self, words)
        self.reason, self.line = error.reason, error.line
        self.kind, self.said = error.kind, error.said
        if issubclass(kind, jinja2.exceptions.TemplateSyntaxError):
            self.lineno = error.line or 1
            self.name = self.filename = self.source = None
            self.translated = False

    scope = {
        "__init__": init,
        "__str__": Exception.__str__,
        "__reduce__": _reduce,
        "__module__": __name__,
        "__doc__": f"A chat template failed with a {kind.__name__}.",
    }
    return type(kind.__name__, (TemplateError, kind), scope)


def _reduce(self: Any) -> Any:
    return _again, (str(self), self.reason, self.line, self.kind, self.said)


def _again(words: str, reason: str, line: int | None, kind: str, said: str) -> TemplateError:
    return as_jinja(TemplateError(words, reason=reason, line=line, kind=kind, said=said))
