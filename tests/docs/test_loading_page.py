"""docs/guides/loading.md: its figures are those of the code."""

from __future__ import annotations

from jeton.registry import compiled, index
from tests.docs.pages import text_of


def test_figures() -> None:
    text = text_of("loading")
    assert f"below {compiled._MIN_SOURCE_BYTES >> 10} KB" in text
    assert f"more than {index._MAX_FOLDER_FILES} files" in text
    assert f"take {compiled._MAX_CACHE_BYTES >> 30} GiB at most" in text
    assert compiled._SETTLED_NS == 2_000_000_000
    assert "within the last two seconds" in text
    for name in (index._SWITCH, index.ENTRY_SUFFIX):
        assert name in text
