"""Results in a notebook: a short line, a page, a table.

A result names the function that makes its page; the function is found when it is asked for, so that
results need not know how pages look.
"""

from __future__ import annotations

import html
import os
from collections.abc import Iterable
from dataclasses import fields, is_dataclass
from decimal import Decimal
from enum import Enum
from importlib import import_module
from typing import Any, ClassVar

_PLAIN = (str, int, float, Decimal, bool, type(None))


class NotebookResult:
    """A result that shows itself.

    Attributes:
        _page: The function that makes the page, as ``module:name``.
        _table: The field whose members are the rows of a table; empty: the result is one row.
        _line: The fields that stand in the short line.
    """

    __slots__ = ()
    _page: ClassVar[str] = "jeton.report.plain_page:plain_html"
    _table: ClassVar[str] = ""
    _line: ClassVar[tuple[str, ...]] = ()

    def __init_subclass__(cls) -> None:
        # A dataclass leaves a __repr__ alone that is the class's own.
        cls.__repr__ = NotebookResult.__repr__  # type: ignore[method-assign]

    def to_html(self) -> str:
        """The page of the result, as one self-contained HTML text."""
        module, name = self._page.split(":")
        page: str = getattr(import_module(module), name)(self)
        return page

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all."""
        from jeton._files import write_whole

        write_whole(path, self.to_html())

    def to_pandas(self) -> Any:
        """The result's table as a ``pandas.DataFrame``; pandas has to be installed.

        Raises:
            ImportError: It is not.
        """
        import pandas  # type: ignore[import-untyped, import-not-found, unused-ignore]

        return pandas.DataFrame(self._rows())

    def _rows(self) -> list[dict[str, Any]]:
        """The rows of the table: the plain values of each member."""
        found = getattr(self, self._table) if self._table else [self]
        return flat_rows(found)

    def _repr_html_(self) -> str:
        page = html.escape(self.to_html(), quote=True)
        return (
            f'<iframe srcdoc="{page}" title="{type(self).__name__}" loading="lazy" '
            'style="width:100%;height:640px;border:1px solid #9aa5b1"></iframe>'
        )

    def __repr__(self) -> str:
        said = [_said(name, getattr(self, name)) for name in self._line]
        return f"{type(self).__name__}({', '.join(said)})"


def flat_rows(members: Iterable[Any]) -> list[dict[str, Any]]:
    """The plain values of dataclasses, as the rows of a table."""
    return [_flat(member) for member in members]


def _said(name: str, value: Any) -> str:
    """A field in the short line: a number of members, or a value."""
    if isinstance(value, tuple | list | dict):
        return f"{len(value):,} {name.removesuffix('s') if len(value) == 1 else name}"
    if isinstance(value, int):
        return f"{name}={value:,}"
    return f"{name}={value!r}"


def _flat(row: Any) -> dict[str, Any]:
    """Plain values of a member; its own members have joined names."""
    values: dict[str, Any] = {}
    for field in fields(row):
        value = getattr(row, field.name)
        if isinstance(value, list | tuple) and all(isinstance(v, _PLAIN) for v in value):
            value = ", ".join(map(str, value))
        if isinstance(value, _PLAIN):
            values[field.name] = value.value if isinstance(value, Enum) else value
        elif is_dataclass(value):
            inner = {f"{field.name}.{f.name}": getattr(value, f.name) for f in fields(value)}
            for name, part in inner.items():
                if isinstance(part, _PLAIN):
                    values[name] = part.value if isinstance(part, Enum) else part
    return values
