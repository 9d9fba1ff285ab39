"""Traces in: the published shapes, rows that cannot be meant, and what is drawn."""

from __future__ import annotations

import gzip
import json
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton.corpus.traces import Trace, read_trace
from jeton.errors import CorpusError, EmptyCorpusError, LimitError, RecordError, UsageError

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,4808,10
2023-11-16 18:17:04.0319600,3180,8
2023-11-16 18:17:04.0781490,110,27
"""


def written(tmp_path: Path, text: str, name: str = "trace.csv") -> Path:
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_azure(tmp_path: Path) -> None:
    trace = read_trace(written(tmp_path, AZURE))
    assert trace.format == "azure"
    assert trace.prompt_tokens.tolist() == [4808, 3180, 110]
    assert trace.output_tokens.tolist() == [10, 8, 27]
    assert trace.arrival_seconds.tolist() == pytest.approx([0, 0.052, 0.098189], abs=1e-5)


def test_mooncake_counts_milliseconds(tmp_path: Path) -> None:
    lines = [
        {"timestamp": 500 * i, "input_length": 100 + i, "output_length": 5, "hash_ids": [1, 2]}
        for i in range(3)
    ]
    path = written(tmp_path, "\n".join(json.dumps(line) for line in lines), "t.jsonl")
    trace = read_trace(path)
    assert trace.format == "mooncake"
    assert trace.arrival_seconds.tolist() == [0.0, 0.5, 1.0]


class TestBlocks:
    """``hash_ids`` say which prompts begin alike."""

    def written(self, tmp_path: Path, ids: list[object], **more: object) -> Path:
        lines = [
            {"timestamp": i, "input_length": 40, "output_length": 5, "hash_ids": row, **more}
            for i, row in enumerate(ids)
        ]
        return written(tmp_path, "\n".join(json.dumps(line) for line in lines), "t.jsonl")

    def test_equal_beginnings_have_equal_numbers(self, tmp_path: Path) -> None:
        # The id 7 stands once for another text before it, and comes twice in a prompt.
        ids: list[object] = [[7, 8], [7, 8, 9], [8, 7], ["7", 8], [7, 7, 7], []]
        trace = read_trace(self.written(tmp_path, ids))
        assert trace.block_tokens == 512
        assert trace.prompt_blocks() == [[0, 1], [0, 1, 2], [3, 4], [5, 6], [0, 7, 8], []]

    def test_qwen_bailian_has_seconds_and_smaller_blocks(self, tmp_path: Path) -> None:
        path = self.written(tmp_path, [[1], [1, 2]], chat_id=5, parent_chat_id=-1, turn=1)
        trace = read_trace(path)
        assert (trace.format, trace.block_tokens) == ("bailian", 16)
        assert trace.arrival_seconds.tolist() == [0.0, 1.0]
        assert read_trace(path, block_tokens=8).block_tokens == 8
        with pytest.raises(UsageError, match="block_tokens is 0"):
            read_trace(path, block_tokens=0)

    def test_what_are_no_ids_is_counted(self, tmp_path: Path) -> None:
        ids: list[object] = [[1], 5, [1.5], [None], [True], {"a": 1}, [1, 2]]
        trace = read_trace(self.written(tmp_path, ids))
        assert trace.rejected == {"bad_hash_ids": 5}
        assert trace.prompt_blocks() == [[0], [0, 1]]

    def test_blocks_go_with_their_requests(self) -> None:
        trace = Trace.of(
            [5.0, float("nan"), 1.0, 3.0],
            [100] * 4,
            [1] * 4,
            block_tokens=16,
            blocks=[["c"], ["x"], ["a", "b"], ["a", "d"]],
        )
        assert trace.prompt_blocks() == [[0, 1], [0, 2], [3]]
        assert trace.part(seconds=3.5).prompt_blocks() == [[0, 1], [0, 2]]
        assert Trace.of([0.0], [1], [1]).prompt_blocks() == [[]]
        with pytest.raises(UsageError, match="blocks of 1, of 16 tokens"):
            Trace.of([0.0, 1.0], [1, 1], [1, 1], block_tokens=16, blocks=[[1]])

    def test_too_many_are_an_error(self, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
        monkeypatch.setattr("jeton.corpus.traces.trace.MAX_BLOCKS", 3)
        with pytest.raises(LimitError, match="more than 3 blocks"):
            read_trace(self.written(tmp_path, [[1, 2], [3, 4]]))


def test_burstgpt_and_columns_of_one_s_own(tmp_path: Path) -> None:
    text = "Timestamp,Model,Request tokens,Response tokens\n5,ChatGPT,472,18\n45,GPT-4,1087,230\n"
    trace = read_trace(written(tmp_path, text))
    assert (trace.format, trace.arrival_seconds.tolist()) == ("burstgpt", [0.0, 40.0])
    text = "arrival_seconds;input_tokens;output_tokens;service\n0;7;1;chat\n2;8;2;search\n3;9;3;\n"
    trace = read_trace(written(tmp_path, text), domain_field="service")
    assert trace.domains == ("chat", "search")
    assert trace.domain.tolist() == [0, 1, -1]


def test_compressed(tmp_path: Path) -> None:
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(AZURE.encode()))
    assert len(read_trace(path)) == 3


def test_lengths_without_times_need_a_rate_and_are_drawn_by_seed(tmp_path: Path) -> None:
    rows = "\n".join(f"{100 + i},{10 + i % 7}" for i in range(2000))
    path = written(tmp_path, "num_prefill_tokens,num_decode_tokens\n" + rows)
    with pytest.raises(UsageError, match="hint: give requests per second"):
        read_trace(path)
    one, two = (read_trace(path, requests_per_second=4.0, seed=1) for _ in range(2))
    assert one.arrival_seconds.tolist() == two.arrival_seconds.tolist()
    assert one.requests_per_second == pytest.approx(4.0, rel=0.1)
    assert not one.has_times
    other = read_trace(path, requests_per_second=4.0, seed=2)
    assert other.arrival_seconds.tolist() != one.arrival_seconds.tolist()


def test_rows_that_cannot_be_meant_are_counted(tmp_path: Path) -> None:
    text = AZURE + (
        "2023-11-16 18:17:05,-3,1\n"
        "2023-11-16 18:17:05,10,NaN\n"
        "not a time,10,1\n"
        "2023-11-16 18:17:05,10\n"
        "2023-11-16 18:17:05,1e30,1\n"
        "2023-11-16 18:17:02,10,1\n"
    )
    path = written(tmp_path, text)
    trace = read_trace(path)
    assert trace.rejected == {
        "bad_prompt_tokens": 2,
        "bad_output_tokens": 1,
        "bad_time": 1,
        "missing_column": 1,
    }
    assert trace.examples["bad_time"] == ("line 7: not a time",)
    assert trace.n_out_of_order == 1
    assert trace.prompt_tokens[0] == 10
    assert (np.diff(trace.arrival_seconds) >= 0).all()
    with pytest.raises(RecordError, match="line 5: bad prompt tokens: '-3'"):
        read_trace(path, strict=True)


@pytest.mark.parametrize(
    ("text", "error", "said"),
    [
        ("", EmptyCorpusError, "the trace is empty"),
        ("a,b\n1,2\n", RecordError, "no columns of prompt and output tokens; there are a, b"),
        ("{broken", RecordError, "line 1: not JSON"),
        ("[1, 2]\n", RecordError, "no columns"),
        ("TIMESTAMP,ContextTokens,GeneratedTokens\n", EmptyCorpusError, "no request"),
        (
            "TIMESTAMP,ContextTokens,GeneratedTokens\n1,0,5\n",
            EmptyCorpusError,
            "1 with bad_prompt_tokens; the first is line 2: 0",
        ),
    ],
)
def test_what_is_no_trace_is_one_clear_error(
    tmp_path: Path, text: str, error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        read_trace(written(tmp_path, text))


@given(st.binary(max_size=300))
def test_any_bytes_end_in_a_trace_or_in_our_error(
    tmp_path_factory: pytest.TempPathFactory, data: bytes
) -> None:
    path = tmp_path_factory.mktemp("t") / "trace.csv"
    path.write_bytes(b"timestamp,input_tokens,output_tokens\n" + data)
    try:
        trace = read_trace(path)
    except CorpusError:
        return
    assert len(trace) >= 1


class TestArrays:
    def test_bad_values_are_counted_and_times_sorted(self) -> None:
        trace = Trace.of(
            [3.0, float("nan"), 1.0, 2.0, float("inf")], [1, 1, 5, 0, 1], [0, 1, 2, 3, 1]
        )
        assert trace.rejected == {"bad_time": 2, "bad_prompt_tokens": 1}
        assert trace.arrival_seconds.tolist() == [0.0, 2.0]
        assert trace.prompt_tokens.tolist() == [5, 1]
        assert trace.n_out_of_order == 1

    def test_lengths_must_agree(self) -> None:
        with pytest.raises(UsageError, match="2 times, 1 prompts"):
            Trace.of([0.0, 1.0], [1], [1])

    def test_a_part_denser(self) -> None:
        trace = Trace.of([0, 10, 20, 30], [1] * 4, [1] * 4).part(seconds=25, rate_factor=2)
        assert trace.arrival_seconds.tolist() == [0, 5, 10]
        assert trace.requests_per_second == pytest.approx(0.2)
        for wrong in ({"seconds": 0}, {"rate_factor": float("nan")}):
            with pytest.raises(UsageError):
                trace.part(**wrong)


def servegen(tmp_path: Path) -> Path:
    for number, family in enumerate(("Gamma", "Weibull")):
        windows = ["0,2.0,1.0," + family + ",0.8,0.6", "600,6.0,1.0," + family + ",1.5,0.1"]
        windows.append("1200,0,0,,0,0")
        (tmp_path / f"chunk-{number}-trace.csv").write_text("\n".join(windows))
        lengths = {"0": {"input_tokens": "{50: 0.5, 70: 0.5}", "output_tokens": "{9: 1.0}"}}
        (tmp_path / f"chunk-{number}-dataset.json").write_text(json.dumps(lengths))
    (tmp_path / "chunk-2-trace.csv").write_text("0,9.0,1.0,Gamma,1,0.1\n600,0,0,,0,0")
    return tmp_path


class TestServeGen:
    def test_traffic_is_drawn_from_the_busiest_window_on(self, tmp_path: Path) -> None:
        trace = read_trace(servegen(tmp_path), duration_seconds=600.0, seed=4)
        assert trace.format == "servegen"
        # Two clients of 6 a second; the third has no lengths.
        assert len(trace) == pytest.approx(7200, rel=0.05)
        assert set(trace.prompt_tokens.tolist()) == {50, 70}
        assert trace.prompt_tokens.mean() == pytest.approx(60, abs=1)
        again = read_trace(tmp_path, duration_seconds=600.0, seed=4)
        assert again.arrival_seconds.tolist() == trace.arrival_seconds.tolist()

    def test_a_rate_scales_all_clients(self, tmp_path: Path) -> None:
        trace = read_trace(servegen(tmp_path), duration_seconds=600.0, requests_per_second=1.0)
        assert len(trace) == pytest.approx(600, rel=0.2)

    def test_what_is_no_such_folder_is_an_error(self, tmp_path: Path) -> None:
        with pytest.raises(EmptyCorpusError, match="no client of ServeGen"):
            read_trace(tmp_path)
        folder = servegen(tmp_path)
        (folder / "chunk-0-trace.csv").write_text("0,1,1,Cauchy,1,1\n")
        with pytest.raises(RecordError, match="line 1: expected start"):
            read_trace(folder)
        (folder / "chunk-0-trace.csv").write_text("0,1,1,Gamma,1,1\n600,0,0,,0,0")
        (folder / "chunk-0-dataset.json").write_text('{"0": {"input_tokens": "__import__(1)"}}')
        with pytest.raises(RecordError, match="expected lengths and their shares"):
            read_trace(folder)


def test_the_shared_traces(shared: Path) -> None:
    folder = shared / "data" / "traces"
    conversation = read_trace(folder / "AzureLLMInferenceTrace_conv.csv")
    assert (len(conversation), conversation.format) == (19_366, "azure")
    assert conversation.rejected == {}
    mooncake = read_trace(folder / "mooncake_conversation_trace.jsonl.zst")
    assert (len(mooncake), mooncake.format) == (12_031, "mooncake")
    assert 3500 < mooncake.duration_seconds < 3600
