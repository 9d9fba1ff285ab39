"""Ways side by side, and two tokenizers on the same traffic."""

from __future__ import annotations

import json
from decimal import Decimal
from math import ceil
from pathlib import Path

import numpy as np
import pytest

from jeton import catalog
from jeton.adapt import VocabularyChange
from jeton.adapt.migration import migration_plan
from jeton.adapt.shadowing import AbortRules, Side, shadow
from jeton.errors import EmptyCorpusError, UsageError
from tests.adapt.test_extending import BASES, DOMAIN, EXTENDED, GENERAL

OLD, NEW = BASES["bpe"], EXTENDED["bpe"].tokenizer
MODEL, GPU = catalog.model("llama-3.2-1b"), catalog.gpu("h100-sxm")
TRAFFIC = [f"{text} case {i}" for i, text in enumerate([*DOMAIN, *GENERAL])]


def test_doing_nothing_stands_beside_the_others() -> None:
    found = migration_plan(
        iter(TRAFFIC),
        old=OLD,
        new=NEW,
        model=MODEL,
        gpu=GPU,
        requests_per_day=1_000_000,
        change=VocabularyChange.between(OLD, NEW),
    )
    assert [way.name for way in found.ways] == ["nothing", "extension", "continued", "pretraining"]
    before, after = (sum(map(tok.count, TRAFFIC)) for tok in (OLD, NEW))
    assert (found.n_tokens_before, found.n_tokens_after) == (before, after)
    nothing, extension, continued, anew = found.ways
    assert (nothing.usd_once, nothing.break_even_requests) == (Decimal(0), 0)
    assert 0 < extension.usd_once < continued.usd_once < anew.usd_once
    for way in (extension, continued, anew):
        assert way.tokens_ratio == pytest.approx(after / before)
        assert way.usd_saved_per_request == nothing.usd_per_request - way.usd_per_request
        assert way.break_even_requests == ceil(way.usd_once / way.usd_saved_per_request)
        assert way.break_even_months == pytest.approx(way.break_even_requests / 1e6 / 30.4375)
    assert found.best in {"nothing", "extension", "continued"}
    assert "pretraining" in found.to_html()
    assert len(repr(found)) < 120


def test_without_earnings_nothing_is_best() -> None:
    same = migration_plan(
        iter(TRAFFIC), old=OLD, new=OLD, model=MODEL, gpu=GPU, requests_per_day=1_000_000
    )
    assert same.best == "nothing" or same.ways[1].usd_saved_per_request > 0
    worse = migration_plan(
        iter(TRAFFIC), old=NEW, new=OLD, model=MODEL, gpu=GPU, requests_per_day=10
    )
    assert worse.best == "nothing"
    with pytest.raises(UsageError, match="at least one token"):
        migration_plan(iter(TRAFFIC), old=OLD, new=NEW, model=MODEL, gpu=GPU, extension_tokens=0)


def test_differences_are_paired_with_intervals() -> None:
    found = shadow(iter(TRAFFIC), Side(OLD), Side(NEW), stages=[100])
    (stage,) = found.stages
    a, b = (np.array([tok.count(text) for text in TRAFFIC]) for tok in (OLD, NEW))
    more = b - a
    half = 1.959964 * more.std(ddof=1) / np.sqrt(len(more))
    assert stage.tokens.difference == pytest.approx(more.mean())
    assert stage.tokens.low == pytest.approx(more.mean() - half)
    assert stage.tokens.high == pytest.approx(more.mean() + half)
    assert (stage.n_requests, stage.verdict, stage.usd) == (len(TRAFFIC), "go", None)
    assert not found.is_aborted


def test_stages_are_sticky_and_nested() -> None:
    many = [f"request {i}" for i in range(4000)]
    found = shadow(iter(many), Side(OLD), Side(NEW), stages=[1, 10, 50, 100])
    sizes = [stage.n_requests for stage in found.stages]
    assert sizes[-1] == 4000
    assert 15 <= sizes[0] <= 70
    assert 300 <= sizes[1] <= 500
    again = shadow(iter(reversed(many)), Side(OLD), Side(NEW), stages=[1, 10, 50, 100])
    assert [stage.n_requests for stage in again.stages] == sizes
    other = shadow(iter(many), Side(OLD), Side(NEW), stages=[1, 10], salt="x")
    assert [stage.n_requests for stage in other.stages] != sizes[:2]


def test_more_tokens_abort_and_end_the_stages() -> None:
    found = shadow(iter(TRAFFIC), Side(NEW), Side(OLD), stages=[50, 100])
    assert found.is_aborted
    assert len(found.stages) == 1
    assert found.stages[0].verdict == "abort"
    assert "tokens rise by +" in found.stages[0].reasons[0]
    kind = AbortRules(max_more_tokens=10.0)
    assert not shadow(iter(TRAFFIC), Side(NEW), Side(OLD), rules=kind).is_aborted
    few = shadow(iter(TRAFFIC[:5]), Side(NEW), Side(OLD), stages=[100])
    assert few.stages[0].verdict == "too few"


def test_dollars_latency_and_overflow() -> None:
    price = catalog.price("gpt-4o")
    found = shadow(iter(TRAFFIC), Side(OLD, price=price), Side(NEW, price=price), stages=[100])
    usd = found.stages[0].usd
    assert usd is not None
    by_hand = [float(price.usd_for(tok.count(t))) for tok in (OLD, NEW) for t in TRAFFIC]
    assert usd.mean_a == pytest.approx(np.mean(by_hand[: len(TRAFFIC)]))
    own = shadow(
        iter(TRAFFIC),
        Side(OLD, model=MODEL, gpu=GPU),
        Side(NEW, model=MODEL, gpu=GPU),
        stages=[100],
        output_tokens=20,
    ).stages[0]
    assert own.seconds is not None
    assert own.seconds.mean_a > own.seconds.mean_b > 0
    long = "hepatic " * (MODEL.context_tokens // NEW.count(" hepatic"))
    turned = shadow(
        iter([long]),
        Side(NEW, model=MODEL, gpu=GPU),
        Side(OLD, model=MODEL, gpu=GPU),
        stages=[100],
    )
    assert turned.stages[0].n_overflow == 1
    assert turned.is_aborted


def test_domains_have_verdicts_of_their_own(tmp_path: Path) -> None:
    log = tmp_path / "log.jsonl"
    rows = [{"text": text, "d": "medical" if text[0] in "h" else "other"} for text in TRAFFIC]
    log.write_text("".join(json.dumps(row) + "\n" for row in rows))
    found = shadow([log], Side(OLD), Side(NEW), stages=[100], domain_field="d")
    assert {stage.domain for stage in found.stages} == {"", "medical", "other"}
    assert sum(stage.n_requests for stage in found.stages if stage.domain) == len(TRAFFIC)


def test_bad_stages_and_empty_logs_are_refused() -> None:
    for stages in ([], [10, 1], [0], [1, 200]):
        with pytest.raises(UsageError, match=r"stages are|a stage is"):
            shadow(iter(TRAFFIC), Side(OLD), Side(NEW), stages=stages)
    with pytest.raises(EmptyCorpusError):
        shadow(iter([]), Side(OLD), Side(NEW))
