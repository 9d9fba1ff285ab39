"""Memory that the host has found before a contender begins."""

from __future__ import annotations

import sys

import pytest

from benches import host_memory
from benches.isolated import resident_bytes


@pytest.mark.skipif(sys.platform != "linux", reason="huge pages are asked for on Linux only")
def test_all_pages_are_touched_and_given_back() -> None:
    before = resident_bytes() or 0
    assert before > 0
    assert host_memory.touch(64 << 20) == 64 * 256
    assert (resident_bytes() or 0) - before < 32 << 20
