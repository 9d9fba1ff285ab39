"""Components of a tokenizer as small typed descriptions of what ``tokenizer.json`` says of them.

A component does nothing itself. It is a set of fields that can be read and written, and that a
tokenizer turns into a core again when one of them has changed since it last looked.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from decimal import Decimal
from typing import Any, ClassVar, Final, Generic, NamedTuple, Self, TypeVar, cast, overload

from jeton.compat.tokenizers._arguments import as_kind, one_character
from jeton.errors import FormatError, UsageError

T = TypeVar("T")


class Extent(NamedTuple):
    """How much of a description is shown."""

    most: int
    longest: int | None


# ``str`` and ``repr`` of the other library (0.23.3) show one less than this many elements of a
# list, and this many characters of a text.
SHORT: Final = Extent(6, 100)
LONG: Final = Extent(100, None)


class _Edits:
    """The latest change of any component: tokenizers compare it with the one they have seen.

    A new object each time rather than a number: threads that change components at the same time
    cannot make the same one.
    """

    def __init__(self) -> None:
        self.latest: object = object()

    def note(self) -> None:
        self.latest = object()


edits = _Edits()


class Field(Generic[T]):
    """A field of a component's description: read as it is, checked when it is written."""

    def __init__(self, name: str, kind: type[T] | None, *, optional: bool = False) -> None:
        self._name = name
        self._kind = kind
        self._optional = optional

    @overload
    def __get__(self, component: None, owner: type) -> Self: ...
    @overload
    def __get__(self, component: Component, owner: type) -> T: ...
    def __get__(self, component: Component | None, owner: type) -> Self | T:
        if component is None:
            return self
        return cast("T", component._fields[self._name])

    def __set__(self, component: Component, value: Any) -> None:
        component._set(self._name, self.check(value))

    def check(self, value: Any) -> Any:
        """The value if it may stand in the field; ``TypeError`` or ``ValueError`` otherwise."""
        if value is None and self._optional:
            return None
        return value if self._kind is None else as_kind(value, self._kind, self._name)


class Character(Field[str]):
    """A field that holds one character."""

    def __init__(self, name: str) -> None:
        super().__init__(name, str)

    def check(self, value: Any) -> Any:
        """The value if it is one character."""
        return one_character(value)


class Choice(Field[str]):
    """A field that holds one of a few names, which the file may write in another way."""

    def __init__(self, name: str, written: Mapping[str, str], *, error: type[Exception]) -> None:
        super().__init__(name, str)
        self._written = dict(written)
        self._spoken = {value: key for key, value in written.items()}
        self._error = error

    def __get__(self, component: Component | None, owner: type) -> Any:
        if component is None:
            return self
        written = component._fields[self._name]
        return self._spoken.get(written, written)

    def check(self, value: Any) -> Any:
        """The name as the file writes it."""
        value = as_kind(getattr(value, "value", value), str, self._name)
        if value not in self._written:
            names = ", ".join(self._written)
            raise self._error(f"{value} is an unknown variant of {self._name}, should be {names}")
        return self._written[value]


class Component:
    """One component: the fields that its description has, apart from its type.

    Subclasses of a family (normalizers, decoders ...) register themselves by the ``type`` that
    stands in the file.
    """

    kind: ClassVar[str] = ""
    # Set by the base class of each family.
    family: ClassVar[dict[str, type[Component]]]
    members_name: ClassVar[str] = ""

    _fields: dict[str, Any]

    def __init_subclass__(cls, *, kind: str | None = None, **arguments: Any) -> None:
        super().__init_subclass__(**arguments)
        if kind is not None:
            cls.kind = kind
            cls.family[kind] = cls

    def _fill(self, arguments: Mapping[str, Any]) -> None:
        """Set the fields to the arguments of ``__init__``: all its local names but ``self``."""
        self._fields = {}
        for name, value in arguments.items():
            if name != "self":
                setattr(self, name, value)

    def _set(self, name: str, value: Any) -> None:
        # A new dictionary, so that another thread reads the old description or the new one.
        self._fields = {**self._fields, name: value}
        edits.note()

    def _description(self) -> dict[str, Any]:
        """Description of the component as the file holds it."""
        return {"type": self.kind, **self._fields}

    @classmethod
    def _of(cls, fields: Mapping[str, Any]) -> Self:
        component = cls.__new__(cls)
        component._fields = dict(fields)
        return component

    @classmethod
    def _from_description(cls, description: Any) -> Self:
        """The component of this family that a file describes."""
        known = description.get("type") if isinstance(description, dict) else None
        chosen = cls.family.get(known) if isinstance(known, str) else None
        if chosen is None:
            raise FormatError(f"{known!r} is no {cls.__name__} of tokenizer.json")
        fields = {name: value for name, value in description.items() if name != "type"}
        return cast("Self", chosen._read(fields))

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Component:
        return cls._of(fields)

    def __getstate__(self) -> bytes:
        """The description as JSON, as the other library gives it."""
        return json.dumps(self._description(), ensure_ascii=False).encode()

    def __reduce__(self) -> tuple[Callable[..., Any], tuple[Any, ...]]:
        return rebuild, (_family_base(type(self)), self.__getstate__())

    def __str__(self) -> str:
        return spelled(self, most=SHORT.most, longest=SHORT.longest)

    def __repr__(self) -> str:
        return spelled(self, most=LONG.most, longest=LONG.longest)

    def _shown(self, most: int) -> dict[str, Any]:
        """The description, of which only ``most`` elements of a list are shown."""
        del most
        return self._description()


class Members(Component):
    """A component that is several, one after the other; they are shared, not copied."""

    _members: list[Any]

    def _set_members(self, members: Iterable[Any], base: type[Component]) -> None:
        if isinstance(members, str):
            raise TypeError("argument: a list of components is needed, not a str")
        self._fields = {}
        self._members = [adopt(member, base) for member in members]

    def _description(self) -> dict[str, Any]:
        described = [member._description() for member in self._members]
        return {"type": self.kind, self.members_name: described}

    @classmethod
    def _read(cls, fields: dict[str, Any]) -> Component:
        listed = fields.get(cls.members_name)
        if not isinstance(listed, list):
            raise FormatError(f"a Sequence has no list {cls.members_name!r}")
        sequence = cls.__new__(cls)
        sequence._fields = {}
        base = _family_base(cls)
        sequence._members = [base._from_description(member) for member in listed]
        return sequence

    def __len__(self) -> int:
        return len(self._members)

    def __getitem__(self, index: int) -> Any:
        return self._members[index]

    def __setitem__(self, index: int, value: Any) -> None:
        self._members[index] = adopt(value, _family_base(type(self)))
        edits.note()


def adopt(component: Any, base: type[Component]) -> Any:
    """A component as one of this family: it is one, or one of the other library's."""
    if isinstance(component, base):
        return component
    if isinstance(component, Component | str | bytes | dict | list):
        raise TypeError(f"a {base.__name__} is needed, not {component!r}")
    state = getattr(component, "__getstate__", lambda: None)()
    if not isinstance(state, bytes):
        raise TypeError(f"a {base.__name__} is needed, not {component!r}")
    try:
        description = json.loads(state)
    except ValueError:
        message = f"{type(component).__name__} does not describe itself in JSON\nhint: components "
        raise UsageError(message + "that are written in Python have no description") from None
    return base._from_description(description)


def rebuild(base: type[Component], state: bytes) -> Any:
    """The component that a description in JSON is of: what pickling calls."""
    return base._from_description(json.loads(state))


def _family_base(component: type[Component]) -> type[Component]:
    """The class of a family that all of its components have in common."""
    # The class below Component (or Members) in the order of resolution that carries the family.
    for ancestor in component.__mro__:
        if "family" in ancestor.__dict__:
            return ancestor
    raise TypeError(f"{component.__name__} belongs to no family")


# Values that the other library shows as names rather than as quoted texts.
_NAMES = frozenset({"behavior", "prepend_scheme", "direction", "strategy", "id_of_sequence"})
# Lists that it shows as lists of tuples, and pairs that are tuples themselves.
_OF_TUPLES = frozenset({"vocab", "merges"})
_TUPLES = frozenset({"sep", "cls", "each"})


def _number(value: float) -> str:
    text = repr(value).removesuffix(".0")
    return format(Decimal(text), "f") if "e" in text else text


def spelled(value: Any, *, most: int, longest: int | None, field: str = "") -> str:
    """A description as the other library's ``repr`` shows it.

    Args:
        value: The description.
        most: Limit of shown elements; lists and objects show one less.
        longest: The most characters of a text that are shown.
        field: The name under which it stands.
    """

    def inner(member: Any, name: str = "") -> str:
        return spelled(member, most=most, longest=longest, field=name)

    def listed(parts: list[str]) -> str:
        return ", ".join(parts if len(parts) < most else [*parts[: most - 1], "..."])

    if isinstance(value, Component):
        value = value._shown(most)
    if isinstance(value, dict):
        return _spelled_object(value, inner, listed, field)
    if isinstance(value, list | tuple):
        opening, closing = "()" if field in _TUPLES else "[]"
        name = "each" if field in _OF_TUPLES else ""
        # Elements beyond the limit are not even spelled.
        return opening + listed([inner(member, name) for member in value[:most]]) + closing
    if isinstance(value, str):
        if field in _NAMES:
            return value
        shown = value if longest is None or len(value) <= longest else value[:longest] + "..."
        return f'"{shown}"'
    return _number(value) if isinstance(value, float) else str(value)


def _spelled_object(
    value: dict[str, Any],
    inner: Callable[..., str],
    listed: Callable[[list[str]], str],
    field: str,
) -> str:
    if "type" in value:
        fields = [f"{name}={inner(v, name)}" for name, v in value.items() if name != "type"]
        return f"{value['type']}({', '.join(fields)})"
    if len(value) == 1:
        ((name, only),) = value.items()
        if name in {"String", "Regex", "Fixed"} and field != "vocab":
            return f"{name}({inner(only)})"
        if name in {"Sequence", "SpecialToken"} and isinstance(only, dict):
            as_name = "id_of_sequence" if name == "Sequence" else "id"
            return f"{name}(id={inner(only['id'], as_name)}, type_id={only['type_id']})"
    if field == "special_tokens":
        members = {key: inner({"type": "SpecialToken", **token}) for key, token in value.items()}
        return "{" + listed([f'"{key}":{shown}' for key, shown in members.items()]) + "}"
    return "{" + listed([f'"{key}":{inner(v)}' for key, v in value.items()]) + "}"
