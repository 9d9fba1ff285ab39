"""docs/guides/attribution.md: names and figures are right."""

from __future__ import annotations

from jeton import attribution
from jeton.attribution import units
from tests.docs.pages import text_of

TEXT = text_of("attribution")


FROM = "from jeton.attribution import fold_attention, word_units\n"


def test_every_public_function_is_on_the_page() -> None:
    functions = [name for name in attribution.__all__ if name.islower()]
    assert [name for name in functions if name not in TEXT] == []
    assert f"above {units.MAX_PAIRS // 10**6} million pairs" in TEXT
