"""One server for all tests that change nothing of it."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

import jeton
from tests.service.live import Live, live, settings


@pytest.fixture(scope="session")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Live]:
    with live(settings(tmp_path_factory.mktemp("service"))) as server:
        yield server


@pytest.fixture(scope="session")
def main() -> jeton.Tokenizer:
    return jeton.load("jeton-general-32k")


@pytest.fixture(scope="session")
def med() -> jeton.Tokenizer:
    return jeton.load("jeton-medical-32k")
