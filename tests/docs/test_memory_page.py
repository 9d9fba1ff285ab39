"""docs/guides/memory.md: its figures are those of the tests."""

from __future__ import annotations

import pickle

import jeton
from tests.core import test_memory
from tests.docs.pages import text_of

TEXT = text_of("memory")


def test_figures() -> None:
    # A copy: the examples set the limit of the one that everybody shares.
    limit = pickle.loads(pickle.dumps(jeton.load("jeton-general-32k"))).cache_limit_bytes
    assert f"{limit >> 20} MiB unless changed" in TEXT
    assert f"limit and {test_memory.OTHER_BYTES >> 20} MiB" in TEXT
