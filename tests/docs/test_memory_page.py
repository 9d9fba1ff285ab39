"""docs/memory.md: its examples run, and its figures are those of the tests."""

from __future__ import annotations

import pickle
import re
from pathlib import Path

import jeton
from tests.core import test_memory

PAGE = Path(__file__).resolve().parents[2] / "docs" / "memory.md"


def test_the_examples_run() -> None:
    blocks = re.findall(r"```python\n(.*?)```", PAGE.read_text(encoding="utf-8"), re.DOTALL)
    assert len(blocks) == 3
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)


def test_figures() -> None:
    text = PAGE.read_text(encoding="utf-8")
    # A copy: the examples set the limit of the one that everybody shares.
    limit = pickle.loads(pickle.dumps(jeton.load("jeton-general-32k"))).cache_limit_bytes
    assert f"{limit >> 20} MiB unless changed" in text
    assert f"limit and {test_memory.OTHER_BYTES >> 20} MiB" in text
