"""An overlap that fills the whole room of a chunk."""

from __future__ import annotations

import pytest

import jeton
from jeton.chunking import chunk_text
from jeton.errors import UsageError


def test_an_overlap_must_leave_room_for_text() -> None:
    tok = jeton.load("jeton-general-32k").with_template("<|endoftext|> $A")
    text = "one two three four five six seven eight nine ten"
    kept = chunk_text(text, tokenizer=tok, max_tokens=5, overlap=3)
    assert len(kept.chunks) > 1
    with pytest.raises(UsageError, match="overlap is 4, and a chunk has room for 4"):
        chunk_text(text, tokenizer=tok, max_tokens=5, overlap=4)
