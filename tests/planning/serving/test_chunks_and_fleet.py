"""Sizes of steps by the roofline, edges by time, and fleets by replays."""

from __future__ import annotations

import itertools
import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from jeton.catalog import gpu, model
from jeton.cli.app import app
from jeton.corpus.traces import Trace
from jeton.economics import MemoryPlan
from jeton.economics.serving.latency import prefill_seconds
from jeton.economics.traffic import simulate_traffic
from jeton.errors import UsageError
from jeton.planning.serving import (
    FleetPlan,
    LatencyObjective,
    plan_chunks,
    plan_fleet,
)
from jeton.planning.serving.chunks import padded_seconds, timed_edges
from jeton.planning.serving.fleet import started_ahead
from jeton.planning.serving.servers import SPREADS, Spread, dealt_out, server_of
from jeton.report.plans.chunks import chunk_words
from jeton.report.plans.fleet import fleet_words


def trace_of(n: int = 400, *, rate: float = 12.0, seed: int = 2) -> Trace:
    rng = np.random.default_rng(seed)
    return Trace.of(
        np.cumsum(rng.exponential(1 / rate, n)), rng.integers(200, 2500, n), rng.integers(5, 120, n)
    )


class TestEdges:
    @pytest.mark.parametrize("seed", range(12))
    def test_no_other_choice_takes_less_time(self, seed: int) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 9))
        widths = np.sort(rng.choice(np.arange(1, 40), n, replace=False)).astype(np.int64)
        weights = rng.random(n) + 0.01
        seconds = np.maximum(5.0, widths * rng.random())
        known = dict(zip(widths.tolist(), seconds.tolist(), strict=True))
        for most in range(1, n + 2):
            edges = timed_edges(widths, weights, seconds, max_edges=most)
            assert len(edges) <= most
            assert edges[-1] == widths[-1]
            assert list(edges) == sorted(set(edges))
            found = padded_seconds(edges, widths, weights, known)
            least = min(
                padded_seconds((*others, int(widths[-1])), widths, weights, known)
                for size in range(min(most, n))
                for others in itertools.combinations(widths[:-1].tolist(), size)
            )
            assert found == pytest.approx(least)

    def test_padding_is_free_where_memory_takes_the_time(self) -> None:
        widths = np.array([1, 2, 4, 8, 64])
        edges = timed_edges(widths, np.ones(5), np.array([1.0, 1.0, 1.0, 1.0, 8.0]), max_edges=4)
        assert edges == (8, 64)
        assert timed_edges(np.array([], dtype=np.int64), np.ones(0), np.ones(0), max_edges=3) == ()


class TestChunks:
    def test_the_sizes_are_the_roofline_s(self) -> None:
        found = plan_chunks(
            model="llama-3-8b",
            gpu="h100-sxm",
            prompt_tokens=8192,
            output_tokens=100,
            n_decoding=1,
            tpot_seconds=1.0,
        )
        # Beside a single decoding request, reading is what a prefill alone takes, within its step.
        alone = prefill_seconds(model("llama-3-8b"), gpu("h100-sxm"), 8192)
        by_size = {size.chunk_tokens: size for size in found.sizes}
        assert by_size[16_384].ttft_seconds == pytest.approx(alone, rel=0.02)
        assert by_size[64].ttft_seconds > 2 * alone
        assert found.knee_tokens is not None
        # 989e12 x 0.5 FLOP/s over 3.35e12 x 0.8 B/s, 2 FLOP and 2 bytes a weight: below 200 tokens.
        assert 100 < found.knee_tokens < 400
        assert found.best_tokens is not None
        assert found.best_tokens >= found.knee_tokens
        assert found.step_tokens == found.best_tokens + 1
        times = [size.step_seconds for size in found.sizes]
        assert times[-1] == max(times)
        assert found.buckets == ()

    def test_a_limit_takes_the_largest_that_keeps_it(self) -> None:
        wide, tight = (
            plan_chunks(
                model="llama-3.1-8b",
                gpu="h100-sxm",
                prompt_tokens=4000,
                output_tokens=200,
                n_decoding=64,
                tpot_seconds=limit,
            )
            for limit in (10.0, 0.05)
        )
        assert wide.best_tokens is not None
        assert tight.best_tokens is not None
        assert tight.best_tokens < wide.best_tokens
        kept = [size.chunk_tokens for size in tight.sizes if size.keeps_limit]
        assert all(size.step_seconds <= 0.05 for size in tight.sizes if size.keeps_limit)
        assert tight.best_tokens in kept

    def test_a_limit_that_decoding_alone_breaks_is_said(self) -> None:
        found = plan_chunks(
            model="llama-3-8b",
            gpu="l4",
            prompt_tokens=1000,
            output_tokens=100,
            tpot_seconds=0.001,
        )
        assert found.best_tokens is None
        assert "only decodes takes" in found.reason

    def test_edges_of_a_trace(self) -> None:
        found = plan_chunks(
            trace_of(), model="llama-3-8b", gpu="a10g", max_buckets=4, tpot_seconds=0.5
        )
        prompts, batches = found.buckets
        assert len(prompts.edges) <= 4
        assert all(edge % 64 == 0 for edge in prompts.edges)
        assert prompts.edges[-1] >= 2499 // 64 * 64
        for one in (prompts, batches):
            assert 0 <= one.added_share <= one.padding_added_share + 1e-12
            assert one.added_share <= one.doubling_added_share + 1e-12

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({}, "no lengths are given"),
            ({"prompt_tokens": 10}, "no lengths are given"),
            ({"prompt_tokens": -5, "output_tokens": 5}, "prompt_tokens is -5"),
            ({"trace": trace_of(30), "prompt_tokens": 9}, "given twice"),
            ({"prompt_tokens": 9, "output_tokens": 9, "tpot_seconds": 0.0}, "tpot_seconds is 0"),
            ({"prompt_tokens": 9, "output_tokens": 9, "n_decoding": 0}, "n_decoding is 0"),
            ({"prompt_tokens": 9, "output_tokens": 9, "load": -1.0}, "load is -1"),
        ],
    )
    def test_bad_arguments(self, given: dict[str, object], says: str) -> None:
        with pytest.raises(UsageError, match=says):
            plan_chunks(**{"model": "llama-3-8b", "gpu": "l4", **given})  # type: ignore[arg-type]


@pytest.fixture(scope="module")
def fleets() -> FleetPlan:
    return plan_fleet(
        trace_of(),
        model="llama-3-8b",
        gpus=["a10g", "h100-sxm", "t4"],
        objective=LatencyObjective(ttft_seconds=1.5, tpot_seconds=0.2),
        window_seconds=15.0,
    )


class TestFleet:
    def test_one_server_less_is_too_few(self, fleets: FleetPlan) -> None:
        for option in fleets.options:
            if option.servers is None or option.servers == 1:
                continue
            assert option.ttft_p99_seconds is not None
            assert option.tpot_p99_seconds is not None
            assert option.ttft_p99_seconds <= 1.5
            assert option.tpot_p99_seconds <= 0.2
            less = option.ttft_p99_with_one_less_seconds, option.tpot_p99_with_one_less_seconds
            assert less[0] is not None
            assert less[1] is not None
            assert less[0] > 1.5 or less[1] > 0.2

    def test_the_bill_is_servers_times_price(self, fleets: FleetPlan) -> None:
        prices = [option.usd_per_month for option in fleets.options if option.usd_per_month]
        assert prices == sorted(prices)
        assert fleets.best == fleets.options[0].gpu
        for option in fleets.options:
            if option.servers is None:
                assert option.usd_per_month is None
                assert option.reason
                continue
            hourly = option.servers * option.n_gpus * option.usd_per_hour
            assert option.usd_per_hour_fleet == hourly.quantize(Decimal("0.01"))
            assert option.usd_per_month == (hourly * 730).quantize(Decimal("0.01"))
            assert option.usd_per_month_scaled is not None
        assert fleets.peak_requests_per_second >= fleets.requests_per_second * 0.99

    def test_evenly_spaced_requests_need_as_many_servers_as_they_last_pauses(self) -> None:
        """Arrivals every second, one request at a time: D/D/n waits unless n >= service."""
        server = server_of("llama-3-8b", "h100-sxm", plan=MemoryPlan(max_requests=1))
        trace = Trace.of(np.arange(40.0), np.full(40, 500), np.full(40, 700))
        alone = simulate_traffic(trace.part(rate_factor=1e-3), server)
        service = alone.latency_seconds.p50
        assert service > 2
        found = plan_fleet(
            trace,
            model="llama-3-8b",
            gpus=["h100-sxm"],
            plan=MemoryPlan(max_requests=1),
            objective=LatencyObjective(ttft_seconds=0.2),
        )
        assert found.options[0].servers == math.ceil(service)

    def test_a_limit_that_an_idle_server_breaks_has_no_number(self) -> None:
        found = plan_fleet(
            trace_of(60),
            model="llama-3-8b",
            gpus=["t4"],
            objective=LatencyObjective(ttft_seconds=0.001),
        )
        assert found.best is None
        assert "an idle server takes" in found.options[0].reason

    def test_requests_that_fit_no_server_have_no_number(self) -> None:
        trace = Trace.of(np.arange(30.0), np.full(30, 50_000), np.full(30, 10))
        found = plan_fleet(trace, model="llama-3-8b", gpus=["h100-sxm"])
        assert found.best is None
        assert "30 of 30 requests fit neither" in found.options[0].reason
        assert found.options[0].n_refused == 30

    @pytest.mark.parametrize(
        ("given", "says"),
        [
            ({"gpus": []}, "no GPU is given"),
            ({"gpus": ["l4", "t4"], "usd_per_hour": Decimal(1)}, "one price is given for 2 GPUs"),
            ({"gpus": ["l4"], "usd_per_hour": Decimal(0)}, "a price of 0 USD"),
            ({"gpus": ["l4"], "window_seconds": -1.0}, "window_seconds is -1"),
            ({"gpus": ["l4"], "window_seconds": 1e-6}, "windows of the trace"),
            ({"gpus": ["l4"], "startup_seconds": -1.0}, "startup_seconds is -1"),
            ({"gpus": ["l4"], "spread": "random"}, "expected turns or prefix"),
            ({"gpus": ["l4"], "spread": "prefix"}, "does not say which prompts begin alike"),
            ({"gpus": ["l4"], "today": (0, "l4")}, "today's fleet has 0 GPUs"),
        ],
    )
    def test_bad_arguments(self, given: dict[str, object], says: str) -> None:
        with pytest.raises(UsageError, match=says):
            plan_fleet(trace_of(40), model="llama-3-8b", **given)  # type: ignore[arg-type]


def conversations(n: int, turns: int, seed: int = 3) -> Trace:
    """Conversations whose turns begin with all that was said before."""
    rng = np.random.default_rng(seed)
    starts = np.sort(rng.uniform(0, 60, n))
    rows = sorted(
        (float(start) + 9.0 * turn, 512 * (turn + 2), [100 * talk + k for k in range(turn + 2)])
        for talk, start in enumerate(starts)
        for turn in range(turns)
    )
    at, prompts, blocks = zip(*rows, strict=True)
    return Trace.of(at, prompts, [40] * len(rows), block_tokens=512, blocks=list(blocks))


class TestSpread:
    @pytest.mark.parametrize("spread", SPREADS)
    @pytest.mark.parametrize("n", [1, 3, 7, 400])
    def test_every_request_goes_to_one_server(self, spread: Spread, n: int) -> None:
        trace = conversations(40, 3)
        parts = dealt_out(trace, n, spread)
        assert len(parts) == n
        assert sorted(np.concatenate(parts).tolist()) == list(range(len(trace)))

    def test_a_conversation_stays_where_it_was_read(self) -> None:
        trace = conversations(40, 4)
        parts = dealt_out(trace, 4, "prefix")
        owners = {i: server for server, part in enumerate(parts) for i in part.tolist()}
        talks: dict[int, set[int]] = {}
        for i, blocks in enumerate(trace.prompt_blocks()):
            talks.setdefault(blocks[0], set()).add(owners[i])
        assert sum(len(servers) == 1 for servers in talks.values()) > 30
        sizes = [int(trace.prompt_tokens[part].sum()) for part in parts]
        assert max(sizes) < 1.6 * min(sizes)

    def test_a_prompt_that_all_share_does_not_fill_one_server(self) -> None:
        n = 200
        trace = Trace.of(
            np.arange(n) * 0.05, [1024] * n, [40] * n,
            block_tokens=512, blocks=[[0, i] for i in range(1, n + 1)],
        )  # fmt: skip
        sizes = [len(part) for part in dealt_out(trace, 4, "prefix")]
        assert max(sizes) < n / 2
        assert min(sizes) > n / 10

    def test_caches_hold_more_where_their_prompts_come_back(self) -> None:
        trace = conversations(60, 4)
        found = {
            spread: plan_fleet(
                trace,
                model="llama-3-8b",
                gpus=["l4"],
                objective=LatencyObjective(ttft_seconds=2.0, tpot_seconds=0.2),
                window_seconds=1e4,
                prefix_cache=True,
                spread=spread,
            ).options[0]
            for spread in SPREADS
        }
        turns, prefix = found["turns"], found["prefix"]
        assert turns.servers is not None
        assert prefix.servers is not None
        assert turns.servers > 1
        assert prefix.servers <= turns.servers
        assert turns.cached_share is not None
        assert prefix.cached_share is not None
        assert prefix.cached_share > turns.cached_share


@pytest.mark.parametrize(
    ("sizes", "lead", "paid"),
    [
        ([2, 2, 2], 5.0, 2.0),
        ([1, 3, 1, 1], 0.0, 1.5),
        ([1, 3, 1, 1], 0.5, 1.75),
        # The second window starts three servers while the first one runs: one window ahead.
        ([1, 3, 1, 1], 1.0, 2.0),
        ([1, 1, 4], 2.0, 4.0),
    ],
)
def test_a_server_is_paid_from_its_start_on(sizes: list[int], lead: float, paid: float) -> None:
    assert started_ahead(sizes, lead) == pytest.approx(paid)


def test_today_s_figure_stands_beside_the_plan_s() -> None:
    trace = trace_of(60)
    found = plan_fleet(
        trace, model="llama-3-8b", gpus=["l4"], today=(100, "l4"), startup_seconds=90
    )
    one = found.options[0]
    assert found.today is not None
    assert found.today.usd_per_month == (one.usd_per_hour * 100 * 730).quantize(Decimal("0.01"))
    words = " ".join(fleet_words(found))
    assert f"today 100 x L4 ${found.today.usd_per_month:,.2f} a month; planned $" in words
    assert "% less" in words
    chunks = plan_chunks(model="llama-3-8b", gpu="h100", prompt_tokens=900, output_tokens=90)
    assert chunks.today.chunk_tokens == 8192 - chunks.n_decoding
    assert "today 7," in " ".join(chunk_words(chunks))


def test_commands_write_every_form(tmp_path: Path) -> None:
    trace = trace_of(80)
    file = tmp_path / "trace.jsonl"
    rows = zip(
        trace.arrival_seconds.tolist(),
        trace.prompt_tokens.tolist(),
        trace.output_tokens.tolist(),
        strict=True,
    )
    names = ("arrival_seconds", "input_tokens", "output_tokens")
    file.write_text(
        "".join(json.dumps(dict(zip(names, row, strict=True))) + "\n" for row in rows),
        encoding="utf-8",
    )
    page, text = tmp_path / "page.html", tmp_path / "page.md"
    words = ["plan", "chunks", str(file), "--model", "llama-3-8b", "--gpu", "l4", "--tpot", "0.5"]
    done = CliRunner().invoke(app, [*words, "-o", str(page), "--markdown", str(text)])
    assert done.exit_code == 0, done.output
    assert "Edges of buckets" in done.stdout
    assert page.read_text(encoding="utf-8").count("<svg") == 2
    assert "| Prompt tokens |" in text.read_text(encoding="utf-8")
    done = CliRunner().invoke(app, [*words, "--tpot", "0.0001"])
    assert done.exit_code == 1
    words = ["plan", "fleet", str(file), "--model", "llama-3-8b", "--gpus", "a10g,h100-sxm"]
    done = CliRunner().invoke(app, [*words, "-o", str(page), "--json", "-", "--ttft", "3"])
    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["best"] in ("A10G", "H100-SXM")
    done = CliRunner().invoke(app, [*words, "--usd-per-hour", "0"])
    assert done.exit_code == 2
    assert "is no price" in done.stderr
