"""A log in figures, on invented logs and on published traces."""

from __future__ import annotations

import csv
import json
from datetime import datetime
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton import _core
from jeton.corpus import RequestColumns, RequestsSummary, open_requests

DAY_S = 86_400
START_S = 1_767_225_600  # 2026-01-01 UTC


def summary_of(records: Any, **options: Any) -> RequestsSummary:
    stream = open_requests(iter(records), **options)
    for _ in stream:
        pass
    return stream.summary()


def test_rates() -> None:
    """A request each 10 minutes for two days: 144 a day, 6 in the fullest hour."""
    records = [{"prompt": "a", "timestamp": START_S + 600 * i} for i in range(2 * 144 + 1)]
    summary = summary_of(records)
    assert summary.first_time == "2026-01-01T00:00:00Z"
    assert summary.last_time == "2026-01-03T00:00:00Z"
    assert summary.requests_per_day == pytest.approx(144)
    assert summary.peak_requests_per_hour == 6


def test_a_short_log_tells_no_rate() -> None:
    summary = summary_of({"prompt": "a", "timestamp": START_S + i} for i in range(100))
    assert summary.requests_per_day is None
    assert summary.peak_requests_per_hour == 100
    assert summary_of([{"prompt": "a"}]).first_time is None


def test_stray_times_do_not_spoil_the_rate() -> None:
    """One record of a clock that was never set among a thousand."""
    records = [{"prompt": "a", "timestamp": START_S + 600 * i} for i in range(1_008)]
    records.insert(500, {"prompt": "a", "timestamp": 0})
    summary = summary_of(records)
    assert summary.requests_per_day == pytest.approx(144, rel=0.01)
    assert {issue.kind for issue in summary.issues} >= {"stray_time", "time_backwards"}
    assert summary.first_time == "1970-01-01T00:00:00Z"
    assert summary.n_with_time == 1_009


def test_sums_by_model() -> None:
    def record(model: str, n_in: int, n_read: int, n_out: int) -> dict[str, Any]:
        details = {"cached_tokens": n_read}
        usage = {
            "prompt_tokens": n_in,
            "prompt_tokens_details": details,
            "completion_tokens": n_out,
        }
        return {"prompt": "a", "model": model, "usage": usage}

    records: list[dict[str, Any]] = [
        record("a", 100, 60, 10),
        record("b", 50, 0, 20),
        record("a", 300, 120, 30),
        {"prompt": "a", "model": "a"},
        {"prompt": "a"},
    ]
    summary = summary_of(records)
    assert summary.models == ("a", "b")
    by_model = {entry.name: entry for entry in summary.by_model}
    assert (by_model["a"].n_requests, by_model["a"].n_with_usage) == (3, 2)
    assert (by_model["a"].input_tokens, by_model["a"].cache_read_tokens) == (400, 180)
    assert by_model["b"].output_tokens == 20
    assert by_model[""].n_requests == 1
    assert summary.output_tokens_mean == 20
    assert summary.cached_share == pytest.approx(180 / 450)
    assert (summary.n_requests, summary.n_with_usage) == (5, 3)


@given(
    cuts=st.integers(1, 50),
    times=st.lists(st.none() | st.integers(0, 10 * DAY_S), min_size=1, max_size=60),
)
def test_the_summary_does_not_depend_on_the_batches(cuts: int, times: list[int | None]) -> None:
    records = [
        {"prompt": "abc" * (i % 3), "model": f"m{i % 2}", "timestamp": time, "input_tokens": i}
        for i, time in enumerate(times)
    ]
    assert summary_of(records, batch_bytes=cuts) == summary_of(records)


def test_columns_concatenate_and_select() -> None:
    records = [{"prompt": "a", "input_tokens": i, "timestamp": START_S + i} for i in range(10)]
    batches = list(open_requests(iter(records), batch_bytes=3))
    assert len(batches) > 1
    columns = RequestColumns.concatenate(batch.columns for batch in batches)
    assert columns.input_tokens.tolist() == list(range(10))
    odd = columns.take(columns.input_tokens % 2 == 1)
    assert odd.time_s.tolist() == [START_S + i for i in range(1, 10, 2)]
    assert len(RequestColumns.concatenate([])) == len(RequestColumns.empty()) == 0
    assert RequestColumns.empty().input_tokens.dtype == np.int64


def test_the_azure_trace(shared: Path) -> None:
    """Its sums, counted another way."""
    path = shared / "data/traces/AzureLLMInferenceTrace_code.csv"
    stream = open_requests(path)
    columns = RequestColumns.concatenate(batch.columns for batch in stream)
    with path.open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(columns) == len(rows) == 8_819
    assert int(columns.input_tokens.sum()) == sum(int(row["ContextTokens"]) for row in rows)
    assert int(columns.output_tokens.sum()) == sum(int(row["GeneratedTokens"]) for row in rows)
    first, last = (
        datetime.fromisoformat(rows[i]["TIMESTAMP"] + "+00:00").timestamp() for i in (0, -1)
    )
    assert columns.time_s[0] == pytest.approx(first)
    summary = stream.summary()
    assert summary.requests_per_day is None  # the trace is shorter than an hour
    assert summary.n_with_time == len(rows)
    assert {"missing_text", "time_without_zone"} <= set(stream.issues)
    assert last - first < 3_600


def test_the_mooncake_trace(shared: Path) -> None:
    path = shared / "data/traces/mooncake_conversation_trace.jsonl.zst"
    stream = open_requests(path, time_unit="ms")
    columns = RequestColumns.concatenate(batch.columns for batch in stream)
    lines = _core.decompress(path.read_bytes(), max_bytes=1 << 28, path=str(path)).splitlines()
    records = [json.loads(line) for line in lines]
    assert len(columns) == len(records)
    assert columns.input_tokens.tolist() == [record["input_length"] for record in records]
    assert columns.time_s.tolist() == [record["timestamp"] / 1_000 for record in records]
    assert not {"time_backwards", "bad_time", "absurd_count"} & set(stream.issues)
    assert (columns.output_tokens > 0).all()
