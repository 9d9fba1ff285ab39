"""Settings of the service from a TOML file, checked field by field."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import fields
from pathlib import Path
from typing import Any

from jeton._foreign import toml_of
from jeton._nearest import nearest
from jeton.errors import RecordError, UsageError
from jeton.formats.reading import read_settings
from jeton.service.settings import ServiceLimits, ServiceSettings

_MAX_BYTES = 1 << 20
_KINDS: dict[str, tuple[tuple[type, ...], str]] = {
    **dict.fromkeys(
        ("tokenizers", "count_models", "templates", "models", "context_tokens", "limits"),
        ((dict,), "a table"),
    ),
    **dict.fromkeys(("compat", "template_arguments"), ((list,), "a list")),
    **dict.fromkeys(
        ("port", "drain_seconds", "stop_seconds", "reload_seconds"), ((int, float), "a number")
    ),
    **dict.fromkeys(("host", "endpoints", "shadow", "keys_file", "watch"), ((str,), "a text")),
}
_FIELDS = tuple(
    item.name for item in fields(ServiceSettings) if item.name not in ("keys", "limits")
)


def read_service_fields(path: str | os.PathLike[str]) -> dict[str, Any]:
    """Return the fields of `ServiceSettings` that a file has, and ``host`` and ``port``.

    Paths begin at the file's folder. Keys stand in a file of their own (``keys_file``).

    Raises:
        RecordError: The file is no TOML, or has a field that is not known.
        OSError: It cannot be read.
    """
    file = Path(path)
    text = read_settings(file, what="settings of the service", max_bytes=_MAX_BYTES)
    try:
        tree = toml_of(text)
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecordError(f"{file} is not TOML: {error}", path=str(file)) from None
    known = (*_FIELDS, "limits", "keys_file", "host", "port")
    _check_names(tree, known, str(file))
    for name, value in tree.items():
        kinds, words = _KINDS[name]
        if not isinstance(value, kinds) or isinstance(value, bool) or value == "":
            raise RecordError(f"{file}: {name} is {value!r}; expected {words}", path=str(file))
    limits = tree.pop("limits", {})
    _check_names(limits, [item.name for item in fields(ServiceLimits)], f"{file}, limits")
    try:
        found: dict[str, Any] = {"limits": ServiceLimits(**limits), **tree}
    except UsageError as error:
        raise RecordError(f"{file}: {error}", path=str(file)) from None
    folder = file.parent
    for name in ("count_models", "templates", "tokenizers"):
        if name in found:
            found[name] = {key: _placed(folder, value) for key, value in found[name].items()}
    for name in ("endpoints", "shadow", "watch"):
        if name in found:
            found[name] = _placed(folder, found[name])
    if "keys_file" in found:
        found["keys"] = read_keys(_placed(folder, found.pop("keys_file")))
    found["compat"] = tuple(found.get("compat", ()))
    if "template_arguments" in found:
        found["template_arguments"] = frozenset(found["template_arguments"])
    return found


def read_keys(path: str | os.PathLike[str]) -> dict[str, str]:
    """Return API keys by name: one ``NAME KEY`` a line; ``#`` begins a comment.

    Raises:
        RecordError: A line is not of that form, or there is no key.
        OSError: The file cannot be read.
    """
    keys: dict[str, str] = {}
    text = read_settings(Path(path), what="a file of keys", max_bytes=_MAX_BYTES)
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split("#")[0].split()
        if not words:
            continue
        # The line itself may be a secret, so no message quotes it.
        if len(words) != 2 or len(words[1]) < 8 or words[0] in keys or words[1] in keys.values():
            raise RecordError(
                f"{path}, line {number}: expected a new name and a new key (8 characters)",
                path=str(path),
                line=number,
            )
        keys[words[0]] = words[1]
    if not keys:
        raise RecordError(f"{path} has no key\nhint: one NAME KEY a line", path=str(path))
    return keys


def settings_from(given: Mapping[str, Any]) -> ServiceSettings:
    """Return settings from fields; ``host`` and ``port`` are left out."""
    return ServiceSettings(
        **{name: value for name, value in given.items() if name not in ("host", "port")}
    )


def _placed(folder: Path, value: Any) -> str:
    """Return a path that begins at a folder where it exists there, else the words as they are."""
    text = str(value)
    return str(folder / text) if (folder / text).exists() else text


def _check_names(tree: Mapping[str, Any], known: Any, where: str) -> None:
    for name in tree:
        if name not in known:
            near = nearest(name, known)
            offer = f"; the nearest are {', '.join(near)}" if near else ""
            raise RecordError(f"{where}: unknown field {name!r}{offer}", path=where)
