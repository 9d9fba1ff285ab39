"""The public names of the package: what ``__all__`` promises is there, and nothing hides it."""

from __future__ import annotations

import importlib
import inspect
import pkgutil

import pytest

import jeton
from jeton import errors


def test_all_is_sorted_and_complete() -> None:
    assert list(jeton.__all__) == sorted(jeton.__all__)
    assert set(dir(jeton)) == set(jeton.__all__)


@pytest.mark.parametrize("name", jeton.__all__)
def test_every_public_name_is_there(name: str) -> None:
    assert getattr(jeton, name) is not None


def test_functions_are_not_hidden_by_packages() -> None:
    """``import jeton.x`` binds ``jeton.x``: no package may bear the name of a public function."""
    for module in pkgutil.walk_packages(jeton.__path__, "jeton."):
        if module.name.endswith("__main__"):
            continue
        importlib.import_module(module.name)
    for name in ("audit", "explain", "load", "probe_digest", "train"):
        assert inspect.isfunction(getattr(jeton, name))


def test_every_error_is_public() -> None:
    assert set(errors.__all__) <= set(jeton.__all__)


def test_an_unknown_name_is_an_attribute_error() -> None:
    with pytest.raises(AttributeError, match="no attribute 'auditt'"):
        _ = jeton.auditt
