"""Where records stand, and what they call themselves: so that one is found again in another run."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeAlias

from jeton.corpus.lookup import first_keys, lookup, text_or_none, value_at

ID_FIELDS: Final = (
    "custom_id",
    "request_id",
    "requestId",
    "id",
    "_id",
    "record_id",
    "doc_id",
    "document_id",
    "uuid",
    "litellm_call_id",
    "call_id",
    "span_id",
    "spanId",
    "response.id",
)
"""Fields that name a record, the first that is there; what the sender chose goes before what the
provider made up."""

ID_COLUMNS: Final = tuple(name for name in ID_FIELDS if "." not in name)
"""Names among them that a column of a table may have."""

_MAX_ID_CHARS: Final = 200
"""A longer value is no id; it would only fill a file."""


@dataclass(frozen=True, slots=True)
class RecordPlaces:
    """Places and names of the records of a batch.

    Attributes:
        lines: Line of each in its file (row of a table), from 1; 0: not known.
        ids: The records' own names; empty: none.
        numbers: Number of each record in its file, from 0, those that were left out counted too.
        kept: Fields of each record that were to be kept; empty: none were.
    """

    lines: Sequence[int]
    ids: Sequence[str]
    numbers: Sequence[int] = ()
    kept: Sequence[Mapping[str, Any]] = ()

    def take(self, indices: Sequence[int]) -> RecordPlaces:
        """Return those of some of the records."""
        return RecordPlaces(
            *([values[i] for i in indices] if values else () for values in self._columns())
        )

    def _columns(self) -> tuple[Sequence[Any], ...]:
        return self.lines, self.ids, self.numbers, self.kept


@dataclass(frozen=True, slots=True)
class LeftOutRecord:
    """A record that is no document.

    Attributes:
        source: Its file.
        record: Its number there, from 0.
        line: Its line (row of a table), from 1.
        reason: The reason, in words.
    """

    source: str
    record: int
    line: int
    reason: str


OnLeftOut: TypeAlias = Callable[[LeftOutRecord], None]


@dataclass(frozen=True, slots=True)
class KeptFields:
    """Fields of records that go with their texts.

    Attributes:
        names: Their names, in the language of ``value_at``.
        every: True: all fields but the text.
    """

    names: tuple[str, ...] = ()
    every: bool = False

    def __bool__(self) -> bool:
        """True if any field is kept."""
        return bool(self.names) or self.every

    def of(self, record: Any, field: str) -> dict[str, Any]:
        """The fields of a record; a name that it lacks is null."""
        if not isinstance(record, dict):
            return dict.fromkeys(self.names)
        text = next((key for key in first_keys(field) if key in record), field)
        found = {n: v for n, v in record.items() if n != text} if self.every else {}
        return {**found, **{name: value_at(record, name)[1] for name in self.names}}

    def columns(self, names: Sequence[str], field: str) -> list[str]:
        """Columns of a table that hold them."""
        if self.every:
            return list(names)
        first = (next((k for k in first_keys(name) if k in names), "") for name in self.names)
        return [name for name in dict.fromkeys(first) if name and name not in first_keys(field)]


def record_id(record: Any) -> str:
    """Name of a record; empty if it has no such field."""
    if not isinstance(record, dict):
        return ""
    keys = tuple(record)
    names = _names.get(keys)
    if names is None:
        names = _names_of(keys)
    for name in names:
        if name in record:
            value = record[name]
        else:
            head, _, rest = name.partition(".")
            inner = record[head]
            value = inner.get(rest) if type(inner) is dict else lookup(record, name)
        found = value if isinstance(value, str) else text_or_none(value)
        if found and len(found) <= _MAX_ID_CHARS:
            return found
    return ""


_names: dict[tuple[Any, ...], tuple[str, ...]] = {}
_MAX_KINDS: Final = 4096
_MAX_KEYS: Final = 64


def _names_of(keys: tuple[Any, ...]) -> tuple[str, ...]:
    """The fields of a record that may name it; worked out once for each set of keys."""
    names = tuple(name for name in ID_FIELDS if name.split(".")[0] in keys)
    # Keys of a hostile log's own are not kept: the table stays small.
    is_small = len(keys) <= _MAX_KEYS and sum(len(k) for k in keys if isinstance(k, str)) <= 4096
    if is_small:
        if len(_names) >= _MAX_KINDS:
            _names.clear()
        _names[keys] = names
    return names
