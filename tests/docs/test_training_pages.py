"""Pages on superwords, better vocabularies and continuing: examples run; names are right."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from jeton.training.algorithms.bpe import BpeOptions
from jeton.training.algorithms.min_token import MinTokenOptions
from jeton.training.algorithms.parity import ParityOptions
from jeton.training.algorithms.superbpe import PHRASE_PATTERNS, SuperBpeOptions
from jeton.training.algorithms.trimmed import TrimmedOptions
from scripts.better_vocabularies_page import TABLES, articles

DOCS = Path(__file__).resolve().parents[2] / "docs"


@pytest.mark.parametrize(
    ("page", "n_blocks"), [("superwords", 1), ("continue-training", 3), ("better-vocabularies", 2)]
)
@pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")
def test_the_examples_run(page: str, n_blocks: int) -> None:
    text = (DOCS / f"{page}.md").read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.DOTALL)
    assert len(blocks) == n_blocks
    scope: dict[str, object] = {}
    for block in blocks:
        exec(compile(block, page, "exec"), scope)


def test_defaults_are_those_of_the_code() -> None:
    text = (DOCS / "superwords.md").read_text(encoding="utf-8")
    for name in PHRASE_PATTERNS:
        assert f'`"{name}"`' in text
    defaults = SuperBpeOptions()
    assert f'`"{defaults.phrases}"` (default)' in text
    assert f"{defaults.max_words} (-31.7%, the default)" in text


def test_the_page_on_better_vocabularies_is_right() -> None:
    text = (DOCS / "better-vocabularies.md").read_text(encoding="utf-8")
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
