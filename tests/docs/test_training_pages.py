"""Pages on superwords, better vocabularies and continuing: names are right."""

from __future__ import annotations

from dataclasses import fields

from jeton.training.algorithms.bpe import BpeOptions
from jeton.training.algorithms.min_token import MinTokenOptions
from jeton.training.algorithms.parity import ParityOptions
from jeton.training.algorithms.superbpe import PHRASE_PATTERNS, SuperBpeOptions
from jeton.training.algorithms.trimmed import TrimmedOptions
from tests.docs.pages import text_of


def test_defaults_are_those_of_the_code() -> None:
    text = text_of("superwords")
    for name in PHRASE_PATTERNS:
        assert f'`"{name}"`' in text
    defaults = SuperBpeOptions()
    assert f'`"{defaults.phrases}"` (default)' in text
    assert f"{defaults.max_words} (-31.7%, the default)" in text


def test_the_page_on_better_vocabularies_is_right() -> None:
    text = text_of("better-vocabularies")
    parity, fewest = ParityOptions(), MinTokenOptions()
    for options in (parity, fewest, TrimmedOptions()):
        own = {field.name for field in fields(options)} - {f.name for f in fields(BpeOptions)}
        assert [name for name in sorted(own) if f"`{name}`" not in text] == []
    assert f"| `window`, `alpha` | {parity.window}, {parity.alpha:g} |" in text
    for name in ("seed_factor", "shrinking_factor", "min_saving"):
        assert f"| `{name}` | {getattr(fewest, name):g} |" in text
    assert f"`least_use` ({TrimmedOptions().least_use})" in text
