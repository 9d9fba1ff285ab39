"""Limits of an API: from the times of logs, from a rate, and options that cannot be meant."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

from jeton._core import Tokenizer
from jeton.auditing import audit
from jeton.auditing.checks.hardware import MONTHS_AHEAD
from jeton.auditing.money.bills import quota_of
from jeton.economics import Quota
from jeton.errors import UsageError
from jeton.findings import Basis, Finding, Severity
from tests.auditing.conftest import EvidenceOf

START = 1_760_000_000.0


def _log(n: int = 60, *, gap_s: float = 3.0, usage: bool = True) -> list[dict[str, Any]]:
    return [
        {
            "prompt": f"the value of {i}",
            "response": "yes",
            "timestamp": START + gap_s * i,
            **({"usage": {"prompt_tokens": 100, "completion_tokens": 20}} if usage else {}),
        }
        for i in range(n)
    ]


def _fired(report: Any) -> list[Finding]:
    return [finding for finding in report.findings if finding.id == "quota-exceeded"]


def _audit(records: Any, tokenizer: Tokenizer, quota: Quota, **options: Any) -> Any:
    return audit(records, tokenizers=[tokenizer], quota=quota, quality=False, **options)


def test_the_busiest_minute_of_a_log_against_its_limit(good: Tokenizer) -> None:
    # 20 requests a minute of 120 tokens each.
    report = _audit(_log(), good, Quota(tokens_per_minute=2_000), logs=True)
    assert report.quota.basis is Basis.EXACT
    assert report.quota.peak_tokens_per_minute == 2_400
    assert report.quota.used_share == 1.2
    assert report.quota.first_exceeded_s == START + 3 * 16, "the 17th request is 2,040 tokens"
    (finding,) = _fired(report)
    assert finding.severity is Severity.WARNING
    assert finding.figure.basis is Basis.EXACT
    assert "120%" in finding.title
    assert f"{report.quota.n_refused:,} requests of the log would be refused" in finding.title
    assert "17% fewer tokens" in finding.remedy


def test_a_limit_that_is_kept_is_silent(good: Tokenizer) -> None:
    report = _audit(_log(), good, Quota(tokens_per_minute=2_400), logs=True)
    assert report.quota.used_share == 1.0
    assert report.quota.n_refused == 0
    assert not _fired(report)
    assert not _fired(audit(_log(), tokenizers=[good], logs=True, quality=False))


def test_growth_uses_a_limit_up(good: Tokenizer) -> None:
    quota = Quota(requests_per_minute=25)
    soon = _audit(_log(), good, quota, logs=True, growth_per_month=0.1)
    # 20 x 1.1^n = 25
    assert soon.quota.months_until_exhausted == pytest.approx(2.341, abs=0.001)
    (finding,) = _fired(soon)
    assert finding.severity is Severity.INFO
    assert "2.3 months" in finding.title
    later = _audit(_log(), good, quota, logs=True, growth_per_month=0.05)
    assert later.quota.months_until_exhausted > MONTHS_AHEAD
    assert not _fired(later)


def test_requests_without_usage_are_counted_here(good: Tokenizer) -> None:
    records = _log(usage=False)
    report = _audit(records, good, Quota(tokens_per_minute=10**6), logs=True)
    answer = good.count("yes")
    peak = max(
        sum(good.count(record["prompt"]) + answer for record in records[first : first + 20])
        for first in range(len(records) - 19)
    )
    assert report.quota.peak_tokens_per_minute == peak


def test_a_rate_gives_an_estimate(good: Tokenizer) -> None:
    options: dict[str, Any] = {"requests_per_day": 1440 * 100, "output_tokens_per_request": 10}
    texts = [" the value" * (1 + i % 7) for i in range(70)]
    report = _audit(iter(texts), good, Quota(requests_per_minute=100), **options)
    assert report.quota.basis is Basis.ESTIMATED
    # 100 a minute and 3.09 standard deviations of 10.
    assert report.quota.peak_requests_per_minute == pytest.approx(130.9, abs=0.1)
    (finding,) = _fired(report)
    assert "Poisson" in finding.figure.formula
    assert not _fired(_audit(iter(texts), good, Quota(requests_per_minute=131), **options))
    timeless = [{**record, "timestamp": None} for record in _log()]
    by_rate = _audit(timeless, good, Quota(requests_per_day=50), logs=True, requests_per_day=60)
    assert by_rate.quota.basis is Basis.ESTIMATED
    assert by_rate.quota.binding == "requests_per_day"
    assert _fired(by_rate)


def test_quotas_that_cannot_be_judged_are_errors(good: Tokenizer) -> None:
    quota = Quota(tokens_per_minute=5)
    with pytest.raises(UsageError, match="how many requests come in a time"):
        _audit("no-such-file", good, quota)
    with pytest.raises(UsageError, match="has no limit"):
        _audit("no-such-file", good, Quota(), requests_per_day=5)
    with pytest.raises(UsageError, match="below 1"):
        _audit("no-such-file", good, Quota(requests_per_day=0), requests_per_day=5)
    with pytest.raises(UsageError, match="growth_per_month is -2"):
        _audit("no-such-file", good, quota, requests_per_day=5, growth_per_month=-2)
    with pytest.raises(UsageError, match="without a quota"):
        audit("no-such-file", tokenizers=[good], growth_per_month=0.1)
    timeless = [{**record, "timestamp": None} for record in _log()]
    with pytest.raises(UsageError, match="how many requests come in a time"):
        _audit(timeless, good, quota, logs=True)


def test_a_log_that_is_not_kept_whole_gives_an_estimate(
    evidence_of: EvidenceOf, good: Tokenizer
) -> None:
    evidence = evidence_of(_log(), tokenizers=[good], logs=True)
    assert evidence.requests is not None
    part = replace(evidence.requests, is_complete=False)
    report = quota_of(
        Quota(tokens_per_minute=2_000),
        part,
        evidence.current.lengths,
        requests_per_day=None,
        output_tokens_per_request=0,
        growth_per_month=None,
    )
    assert report.basis is Basis.ESTIMATED
    assert "only the first 60 requests" in report.formula
