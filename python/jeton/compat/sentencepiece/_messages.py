"""Protocol buffers as far as SentencePiece needs them: messages with fields, read and written.

A field that was never set reads as its default and is not written. Fields of a message beyond the
known ones are kept and written behind them. Nothing here is specific to a kind of message.
"""

from __future__ import annotations

import struct
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar, Self, cast

from jeton.compat.sentencepiece.errors import MessageError

_VARINT, _FIXED64, _BYTES, _FIXED32 = 0, 1, 2, 5
# Messages in messages in messages: SentencePiece has three levels.
_MAX_BYTES = 1 << 30


@dataclass(frozen=True, slots=True)
class Field:
    """A field: its number, what it holds, whether many of them, and what it is if it is not set.

    ``kind``: ``"string"``, ``"bytes"``, ``"int"`` (signed), ``"uint"``, ``"bool"``, ``"float"``, or
    a class of messages.
    """

    number: int
    kind: str | type[Message]
    repeated: bool = False
    default: Any = None


class RepeatedMessages(list[Any]):
    """A list of messages with protobuf's ``add``."""

    def __init__(self, made_by: Callable[..., Message], items: Iterable[Message] = ()) -> None:
        super().__init__(items)
        self._made_by = made_by

    def add(self, **fields: Any) -> Any:
        """Append a new message with these fields and return it."""
        message = self._made_by(**fields)
        self.append(message)
        return message


class Message:
    """A message; subclasses list its fields in ``FIELDS``."""

    FIELDS: ClassVar[dict[str, Field]] = {}

    def __init__(self, **fields: Any) -> None:
        self.__dict__["_values"] = {}
        self.__dict__["_unknown"] = b""
        for name, value in fields.items():
            if self._field(name).repeated:
                getattr(self, name).extend(value)
            else:
                setattr(self, name, value)

    def _field(self, name: str) -> Field:
        try:
            return self.FIELDS[name]
        except KeyError:
            raise AttributeError(f"{type(self).__name__} has no field {name!r}") from None

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        field = self._field(name)
        values: dict[str, Any] = self.__dict__["_values"]
        if name in values:
            return values[name]
        if field.repeated:
            kind = field.kind
            values[name] = [] if isinstance(kind, str) else RepeatedMessages(kind)
        elif not isinstance(field.kind, str):
            values[name] = field.kind()
        else:
            return field.default if field.default is not None else _EMPTY[field.kind]
        return values[name]

    def __setattr__(self, name: str, value: Any) -> None:
        field = self._field(name)
        if field.repeated or not isinstance(field.kind, str):
            raise AttributeError(f"{name} is changed in place, not replaced")
        self.__dict__["_values"][name] = _checked(field.kind, name, value)

    def HasField(self, name: str) -> bool:
        """True if a field is set."""
        value = self.__dict__["_values"].get(name)
        return value._is_set() if isinstance(value, Message) else value is not None

    def _is_set(self) -> bool:
        return bool(
            self.__dict__.get("_given") or self.__dict__["_unknown"] or any(self._set_fields())
        )

    def _set_fields(self) -> Iterator[tuple[str, Field, Any]]:
        values = self.__dict__["_values"]
        for name, field in sorted(self.FIELDS.items(), key=lambda item: item[1].number):
            value = values.get(name)
            if value is None or (isinstance(value, Message) and not value._is_set()):
                continue
            if not (field.repeated and not value):
                yield name, field, value

    def ListFields(self) -> list[tuple[str, Any]]:
        """Names and values of the fields that are set, by number."""
        return [(name, value) for name, _, value in self._set_fields()]

    def Clear(self) -> None:
        """Unset every field."""
        self.__dict__.update(_values={}, _unknown=b"", _given=False)

    def ClearField(self, name: str) -> None:
        """Unset a field."""
        self._field(name)
        self.__dict__["_values"].pop(name, None)

    def CopyFrom(self, other: Message) -> None:
        """Become what another message is."""
        self.ParseFromString(other.SerializeToString())

    def SerializeToString(self) -> bytes:
        """The message as bytes."""
        out = bytearray()
        for _, field, value in self._set_fields():
            for item in value if field.repeated else [value]:
                _put(out, field, item)
        return bytes(out) + cast(bytes, self.__dict__["_unknown"])

    SerializeAsString = SerializeToString

    def ParseFromString(self, serialized: bytes) -> int:
        """Read bytes, in place of what there was.

        Raises:
            MessageError: They are no such message.
        """
        self.Clear()
        return self.MergeFromString(serialized)

    def MergeFromString(self, serialized: bytes) -> int:
        """Read bytes, beside what there is. Raises as `ParseFromString` does."""
        if len(serialized) > _MAX_BYTES:
            raise MessageError(f"{type(self).__name__}: more than {_MAX_BYTES} bytes")
        by_number = {field.number: (name, field) for name, field in self.FIELDS.items()}
        self.__dict__["_given"] = True
        unknown = bytearray(self.__dict__["_unknown"])
        for number, value, raw in _fields(type(self).__name__, serialized):
            name, field = by_number.get(number, ("", None))
            taken = None if field is None else _taken(field, value)
            if field is None or taken is None:
                unknown += raw
            elif not isinstance(field.kind, str):
                message = getattr(self, name).add() if field.repeated else getattr(self, name)
                message.MergeFromString(taken)
            elif field.repeated:
                getattr(self, name).append(taken)
            else:
                self.__dict__["_values"][name] = taken
        self.__dict__["_unknown"] = bytes(unknown)
        return len(serialized)

    @classmethod
    def FromString(cls, serialized: bytes) -> Self:
        """A message from bytes. Raises as `ParseFromString` does."""
        message = cls()
        message.ParseFromString(serialized)
        return message

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, type(self)):
            return NotImplemented
        return self.SerializeToString() == other.SerializeToString()

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        fields = ", ".join(f"{name}={value!r}" for name, value in self.ListFields())
        return f"{type(self).__name__}({fields})"

    def __reduce__(self) -> tuple[Any, ...]:
        return type(self).FromString, (self.SerializeToString(),)


_EMPTY: dict[str, Any] = {
    "string": "",
    "bytes": b"",
    "int": 0,
    "uint": 0,
    "bool": False,
    "float": 0.0,
}


def _checked(kind: str, name: str, value: Any) -> Any:
    """A value as its field holds it; a TypeError or ValueError if it cannot."""
    if kind == "string":
        if isinstance(value, bytes):
            value = value.decode("utf-8")
        if not isinstance(value, str):
            raise TypeError(f"{name} must be str, not {value!r}")
        return value
    if kind == "bytes":
        if not isinstance(value, bytes):
            raise TypeError(f"{name} must be bytes, not {value!r}")
        return value
    if kind == "float":
        # As stored: 32 bits.
        return struct.unpack("<f", struct.pack("<f", float(value)))[0]
    if isinstance(value, (str, bytes, float)):
        raise TypeError(f"{name} must be an integer, not {value!r}")
    number = int(value)
    if not -(2**63) <= number < 2**64 or (kind == "uint" and number < 0):
        raise ValueError(f"{name} is {number}, which does not fit")
    return bool(number) if kind == "bool" else number


def _taken(field: Field, value: int | bytes) -> Any:
    """Return the value as the field holds it; None if it is of another kind."""
    if field.kind == "float":
        return struct.unpack("<f", value)[0] if isinstance(value, bytes) else None
    if isinstance(value, int):
        if field.kind == "int":
            return value - 2**64 if value >= 2**63 else value
        return {"uint": value, "bool": bool(value)}.get(str(field.kind))
    if field.kind == "string":
        # A model may hold pieces that are no text; they come back as they were.
        return value.decode("utf-8", errors="surrogateescape")
    return value if field.kind == "bytes" or not isinstance(field.kind, str) else None


def _put(out: bytearray, field: Field, value: Any) -> None:
    if isinstance(value, Message):
        data = value.SerializeToString()
    elif field.kind == "string":
        data = value.encode("utf-8", errors="surrogateescape")
    elif field.kind == "float":
        _put_varint(out, field.number << 3 | _FIXED32)
        out += struct.pack("<f", value)
        return
    elif isinstance(value, bytes):
        data = value
    else:
        _put_varint(out, field.number << 3 | _VARINT)
        _put_varint(out, int(value) % 2**64)
        return
    _put_varint(out, field.number << 3 | _BYTES)
    _put_varint(out, len(data))
    out += data


def _put_varint(out: bytearray, value: int) -> None:
    while value >= 0x80:
        out.append(value & 0x7F | 0x80)
        value >>= 7
    out.append(value)


def _fields(what: str, data: bytes) -> Iterator[tuple[int, int | bytes, bytes]]:
    """Number, value and raw bytes of each field."""
    at = 0
    while at < len(data):
        start = at
        key, at = _varint(what, data, at)
        value: int | bytes
        if key & 7 == _VARINT:
            value, at = _varint(what, data, at)
        else:
            size = {_FIXED64: 8, _FIXED32: 4}.get(key & 7)
            if key & 7 == _BYTES:
                size, at = _varint(what, data, at)
            if size is None or at + size > len(data):
                raise MessageError(f"{what}: byte {start}: cut off, or no field", offset=start)
            value, at = data[at : at + size], at + size
        if key >> 3 == 0:
            raise MessageError(f"{what}: byte {start}: field number 0", offset=start)
        yield key >> 3, value, data[start:at]


def _varint(what: str, data: bytes, at: int) -> tuple[int, int]:
    value = 0
    for shift in range(0, 70, 7):
        if at >= len(data):
            break
        byte = data[at]
        at += 1
        value |= (byte & 0x7F) << shift
        if byte < 0x80:
            return value % 2**64, at
    raise MessageError(f"{what}: byte {at}: a number is cut off or too long", offset=at)
