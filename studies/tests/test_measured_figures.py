"""The figures of docs/studies/figures/ are those that measuring gives again."""

from __future__ import annotations

from pathlib import Path

import pytest

from studies.claims.data import Data
from studies.claims.figures import Figures, differences
from studies.claims.measuring import GROUPS, group

DOCS = Path(__file__).resolve().parents[2] / "docs" / "studies"
FIGURES = Figures.read(DOCS / "figures")


def of_kind(kind: str) -> list[str]:
    return [name for name in GROUPS if group(name).kind == kind]


def check(name: str, data: Data) -> None:
    found = differences(FIGURES.below(name), group(name).measure(data))
    assert not found, f"run `python -m studies.claims --only {name}` if that is meant"


@pytest.fixture(scope="module")
def data(request: pytest.FixtureRequest) -> Data:
    shared: Path = request.getfixturevalue("shared")
    return Data(shared)


@pytest.mark.parametrize("name", of_kind("arithmetic"))
def test_arithmetic(name: str, tmp_path: Path) -> None:
    check(name, Data(tmp_path))


@pytest.mark.parametrize("name", of_kind("fast"))
def test_measured_in_seconds(name: str, data: Data) -> None:
    check(name, data)


@pytest.mark.conformance
@pytest.mark.parametrize("name", of_kind("long"))
def test_measured_in_minutes(name: str, data: Data) -> None:
    check(name, data)
