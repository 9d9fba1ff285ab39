"""The router: money agrees with the ledger, latency with the roofline, memory is bounded."""

from __future__ import annotations

import json
from datetime import date
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton import catalog
from jeton.cli.app import app
from jeton.cli.route import PRODUCTS, RULES
from jeton.cli.route import STICKY as STICKY_WORDS
from jeton.economics.ledger import LedgerBuilder, usage_rows
from jeton.economics.serving.latency import decode_seconds, prefill_seconds
from jeton.errors import UsageError
from jeton.planning.routing import (
    Endpoint,
    EndpointFailures,
    EndpointGpu,
    Router,
    RoutingRequest,
    parse_endpoints,
    route_logs,
)
from jeton.planning.routing import (
    endpoints as endpoints_module,
)
from jeton.planning.routing.conversations import Conversations, RateLimit, TurnStatistics
from jeton.planning.routing.exporting import EXPORT_PRODUCTS
from jeton.planning.routing.players import CacheTruth, FailureReplay, SecondsHistogram
from jeton.planning.routing.policy import ROUTING_RULES, STICKY
from jeton.planning.routing.requests import NO_ENDPOINT
from jeton.planning.routing.summing import regret_interval
from jeton.report.route import route_html, route_json

TOKENIZER = "jeton-general-32k"
ON = date(2026, 11, 1)


def test_the_command_knows_the_same_words() -> None:
    assert (RULES, STICKY_WORDS, PRODUCTS) == (ROUTING_RULES, STICKY, EXPORT_PRODUCTS)


@settings(max_examples=15, deadline=None)
@given(st.integers(1, 900_000), st.integers(0, 60_000))
def test_a_choice_costs_what_the_ledger_says(n_in: int, n_out: int) -> None:
    name = "google:gemini-2.5-pro"  # its price steps up with the prompt
    router = Router([Endpoint("only", name, TOKENIZER)], on=ON)
    request = RoutingRequest((n_in,), max_output_tokens=max(n_out, 1), time_s=1_790_000_000.0)
    expected = min(router.policy.assumed_output_tokens, max(n_out, 1))
    builder = LedgerBuilder(on=ON)
    row = {"model": name, "input_tokens": n_in, "output_tokens": expected, "time_s": 1.79e9}
    builder.add(usage_rows([row]))
    assert router.choose(request).usd == pytest.approx(float(builder.build().usd), rel=1e-12)


def test_latency_is_the_roofline() -> None:
    router = Router([Endpoint("own", "llama-3-8b", TOKENIZER, gpu=EndpointGpu("h100-sxm"))])
    lane = router.lanes[0]
    model, gpu = catalog.model("llama-3-8b"), catalog.gpu("h100-sxm")
    assert lane.ttft_seconds is not None
    for n in (1, 17, 1000, 8000):
        assert lane.ttft_seconds(n) == pytest.approx(prefill_seconds(model, gpu, n), rel=1e-12)
        step = decode_seconds(model, gpu, context_tokens=n)
        assert lane.token_seconds(n) == pytest.approx(step, rel=1e-12)
    assert lane.context_tokens == model.context_tokens


def test_tokenizers_are_counted_once() -> None:
    router = Router(
        [
            Endpoint("a", "a", TOKENIZER, price="usd:1/1"),
            Endpoint("b", "b", "jeton-code-32k", price="usd:1/1"),
            Endpoint("c", "c", TOKENIZER, price="usd:1/1"),
        ]
    )
    assert len(router.tokenizers) == 2
    a, b, c = router.request("hypertension of the patient", extra_tokens=3).input_tokens
    assert a == c != b
    assert a == router.tokenizers[0].count("hypertension of the patient") + 3


def test_numbers_below_zero_are_refused() -> None:
    router = Router([Endpoint("a", "a", TOKENIZER, price="usd:1/1")])
    for call in (
        lambda: router.choose(RoutingRequest((-1,))),
        lambda: router.choose(RoutingRequest((1, 2))),
        lambda: router.request("x", extra_tokens=-1),
        lambda: router.request("x", max_output_tokens=0),
        lambda: router.finished(router.choose("x"), -1),
    ):
        with pytest.raises(UsageError):
            call()


def test_a_tokenizer_that_is_not_the_model_s_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """P11: a bill in another model's tokens was 29% too large, without a word."""
    monkeypatch.setattr(endpoints_module, "at_hand", lambda family: "jeton-general-32k")
    own = Endpoint("a", "openai:gpt-4o-mini", "jeton-general-32k")
    assert len(Router([own]).tokenizers) == 1
    with pytest.raises(UsageError, match="contradicts the model: openai:gpt-4o-mini reads text"):
        Router([Endpoint("a", "openai:gpt-4o-mini", "jeton-code-32k")])


def test_an_endpoint_that_failed_rests() -> None:
    """A choice is asked for again at once; afterwards the endpoint is tried as before."""
    times = iter([0.0, 0.0, 59.0, 60.0])
    rests = EndpointFailures(cooldown_seconds=60)
    router = Router(
        [
            Endpoint("a", "a", "jeton-general-32k", price="usd:1/1", failures=rests),
            Endpoint("b", "b", "jeton-general-32k", price="usd:2/2"),
        ],
        clock=lambda: next(times),
    )
    request = router.request("oak", max_output_tokens=5)
    choice = router.choose(request)
    assert choice.endpoint == "a"
    router.failed(choice)
    assert router.choose(request).endpoint == "b"
    explained = router.explain(request)
    assert explained.candidates[0].reasons == ("it failed just now",)
    assert router.choose(request).endpoint == "a"
    with pytest.raises(UsageError, match="none can have failed"):
        router.failed(NO_ENDPOINT)


def test_failures_come_as_often_as_stated_and_to_all_alike() -> None:
    often = EndpointFailures(share=0.2, timeout_seconds=3, outages=((10, 30),))
    one, other = (FailureReplay([often, None]) for _ in range(2))
    n = 0
    for second in range(4000):
        one.draw(1e9 + second)
        other.draw(1e9 + second)
        assert one.fails(0) == other.fails(0)
        assert not one.fails(1)
        if 10 <= second < 30:
            assert one.wait(0, 1e9 + second) == max(3, 30 - second)
        n += one.fails(0)
    assert 700 < n < 920


def test_a_bill_of_one_endpoint_regrets_nothing() -> None:
    """P17: the rounding of float sums is no regret."""
    records = [
        {"model": "a", "usage": {"prompt_tokens": 333 + k, "completion_tokens": 77 * k + 1}}
        for k in range(60)
    ]
    found = route_logs(records, [Endpoint("a", "a", "jeton-general-32k", price="usd:0.1/0.7")])
    for outcome in found.outcomes:
        assert outcome.regret_share == 0.0
        assert outcome.regret_low in (None, 0.0)
        assert outcome.regret_high in (None, 0.0)
    # P15: a number that cannot be meant is an error of the package.
    router = Router([Endpoint("a", "a", "jeton-general-32k", price="usd:1/1")])
    with pytest.raises(UsageError, match="output_tokens is nan"):
        router.finished(router.choose("oak"), float("nan"))  # type: ignore[arg-type]


def test_conversations_are_forgotten_oldest_first() -> None:
    known = Conversations(most=2)
    for name in ("a", "b", "a", "c"):
        known.sent(name, 0, 10, 0.0)
    assert known.get("b") is None
    assert known.get("a") is not None
    assert known.get("c") is not None


def test_turns_to_come_are_geometric() -> None:
    turns = TurnStatistics()
    assert turns.to_come("t").n_turns == 2.0
    now_s = 0.0
    for name in range(400):
        for turn in range(4):
            turns.add("t", name, 150 if turn else None, now_s)
            now_s += 1.0
    # Three of four requests are followed by another: p / (1 - p) is 3.
    found = turns.to_come("t")
    assert found.n_turns == pytest.approx(3.0, rel=0.25)
    assert found.growth_tokens == 150
    for name in range(1000, 1400):
        turns.add("single", name, None, now_s)
        now_s += 2.0
    assert turns.to_come("single").n_turns < 0.02


def test_a_conversation_begins_where_it_will_be_cheap() -> None:
    text = """
[[endpoint]]
name = "caches"
model = "caches"
tokenizer = "jeton-general-32k"
[endpoint.price]
input_usd_per_mtok = 1
output_usd_per_mtok = 4
cached_input_usd_per_mtok = 0.1
[[endpoint]]
name = "cheap"
model = "cheap"
tokenizer = "jeton-general-32k"
price = "usd:0.5/5"
"""
    records = []
    for n in range(400):
        talk, turn = n // 5, n % 5
        prompt, kept = 2000 * (turn + 1), 2000 * turn
        usage = {
            "prompt_tokens": prompt,
            "completion_tokens": 400,
            "prompt_tokens_details": {"cached_tokens": kept},
        }
        records.append(
            {"model": "caches", "session_id": f"s{talk}", "timestamp": 1.76e9 + n, "usage": usage}
        )
    found = route_logs(records, parse_endpoints(text))
    # Five turns, in millionths: 10,000 + 20,000 x 0.1 + 2,000 x 4, against 15,000 + 10,000.
    assert found.outcome("always caches").usd == 80 * Decimal("0.020")
    assert found.outcome("always cheap").usd == 80 * Decimal("0.025")
    assert found.outcome("router").regret_share == pytest.approx(0.0, abs=0.02)


def test_a_bucket_refills_steadily() -> None:
    limit = RateLimit(2, None)
    limit.take(1, 0.0)
    limit.take(1, 0.0)
    assert not limit.has_room(1, 29.9)
    assert limit.has_room(1, 30.0)
    limit.take(1, 30.0)
    assert not limit.has_room(1, 10.0)


def test_a_cache_holds_what_was_left_there() -> None:
    caches = CacheTruth()
    age = (50.0, 300.0)
    assert caches.read(1, 0, 500, 1000, age) == 500  # its first request: as logged
    caches.sent(1, 0, 1000, 0.1, 0.0)
    caches.sent(1, 1, 2000, 0.5, 10.0)
    assert caches.read(1, 1, 1900, 3000, age) == 1900  # it stays
    assert caches.read(1, 0, 1900, 3000, age) == 1000  # it comes back
    assert caches.read(1, 2, 1900, 3000, age) == 300  # new there: as its first request
    assert caches.read(1, 0, 1900, 3000, (900.0, 300.0)) == 300  # too late
    assert caches.read(0, 2, 1900, 3000, age) == 1900  # no conversation


def test_times_by_bins() -> None:
    times = SecondsHistogram()
    for value in (0.1, 0.2, 0.4, float("nan")):
        times.add(value)
    assert times.n == 3
    assert times.mean == pytest.approx(0.7 / 3)
    assert times.quantile(0.5) == pytest.approx(0.2, rel=0.05)


def test_the_interval_of_a_regret() -> None:
    least = np.zeros(4096)
    least[:400] = 1.0
    more = np.where(least > 0, 1.1, 0.0)
    low, high = regret_interval(more, least)
    assert low == pytest.approx(0.1)
    assert high == pytest.approx(0.1)
    noisy = more + np.where(np.arange(4096) < 400, (np.arange(4096) % 2) * 0.2, 0.0)
    low, high = regret_interval(noisy, least)
    assert low is not None
    assert high is not None
    # 400 draws of 0.1 and 0.3: a standard error of 0.1 / 20 around 0.2.
    assert low == pytest.approx(0.2 - 1.96 * 0.1 / 20, abs=0.002)
    assert high == pytest.approx(0.2 + 1.96 * 0.1 / 20, abs=0.002)
    assert regret_interval(more[:10], least[:10]) == (None, None)


HOSTILE = """
[[endpoint]]
name = "<script>alert(1)</script>"
model = "a"
tokenizer = "jeton-general-32k"
price = "usd:1/1"
[[endpoint]]
name = "b"
model = "b"
tokenizer = "jeton-general-32k"
price = "usd:2/2"
"""


def test_the_page_is_inert_and_draws_the_regret() -> None:
    records = [
        {"model": "a", "usage": {"prompt_tokens": 100 + n, "completion_tokens": 10}}
        for n in range(40)
    ]
    found = route_logs(records, parse_endpoints(HOSTILE))
    page = route_html(found)
    assert "<script>alert" not in page
    assert page.count("<svg") == 2
    assert "+100" in page
    data = json.loads(route_json(found))
    assert data["schema"] == "jeton.route/1"
    always = {one["name"]: one["usd"] for one in data["outcomes"]}
    assert always["always b"] == "0.01036"
    assert found.outcome("always b").regret_low is not None


def test_command(tmp_path: Path) -> None:
    log, file, page = tmp_path / "l.jsonl", tmp_path / "e.toml", tmp_path / "p.html"
    log.write_text('{"model": "a", "usage": {"prompt_tokens": 9, "completion_tokens": 1}}\n')
    file.write_text(HOSTILE)
    run = CliRunner()
    words = ["route", str(log), "--endpoints", str(file)]
    result = run.invoke(app, [*words, "-o", str(page), "--max-regret", "0.5"])
    assert result.exit_code == 0, result.output
    assert "Router" in result.output
    assert page.read_text().startswith("<!doctype html>")
    result = run.invoke(app, [*words, "--policy", "weighted", "--weights", "cost=1", "--json", "-"])
    assert json.loads(result.stdout)["policy"]["rule"] == "weighted"
    out = tmp_path / "x.yaml"
    result = run.invoke(app, ["route", "--endpoints", str(file), "--export", "litellm",
                              "--export-to", str(out)])  # fmt: skip
    assert result.exit_code == 0
    assert "cost-based-routing" in out.read_text()
