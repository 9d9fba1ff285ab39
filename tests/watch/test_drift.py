"""Drift: alarms that may not be false, delays, causes, the story of 3 a.m."""

from __future__ import annotations

import random
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.auditing.gate import CAUSES as GATE_CAUSES
from jeton.catalog import gpu, model, price
from jeton.errors import FormatError, UsageError
from jeton.watch import (
    DRIFT_CAUSES,
    SIGNALS,
    Alert,
    Monitor,
    ServedBy,
    WatchedRequest,
    WatchHistory,
    WatchSettings,
)
from jeton.watch.background import MonitorThread
from jeton.watch.signals import MeanEvidence, mean_interval
from jeton.watch.windows import MAX_GROUPS, WatchSums
from studies.drift.streams import Splice, splices
from tests.watch.streams import TOKENIZER, WEIGHTS, history, requests, texts


def test_stable_streams_raise_no_more_false_alarms_than_alpha() -> None:
    """200 streams whose means stay at the edge of their intervals, where chances are greatest."""
    draw = np.random.default_rng(7)
    alpha = 0.05
    bets = MeanEvidence(np.full(200, 0.4), np.full(200, 0.4))
    greatest = np.ones(200)
    for values in draw.beta(2, 3, (1500, 200)):
        bets.add(values)
        greatest = np.maximum(greatest, bets.evidence)
    assert (greatest >= 1 / alpha).mean() <= alpha


@pytest.mark.parametrize(("factor", "most"), [(1.1, 900), (1.25, 250), (1.5, 120)])
def test_shifts_are_found_sooner_the_larger_they_are(factor: float, most: int) -> None:
    draw = np.random.default_rng(3)
    bets = MeanEvidence(np.full(50, 0.39), np.full(50, 0.41))
    for values in draw.beta(8, 12, (1000, 50)):
        bets.add(values)
    found = np.full(50, 10_000)
    for i, values in enumerate(draw.beta(8, 12, (1000, 50)) * factor):
        bets.add(np.clip(values, 0, 1))
        new = (bets.evidence >= 1000) & (found == 10_000)
        found[new] = i + 1
    assert np.median(found) <= most
    assert abs(np.median(bets.starts) - 1000) <= 40


@given(
    st.lists(st.floats(0, 1), min_size=1, max_size=30),
    st.floats(0.001, 0.2),
)
def test_the_interval_of_a_mean_holds_the_mean(values: list[float], miss: float) -> None:
    low, high = mean_interval(values, [1] * len(values), miss=miss)
    mean = sum(values) / len(values)
    assert 0 <= low <= mean + 1e-6
    assert mean - 1e-6 <= high <= 1
    wider = mean_interval(values, [1] * len(values), miss=miss / 10)
    assert wider[0] <= low + 1e-6
    assert wider[1] >= high - 1e-6


def test_a_stream_like_its_history_is_quiet() -> None:
    assert Monitor(history()).observe(*requests(1000, seed=11)) == ()


def first_alert(monitor: Monitor, changed: list[WatchedRequest]) -> tuple[Alert, int]:
    for number, request in enumerate(changed, start=1):
        found = monitor.observe(request)
        if found:
            return found[0], number
    raise AssertionError("no alert")


@pytest.mark.parametrize(
    "splice",
    [s for s in splices(texts(), rare="code") if not s.vocabulary],
    ids=lambda splice: splice.how,
)
def test_the_cause_of_a_spliced_stream_is_named(splice: Splice) -> None:
    draw = random.Random(5)
    monitor = Monitor(history())
    assert monitor.observe(*requests(200, seed=21)) == ()
    changed = [splice.change(request, draw) for request in requests(1000, seed=22)]
    alert, _ = first_alert(monitor, changed)
    assert alert.cause == splice.cause, alert.line
    assert sum(cause.share for cause in alert.causes) == pytest.approx(1)
    assert abs(alert.since_request - 200) <= 60


def test_another_tokenizer_is_named_by_drift_and_by_canary() -> None:
    monitor = Monitor(history(), tokenizer="jeton-code-32k")
    canary = monitor.check_canary()
    assert canary is not None
    assert (canary.kind, canary.cause) == ("canary", "tokenizer")
    assert monitor.check_canary() is None  # told once
    alert, _ = first_alert(monitor, requests(1000, seed=31))
    assert alert.cause == "tokenizer"


def test_a_history_of_another_tokenizer_is_known_at_the_first_request() -> None:
    monitor = Monitor(history(), tokenizer="jeton-code-32k")
    assert monitor.to_dict()["canary"] == "unread"
    (alert,) = monitor.observe(*requests(1, seed=31))
    assert (alert.kind, alert.cause, alert.n_requests) == ("canary", "tokenizer", 0)
    assert f"{TOKENIZER}-v1 -> jeton-code-32k" in alert.line
    assert monitor.to_dict()["canary"] == "tokenizer"
    # A history without a canary has a tokenizer that reads one.
    bare = Monitor(replace(history(), canary=None), tokenizer="jeton-code-32k")
    assert bare.observe(*requests(1, seed=31))[0].kind == "canary"
    same = Monitor(history())
    assert same.observe(*requests(1, seed=31)) == ()
    assert same.to_dict()["canary"] == "same"


@pytest.mark.parametrize(
    ("added", "signal"),
    [("<|endoftext|>", "special_hit_share"), ("\u200b" * 40, "invisible_share")],
)
def test_a_signal_that_is_its_own_cause_names_it(added: str, signal: str) -> None:
    monitor = Monitor(history())
    changed = [replace(r, text=f"{r.text}{added}") for r in requests(200, seed=32)]
    alert = next(a for r in changed for a in monitor.observe(r) if a.signal == signal)
    assert alert.cause == "preprocessing"
    assert "cause: preprocessing" in alert.line


def test_a_changed_preprocessing_moves_the_canary_at_once() -> None:
    tokenizer = jeton.load(TOKENIZER)
    monitor = Monitor(tokenizer=tokenizer, preprocess=str.strip)
    assert monitor.check_canary() is None
    monitor._preprocess = str.upper
    alert = monitor.check_canary()
    assert alert is not None
    assert alert.cause == "preprocessing"
    assert "canary: preprocessing changed" in alert.line


def test_the_story_of_3_am() -> None:
    """A deployed step triples the tokens: caught in 200 requests, cause and minutes named."""
    served_by = ServedBy(model("llama-3.1-8b"), gpu("l4"), seconds_per_token=0.03)
    monitor = Monitor(history(), served_by=served_by, price=price("usd:2.5/10"))
    quiet = [replace(r, at=i * 0.4, n_output=300) for i, r in enumerate(requests(600, seed=41))]
    assert monitor.observe(*quiet) == ()
    night = [
        WatchedRequest(_tripled(r.text or ""), source=r.source, at=240 + i * 0.4, n_output=300)
        for i, r in enumerate(requests(200, seed=42))
    ]
    alert, delay = first_alert(monitor, night)
    assert delay <= 200
    assert alert.cause == "preprocessing"
    assert 2 < alert.after / alert.before < 6 or alert.signal == "single_byte_share"
    assert alert.memory_words
    assert sum(cause.usd_per_day or 0 for cause in alert.causes) > 0
    assert "cause: preprocessing" in alert.line


def _tripled(text: str) -> str:
    return " ".join(text)


def test_each_cause_of_the_gate_has_one_home() -> None:
    homes = [name for cause in DRIFT_CAUSES.values() for name in cause.of]
    assert len(homes) == len(set(homes))
    assert set(GATE_CAUSES) <= set(homes)


def test_windows_merge_in_any_order() -> None:
    whole = Monitor(tokenizer=TOKENIZER)
    whole.observe(*requests(300, seed=51))
    parts = [Monitor(tokenizer=TOKENIZER) for _ in range(3)]
    for i, request in enumerate(requests(300, seed=51)):
        parts[i % 3].observe(request)
    a, b, c = (part.sums for part in parts)
    assert a.merge(b).merge(c).to_plain() == c.merge(a).merge(b).to_plain()
    assert a.merge(b).merge(c).to_plain() == whole.sums.to_plain()


def test_invented_names_add_no_groups() -> None:
    monitor = Monitor()
    for i in range(1500):
        monitor.observe(WatchedRequest(n_tokens=10, route=f"model-{i}", source=f"x{i}"))
    assert len(monitor.sums.groups) == MAX_GROUPS
    assert monitor.sums.total().n_requests == 1500


def test_a_route_that_moves_alone_is_found() -> None:
    def of(route: str, n: int, tokens: int, seed: int) -> list[WatchedRequest]:
        draw = random.Random(seed)
        return [
            WatchedRequest(n_tokens=round(tokens * draw.lognormvariate(0, 0.2)), route=route)
            for _ in range(n)
        ]

    past = of("chat", 3000, 400, 1) + of("search", 300, 100, 2)
    random.Random(0).shuffle(past)
    monitor = Monitor(settings=WatchSettings(learn_requests=20_000))
    monitor.observe(*past)
    watch = Monitor(monitor.make_history())
    now = of("chat", 900, 400, 3) + of("search", 90, 220, 4)
    random.Random(0).shuffle(now)
    found = watch.observe(*now)
    assert [alert.route for alert in found] == ["search"]


def test_a_new_normal_is_accepted() -> None:
    monitor = Monitor(history())
    shouted = [replace(r, text=(r.text or "").upper()) for r in requests(600, seed=61)]
    assert monitor.observe(*shouted[:100])
    monitor.accept()
    assert monitor.observe(*shouted[100:]) == ()
    assert not any(state.is_raised for state in monitor.states())


@given(st.binary(max_size=300))
def test_damaged_histories_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        WatchHistory.from_bytes(data)


_JSON = st.none() | st.integers() | st.text(max_size=5)


@given(st.dictionaries(st.sampled_from(["n_requests", "levels", "route"]), _JSON, max_size=3))
def test_damaged_groups_are_refused(plain: dict[str, object]) -> None:
    good = WatchSums.from_plain(history().sums.to_plain()).to_plain()
    with pytest.raises(FormatError):
        WatchSums.from_plain([plain])
    with pytest.raises(FormatError):
        WatchSums.from_plain([{**good[0], "n_tokens": -1}])


def test_an_audit_baseline_is_a_history() -> None:
    from jeton.auditing import audit
    from jeton.auditing.gate import Baseline, Collector

    collector = Collector()
    past = [r.text or "" for r in requests(150, seed=71)]
    report = audit(iter(past), tokenizers=TOKENIZER, observers=[collector])
    found = WatchHistory.from_bytes(Baseline.build(report, collector).to_bytes())
    assert found.side is not None
    monitor = Monitor(found)
    long = [replace(r, text=(r.text or "") * 3, source="") for r in requests(200, seed=72)]
    alert, _ = first_alert(monitor, long)
    assert alert.signal == "tokens_per_request"


def test_what_cannot_be_meant_is_said() -> None:
    with pytest.raises(UsageError, match="neither a number of tokens"):
        Monitor().observe(WatchedRequest("text"))
    with pytest.raises(UsageError, match="alpha is 2"):
        WatchSettings(alpha=2)
    with pytest.raises(UsageError, match="intervals of means"):
        MeanEvidence([0.5], [0.4])


def test_a_service_never_waits_for_the_watch() -> None:
    told: list[Alert] = []
    monitor = Monitor(history(), on_alert=told.append)
    with MonitorThread(monitor, max_waiting=5000, canary_seconds=0.01) as thread:
        for request in requests(100, seed=81):
            assert thread.offer(replace(request, text=" ".join(request.text or "")))
    assert monitor.n_requests == 100
    assert told
    assert thread.last_error is None
    blocked = MonitorThread(monitor, max_waiting=1)
    assert [blocked.offer(WatchedRequest(n_tokens=1)) for _ in range(3)] == [True, False, False]
    assert blocked.n_dropped == 2


def test_signals_keep_values_within_their_steps() -> None:
    for signal in SIGNALS.values():
        level = signal.level(0.25)
        assert level is not None
        assert signal.value(level) == pytest.approx(0.25)
    assert set(WEIGHTS) == {"mail", "forum", "code"}
