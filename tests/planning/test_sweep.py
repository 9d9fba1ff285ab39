"""A sweep: sizes of one training on held-out text, their costs, and the forms that show them."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import jeton
from jeton.cli.app import app
from jeton.planning import NestedVocabularies, sweep
from jeton.planning.sweep_results import steps
from jeton.report.sweep import sweep_html, sweep_json, sweep_markdown

WORDS = ["low", "lower", "lowest", "new", "newer", "wide", "widest", "and", "the", "of"]


def texts(n: int = 400, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    return [" ".join(draw.choice(WORDS, 30)) + f" {i}" for i in range(n)]


@pytest.fixture(scope="module")
def found() -> Any:
    return sweep(
        iter(texts()),
        vocab_sizes=(260, 280, 300),
        model=["llama-3.2-1b"],
        output_tokens_per_request=20,
    )


def test_every_size_is_what_its_own_training_gives(found: Any) -> None:
    assert found.n_documents + sum(s.n_documents for s in found.corpus.sources) == 400
    assert 5 <= found.n_documents <= 45  # 5% of 400
    for point in found.points:
        assert found.tokens_at(point.vocab_size) == point.n_tokens
        assert found.tokenizer(point.vocab_size).vocab_size == point.vocab_size
    assert [point.vocab_size for point in found.points] == [260, 280, 300]
    first, second, _ = found.points
    assert first.tokens_saved is None
    assert second.tokens_saved == pytest.approx(1 - second.n_tokens / first.n_tokens)
    assert second.bytes_per_token_interval.low < second.bytes_per_token
    assert second.bytes_per_token == found.n_bytes / second.n_tokens


def test_held_out_text_that_is_given(found: Any) -> None:
    apart = texts(50, seed=1)
    other = sweep(iter(texts()), vocab_sizes=(300,), heldout=iter(apart))
    tokenizer = jeton.train(iter(texts()), vocab_size=300)
    assert other.tokenizer(300).fingerprint == tokenizer.fingerprint
    assert other.points[0].n_tokens == tokenizer.count_batch(apart).sum()
    assert other.n_bytes == sum(len(text.encode()) for text in apart)
    assert other.models == ()


def test_the_best_has_the_least_and_says_why(found: Any) -> None:
    (model,) = found.models
    asked = {p.vocab_size: p for p in model.trade.points if p.vocab_size in (260, 280, 300)}
    least = min(asked.values(), key=lambda point: point.usd_per_request)
    assert model.best == least.vocab_size
    assert model.trade.best in {point.vocab_size for point in model.trade.points}
    assert f"{model.best:,} ids have the least usd_per_request" in model.reasons[0]
    assert {law.approach for law in model.laws} == {"isoflops", "derivative", "loss"}
    by_memory = sweep(
        iter(texts()),
        vocab_sizes=(260, 300),
        model=["llama-3.2-1b"],
        minimise="weight_bytes",
    )
    assert by_memory.models[0].best == 260
    assert "it is the smallest size asked for" in " ".join(by_memory.models[0].reasons)


def test_the_same_on_any_number_of_threads(found: Any) -> None:
    again = sweep(
        iter(texts()),
        vocab_sizes=(300, 260, 280, 280),
        model=["llama-3.2-1b"],
        output_tokens_per_request=20,
        num_threads=1,
    )
    assert again.to_dict() == found.to_dict()


def test_all_forms_show_the_same_numbers(found: Any) -> None:
    data = json.loads(sweep_json(found))
    markdown, page = sweep_markdown(found), sweep_html(found)
    for point in data["points"]:
        assert f"{point['n_tokens']:,}" in markdown
        assert f"{point['n_tokens']:,}" in page
    assert "<svg" in page
    assert "src=" not in page
    assert "- 2" in markdown or "- 3" in markdown


def test_sizes_that_the_text_cannot_fill_are_left_out() -> None:
    found = sweep(iter(texts(60)), vocab_sizes=(260, 100_000))
    assert [point.vocab_size for point in found.points] == [260]
    assert found.left_out == (100_000,)
    assert found.dropped_words.startswith("100,000 ids were asked for, and the text fills ")


def test_what_cannot_be_meant() -> None:
    with pytest.raises(jeton.UsageError, match="no vocabulary size"):
        sweep(iter(texts()), vocab_sizes=())
    with pytest.raises(jeton.UsageError, match="no held-out text"):
        sweep(iter(["one text only"]), vocab_sizes=(260,))
    with pytest.raises(jeton.EmptyCorpusError):
        sweep(iter([]), vocab_sizes=(260,))
    with pytest.raises(jeton.UnknownModelError):
        sweep(iter(texts()), vocab_sizes=(260,), model=["lama"])
    with pytest.raises(jeton.TrainingError):
        sweep(iter(texts()), vocab_sizes=(100,))


def test_steps_are_even_in_octaves() -> None:
    assert steps(1000, 2000) == (1000, 1189, 1414, 1682, 2000)
    assert steps(7, 7) == (7,)


def test_the_command(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(texts()), encoding="utf-8")
    command = [
        "sweep",
        str(corpus),
        "--documents",
        "line",
        "--vocab-sizes",
        "0.26k,300",
        "--model",
        "llama-3.2-1b",
        "-o",
        str(tmp_path / "best"),
        "--html",
        str(tmp_path / "sizes.html"),
    ]
    result = CliRunner().invoke(app, command)
    assert result.exit_code == 0, result.output
    assert "Tokens of the held-out text" in result.output
    assert (tmp_path / "sizes.html").read_text(encoding="utf-8").startswith("<!doctype html>")
    saved = jeton.load(tmp_path / "best")
    assert saved.vocab_size in (260, 300)
    assert NestedVocabularies.of(saved).n_base == 257
    as_json = CliRunner().invoke(app, [*command[:6], "--json", "-", "-q"])
    assert [p["vocab_size"] for p in json.loads(as_json.stdout)["points"]] == [260, 300]
    wrong = CliRunner().invoke(app, ["sweep", str(corpus), "--vocab-sizes", "8k,x"])
    assert wrong.exit_code == 2
    assert "'x' is not a size" in wrong.output
