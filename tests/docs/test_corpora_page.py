"""docs/guides/corpus-care.md: its table is that of the settings."""

from __future__ import annotations

import re

from jeton import _core
from jeton.corpus import NearDuplicateSettings
from tests.docs.pages import text_of

TEXT = text_of("corpus-care")


def test_figures() -> None:
    near = NearDuplicateSettings()
    shares = [f"{near.probability(s):.1%}" for s in (0.3, 0.5, 0.7, 0.8, 0.9)]
    assert f"| found | {' | '.join(shares)} |" in TEXT
    section = TEXT[TEXT.index("## Quality") : TEXT.index("## Hold-out")]
    for name in _core.quality_figures():
        gram = re.fullmatch(r"(top|duplicate)_(\d+)_gram_chars", name)
        assert f"`{name}`" in section or gram is not None, name
