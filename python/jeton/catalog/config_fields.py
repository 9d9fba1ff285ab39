"""Fields of a ``config.json``, checked as they are read, with the defaults of its class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from jeton.errors import ModelConfigError

_MAX_SIZE: Final = 1 << 40
"""No size of a model is larger; products of two stay within integers that JSON keeps exactly."""

_OTHER_WAYS: Final = (
    "hint: use the config.json of the model's repository, or a model of the catalog "
    "(`jeton catalog models`)"
)

_STATE_BYTES: Final = {"float32": 4, "float16": 2, "bfloat16": 2}


class ConfigFields:
    """The fields of a configuration, by the names that classes give them.

    Attributes:
        values: The text part of the file.
        where: The file, for errors.
        defaults: Values that the class takes where the file says nothing.
    """

    __slots__ = ("defaults", "values", "where")

    def __init__(
        self, values: Mapping[str, Any], where: str, defaults: Mapping[str, Any] | None = None
    ) -> None:
        self.values = values
        self.where = where
        self.defaults = defaults or {}

    def get(self, name: str) -> Any:
        """Return a field as it stands, or the class's default; None without either."""
        return self.values[name] if name in self.values else self.defaults.get(name)

    def size(self, *names: str, default: int | None = None) -> int:
        """Return the first of these fields that is there, a whole number of at least 0.

        Raises:
            ModelConfigError: None is there and there is no default, or it is no size.
        """
        for source in (self.values, self.defaults):
            for name in names:
                value = source.get(name)
                # A null of the file says that there is none; no default of the class counts.
                if value is None or (source is self.defaults and name in self.values):
                    continue
                if isinstance(value, list) and value and len(set(map(str, value))) == 1:
                    value = value[0]  # Hunyuan lists one number for each layer.
                if isinstance(value, bool) or not isinstance(value, int):
                    raise self.error(name, f"is {str(value)[:60]!r}, expected a whole number")
                if not 0 <= value < _MAX_SIZE:
                    raise self.error(name, f"is {str(value)[:60]}, expected a size from 0 to 2^40")
                if value == 0 and default is None:
                    raise self.error(name, "is 0, expected at least 1")
                return value
        if default is None:
            others = f" (nor {', '.join(names[1:])})" if len(names) > 1 else ""
            kind = self.values.get("model_type")
            of = f" of a {kind!r} model" if kind else ""
            raise ModelConfigError(
                f"{self.where}: the configuration{of} has no field {names[0]!r}{others}\n"
                + _OTHER_WAYS,
                field=names[0],
            )
        return default

    def flag(self, *names: str, default: bool) -> bool:
        """Return the first of these fields that is there, as yes or no."""
        for source in (self.values, self.defaults):
            for name in names:
                value = source.get(name)
                if isinstance(value, bool):
                    return value
        return default

    def state_bytes(self) -> int:
        """Return the bytes of an element of a recurrent state; 0: the model's own."""
        name = self.get("mamba_ssm_cache_dtype") or self.get("mamba_ssm_dtype")
        return _STATE_BYTES.get(str(name).removeprefix("torch."), 0)

    def inner(self, name: str) -> ConfigFields:
        """Return the fields of a table within, before those around it."""
        table = self.values.get(name)
        own = table if isinstance(table, Mapping) else {}
        return ConfigFields({**self.values, **own}, self.where, self.defaults)

    def error(self, name: str, words: str) -> ModelConfigError:
        """Return the error that a field deserves."""
        return ModelConfigError(f"{self.where}: field {name!r} {words}\n{_OTHER_WAYS}", field=name)
