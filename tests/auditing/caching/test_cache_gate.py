"""The gate limits figures of caches, and names the first block that changed."""

from __future__ import annotations

import json
import random
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from tests.auditing.caching.cache_simulator import Faulty, as_anthropic
from tests.auditing.caching.faulty_logs import clock, control, unique_documents
from tests.auditing.tiny import train_tiny


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> str:
    path = tmp_path_factory.mktemp("vocab") / "tiny.jeton.json"
    train_tiny(vocab_size=400).save(path)
    return str(path)


@pytest.mark.parametrize(
    ("make", "budgets", "n_failed", "said"),
    [
        (clock, ("cache_read_share<0.8", "waste_share>0.1", "rewrite_factor>5"), 3, "system[0]"),
        (unique_documents, ("unread_write_share>0.5",), 1, "write-unread"),
        (control, ("cache_read_share<0.8", "waste_share>0.01", "rewrite_factor>5"), 0, ""),
    ],
)
def test_a_figure_of_caches_fails_and_names_the_block(
    tmp_path: Path, tokenizer: str, make: Any, budgets: tuple[str, ...], n_failed: int, said: str
) -> None:
    faulty: Faulty = make(random.Random(1))
    path = tmp_path / "log.jsonl"
    rows = as_anthropic(faulty.sent)
    path.write_text("\n".join(map(json.dumps, rows)) + "\n", encoding="utf-8")
    limits = [word for budget in budgets for word in ("--fail-on", budget)]
    arguments = ["audit", str(path), "--logs", "--tokenizer", tokenizer, "-q", *limits]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == int(n_failed > 0), result.output
    assert result.output.count("FAIL ") == n_failed
    assert said in result.output
