"""Functions that take the fields of an options class as keywords, written down once."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar, cast

_Given = ParamSpec("_Given")
_Options = TypeVar("_Options")
_First = TypeVar("_First")
_Result = TypeVar("_Result")


def keywords_of(
    options: Callable[_Given, _Options],
) -> Callable[
    [Callable[[_First, _Options], _Result]], Callable[Concatenate[_First, _Given], _Result]
]:
    """Return a decorator: a function of one argument and options takes the options' keywords.

    Signature and ``help`` show the keywords, and the class of the options explains them.

    Example:
        >>> from dataclasses import dataclass
        >>> @dataclass(kw_only=True)
        ... class Options:
        ...     times: int = 1
        >>> @keywords_of(Options)
        ... def repeated(text: str, options: Options) -> str:
        ...     return text * options.times
        >>> repeated("ab", times=2)
        'abab'
    """

    def decorate(
        function: Callable[[_First, _Options], _Result],
    ) -> Callable[Concatenate[_First, _Given], _Result]:
        of_function = inspect.signature(function)
        first = next(iter(of_function.parameters.values()))
        keywords = inspect.signature(options).parameters.values()
        signature = of_function.replace(parameters=[first, *keywords])

        @wraps(function)
        def wrapper(*given: Any, **named: Any) -> _Result:
            values = signature.bind(*given, **named).arguments
            return function(values.pop(first.name), cast(Any, options)(**values))

        wrapper.__signature__ = signature  # type: ignore[attr-defined]
        fields = inspect.cleandoc(options.__doc__ or "").partition("Attributes:\n")[2]
        if fields and function.__doc__:
            wrapper.__doc__ = f"{inspect.cleandoc(function.__doc__)}\n\nOptions:\n{fields}"
        return cast(Callable[Concatenate[_First, _Given], _Result], wrapper)

    return decorate
