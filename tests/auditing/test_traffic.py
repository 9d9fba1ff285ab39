"""A trace replayed and a training run priced by an audit, in Python and on the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

import jeton
from jeton.auditing import TraceOptions, TrainingOptions
from jeton.cli.app import app
from jeton.corpus.traces import Trace
from jeton.economics.traffic import EngineSettings
from jeton.errors import EmptyCorpusError, UsageError

ROWS = "arrival_seconds,input_tokens,output_tokens,domain\n" + "".join(
    f"{i * 0.2:.1f},{300 + 7 * (i % 50)},{20 + i % 30},{'notes' if i % 3 else 'code'}\n"
    for i in range(200)
)
NAMES = ["jeton-general-32k", "jeton-medical-32k"]
COMMON: dict[str, Any] = {
    "tokenizers": NAMES,
    "model": "llama-3-8b",
    "gpu": "a10g",
    "quality": False,
}


@pytest.fixture
def texts(tmp_path: Path) -> Path:
    folder = tmp_path / "texts"
    folder.mkdir()
    (folder / "notes.txt").write_text("glioblastoma and hydroxychloroquine, twice daily. " * 40)
    (folder / "code.txt").write_text("def area(width, height):\n    return width * height\n" * 40)
    (tmp_path / "trace.csv").write_text(ROWS)
    return folder


def test_every_tokenizer_and_policy_replays_the_trace(texts: Path) -> None:
    report = jeton.audit([texts], trace=texts.parent / "trace.csv", **COMMON)
    traffic = report.traffic
    assert traffic is not None
    assert [(run.policy) for run in traffic.runs] == ["static", "dynamic", "prediction"] * 2
    assert all(run.n_answered == 200 for run in traffic.runs)
    current, other = traffic.runs[1], traffic.runs[4]
    assert current.tokens_ratio == 1.0
    # The lengths follow the ratio of the texts in each request's own domain.
    tokens = {
        domain.name: {t.tokenizer: t.n_tokens for t in domain.tokenizers}
        for domain in report.domains
    }
    ratios = {
        name: of[report.tokenizers[1].name] / of[report.tokenizers[0].name]
        for name, of in tokens.items()
    }
    assert ratios["code"] > 1.2 * ratios["notes"]
    sums = {"notes": 0, "code": 0}
    for i in range(200):
        sums["notes" if i % 3 else "code"] += 300 + 7 * (i % 50) + 20 + i % 30
    expected = sum(ratios[name] * n for name, n in sums.items()) / sum(sums.values())
    assert other.tokens_ratio == pytest.approx(expected, rel=2e-3)
    again = jeton.audit([texts], trace=texts.parent / "trace.csv", **COMMON)
    assert again.traffic == traffic


def test_options_of_a_trace(texts: Path) -> None:
    options = TraceOptions(
        Trace.of([0, 1, 2, 50], [100] * 4, [5] * 4),
        seconds=10,
        rate_factor=2,
        policies=("static",),
        reserved_tokens=500,
    )
    report = jeton.audit([texts], trace=options, **COMMON)
    assert report.traffic is not None
    assert report.traffic.trace.n_requests == 3
    assert report.traffic.trace.duration_seconds == 1.0
    assert {run.reserved_tokens for run in report.traffic.runs} == {500}


def test_what_is_missing_is_said_before_anything_is_read(texts: Path) -> None:
    trace = texts.parent / "trace.csv"
    missing = [texts / "nothing-here"]
    with pytest.raises(UsageError, match="hint: give both"):
        jeton.audit(missing, tokenizers=NAMES, trace=trace)
    with pytest.raises(UsageError, match="does not fit 1 x T4"):
        jeton.audit(missing, trace=TraceOptions(trace, n_gpus=1), **{**COMMON, "gpu": "t4"})
    empty = texts.parent / "empty.csv"
    empty.write_text("")
    with pytest.raises(EmptyCorpusError, match="the trace is empty"):
        jeton.audit(missing, trace=empty, **COMMON)
    with pytest.raises(UsageError, match="hint: give both"):
        jeton.audit(missing, tokenizers=NAMES, training=TrainingOptions(1e9))
    options = TrainingOptions(1e9, mode="magic")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="mode is 'magic'"):
        jeton.audit(missing, training=options, **COMMON)


def test_prefixes_and_settings_on_the_command_line(texts: Path) -> None:
    rows = [
        {"timestamp": 500 * i, "input_length": 1500, "output_length": 20, "hash_ids": [0, 1, 9 + i]}
        for i in range(40)
    ]
    trace = texts.parent / "prefixes.jsonl"
    trace.write_text("\n".join(json.dumps(row) for row in rows))
    words = ["audit", str(texts), "-t", NAMES[0], "--model", "llama-3-8b", "--gpu", "a10g"]
    words += ["--no-quality", "--trace", str(trace), "--trace-policy", "dynamic", "--json", "-"]
    more = ["--trace-prefix-cache", "--trace-step-overhead-ms", "2.5", "--trace-max-requests", "64"]
    more += ["--trace-step-tokens", "1024"]
    plain, shared = (
        json.loads(CliRunner().invoke(app, each, catch_exceptions=False).stdout)["traffic"]
        for each in (words, words + more)
    )
    assert not plain["prefix_cache"]
    assert (plain["max_requests"], plain["step_tokens"]) == (256, 2048)
    assert shared["prefix_cache"]
    assert (shared["max_requests"], shared["step_tokens"]) == (64, 1024)
    assert shared["step_overhead_seconds"] == 0.0025
    assert plain["runs"][0]["cached_tokens"] == 0 < shared["runs"][0]["cached_tokens"]
    shown = CliRunner().invoke(app, [*words[:-2], *more, "--markdown", "-"])
    assert "From cache" in shown.output
    # Said before the inputs are read.
    missing = [texts / "nothing-here"]
    options = TraceOptions(texts.parent / "trace.csv", settings=EngineSettings(prefix_cache=True))
    with pytest.raises(UsageError, match="does not say which prompts begin alike"):
        jeton.audit(missing, trace=options, **COMMON)


def test_training_and_when_it_is_earned(texts: Path) -> None:
    report = jeton.audit(
        [texts / "notes.txt"],
        training=TrainingOptions(10e9, mode="continued"),
        requests_per_day=1_000_000,
        **{**COMMON, "gpu": "h100-sxm"},
    )
    current, other = report.training
    assert current.break_even is None
    assert other.break_even is not None
    assert other.cost.n_tokens < current.cost.n_tokens
    assert other.cost.usd < current.cost.usd
    assert other.break_even.tokens is not None
    assert other.break_even.months is not None
    assert other.break_even.months > 0


def test_the_command(texts: Path) -> None:
    trace = str(texts.parent / "trace.csv")
    words = ["audit", str(texts), "-t", NAMES[0], "-t", NAMES[1], "--model", "llama-3-8b"]
    words += ["--gpu", "h100-sxm", "--no-quality", "--json", "-"]
    result = CliRunner().invoke(
        app,
        [*words, "--trace", trace, "--trace-policy", "dynamic", "--training-gb", "3"],
        standalone_mode=False,
    )
    assert result.exit_code == 0, result.output
    data = json.loads(result.stdout)
    assert [run["policy"] for run in data["traffic"]["runs"]] == ["dynamic", "dynamic"]
    assert data["training"][0]["cost"]["mode"] == "continued"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--trace-speed", "2"], "--trace-speed is for a trace; name one with --trace"),
        (["--training-gpus", "2"], "--training-gpus is for a training run"),
    ],
)
def test_options_without_what_they_are_for(texts: Path, words: list[str], said: str) -> None:
    result = CliRunner().invoke(app, ["audit", str(texts), "-t", NAMES[0], *words])
    assert result.exit_code == 2
    assert said in result.output
