"""The plan of admission: drawings of a trace, the choice of the best, settings, looks."""

from __future__ import annotations

import json
import math
from decimal import Decimal
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from jeton.cli.app import app
from jeton.corpus.traces import Trace
from jeton.economics import MemoryPlan
from jeton.economics.admission import Policy
from jeton.errors import UsageError
from jeton.planning.serving import AdmissionPlan, LatencyObjective, plan_admission
from jeton.planning.serving.choosing import best_policy
from jeton.planning.serving.replays import (
    ReplayFigures,
    SeedFigure,
    drawn_windows,
    ratio_over_seeds,
    replay_figures,
)
from jeton.planning.serving.servers import engine_defaults, server_of
from jeton.report.plans.admission import admission_html, admission_json, admission_markdown


def trace_of(n: int = 300, *, rate: float = 2.0, seed: int = 1) -> Trace:
    rng = np.random.default_rng(seed)
    return Trace.of(
        np.cumsum(rng.exponential(1 / rate, n)), rng.integers(50, 3000, n), rng.integers(1, 600, n)
    )


@pytest.fixture(scope="module")
def plan() -> AdmissionPlan:
    return plan_admission(
        trace_of(),
        model="llama-3-8b",
        gpu="a10g",
        policies=[Policy("dynamic"), Policy("maximum"), Policy("static"), Policy("peak")],
        loads=[0.4, 0.8],
        seeds=3,
        n_requests=200,
    )


class TestDrawings:
    def test_a_drawing_has_the_windows_of_the_trace(self) -> None:
        trace = Trace.of(np.arange(100.0), np.arange(1, 101), np.full(100, 7))
        drawn = drawn_windows(trace, n_requests=60, seed=4, window_seconds=10.0)
        assert len(drawn) == 60
        # Ten requests of a window stay together, in their order and at their distances.
        for start in range(0, 60, 10):
            prompts = drawn.prompt_tokens[start : start + 10]
            assert (np.diff(prompts) == 1).all()
            assert prompts[0] % 10 == 1
        assert np.allclose(np.diff(drawn.arrival_seconds), 1.0)

    def test_drawings_are_told_by_their_seed_alone(self) -> None:
        trace = trace_of()
        first, again, other = (
            drawn_windows(trace, n_requests=100, seed=seed) for seed in (0, 0, 1)
        )
        assert first.arrival_seconds.tolist() == again.arrival_seconds.tolist()
        assert first.prompt_tokens.tolist() == again.prompt_tokens.tolist()
        assert first.prompt_tokens.tolist() != other.prompt_tokens.tolist()

    def test_a_window_that_is_drawn_again_shares_no_block_with_itself(self) -> None:
        trace = Trace.of(
            np.arange(24.0),
            np.full(24, 32),
            np.full(24, 7),
            block_tokens=16,
            blocks=[[0, i] for i in range(1, 25)],
        )
        drawn = drawn_windows(trace, n_requests=96, seed=0, window_seconds=4.0, with_blocks=True)
        blocks = drawn.prompt_blocks()
        seen = {tuple(pair) for pair in blocks}
        assert len(seen) == len(blocks) == 96
        # The first block is shared by all that were drawn as often before.
        assert 4 <= len({pair[0] for pair in blocks}) < 20

    @pytest.mark.parametrize(
        ("trace", "says"),
        [
            (Trace.of([0.0], [5], [5]), "the trace has 1 request; expected at least 20"),
            (Trace.of(np.zeros(50), np.full(50, 9), np.full(50, 9)), "have one time"),
        ],
    )
    def test_traces_that_say_nothing_of_a_queue(self, trace: Trace, says: str) -> None:
        with pytest.raises(UsageError, match=says):
            plan_admission(trace, model="llama-3-8b", gpu="a10g")


class TestFigures:
    def test_an_interval_is_student_s(self) -> None:
        found = SeedFigure.of([11.0, 12.0, 13.0])
        assert found.mean == 12.0
        assert found.low == pytest.approx(12 - 4.303 / math.sqrt(3))
        assert SeedFigure.of([1.0, 2.0, 3.0]).low == 0.0
        assert SeedFigure.of([5.0]) == SeedFigure(5.0)
        assert SeedFigure.of([1.0, float("nan")]).to_dict() == dict.fromkeys(
            ("mean", "low", "high")
        )

    def test_a_ratio_is_paired(self) -> None:
        found = ratio_over_seeds([2.0, 20.0, 200.0], [1.0, 10.0, 100.0])
        assert found is not None
        assert (found.mean, found.low, found.high) == pytest.approx((2.0, 2.0, 2.0))
        assert ratio_over_seeds([0.0], [1.0]) is None
        wide = ratio_over_seeds([1.1, 1.5, 2.5], [1.0, 1.0, 1.0])
        assert wide is not None
        assert wide.low is not None
        assert 0 < wide.low < 1

    def test_an_idle_server_answers_in_the_roofline_s_time(self) -> None:
        server = server_of("llama-3-8b", "h100-sxm")
        trace = Trace.of(np.arange(30) * 10.0, np.full(30, 1000), np.full(30, 11))
        found = replay_figures(
            trace,
            server,
            policy=Policy("dynamic"),
            settings=engine_defaults(server),
            objective=LatencyObjective(ttft_seconds=0.1, tpot_seconds=0.02),
        )
        assert found.in_time_share == 1.0
        assert found.goodput_requests_per_second == pytest.approx(30 / 290)
        assert found.evictions_per_thousand == 0
        assert 0.02 < found.ttft_p50_seconds < 0.1
        assert found.ttft_p99_seconds == pytest.approx(found.ttft_p50_seconds)
        # 16 GB of weights at 3.35 TB/s, of which a share is reached.
        assert 0.0048 < found.tpot_p99_seconds < 0.0096
        # An hour costs 2.69 USD; 30 x 1,011 tokens take 290 s and the last answer.
        assert found.usd_per_mtok is not None
        assert float(found.usd_per_mtok) == pytest.approx(2.69 / 3600 * 290 / 0.03033, rel=1e-3)
        assert found.usd_per_mtok_in_time == found.usd_per_mtok
        late = replay_figures(
            trace,
            server,
            policy=Policy("dynamic"),
            settings=engine_defaults(server),
            objective=LatencyObjective(ttft_seconds=0.001),
        )
        assert late.in_time_share == 0.0
        assert late.usd_per_mtok_in_time is None


def figures(goodput: float, **changed: float) -> ReplayFigures:
    given = {
        "requests_per_second": 1.0,
        "goodput_requests_per_second": goodput,
        "in_time_share": 1.0,
        "utilisation_share": 0.5,
        "reserved_share": 0.5,
        "evictions_per_thousand": 0.0,
        "ttft_p50_seconds": 1.0,
        "ttft_p99_seconds": 2.0,
        "tpot_p99_seconds": 0.1,
        "tokens_per_second": 1.0,
        **changed,
    }
    return ReplayFigures(
        **given,
        usd_per_mtok=Decimal(1),
        usd_per_mtok_in_time=Decimal(1),
        n_refused=0,
        running_p99=1,
        predicted_tokens_mean=None,
    )


class TestChoice:
    POLICIES = (Policy("dynamic"), Policy("peak"))

    def choose(
        self, first: list[ReplayFigures], second: list[ReplayFigures], objective: LatencyObjective
    ) -> tuple[int, tuple[str, ...]]:
        return best_policy(self.POLICIES, [[first], [second]], [1.0], 0, objective)

    def test_the_one_that_is_surely_better_is_named(self) -> None:
        first = [figures(1.0), figures(2.0), figures(3.0)]
        second = [figures(1.2), figures(2.39), figures(3.61)]
        place, reasons = self.choose(first, second, LatencyObjective())
        assert place == 1
        assert "peak has the most answers in time a second" in reasons[0]

    def test_of_two_that_cannot_be_told_apart_the_simpler_is_named(self) -> None:
        first = [figures(1.0), figures(2.0), figures(3.0)]
        second = [figures(1.3), figures(1.9), figures(3.2)]
        place, reasons = self.choose(first, second, LatencyObjective())
        assert place == 0
        assert "simpler to have" in reasons[1]

    def test_the_aim_decides(self) -> None:
        quick, full = {"ttft_p99_seconds": 1.0}, {"utilisation_share": 0.9}
        first = [figures(1.0, **full), figures(1.1, **full)]
        second = [figures(1.0, **quick), figures(1.1, **quick)]
        for aim, place in (("ttft", 1), ("utilisation", 0), ("goodput", 0), ("cost", 0)):
            objective = LatencyObjective(aim=aim)  # type: ignore[arg-type]
            assert self.choose(first, second, objective)[0] == place, aim


class TestPlan:
    def test_policies_are_what_they_are_known_for(self, plan: AdmissionPlan) -> None:
        dynamic, maximum, static, peak = plan.policies
        at = {one.label: one.at(0.8) for one in plan.policies}
        assert at["maximum"].evictions_per_thousand.mean == 0
        assert at["static"].utilisation_share.mean < at["dynamic"].utilisation_share.mean
        assert at["peak"].evictions_per_thousand.mean <= at["dynamic"].evictions_per_thousand.mean
        assert dynamic.best_goodput.mean > maximum.best_goodput.mean > static.best_goodput.mean > 0
        ratio = peak.best_goodput_over["dynamic"]
        assert ratio is not None
        assert 0.8 < ratio.mean < 1.3
        assert plan.best in ("dynamic", "peak")
        for policy in plan.policies:
            for load in policy.loads:
                assert 0 <= load.utilisation_share.mean <= load.reserved_share.mean <= 1
                assert load.goodput_requests_per_second.mean <= load.requests_per_second * 1.02

    def test_settings_are_those_that_were_replayed(self, plan: AdmissionPlan) -> None:
        vllm, sglang, tensorrt, llama = plan.advice
        values = {one.name: one.value for one in vllm.settings}
        assert int(values["max-num-seqs"]) < int(values["max-num-batched-tokens"])
        assert 0 < float(values["gpu-memory-utilization"]) <= 0.95
        assert vllm.command_line.startswith("--max-num-seqs ")
        others = {one.name: one.value for one in sglang.settings}
        assert others["max-running-requests"] == values["max-num-seqs"]
        assert 0.1 <= float(others["schedule-conservativeness"]) <= 1.3
        assert 0.5 < float(others["mem-fraction-static"]) < 0.95
        theirs = {one.name: one.value for one in tensorrt.settings}
        assert theirs["max_batch_size"] == values["max-num-seqs"]
        assert theirs["max_num_tokens"] == values["max-num-batched-tokens"]
        assert 0.9 <= float(theirs["kv_cache_free_gpu_memory_fraction"]) <= 0.95
        cells = {one.name: one.value for one in llama.settings}
        assert 1 <= int(cells["parallel"]) <= int(values["max-num-seqs"])
        assert int(cells["ctx-size"]) % 256 == 0
        assert all(one.reason for engine in plan.advice for one in engine.settings)

    def test_every_form_shows_it(self, plan: AdmissionPlan) -> None:
        data = json.loads(admission_json(plan))
        assert data["best"] == plan.best
        assert len(data["policies"]) == 4
        page = admission_html(plan)
        assert page.count("<svg") == 3
        assert plan.best in page
        assert "--max-num-seqs" in admission_markdown(plan)

    @pytest.mark.parametrize(
        ("changed", "says"),
        [
            ({"loads": [0.0]}, "loads are 0"),
            ({"loads": [1.0, 0.5]}, "ascending"),
            ({"seeds": 0}, "seeds is 0"),
            ({"policies": []}, "no policy is given"),
            ({"policies": [Policy("mean"), Policy("mean")]}, "'mean' is given twice"),
            ({"window_seconds": 1e9}, "window_seconds is 1e"),
            ({"usd_per_hour": Decimal(0)}, "a price of 0 USD an hour; expected a price above 0"),
            ({"model": "llama-3.1-70b", "plan": MemoryPlan(n_gpus=1)}, "does not fit 1 x A10G"),
        ],
    )
    def test_what_cannot_be_meant(self, changed: dict[str, object], says: str) -> None:
        given = {"model": "llama-3-8b", "gpu": "a10g", "seeds": 1, "n_requests": 50, **changed}
        with pytest.raises(UsageError, match=says):
            plan_admission(trace_of(60), **given)  # type: ignore[arg-type]


class TestCommand:
    def test_it_writes_what_is_asked_for(self, tmp_path: Path) -> None:
        trace = trace_of(120, rate=1.0)
        rows = zip(trace.arrival_seconds, trace.prompt_tokens, trace.output_tokens, strict=True)
        file = tmp_path / "trace.csv"
        file.write_text(
            "arrival_seconds,input_tokens,output_tokens\n"
            + "".join(f"{at},{prompt},{output}\n" for at, prompt, output in rows),
            encoding="utf-8",
        )
        words = ["plan", "admission", str(file), "--model", "llama-3-8b", "--gpu", "a10g"]
        words += ["--seeds", "2", "--requests", "60", "--policy", "dynamic", "--policy"]
        page = tmp_path / "plan.html"
        done = CliRunner().invoke(
            app, [*words, "peak,shortest", "--json", "-", "-o", str(page), "--ttft", "60"]
        )
        assert done.exit_code == 0, done.output
        data = json.loads(done.stdout)
        assert [one["label"] for one in data["policies"]] == ["dynamic", "peak, shortest first"]
        assert page.read_text(encoding="utf-8").startswith("<!doctype html>")
        done = CliRunner().invoke(app, [*words, "peak", "--ttft", "0.0001", "--loads", "0.5"])
        assert done.exit_code == 1
        assert "the limits are not met" in done.stderr
        done = CliRunner().invoke(app, [*words, "orca"])
        assert done.exit_code == 2
        assert "there is no such policy" in done.stderr
