"""Ids that other projects keep for their own tests."""

from __future__ import annotations

from functools import lru_cache
from pathlib import Path

import pytest

from scripts.conformance.crosscheck import VOCABULARIES, CrossResult, check_one, samples_by_name

read = lru_cache(maxsize=1)(samples_by_name)


def test_every_name_is_one_of_theirs(shared: Path) -> None:
    assert set(VOCABULARIES) < set(read(shared))
    assert {len(cases) for cases in read(shared).values()} == {47, 141}


@pytest.mark.parametrize("name", VOCABULARIES)
def test_vocabulary(name: str, shared: Path) -> None:
    cases = read(shared)[name]
    result = check_one(shared, name, cases)
    assert result == CrossResult(name, VOCABULARIES[name], len(cases), 0), result.first


def test_a_wrong_id_is_found(shared: Path) -> None:
    cases = read(shared)["llama.cpp/gpt-2"]
    changed = [*cases[:-1], type(cases[0])(cases[0].project_name, "Hello", [1, 2], special=False)]
    result = check_one(shared, "llama.cpp/gpt-2", changed)
    assert result.n_different == 1
    assert "expected [1, 2]" in result.first
