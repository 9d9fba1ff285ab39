"""Settings of the service, checked once when they are made."""

from __future__ import annotations

import os
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from jeton._foreign import toml_of
from jeton._nearest import nearest
from jeton.errors import RecordError, UsageError
from jeton.formats.reading import read_settings
from jeton.registry import TokenizerLike

TEMPLATE_ARGUMENTS = frozenset(
    {"enable_thinking", "thinking", "reasoning_effort", "preserve_thinking", "date_string"}
)
"""Variables that published templates read and that cost nothing; others are refused."""


@dataclass(frozen=True, slots=True)
class ServiceLimits:
    """Limits that keep one client from taking what all clients share.

    Attributes:
        max_body_bytes: Bytes of a request's body, counted as they come.
        max_tokens: Tokens of one request, counted or made.
        max_texts: Texts, or lists of ids, of one request.
        max_tokenizers: Tokenizers of one comparison.
        n_workers: Threads that encode; None: the cores that this process may use.
        max_waiting: Requests that wait for a thread; more are answered 503.
        max_held_bytes: Bytes of all bodies in memory at once; more are answered 503.
        max_connections: Open connections; more are answered 503.
        requests_per_minute: Requests of one key (or address) a minute; None: no limit.
        burst: Requests that a key may send at once before the rate counts.
        header_seconds: Time in which a request's header has to come.
        body_seconds: Time in which its body has to come.
        max_header_bytes: Bytes of a request's header.
        max_uploads: Tokenizer files that clients may have loaded at once; 0: none.
    """

    max_body_bytes: int = 16 << 20
    max_tokens: int = 4_000_000
    max_texts: int = 10_000
    max_tokenizers: int = 6
    n_workers: int | None = None
    max_waiting: int = 512
    max_held_bytes: int = 512 << 20
    max_connections: int = 4096
    requests_per_minute: int | None = None
    burst: int = 60
    header_seconds: float = 10.0
    body_seconds: float = 60.0
    max_header_bytes: int = 64 << 10
    max_uploads: int = 4

    def __post_init__(self) -> None:
        for item in fields(self):
            value = getattr(self, item.name)
            least = 0 if item.name == "max_uploads" else 1
            if value is None and item.name in ("n_workers", "requests_per_minute"):
                continue
            if isinstance(value, bool) or not isinstance(value, int | float) or value < least:
                raise UsageError(f"{item.name} is {value!r}; expected a number of at least {least}")


@dataclass(frozen=True, slots=True)
class ServiceSettings:
    """Settings of a service.

    Attributes:
        tokenizers: Tokenizers by the name that requests use; the first one is the default.
        compat: Shapes of other servers' routes, each ``NAME`` or ``NAME=/PREFIX``.
        keys: API keys by a name that logs may show; empty: everybody may ask.
        limits: The limits.
        count_models: Files of ``jeton predict calibrate``, by name of tokenizer.
        endpoints: File of endpoints for ``/v1/route``; None: the route answers 404.
        templates: Files of chat templates by the name of the tokenizer that they belong to.
        template_arguments: Variables of templates that requests may set.
        models: Tokenizer by pattern of a model's name (``gpt-*``), for other servers' routes.
        context_tokens: Context of the model by name of tokenizer, for answers that state it.
        shadow: Plan of a mirror (`jeton.service.mirror`); None: nothing is forwarded.
        drain_seconds: Time between a failing readiness and the end of listening.
        stop_seconds: Time that running requests have after that.
        reload_seconds: Time between looks at the tokenizers' files; None: only on SIGHUP.
        watch: Watch the drift of the counted texts: a file of ``jeton watch --save-baseline``, or
            ``-`` to learn from the first texts; empty: no watch.
    """

    tokenizers: Mapping[str, TokenizerLike]
    compat: tuple[str, ...] = ()
    keys: Mapping[str, str] = field(default_factory=dict)
    limits: ServiceLimits = field(default_factory=ServiceLimits)
    count_models: Mapping[str, str | Path] = field(default_factory=dict)
    endpoints: str | Path | None = None
    templates: Mapping[str, str | Path] = field(default_factory=dict)
    template_arguments: frozenset[str] = TEMPLATE_ARGUMENTS
    models: Mapping[str, str] = field(default_factory=dict)
    context_tokens: Mapping[str, int] = field(default_factory=dict)
    shadow: str | Path | None = None
    drain_seconds: float = 2.0
    stop_seconds: float = 30.0
    reload_seconds: float | None = None
    watch: str = ""

    def __post_init__(self) -> None:
        if not self.tokenizers:
            raise UsageError("the service has no tokenizer\nhint: --tokenizer NAME=T")
        for what, names in (
            ("count model", self.count_models),
            ("template", self.templates),
            ("context", self.context_tokens),
            ("model", self.models.values()),
        ):
            for name in names:
                if name not in self.tokenizers:
                    raise UsageError(
                        f"the {what} {name!r} belongs to no tokenizer; "
                        f"they are {', '.join(self.tokenizers)}"
                    )


# Settings of the service from a TOML file, checked field by field.

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
    tree = read_tree(file, what="settings of the service")
    known = (*_FIELDS, "limits", "keys_file", "host", "port")
    check_names(tree, known, str(file))
    for name, value in tree.items():
        kinds, words = _KINDS[name]
        if not isinstance(value, kinds) or isinstance(value, bool) or value == "":
            raise RecordError(f"{file}: {name} is {value!r}; expected {words}", path=str(file))
    limits = tree.pop("limits", {})
    check_names(limits, [item.name for item in fields(ServiceLimits)], f"{file}, limits")
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


def read_tree(file: Path, *, what: str) -> dict[str, Any]:
    """Return the tables of a TOML file; ``what`` it holds stands in messages.

    Raises:
        RecordError: The file is no TOML, or too large.
        OSError: It cannot be read.
    """
    try:
        return toml_of(read_settings(file, what=what, max_bytes=_MAX_BYTES))
    except (tomllib.TOMLDecodeError, RecursionError) as error:
        raise RecordError(f"{file} is not TOML: {error}", path=str(file)) from None


def check_names(tree: Mapping[str, Any], known: Any, where: str) -> None:
    """Refuse a name that is not known.

    Raises:
        RecordError: There is one; the nearest known ones are named.
    """
    for name in tree:
        if name not in known:
            near = nearest(name, known)
            offer = f"; the nearest are {', '.join(near)}" if near else ""
            raise RecordError(f"{where}: unknown field {name!r}{offer}", path=where)
