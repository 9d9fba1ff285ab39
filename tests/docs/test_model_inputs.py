"""docs/guides/model-inputs.md: its lists are right."""

from __future__ import annotations

import jeton
from tests.docs.pages import text_of

TEXT = text_of("model-inputs")


def test_every_array_is_on_the_page() -> None:
    names = [name for name in vars(jeton.ModelInputs) if not name.startswith("_")]
    missing = {name for name in names if f"`{name}`" not in TEXT}
    assert missing == {"is_padded", "to_dict"}
