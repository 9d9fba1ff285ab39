"""Joining gives the same requests in any order of records and for any size of batches."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.corpus import open_requests
from jeton.corpus.requests import answers, joining
from tests.cases.test_counting import corrected

MESSAGE: dict[str, Any] = {
    "type": "message",
    "role": "assistant",
    "model": "claude-x",
    "content": [],
}


def inputs_of(records: list[Any], **options: Any) -> list[int]:
    """Input tokens of the requests that are left, sorted; none where there is no request."""
    stream = open_requests(
        iter([*records, {"prompt": "end", "usage": {"input_tokens": 7}}]), **options
    )
    columns = corrected(list(stream))
    assert stream.n_requests == len(columns)
    found = sorted(columns.input_tokens.tolist())
    found.remove(7)
    return found


@st.composite
def trees(draw: st.DrawFn) -> list[tuple[int, int, bool, bool]]:
    """Spans of a trace: number, parent (-1: none), whether it has a usage, whether it is a call."""
    n = draw(st.integers(1, 8))
    return [
        (i, draw(st.integers(0, i - 1)) if i else -1, draw(st.booleans()), draw(st.booleans()))
        for i in range(n)
    ]


def wanted(tree: list[tuple[int, int, bool, bool]]) -> list[int]:
    """Return the spans with a usage, without those that contain a span with one."""
    parents = {i: parent for i, parent, _, _ in tree}
    around: set[int] = set()
    for i, _, has_usage, _ in tree:
        if has_usage:
            parent = parents[i]
            while parent >= 0:
                around.add(parent)
                parent = parents[parent]
    return sorted(1_000 + i for i, _, has_usage, _ in tree if has_usage and i not in around)


def span(i: int, parent: int, has_usage: bool, is_call: bool) -> dict[str, Any]:
    attributes: dict[str, Any] = {
        "gen_ai.operation.name": "chat" if is_call else "invoke_agent",
        "gen_ai.request.model": "m",
    }
    if has_usage:
        attributes |= {"gen_ai.usage.input_tokens": 1_000 + i, "gen_ai.usage.output_tokens": 1}
    record: dict[str, Any] = {"traceId": "t", "spanId": f"s{i}", "attributes": attributes}
    if parent >= 0:
        record["parentSpanId"] = f"s{parent}"
    return record


@given(tree=trees(), data=st.data())
@settings(max_examples=60, deadline=None)
def test_spans_in_any_order(tree: list[tuple[int, int, bool, bool]], data: st.DataObject) -> None:
    records = [span(*node) for node in tree]
    again = data.draw(st.lists(st.sampled_from(records), max_size=3))
    shuffled = data.draw(st.permutations([*records, *again]))
    batch_bytes = data.draw(st.sampled_from([1, 1 << 20]))
    assert inputs_of(shuffled, batch_bytes=batch_bytes) == wanted(tree)


@given(data=st.data())
@settings(max_examples=60, deadline=None)
def test_blocks_in_any_order(data: st.DataObject) -> None:
    """Blocks of answers, repeated and mixed: one request each, with its last counts."""
    n_answers = data.draw(st.integers(1, 4))
    records = []
    for answer in range(n_answers):
        for block in range(data.draw(st.integers(1, 3))):
            usage = {"input_tokens": 100 + answer, "output_tokens": 1 + block}
            records.append({**MESSAGE, "id": f"msg_{answer}", "usage": usage})
    again = data.draw(st.lists(st.sampled_from(records), max_size=4))
    shuffled = data.draw(st.permutations([*records, *again]))
    batch_bytes = data.draw(st.sampled_from([1, 1 << 20]))
    stream = open_requests(iter(shuffled), batch_bytes=batch_bytes)
    columns = corrected(list(stream))
    assert sorted(columns.input_tokens.tolist()) == [100 + a for a in range(n_answers)]
    last = {r["usage"]["input_tokens"]: 0 for r in records}
    for record in records:
        usage = record["usage"]
        last[usage["input_tokens"]] = max(last[usage["input_tokens"]], usage["output_tokens"])
    pairs = zip(columns.input_tokens.tolist(), columns.output_tokens.tolist(), strict=True)
    assert dict(pairs) == last
    assert stream.joined.get("same_answer_again", 0) == len(shuffled) - n_answers
    assert sum(m.output_tokens for m in stream.summary().by_model) == sum(last.values())


@given(n_forks=st.integers(1, 12), outputs=st.lists(st.integers(1, 9), min_size=1), data=st.data())
@settings(max_examples=60, deadline=None)
def test_forks_copy_an_answer(n_forks: int, outputs: list[int], data: st.DataObject) -> None:
    """Copies of its lines are no requests, however its counts grow; other lines of the id are."""
    outputs = sorted(outputs)

    def lines(session: str, own: str) -> list[dict[str, Any]]:
        return [
            {
                "type": "assistant", "uuid": f"{own}{i}", "sessionId": session,
                "message": {**MESSAGE, "id": "m", "usage": {"input_tokens": 5, "output_tokens": n}},
            }
            for i, n in enumerate(outputs)
        ]  # fmt: skip

    # The other call stands first: at the end its id may have too many answers.
    other = lines("other", "o")
    other[-1]["message"]["usage"] = {"input_tokens": 5, "output_tokens": 10}
    files = data.draw(st.permutations([lines(f"s{i}", "a") for i in range(n_forks)]))
    records = [line for file in (other, *files) for line in file]
    stream = open_requests(iter(records), batch_bytes=data.draw(st.integers(1, 99)))
    columns = corrected(list(stream))
    assert sorted(columns.output_tokens.tolist()) == [outputs[-1], 10]


def test_ids_beyond_the_limit_are_counted_and_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(answers, "MAX_ANSWERS", 2)
    usage = {"input_tokens": 5, "output_tokens": 1}
    records = [{**MESSAGE, "id": f"m{i}", "usage": usage} for i in (0, 1, 2, 0, 2)]
    stream = open_requests(iter(records))
    list(stream)
    assert stream.n_requests == 4
    assert stream.joined == {"same_answer_again": 1}
    assert stream.issues["joining_limited"].n == 2


def test_traces_beyond_the_limit_are_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(joining, "MAX_SPANS", 2)
    records = [{**span(0, -1, True, True), "traceId": f"t{i}"} for i in (0, 1, 2, 0)]
    stream = open_requests(iter(records))
    list(stream)
    assert stream.n_requests == 4
    assert stream.issues["late_span"].n == 1
