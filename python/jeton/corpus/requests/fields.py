"""Names that a record's fields have in the logs of the field, and which of them a record has.

The names stand in ``shapes.toml``. They are compared in small letters with underscores, so that
``usageMetadata``, ``UsageMetadata`` and ``usage_metadata`` are one. A log has few kinds of records
and many of each: the names that matter are looked up once for each set of keys.
"""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping
from dataclasses import astuple, dataclass
from typing import Any, Final, NamedTuple

from jeton.corpus.lookup import lookup
from jeton.corpus.requests.usage_names import FLAT_PATHS, TABLE, snake

NAMES: Final[Mapping[str, tuple[str, ...]]] = {
    key: tuple(names) for key, names in TABLE["fields"].items()
}
"""Names by what they mean, each list in the order in which it is looked up."""

SPAN_COLUMNS: Final = NAMES["span_columns"]
"""Beginnings of the columns of a table of spans."""

_EXPORT_MARKS: Final = frozenset(NAMES["export_marks"])
_FLAT_MARKS: Final = frozenset(
    (
        *(path for path, meaning in FLAT_PATHS.items() if meaning.kind in ("in", "out")),
        *NAMES["flat_marks"],
    )
)
"""Fields that make a record itself a usage."""

_NO_KEYS: Final = ("flat_marks", "export_marks", "span_columns")
_KNOWN: Final = frozenset(
    name for key, names in NAMES.items() if key not in _NO_KEYS for name in names
)

_MAX_KINDS: Final = 4096
_MAX_KEYS: Final = 256
_MAX_CHARS: Final = 4096
MAX_NAME_CHARS: Final = 120


@dataclass(frozen=True, slots=True)
class FieldNames:
    """Fields that the user names, with dots descending; empty: found by their usual names."""

    prompt: str = ""
    response: str = ""
    model: str = ""
    time: str = ""
    domain: str = ""


class LogShape(NamedTuple):
    """An entry of ``[[shapes]]``: a shape of records, and where their facts stand.

    Attributes:
        name: Name of the shape.
        told: Words that describe its records; empty: the entry names no shape of its own.
        has: Paths that lead somewhere in each of its records; empty: code recognizes it.
        request: Path of the provider's request.
        response: Path of the provider's response.
        prompt: Path of what was sent, where it is no request of a provider.
        answer: Path of what came back, where it is no response of a provider.
        model: Path of the model; so are the rest, each of its fact.
    """

    name: str
    told: str = ""
    has: tuple[str, ...] = ()
    request: str = ""
    response: str = ""
    prompt: str = ""
    answer: str = ""
    model: str = ""
    usage: str = ""
    time: str = ""
    id: str = ""

    def is_it(self, record: Mapping[str, Any]) -> bool:
        """True if a record is of this shape."""
        return all(lookup(record, path) is not None for path in self.has)

    def names(self, given: FieldNames) -> FieldNames:
        """Fields that the user named, completed by those of the shape."""
        return FieldNames(
            prompt=given.prompt or self.prompt,
            response=given.response or self.answer,
            model=given.model or self.model,
            time=given.time or self.time,
            domain=given.domain,
        )


LOG_SHAPES: Final = tuple(
    LogShape(**{**entry, "has": tuple(entry.get("has", ()))}) for entry in TABLE["shapes"]
)
"""All entries, in the order in which a record is compared with them."""


def _heads(paths: Iterable[str]) -> frozenset[str]:
    return frozenset(path.split(".")[0] for path in paths if path)


class UsagePlace(NamedTuple):
    """Where a usage may stand: ``usage``, ``loose``, ``nested`` or ``beside`` others."""

    key: str
    kind: str


class Fields(NamedTuple):
    """Which of the known names a mapping has; each list in the order in which it is looked up.

    Attributes:
        has: All of them, in small letters with underscores.
        keys: The keys as they are written, by those names.
        usage: Places of a usage.
        is_usage: True if token counts are among the fields themselves.
        is_export: True if it is a row that adds up many requests.
        serial: A number of its own.
        shapes: Entries of ``[[shapes]]`` that its keys allow.

    The rest are the keys of the names that ``shapes.toml`` lists under the same word.
    """

    has: frozenset[str]
    keys: Mapping[str, str]
    usage: tuple[UsagePlace, ...]
    is_usage: bool
    is_export: bool
    serial: int
    shapes: tuple[LogShape, ...]
    prompt: tuple[str, ...]
    response: tuple[str, ...]
    time: tuple[str, ...]
    model: tuple[str, ...]
    id: tuple[str, ...]
    status: tuple[str, ...]
    request_places: tuple[str, ...]
    response_places: tuple[str, ...]
    streams: tuple[str, ...]
    answer: tuple[str, ...]
    wrapping: tuple[str, ...]
    provider: tuple[str, ...]
    tier: tuple[str, ...]
    speed: tuple[str, ...]
    gateway_cache: tuple[str, ...]
    conversation: tuple[str, ...]
    cost: tuple[str, ...]
    beside: tuple[str, ...]


_LISTED: Final = Fields._fields[Fields._fields.index("prompt") :]

_serials = itertools.count()
_kinds: dict[tuple[Any, ...], Fields] = {}


def fields_of(mapping: Mapping[str, Any]) -> Fields:
    """Which of the known names a mapping has."""
    keys = tuple(mapping)
    found = _kinds.get(keys)
    if found is None:
        found = _fields(keys)
        texts = [key for key in keys if isinstance(key, str)]
        # Names of a hostile log's own are not kept: the table stays small.
        if len(keys) <= _MAX_KEYS and sum(map(len, texts)) <= _MAX_CHARS:
            if len(_kinds) >= _MAX_KINDS:
                _kinds.clear()
            _kinds[keys] = found
    return found


def _fields(given: tuple[Any, ...]) -> Fields:
    keys: dict[str, str] = {}
    is_usage = is_export = False
    for key in given:
        if not isinstance(key, str) or len(key) > MAX_NAME_CHARS:
            continue
        name = snake(key)
        if name in _FLAT_MARKS or name.startswith(("usage.", "response.usage.", "metadata.usage")):
            is_usage = True
        is_export = is_export or name in _EXPORT_MARKS
        if name in _KNOWN:
            keys.setdefault(name, key)

    def of(name: str) -> tuple[str, ...]:
        return tuple(keys[wanted] for wanted in NAMES[name] if wanted in keys)

    return Fields(
        has=frozenset(keys),
        keys=keys,
        usage=tuple(
            UsagePlace(key, kind) for kind in ("usage", "loose", "nested") for key in of(kind)
        ),
        is_usage=is_usage,
        is_export=is_export,
        serial=next(_serials),
        shapes=tuple(
            shape for shape in LOG_SHAPES if shape.has and _heads(shape.has).issubset(given)
        ),
        **{name: of(name) for name in _LISTED},
    )


_SHAPE_COLUMNS: Final = frozenset().union(
    *(_heads((*shape.has, *shape[3:])) for shape in LOG_SHAPES)
)
NO_FIELDS: Final = _fields(())
"""No fields: the record is not a mapping."""


def is_known_column(names: FieldNames, column: str) -> bool:
    """True if a top-level field may be looked at: what to read of a table with many columns."""
    if column in _heads(astuple(names)) or column in astuple(names) or column in _SHAPE_COLUMNS:
        return True
    name = snake(column)
    if name in ("embedding", "embeddings", "embeddings_by_type"):
        return False  # vectors, of which nothing is counted
    return name in _KNOWN or name.split(".")[0] in _KNOWN or name in FLAT_PATHS
