"""Every kind of error of the core is a documented class of ``jeton.errors``."""

from __future__ import annotations

import inspect
import pickle
import re

import pytest

import jeton
from jeton import JetonError, _core, errors

INTERRUPTED = "Interrupted"
KINDS = [kind for kind in _core.list_error_kinds() if kind != INTERRUPTED]

EXPECTED = {
    "Format": errors.FormatError,
    "Growth": errors.LimitError,
    "Inexpressible": errors.FormatError,
    "InvalidUtf8": errors.InvalidTextError,
    "Pattern": errors.PatternError,
    "PatternCost": errors.PatternCostError,
    "TooLarge": errors.LimitError,
    "Training": errors.TrainingError,
    "Unencodable": errors.EncodeError,
    "UnknownId": errors.UnknownTokenIdError,
    "UnknownSpecial": errors.UnknownSpecialTokenError,
    "Unsupported": errors.FormatError,
    "Usage": errors.UsageError,
}

# The fields that the sample of each kind fills; the other kinds have none.
FIELDS = {
    "Format": {"format", "line"},
    "Growth": {"limit", "what"},
    "Inexpressible": {"format"},
    "InvalidUtf8": {"byte_offset"},
    "Pattern": {"offset", "pattern"},
    "PatternCost": {"byte_offset"},
    "TooLarge": {"limit", "what"},
    "UnknownId": {"id", "vocab_size"},
    "UnknownSpecial": {"token"},
    "Unsupported": {"format"},
}


def test_the_list_is_complete() -> None:
    kinds = _core.list_error_kinds()
    assert len(kinds) == len(set(kinds))
    assert {*EXPECTED, INTERRUPTED} == set(kinds)


def raised(kind: str) -> JetonError:
    with pytest.raises(JetonError) as caught:
        _core._raise_error_kind(kind)
    return caught.value


@pytest.mark.parametrize("kind", KINDS)
def test_class_and_fields(kind: str) -> None:
    error = raised(kind)
    assert type(error) is EXPECTED[kind]
    fields = {name for name, value in vars(error).items() if value is not None}
    assert fields == FIELDS.get(kind, set())


@pytest.mark.parametrize("kind", KINDS)
def test_message_has_the_common_form(kind: str) -> None:
    lines = str(raised(kind)).split("\n")
    assert lines[0]
    assert not lines[0][0].isupper()
    assert all(not line.endswith(".") for line in lines)
    assert all(line.startswith("hint: ") for line in lines[1:])


@pytest.mark.parametrize("kind", KINDS)
def test_error_travels_between_processes(kind: str) -> None:
    error = raised(kind)
    again = pickle.loads(pickle.dumps(error))
    assert type(again) is type(error)
    assert str(again) == str(error)
    assert vars(again) == vars(error)


def test_an_interrupted_call_is_a_keyboard_interrupt() -> None:
    with pytest.raises(KeyboardInterrupt):
        _core._raise_error_kind(INTERRUPTED)


def test_an_unknown_kind_is_refused() -> None:
    with pytest.raises(ValueError, match="Nope"):
        _core._raise_error_kind("Nope")


def classes() -> list[type]:
    return [
        member
        for member in vars(errors).values()
        if inspect.isclass(member) and member.__module__ == errors.__name__
    ]


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
def test_every_class_is_in_the_tree_and_public(cls: type) -> None:
    assert issubclass(cls, errors.JetonError | errors.JetonWarning)
    assert cls.__doc__
    assert cls.__name__ in errors.__all__
    assert getattr(jeton, cls.__name__) is cls
    assert re.search(rf"\b{cls.__name__}\b", errors.__doc__ or "")


@pytest.mark.parametrize("cls", classes(), ids=lambda cls: cls.__name__)
def test_the_tree_is_drawn_as_it_is(cls: type) -> None:
    """Each class stands one step to the right of its base, under it."""
    bases: dict[int, str] = {}
    for line in (errors.__doc__ or "").splitlines():
        indent = len(line) - len(line.lstrip())
        for name in re.findall(
            r"\b([A-Z]\w*(?:Error|Warning|Rejected))\b(?=[\s(|]|$)", line.split(")")[0]
        ):
            if name not in errors.__all__:
                continue
            bases[indent] = name
            if name == cls.__name__ and indent > 4:
                assert cls.__mro__[1].__name__ == bases[indent - 2]
                return
    assert cls in (errors.JetonError, errors.JetonWarning)
