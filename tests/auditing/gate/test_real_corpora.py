"""The three changes that a gate must name, on real text: contracts, abstracts, French manuals."""

from __future__ import annotations

import json
from functools import cache
from pathlib import Path

import pytest

import jeton
from jeton._core import decompress
from jeton.auditing.gate import Baseline
from tests.auditing.gate.changed_texts import Change, decomposed, doubled_white_space, gate, run

pytestmark = pytest.mark.usefixtures("no_checks")
BUDGETS = ("tokens_per_document>+1%", "bytes_per_token<-1%", "tokens_per_document_p95>+1%")
N_DOCUMENTS = 30


@cache
def texts(corpora: Path, name: str, language: str | None) -> tuple[str, ...]:
    """The first documents of a corpus, of one language where it has several."""
    lines = decompress((corpora / f"{name}.jsonl.zst").read_bytes(), max_bytes=1 << 30).splitlines()
    rows = (json.loads(line) for line in lines)
    found = [row["text"] for row in rows if language is None or row.get("lang") == language]
    return tuple(found[:N_DOCUMENTS])


@cache
def baseline(corpora: Path, name: str, language: str | None) -> Baseline:
    """An audit of the texts as they are."""
    return run(texts(corpora, name, language), jeton.load("jeton-general-32k"), quality=False)[0]


CORPORA = [("legal", None), ("medical", None), ("po_parallel", "fr")]


@pytest.mark.parametrize(
    ("change", "cause"), [(doubled_white_space, "white_space"), (decomposed, "unicode_form")]
)
@pytest.mark.parametrize(("name", "language"), CORPORA)
def test_changed_text_is_named(
    name: str, language: str | None, change: Change, cause: str, shared: Path
) -> None:
    tokenizer = jeton.load("jeton-general-32k")
    original = texts(shared / "data" / "corpora", name, language)
    before = baseline(shared / "data" / "corpora", name, language)
    result = gate([change(text) for text in original], tokenizer, before, *BUDGETS, quality=False)
    if cause == "white_space" or language == "fr":
        assert [item.is_exceeded for item in result.results] == [True] * 3
    for item in result.results:
        # English has few accents, but what it has is named; nothing else is.
        assert {c.part.cause for c in item.causes} <= {cause}
        assert sum(c.part.value for c in item.causes) == item.difference
        if item.difference:
            assert item.documents[0].cause == cause


@pytest.mark.parametrize(("name", "language"), CORPORA)
def test_an_exchanged_tokenizer_is_named(name: str, language: str | None, shared: Path) -> None:
    original = texts(shared / "data" / "corpora", name, language)
    before = baseline(shared / "data" / "corpora", name, language)
    result = gate(
        original,
        jeton.load("jeton-code-32k"),
        before,
        "tokenizer_changed>0",
        *BUDGETS,
        quality=False,
    )
    assert not result.is_passed
    for item in result.results[1:]:
        assert {c.part.cause for c in item.causes} == {"tokenizer"}
        assert sum(c.part.value for c in item.causes) == item.difference
    mixed = [doubled_white_space(text) for text in original]
    both = gate(mixed, jeton.load("jeton-code-32k"), before, *BUDGETS, quality=False).results[0]
    assert {c.part.cause for c in both.causes} == {"tokenizer", "white_space"}
    assert sum(c.part.value for c in both.causes) == both.difference
