"""``jeton audit`` told of logs, domains, a pipeline, a bill and limits."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Run = Callable[..., Result]


@pytest.fixture
def log() -> None:
    records = [
        {
            "model": "gpt-4o-mini",
            "prompt": f"what is the value of statement {i}?",
            "response": "one",
            "timestamp": 1_760_000_000 + 1800 * i,
            "service": "chat" if i % 2 else "search",
            "usage": {"prompt_tokens": 12, "completion_tokens": 3},
        }
        for i in range(30)
    ]
    lines = "\n".join(json.dumps(record) for record in records)
    Path("log.jsonl").write_text(lines + "\n{broken\n", encoding="utf-8")


def _report(run: Run, *words: str) -> dict[str, Any]:
    result = run("audit", *words, "-t", "small", "--json", "-")
    assert result.exit_code == 0, result.output
    value: dict[str, Any] = json.loads(result.stdout)
    return value


@pytest.mark.usefixtures("log")
def test_logs_with_domains_and_a_bill(run: Run) -> None:
    report = _report(run, "log.jsonl", "--logs", "--domain-field", "service", "--bill", "0.02")
    assert report["requests"]["n_requests"] == 30
    assert [issue["kind"] for issue in report["requests"]["issues"]] == ["not_json"]
    assert sorted(d["name"] for d in report["domains"]) == ["chat", "search"]
    assert report["workload"]["price_model"] == "gpt-4o-mini"
    assert report["bill"]["usd_billed"] == "0.02"
    assert report["waterfall"]["naive_usd_per_month"]


@pytest.mark.usefixtures("log")
def test_a_pipeline_from_a_file_and_options_before_it(run: Run) -> None:
    Path("p.toml").write_text("max_length = 64\npadding = 'static'\ncache = true\n", "utf-8")
    words = ["log.jsonl", "--logs", "--pipeline", "p.toml"]
    report = _report(run, *words, "--max-length", "128", "--no-cache", "--preprocessing", "nfd")
    assert report["pipeline"]["max_length"] == 128
    assert report["pipeline"]["padding"] == "static"
    assert report["pipeline"]["cache"] is False
    assert report["pipeline"]["preprocessing"] == ["nfd"]
    assert report["maturity"]["level"] == "static"


def test_limits_and_the_sample(run: Run) -> None:
    Path("a.txt").write_text("the value of the statement\n" * 200, encoding="utf-8")
    report = _report(
        run,
        "a.txt",
        "--documents",
        "line",
        "--price-model",
        "usd:1",
        "--requests-per-day",
        "10",
        "--limit-usd-per-month",
        "0.001",
        "--deep-sample-mb",
        "0.001",
        "--seed",
        "3",
    )
    assert report["tradeoff"]["best"] is None
    assert report["tradeoff"]["limits"]["usd_per_month"] == "0.001"
    assert report["sampling"]["deep_is_whole"] is False
    assert report["sampling"]["seed"] == 3


@pytest.mark.usefixtures("log")
@pytest.mark.parametrize(
    ("words", "says"),
    [
        ([], "request logs are read with --logs"),
        (["--bill", "3"], "--bill is for request logs; say --logs too"),
        (["--chat-turns", "each"], "--chat-turns is for request logs"),
        (["--time-unit", "ms"], "--time-unit is for request logs"),
        (["--logs", "--bill", "nothing.csv"], "nothing.csv"),
        (["--logs", "--log-format", "xml"], "xml"),
        (["--pipeline", "nothing.toml"], "nothing.toml"),
        (["--padding", "static"], "max_length is not given"),
        (["--overlap-tokens", "5"], "chunk_tokens is not given"),
        (["--preprocessing", "nfx"], "'nfx' is not known"),
        (["--limit-usd-per-month", "cheap"], "'cheap' is no amount"),
        (["--deep-sample-mb", "0"], "--deep-sample-mb"),
        (["--domains", "file", "--domain-field", "x"], "domain_field"),
    ],
)
def test_what_cannot_be_meant_is_one_line_and_exit_2(run: Run, words: list[str], says: str) -> None:
    result = run("audit", "log.jsonl", "-t", "small", *words)
    assert result.exit_code == 2
    assert says in result.stderr
    assert "Traceback" not in result.stderr


@pytest.mark.usefixtures("log")
def test_quotas_and_a_closed_model(run: Run) -> None:
    words = ["log.jsonl", "--logs", "--quota-requests-per-day", "40", "--growth-per-month", "10"]
    report = _report(run, *words, "--quota-tokens-per-minute", "9", "--closed-model", "gpt-4o-mini")
    assert report["quota"]["quota"] == {
        "tokens_per_minute": 9,
        "requests_per_minute": None,
        "requests_per_day": 40,
    }
    assert report["quota"]["peak_tokens_per_minute"] == 15
    assert report["quota"]["months_until_exhausted"] == 0
    assert "quota-exceeded" in {finding["id"] for finding in report["findings"]}
    assert report["provider_count"]["n_tokens"]["basis"] == "calibrated"
    assert report["provider_count"]["n_calibration_requests"] == 30


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["--closed-model", "claud-sonet-4-5"], "the nearest are claude-sonnet-4-5"),
        (["--quota-tokens-per-minute", "5"], "hint: say requests_per_day (--requests-per-day)"),
        (["--growth-per-month", "5"], "without a quota"),
        (["--quota-requests-per-day", "0"], "0 is not in the range"),
        (["--train-tokenizer", "jeton-genral-32k"], "the nearest are jeton-general-32k"),
        (["--serve-tokenizer", "jeton-genral-32k"], "the nearest are jeton-general-32k"),
    ],
)
def test_typos_fail_before_anything_is_read(run: Run, words: list[str], said: str) -> None:
    result = run("audit", "no-such-file", "-t", "small", *words)
    assert result.exit_code == 2
    assert said in result.output
    assert "no-such-file" not in result.output
