"""The vocabulary with the least bill: what competes, what is chosen, what it is judged by."""

from __future__ import annotations

import json
import sys
from decimal import Decimal
from itertools import pairwise
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import jeton
from jeton.catalog import gpu, model
from jeton.cli.app import app
from jeton.economics.serving.capacity import RequestLengths
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.errors import UsageError
from jeton.formats import card_path
from jeton.metrics.bootstrap import Interval
from jeton.planning import HeldOutJudgement, PricedVocabulary, cost_aware
from jeton.planning.cost_aware import _descend
from jeton.training import read_card

STEMS = "inter nation develop govern establish form contribut celebr hesit fascin".split()  # noqa: SIM905
ENDS = "ation ations ing ed ment ments al ally ative atively".split()  # noqa: SIM905


def texts(n: int = 600, seed: int = 0) -> list[str]:
    draw = np.random.default_rng(seed)
    words = [stem + end for stem in STEMS for end in ENDS]
    return [" ".join(draw.choice(words, 40)) + f" {draw.integers(10**6)}" for _ in range(n)]


OPTIONS: dict[str, Any] = {
    "model": "llama-3.2-1b",
    "vocab_sizes": (290, 400),
    "output_tokens_per_request": 50,
    "algorithms": ("trimmed-bpe", "min-token-unigram"),
}


N_RESAMPLES = 10
"""Fewer than usual: each takes two bills. `test_the_command` draws as many as users get."""


def search(**options: Any) -> Any:
    with pytest.MonkeyPatch.context() as patch:
        # The package has a function of the same name as the module.
        patch.setattr(sys.modules[cost_aware.__module__], "N_RESAMPLES", N_RESAMPLES)
        return cost_aware(iter(texts()), **OPTIONS, **options)


@pytest.fixture(scope="module")
def found() -> Any:
    return search()


def test_the_cheapest_is_chosen(found: Any) -> None:
    assert found.chosen in found.candidates
    assert found.chosen.usd_per_request == min(c.usd_per_request for c in found.candidates)
    assert found.plain == found.best_of("bpe")
    assert {c.algorithm for c in found.candidates} == {"bpe", *OPTIONS["algorithms"]}
    assert found.settings.algorithm == found.chosen.algorithm
    assert found.tokenizer.vocab_size == found.chosen.vocab_size
    plain = [c for c in found.candidates if c.algorithm == "bpe"]
    assert plain[0].vocab_size == 290
    assert plain[-1].vocab_size == 400
    # Larger vocabularies of one training never need more tokens.
    assert all(b.n_tokens <= a.n_tokens for a, b in pairwise(plain))


def test_the_bill_is_that_of_the_economics(found: Any) -> None:
    """Worked out again from the documents that were judged by."""
    judged = found.judgement
    everything = texts()
    tokens = found.plain_tokenizer.count_batch(everything)
    assert judged.n_plain_tokens < int(tokens.sum())
    assert judged.n_bytes < sum(len(text.encode()) for text in everything)
    one = RequestLengths.of([100, 100, 120], output_tokens=50)
    cost = own_gpu_cost(
        model("llama-3.2-1b"), gpu("h100-sxm"), one, vocab_size=found.plain.vocab_size
    )
    assert cost.usd_per_request > 0
    assert judged.change == pytest.approx(
        float(judged.usd_per_request / judged.plain_usd_per_request) - 1
    )
    assert judged.low <= judged.change <= judged.high
    assert judged.tokens_change == judged.n_tokens / judged.n_plain_tokens - 1


def test_the_parts_are_apart(found: Any) -> None:
    n_trained = sum(source.n_documents for source in found.corpus.sources)
    assert 0 < found.judgement.n_documents < 0.1 * 600
    assert n_trained + found.judgement.n_documents < 600
    assert n_trained > 0.8 * 600


def test_the_same_on_any_number_of_threads(found: Any) -> None:
    again = search(num_threads=1)
    assert again.to_dict() == found.to_dict()
    assert again.tokenizer.fingerprint == found.tokenizer.fingerprint


def test_the_verdict_says_plainly_whether_it_pays() -> None:
    values: dict[str, Any] = {
        "n_documents": 9,
        "n_bytes": 99,
        "n_tokens": 9,
        "n_plain_tokens": 10,
        "usd_per_request": Decimal(9),
        "plain_usd_per_request": Decimal(10),
        "tokens_change": -0.1,
        "tokens_interval": Interval(-0.2, -0.05, 0.95, "bca", 100, 0),
    }
    better = HeldOutJudgement(change=-0.1, low=-0.15, high=-0.05, **values)
    assert better.verdict.startswith("it is 10.0% cheaper than the best plain BPE (95%: 5.0% to")
    unsure = HeldOutJudgement(change=-0.1, low=-0.25, high=0.05, **values)
    assert unsure.verdict.startswith("it does not beat the best plain BPE beyond doubt")


def test_sizes_are_searched_downhill() -> None:
    costs = [5, 4, 3, 2, 4, 1]
    asked: list[int] = []

    def measured(size: int) -> tuple[PricedVocabulary]:
        asked.append(size)
        return (PricedVocabulary("x", size, 0, Decimal(costs[size])),)

    found = _descend(measured, range(6), 2)
    assert min(c.usd_per_request for (c,) in found) == 2
    assert asked == [2, 1, 3, 4]  # not beyond the hill


def test_the_command(tmp_path: Path) -> None:
    corpus = tmp_path / "calls.jsonl"
    corpus.write_text("\n".join(json.dumps({"text": text}) for text in texts()), encoding="utf-8")
    arguments = ["cost-aware", str(corpus), "--model", "llama-3.2-1b", "--vocab-sizes", "290,330"]
    arguments += ["--algorithm", "trimmed-bpe", "-o", str(tmp_path / "made")]
    result = CliRunner().invoke(app, [*arguments, "--json", str(tmp_path / "found.json")])
    assert result.exit_code == 0, result.output
    assert "documents that nothing was chosen by" in result.output
    data = json.loads((tmp_path / "found.json").read_text(encoding="utf-8"))
    assert data["schema_version"] == "jeton.cost-aware/1"
    card = read_card(card_path(tmp_path / "made"))
    assert card.learned["bill"]["verdict"] == data["judgement"]["verdict"]
    loaded = jeton.load(tmp_path / "made")
    assert loaded.vocab_size == data["chosen"]["vocab_size"]
    assert card.fingerprint == loaded.fingerprint
    quiet = CliRunner().invoke(app, [*arguments, "-q"])
    assert quiet.exit_code == 0


def test_what_cannot_be_says_why() -> None:
    with pytest.raises(UsageError, match="too few documents, or all too much alike"):
        cost_aware(iter(["one document"]), model="llama-3.2-1b")
    with pytest.raises(UsageError, match="no vocabulary size to try"):
        cost_aware(iter(texts(50)), model="llama-3.2-1b", vocab_sizes=())
    with pytest.raises(UsageError, match=r"enough for .* ids only; expected at least 100,000"):
        cost_aware(iter(texts()), model="llama-3.2-1b", vocab_sizes=(100_000,))
    with pytest.raises(UsageError, match="unknown training algorithm"):
        cost_aware(iter(texts(50)), model="llama-3.2-1b", algorithms=("nosuch",))
