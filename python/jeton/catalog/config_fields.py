"""Fields of a ``config.json``, checked as they are read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from jeton.errors import ModelConfigError

__all__ = ["ConfigFields"]

_MAX_SIZE = 1 << 40


class ConfigFields:
    """The fields of a configuration, by the names that classes give them.

    Attributes:
        values: The text part of the file.
        where: The file, for errors.
    """

    __slots__ = ("values", "where")

    def __init__(self, values: Mapping[str, Any], where: str) -> None:
        self.values = values
        self.where = where

    def size(self, *names: str, default: int | None = None) -> int:
        """Return the first of these fields that is there, a whole number of at least 0.

        Raises:
            ModelConfigError: None is there and there is no default, or it is no size.
        """
        for name in names:
            value = self.values.get(name)
            if value is None:
                continue
            if isinstance(value, bool) or not isinstance(value, int) or not 0 <= value < _MAX_SIZE:
                raise self.error(name, f"is {str(value)[:60]!r}, expected a whole number")
            if value == 0 and default is None:
                raise self.error(name, "is 0, expected at least 1")
            return value
        if default is None:
            others = f" (nor {', '.join(names[1:])})" if len(names) > 1 else ""
            kind = self.values.get("model_type")
            of = f" of a {kind!r} model" if kind else ""
            raise ModelConfigError(
                f"{self.where}: the configuration{of} has no field {names[0]!r}{others}\n"
                "hint: use the config.json of the model's repository, or a model of the catalog "
                "(`jeton catalog models`)",
                field=names[0],
            )
        return default

    def flag(self, *names: str, default: bool) -> bool:
        """Return the first of these fields that is there, as yes or no."""
        for name in names:
            value = self.values.get(name)
            if isinstance(value, bool):
                return value
        return default

    def error(self, name: str, words: str) -> ModelConfigError:
        """Return the error that a field deserves."""
        return ModelConfigError(
            f"{self.where}: field {name!r} {words}\n"
            "hint: use the config.json of the model's repository",
            field=name,
        )
