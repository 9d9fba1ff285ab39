"""Promises against twins: a saving is what the ledger of the changed log has less."""

from __future__ import annotations

import re
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest

import jeton
from jeton.auditing import AuditReport, audit
from tests.auditing.replaying.twins import FINDINGS, MODELS, Drawn, draw, records

KNOWN_WITHIN = re.compile(r"known within ([0-9.]+)%")
QUICK = range(4)
ALL = range(200)


@pytest.fixture
def tokenizer(monkeypatch: pytest.MonkeyPatch, shared: Path) -> jeton.Tokenizer:
    monkeypatch.setenv("JETON_VOCAB_DIR", str(shared / "data" / "vocab"))
    return jeton.load("o200k_base")


def _audited(log: Drawn, tokenizer: jeton.Tokenizer) -> AuditReport:
    # The whole text is in the sample: what is promised is no estimate from a part.
    return audit(
        records(log, tokenizer),
        logs=True,
        tokenizers=["o200k_base"],
        quality=False,
        sample_bytes=64 << 20,
    )


def _check(log: Drawn, tokenizer: jeton.Tokenizer) -> None:
    report = _audited(log, tokenizer)
    assert report.waterfall is not None
    assert report.ledger is not None
    steps = {step.id: step for step in report.waterfall.steps}
    told = frozenset(name for name in log.wastes if FINDINGS[name] in steps)
    promised = -sum(steps[FINDINGS[name]].delta_usd_per_month for name in told) * 12
    after = replace(log, wastes=log.wastes - told)
    twin = _audited(after, tokenizer)
    assert twin.ledger is not None
    before_usd, after_usd = report.ledger.per_year(), twin.ledger.per_year()
    assert before_usd is not None
    assert after_usd is not None
    true = before_usd - after_usd
    # The bill before and after a step is rounded to a millionth of a dollar a month.
    rounding = Decimal("0.000001") * 12 * len(told)
    low, high = promised, promised / Decimal("0.99")
    # Where the provider counts with its own tokenizer, the promise is the low end of an interval:
    # of the slope, and of what it rounds, half a token of each request either way.
    known = [KNOWN_WITHIN.search(steps[FINDINGS[name]].formula) for name in told]
    for found in known:
        assert bool(found) == (MODELS[log.model][1] != 1)
    if any(known):
        share = max(Decimal(found[1]) / 100 for found in known if found)
        (use,) = report.ledger.by_model
        rates = {entry.name: entry.usd_per_unit for entry in use.dimensions}
        a_token = log.n * (rates["input_tokens"] or 0) * 365
        # Half a token that was held back, and one that the counts before and after may round away.
        high = max(high, promised * (1 + 2 * share) + a_token * Decimal("1.5"))
    assert low <= true + rounding, (log, promised, true)
    assert true <= high + rounding, (log, promised, true)
    left = {finding.id for finding in twin.findings}
    assert not left & {FINDINGS[name] for name in told}
    # Parts add up to what was billed, and their dollars to the ledger.
    for one in (report, twin):
        table, ledger = one.billed, one.ledger
        assert ledger is not None
        assert table.input_tokens == ledger.amounts["input_tokens"]
        assert table.output_tokens == ledger.amounts["output_tokens"]
        parts = sum(
            (sum(map(sum, own.input_usd), Decimal(0)) + sum(own.output_usd) + own.other_usd)
            for own in table.by_model.values()
        )
        assert abs(parts - ledger.usd) < Decimal("1e-20")


@pytest.mark.parametrize("seed", QUICK)
def test_a_promise_is_the_difference_to_the_twin(seed: int, tokenizer: jeton.Tokenizer) -> None:
    _check(draw(seed), tokenizer)


@pytest.mark.conformance
@pytest.mark.parametrize("seed", ALL)
def test_two_hundred_promises(seed: int, tokenizer: jeton.Tokenizer) -> None:
    _check(draw(seed), tokenizer)


def test_the_headline_is_the_end_of_the_chain(tokenizer: jeton.Tokenizer) -> None:
    log = Drawn(7, "gpt-4o", 60, 3000, frozenset(FINDINGS), is_cached=False, instructions=20)
    report = _audited(log, tokenizer)
    assert report.waterfall is not None
    twin = _audited(replace(log, wastes=frozenset()), tokenizer)
    assert twin.waterfall is not None
    assert report.waterfall.engineered_usd_per_month == pytest.approx(
        twin.waterfall.engineered_usd_per_month, abs=Decimal("0.0001")
    )


def test_a_fresh_edit_saves_at_the_fresh_rate(tokenizer: jeton.Tokenizer) -> None:
    """MONEY_TRIAL M10: the cache holds the system prompt, the waste is behind it."""
    log = Drawn(3, "gpt-4o", 60, 0, frozenset({"json"}), is_cached=True, instructions=1500)
    _check(log, tokenizer)


@pytest.mark.parametrize("seed", [2, 5])
def test_a_sample_promises_with_an_interval(seed: int, tokenizer: jeton.Tokenizer) -> None:
    log = replace(draw(seed), n=240)
    rows = records(log, tokenizer)
    n_bytes = sum(len(str(row["request"])) for row in rows)
    report = audit(
        rows, logs=True, tokenizers=["o200k_base"], quality=False, sample_bytes=n_bytes // 4
    )
    assert report.waterfall is not None
    assert report.ledger is not None
    assert report.sampling is not None
    assert not report.sampling.deep_is_whole
    steps = {step.id: step for step in report.waterfall.steps}
    told = [name for name in log.wastes if FINDINGS[name] in steps]
    twin = jeton.ledger(records(replace(log, wastes=log.wastes - set(told)), tokenizer))
    before, after = report.ledger.per_year(), twin.per_year()
    assert before is not None
    assert after is not None
    promised = -sum(steps[FINDINGS[name]].delta_usd_per_month for name in told) * 12
    assert float(promised) == pytest.approx(float(before - after), rel=0.03)
    assert all("95% interval" in steps[FINDINGS[name]].formula for name in told)
