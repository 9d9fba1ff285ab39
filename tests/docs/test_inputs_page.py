"""docs/inputs.md: its examples run, one after another; its lists are complete."""

from __future__ import annotations

import re
from dataclasses import fields
from pathlib import Path

import pytest

from jeton.corpus import RequestColumns
from jeton.corpus.requests.fields import MODEL_FIELDS, PROMPT_FIELDS
from jeton.corpus.requests.issues import ISSUE_KINDS
from scripts import inputs_page

PAGE = Path(__file__).resolve().parents[2] / "docs" / "inputs.md"
TEXT = PAGE.read_text(encoding="utf-8")


def test_the_examples_run(
    capsys: pytest.CaptureFixture[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    blocks = re.findall(r"```python\n(.*?)```", TEXT, re.DOTALL)
    assert len(blocks) == 4
    scope: dict[str, object] = {}
    printed = []
    for block in blocks:
        exec(compile(block, str(PAGE), "exec"), scope)
        printed.append(capsys.readouterr().out)
    documents, sample, log, chats = printed
    assert "('The patient was admitted.', 'ward 3')" in documents
    assert "('Discharged.', None)" in documents
    assert re.search(r"at most 0\.\d\d% off", sample)
    assert "[  11 2057] [  -1 2048] [5 7]" in log
    assert "not_a_request 1 log.jsonl, line 3: its fields are level, event" in log
    assert "time_backwards 1 log.jsonl, line 2: by 60.000 s" in log
    assert "<|system|>Be brief.<|user|>And WordPiece?<|assistant|>" in chats


def test_every_kind_of_issue_and_every_column_is_on_the_page() -> None:
    names = [*ISSUE_KINDS, *(field.name for field in fields(RequestColumns))]
    assert [name for name in names if f"`{name}`" not in TEXT] == []
    named = [*PROMPT_FIELDS[:6], *MODEL_FIELDS[:2]]
    assert [name for name in named if f"`{name}`" not in TEXT] == []


def test_the_tables_are_those_of_the_code() -> None:
    for part, render in inputs_page.PARTS.values():
        assert part.of(TEXT) == render(), "python -m scripts.inputs_page rewrites it"
    assert inputs_page.main(["--check"]) == 0
