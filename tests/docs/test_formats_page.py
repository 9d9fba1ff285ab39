"""The table of docs/guides/formats.md knows every format."""

from __future__ import annotations

from jeton.formats import FORMATS
from jeton.formats.writing import FORMAT_NAMES
from tests.docs.pages import text_of

TEXT = text_of("formats")


def test_every_format_that_is_written_is_in_the_table() -> None:
    rows = [line for line in TEXT.splitlines() if "| yes, `" in line]
    assert len(rows) == len(FORMATS)
    assert set(FORMATS) <= set(FORMAT_NAMES)
