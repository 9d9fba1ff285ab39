"""Lengths of answers and memory foreseen from logs and traces, also from the command line."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

from jeton.cli.app import app
from jeton.planning.prediction import predict_memory, predict_outputs, read_history


def run(*words: str) -> Result:
    """The command line."""
    return CliRunner().invoke(app, ["predict", *words])


def log_of(path: Path, n: int, **extra: Any) -> str:
    """A log of two routes with conversations; answers of ``chat`` are ten times as long."""
    rng = np.random.default_rng(7)
    times = np.cumsum(rng.exponential(0.5, n)) + 1_764_000_000
    with path.open("w", encoding="utf-8") as file:
        for row in range(n):
            route = "chat" if row % 2 else "label"
            output = 1 + int(rng.exponential(200 if route == "chat" else 20))
            record = {
                "timestamp": times[row],
                "model": "gpt-4o",
                "route": route,
                "session_id": f"s{row % 40}",
                "tags": {"team": "ab"[row % 4 // 2]},
                "prompt": "word " * (5 + row % 7),
                "usage": {"prompt_tokens": 5 + row % 7, "completion_tokens": output},
                **extra,
            }
            file.write(json.dumps(record) + "\n")
    return str(path)


@pytest.fixture(scope="module")
def log(tmp_path_factory: pytest.TempPathFactory) -> str:
    """A log of 1,600 requests."""
    return log_of(tmp_path_factory.mktemp("logs") / "requests.jsonl", 1600)


class TestOutput:
    def test_routes_are_told_apart_and_coverage_holds(self, log: str) -> None:
        history = read_history(log)
        assert history.fields == ("route", "model")
        assert len(history) == 1600
        found = predict_outputs(history)
        assert found.has_conversations
        assert {route.group for route in found.routes} == {("chat", "gpt-4o"), ("label", "gpt-4o")}
        for route in found.routes:
            assert route.coverage_share == pytest.approx(0.9, abs=0.04)
        bounds = {item.group[0]: item.upper_tokens for item in found.intervals}
        assert bounds["chat"] is not None
        assert bounds["label"] is not None
        assert bounds["chat"] > 5 * bounds["label"]

    def test_more_fields(self, log: str) -> None:
        history = read_history(log, by=["tags.team", "route"])
        assert history.fields == ("tags.team", "model", "route")
        assert set(history.group_values) == {
            (team, "gpt-4o", route) for team in "ab" for route in ("chat", "label")
        }

    def test_command(self, log: str, tmp_path: Path) -> None:
        page, data = tmp_path / "page.html", tmp_path / "data.json"
        done = run("output", log, "--html", str(page), "--json", str(data))
        assert done.exit_code == 0, done.output
        assert "chat" in done.output
        read = json.loads(data.read_text(encoding="utf-8"))
        assert read["schema_version"] == "jeton.predict_output/1"
        assert read["n_calibrated"] == 800
        text = page.read_text(encoding="utf-8")
        assert "Coverage on later traffic" in text
        assert 'id="coverage-chart"' in text

    def test_trace(self, tmp_path: Path) -> None:
        file = tmp_path / "trace.csv"
        rng = np.random.default_rng(2)
        rows = [f"{t},{100 + t % 50},{1 + int(rng.exponential(50))}" for t in range(600)]
        file.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n" + "\n".join(rows) + "\n")
        history = read_history(file)
        assert history.fields == ()
        assert predict_outputs(history).overall.n_judged == 300


class TestMemory:
    def test_command(self, log: str, tmp_path: Path) -> None:
        page = tmp_path / "page.html"
        words = ("--model", "llama-3.1-8b", "--gpu", "h100", "--horizon", "30s", "--json", "-")
        done = run("memory", log, *words, "--html", str(page))
        assert done.exit_code == 0, done.output
        read = json.loads(done.stdout)
        assert read["schema_version"] == "jeton.predict_memory/2"
        assert read["forecast"]["horizon_seconds"] == 30
        assert read["n_judged"] > 500
        assert 0.75 < read["coverage_share"] <= 1
        assert 'id="memory-chart"' in page.read_text(encoding="utf-8")

    def test_full_memory_is_a_finding(self, log: str) -> None:
        words = ("--model", "llama-2-13b", "--gpu", "a100-40gb", "--token-seconds", "3")
        done = run("memory", log, *words, "--horizon", "30s")
        assert done.exit_code == 1, done.output
        assert "OOM" in done.stdout


def write(path: Path, *records: object) -> str:
    path.write_text("".join(json.dumps(record) + "\n" for record in records), encoding="utf-8")
    return str(path)


USAGE = {"prompt_tokens": 3, "completion_tokens": 4}


class TestBadInput:
    def test_unknown_field(self, log: str) -> None:
        done = run("output", log, "--by", "rout")
        assert done.exit_code == 2
        assert "no record has a field 'rout'" in done.output
        assert "route" in done.output

    def test_one_request(self, tmp_path: Path) -> None:
        file = write(tmp_path / "a.jsonl", {"prompt": "a", "model": "m", "time": 1, "usage": USAGE})
        done = run("output", file)
        assert done.exit_code == 2
        assert "1 request with a known output; expected at least 64" in done.output
        done = run("memory", file, "--model", "llama-3.1-8b", "--gpu", "l4")
        assert done.exit_code == 2
        assert "one moment" in done.output

    def test_no_outputs(self, tmp_path: Path) -> None:
        file = write(tmp_path / "a.jsonl", {"prompt": "a", "model": "m"})
        done = run("output", file)
        assert done.exit_code == 2
        assert "how many tokens its answer has" in done.output

    def test_no_times(self, tmp_path: Path) -> None:
        record = {"prompt": "a", "model": "m", "usage": USAGE}
        done = run(
            "memory", write(tmp_path / "a.jsonl", record, record), "--model", "llama-3.1-8b",
            "--gpu", "l4",
        )  # fmt: skip
        assert done.exit_code == 2
        assert "does not say when" in done.output

    def test_backward_clocks_are_sorted_and_told(self, tmp_path: Path) -> None:
        records = [
            {"prompt": "a", "model": "m", "time": 1_700_000_000 + 100 - i, "usage": USAGE}
            for i in range(80)
        ]
        file = write(tmp_path / "a.jsonl", *records)
        history = read_history(file)
        assert history.n_out_of_order == 79
        assert (np.diff(history.arrival_seconds) >= 0).all()
        assert "79 requests with an earlier time" in run("output", file).output

    def test_negative_lengths_of_a_trace(self, tmp_path: Path) -> None:
        file = tmp_path / "a.csv"
        file.write_text("TIMESTAMP,ContextTokens,GeneratedTokens\n1,5,-3\n2,-5,3\n")
        done = run("output", str(file))
        assert done.exit_code == 2
        assert "bad_output_tokens" in done.output

    def test_more_than_memory(self, log: str) -> None:
        from jeton.errors import LimitError

        with pytest.raises(LimitError, match="more than 100"):
            read_history(log, max_requests=100)

    def test_bad_duration(self, log: str) -> None:
        done = run("memory", log, "--model", "llama-3.1-8b", "--gpu", "l4", "--horizon", "soon")
        assert done.exit_code == 2
        assert "'soon' is no duration" in done.output

    def test_moment_outside(self, log: str) -> None:
        from jeton.catalog import gpu, model
        from jeton.errors import UsageError

        with pytest.raises(UsageError, match="expected a moment between"):
            predict_memory(read_history(log), model("llama-3.1-8b"), gpu("l4"), at_seconds=1e9)
