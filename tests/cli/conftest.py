"""A small vocabulary by the name ``small``, and two ways to run the command line."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from jeton.cli.app import app
from jeton.formats import save_file
from tests.formats import small

PYTHON = Path(__file__).resolve().parents[2] / "python"


@pytest.fixture(autouse=True)
def vocab_dir(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """$JETON_VOCAB_DIR with ``small`` in it; the working directory is an empty one."""
    folder = tmp_path / "vocabularies"
    folder.mkdir()
    save_file(small.tokenizer(), folder / "small.jeton.json")
    monkeypatch.setenv("JETON_VOCAB_DIR", str(folder))
    work = tmp_path / "work"
    work.mkdir()
    monkeypatch.chdir(work)
    return folder


@pytest.fixture
def run() -> Callable[..., Result]:
    """Run a command line in this process."""

    def call(*words: str, **options: str | bytes) -> Result:
        result = CliRunner().invoke(app, list(words), **options)  # type: ignore[arg-type]
        for text in (result.stdout, *(p.read_text("utf-8") for p in Path().glob("*.json"))):
            check_strict(text)
        return result

    return call


def check_strict(text: str) -> None:
    """Fail for text that is JSON to Python and to no other reader (NaN, Infinity)."""
    try:
        json.loads(text)
    except ValueError:
        return  # no JSON at all
    json.loads(text, parse_constant=_no_constant)


def _no_constant(name: str) -> None:
    pytest.fail(f"{name} is not JSON (RFC 8259, section 6)")


@pytest.fixture
def environment() -> dict[str, str]:
    """The environment of a process that runs the command line from this source tree."""
    found = {**os.environ, "PYTHONPATH": str(PYTHON), "PYTHONDONTWRITEBYTECODE": "1"}
    found.pop("JETON_DEBUG", None)
    return found


@pytest.fixture
def process(environment: dict[str, str]) -> Callable[..., subprocess.CompletedProcess[bytes]]:
    """Run a command line in a process of its own."""

    def call(*words: str | bytes, stdin: bytes = b"") -> subprocess.CompletedProcess[bytes]:
        return subprocess.run(
            [sys.executable, "-m", "jeton", *words],
            input=stdin,
            capture_output=True,
            env=environment,
            timeout=60,
            check=False,
        )

    return call
