"""Every component of `tokenizer.json` on long texts that no boundary cuts: it finishes.

Something quadratic needs minutes for one of these; the limit is generous for the rest. The same
tokenizers and texts run at sizes up to 16 MB in ``scripts.long_inputs``.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from jeton.errors import PatternCostError
from scripts.long_inputs.subjects import SUBJECTS, Subject
from scripts.long_inputs.texts import TEXTS, Text

N_BYTES = 100_000
TIME_LIMIT_SECONDS = 5
MADE = [
    subject for subject in SUBJECTS if ":" in subject.name and "Precompiled" not in subject.name
]
CHOSEN = (
    "only spaces",
    "only U+0301",
    "only U+4E2D",
    "alternating space, newline",
    "alternating a, accent",
    "one letter, then accents",
    "random small letters",
    "random bytes, replaced",
    "look-alikes [MASK], spaces",
)
HOSTILE = [text for text in TEXTS if text.name in CHOSEN]


def test_the_chosen_texts_exist() -> None:
    assert len(HOSTILE) == len(CHOSEN)


@pytest.mark.parametrize("text", TEXTS, ids=lambda text: text.name)
def test_texts_have_their_size_and_are_the_same_every_time(text: Text) -> None:
    made = text.build(10_000)
    assert 9_500 <= len(made.encode()) <= 10_500
    assert made == text.build(10_000)


@pytest.mark.timeout(TIME_LIMIT_SECONDS)
@pytest.mark.parametrize("text", HOSTILE, ids=lambda text: text.name)
@pytest.mark.parametrize("subject", MADE, ids=lambda subject: subject.name)
def test_finishes(subject: Subject, text: Text, tmp_path: Path) -> None:
    tokenizer = subject.load(tmp_path)
    long = text.build(N_BYTES)
    try:
        ids = tokenizer.encode_array(long, allow_special="all")
    except PatternCostError:
        assert "reference" in subject.name
        return
    found = tokenizer.encode_with_offsets(long, allow_special="all")
    assert (found.ids == ids).all()
    assert tokenizer.count(long, allow_special="all") == len(ids)
    assert isinstance(tokenizer.decode(ids), str)
    if len(ids):
        assert 0 <= found.starts.min() <= found.ends.max() <= len(long)
