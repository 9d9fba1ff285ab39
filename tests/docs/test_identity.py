"""identity.md: its table is what the files give, and its figures are those of the probe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

import jeton
from jeton.probe import probe_texts
from scripts import identity_table
from tests.docs.pages import text_of

TEXT = text_of("identity")


def table() -> str:
    return identity_table.PART.of(TEXT)


QUICK = ("jeton-general-32k-v1", "XLNet cased", "BERT cased")
"""Tokenizers with rows of each kind: the same, another but equal on all texts, different."""


def check(rows: Sequence[identity_table.Row]) -> None:
    for row in rows:
        if row.explanation is not None and row.explanation.verdict == "same_fingerprint":
            assert row.explanation.is_same_on_probe


def test_rows_of_the_table_are_what_the_files_give(shared: Path) -> None:
    """Some of them; `make conformance` measures all."""
    groups = [group for group in identity_table.GROUPS if group.name in QUICK]
    assert len(groups) == len(QUICK)
    rows = list(identity_table.measure(shared / "data" / "vocab", groups))
    check(rows)
    verdicts = {row.explanation.verdict for row in rows if row.explanation is not None}
    assert len(verdicts) == 3
    head, line, *lines = identity_table.render(rows).splitlines()
    whole = table().splitlines()
    assert [head, line] == whole[:2]
    for group in groups:
        n_forms = len(group.forms)
        found, lines = lines[:n_forms], lines[n_forms:]
        start = next(i for i, row in enumerate(whole) if row.startswith(f"| {group.name} |"))
        assert found == whole[start : start + n_forms]


@pytest.mark.conformance
def test_the_table_is_what_the_files_give(shared: Path) -> None:
    rows = list(identity_table.measure(shared / "data" / "vocab"))
    assert table() == identity_table.render(rows), "python -m scripts.identity_table rewrites it"
    check(rows)


def test_the_table_has_a_row_for_each_form() -> None:
    forms = [form for group in identity_table.GROUPS for form, _ in group.forms]
    assert [line.split(" | ")[1] for line in table().splitlines()[2:]] == forms


def test_figures_of_the_probe() -> None:
    n_bytes = sum(len(text.encode("utf-8")) for text in probe_texts())
    assert f"{len(probe_texts())} short texts and long runs, {n_bytes / 1000:.0f} KB" in TEXT
    assert f"equal ids on {len(probe_texts())} texts" in TEXT


def test_a_row_that_does_not_load_says_so() -> None:
    row = identity_table.Row("x", "`x.bin`", None, None)
    assert identity_table.render([row]).endswith("| x | `x.bin` |  |  | does not load yet |")


def test_rows_of_equal_and_different_tokenizers() -> None:
    a, b = jeton.load("jeton-general-32k-v1"), jeton.load("jeton-code-32k-v1")
    digest = jeton.probe_digest(b)
    for other, words in ((a, "the same tokenizer"), (b, "differs on")):
        explanation = jeton.explain(a, other, n_cases=0)
        row = identity_table.Row("x", "y", digest, explanation)
        assert words in identity_table.render([row])
