"""The public names of the package: what ``__all__`` promises is there, and nothing hides it."""

from __future__ import annotations

import inspect

import pytest

import jeton
from jeton import errors


def test_all_is_sorted_and_complete() -> None:
    assert list(jeton.__all__) == sorted(jeton.__all__)
    assert set(dir(jeton)) == set(jeton.__all__)


@pytest.mark.parametrize("name", jeton.__all__)
def test_every_public_name_is_documented(name: str) -> None:
    value = getattr(jeton, name)
    if inspect.isclass(value) or inspect.isfunction(value):
        described = vars(value).get("__doc__") if inspect.isclass(value) else value.__doc__
        # The docstring that a dataclass makes for itself is its call.
        assert described
        assert not described.startswith(f"{value.__name__}(")


def test_every_error_is_public() -> None:
    assert set(errors.__all__) <= set(jeton.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'auditt'"):
        _ = jeton.auditt
