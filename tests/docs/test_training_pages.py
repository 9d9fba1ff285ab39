"""Pages on superwords, better vocabularies and continuing: names are right."""

from __future__ import annotations

from dataclasses import fields

from jeton.training.algorithms.bpe import BpeOptions
from jeton.training.algorithms.min_token import MinTokenOptions
from jeton.training.algorithms.parity import ParityOptions
from jeton.training.algorithms.superbpe import PHRASE_PATTERNS, SuperBpeOptions
from jeton.training.algorithms.trimmed import TrimmedOptions
from scripts.better_vocabularies_page import TABLES, articles
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
    # The tables were made: nothing stands between no pair of markers.
    for name in TABLES:
        begin, end = text.index(f"<!-- {name}: begin"), text.index(f"<!-- {name}: end")
        assert text[begin:end].count("\n|") > 2


def test_articles_are_told_apart_by_their_numbers() -> None:
    body = "\n".join(f"Article {n}\nEveryone has {n + 40} rights." for n in range(1, 31))
    found = articles(f"Declaration\nPreamble\n{body}")
    assert found is not None
    assert len(found) == 31
    assert found[0] == "Declaration\nPreamble"
    assert found[30] == "Everyone has 70 rights."
    assert articles("Article 1\nEveryone.") is None
