"""Blocks of a request as hashes and lengths: in order, with marks, and of any value at all."""

from __future__ import annotations

import random
from typing import Any

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.corpus.requests.sent import (
    N_FACTS,
    PIECE_CHARS,
    PartKind,
    SentBlocks,
    SentChat,
    packed,
    path_of,
)


def blocks_of(chat: SentChat) -> list[tuple[str, int, int, int, bool]]:
    """Path, kind, bytes and mark of each block, and whether it goes on the one before."""
    words = SentBlocks.of([packed(chat, "", "")]).of_request(0).tolist()
    return [
        (path_of(f >> 32 & 15, f >> 43), f >> 36 & 15, f & 0xFFFFFFFF, f >> 40 & 3,
         bool(f >> 42 & 1))
        for f in words[N_FACTS + 1 :: 2]
    ]  # fmt: skip


def test_blocks_stand_in_the_order_of_the_provider() -> None:
    mark = {"cache_control": {"type": "ephemeral", "ttl": "1h"}}
    chat = SentChat(
        messages=[
            {"role": "user", "content": "é"},
            {"role": "assistant", "content": [
                {"type": "thinking", "thinking": "hm"},
                {"type": "tool_use", "id": "a", "name": "f", "input": {}},
            ]},
            {"role": "user", "content": [
                {"type": "tool_result", "tool_use_id": "a", "content": "42"},
                {"type": "image", "source": {"data": "x" * 9000}},
            ]},
        ],
        system=[{"type": "text", "text": "Be brief.", **mark}],
        tools=[{"name": "f", "input_schema": {}}],
        request={"cache_control": {"type": "ephemeral"}},
    )  # fmt: skip
    found = blocks_of(chat)
    kinds = [PartKind(kind).name for _, kind, _, _, _ in found]
    assert kinds == ["TOOL", "TEXT", "TEXT", "THINKING", "CALL", "RESULT", "PICTURE"]
    assert [path for path, *_ in found] == [
        "tools[0]", "system[0]", "messages[0]", "messages[1]", "messages[1]", "messages[2]",
        "messages[2]",
    ]  # fmt: skip
    assert [mark for *_, mark, _ in found] == [0, 2, 0, 0, 0, 0, 1]
    assert found[2][2] == len("é".encode())


def test_a_mark_is_no_part_of_the_hash_and_long_texts_come_in_pieces() -> None:
    text = "".join(random.Random(1).choices("abcdef ", k=3 * PIECE_CHARS + 5))
    plain = {"role": "user", "content": [{"type": "text", "text": text}]}
    marked: dict[str, Any] = {
        "role": "user",
        "content": [{"type": "text", "text": text, "cache_control": {"type": "ephemeral"}}],
    }
    both = SentBlocks.of([packed(SentChat([m]), "", "") for m in (plain, marked)])
    first, second = (both.of_request(i) for i in range(2))
    assert np.array_equal(first[N_FACTS::2], second[N_FACTS::2])
    goes_on = [goes_on for *_, goes_on in blocks_of(SentChat([plain]))]
    assert goes_on == [False] + [True] * (len(goes_on) - 1)
    assert 1 < len(goes_on) <= 3 * PIECE_CHARS / 256 + 1
    marks = [mark for *_, mark, _ in blocks_of(SentChat([marked]))]
    assert marks == [0] * (len(goes_on) - 1) + [1]


def test_rows_are_taken_and_put_together() -> None:
    rows = [packed(SentChat([text]), "", "") for text in ("a", "b", "c")] + [b""]
    sent = SentBlocks.of(rows)
    taken = sent.take(np.array([2, 3, 0]))
    assert [len(taken.of_request(i)) for i in range(3)] == [N_FACTS + 2, 0, N_FACTS + 2]
    whole = SentBlocks.concatenate([taken, sent])
    assert len(whole) == 7
    assert np.array_equal(whole.of_request(3), sent.of_request(0))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: (
        st.lists(inner, max_size=4)
        | st.dictionaries(
            st.sampled_from(
                ["role", "content", "type", "text", "tool_calls", "name", "function", "parts",
                 "cache_control", "ttl", "cachePoint", "thinking", "tool_use_id", "input"]
            ),
            inner,
            max_size=5,
        )
    ),
    max_leaves=12,
)  # fmt: skip


@settings(max_examples=150)
@given(st.lists(values, max_size=4), values, values, st.dictionaries(st.text(), values, max_size=3))
def test_any_value_is_packed(
    messages: list[Any], system: Any, tools: Any, request: dict[str, Any]
) -> None:
    data = packed(SentChat(messages, system, tools, request), "agent", "unknown")
    assert len(data) % 8 == 0
    assert len(data) >= 8 * N_FACTS


@given(st.text(max_size=300), st.integers(0, 1000))
def test_texts_that_share_a_passage_share_its_pieces(front: str, seed: int) -> None:
    words = [f"word{n}" for n in range(900)]
    passage = " ".join(random.Random(seed).choices(words, k=3000))
    alone, behind = (
        SentBlocks.of([packed(SentChat([text]), "", "")]).of_request(0)
        for text in (passage, front + passage)
    )
    shared = set(alone[N_FACTS::2].tolist()) & set(behind[N_FACTS::2].tolist())
    assert len(shared) >= 0.5 * len(alone[N_FACTS::2])
    n_bytes = sum(word & 0xFFFFFFFF for word in behind[N_FACTS + 1 :: 2].tolist())
    assert n_bytes == len((front + passage).encode("utf-8", errors="surrogatepass"))


def test_a_cache_point_marks_the_block_before_it() -> None:
    point = {"cachePoint": {"type": "default"}}
    chat = SentChat(
        messages=[{"role": "user", "content": [{"text": "a"}, point, {"text": "b"}]}],
        system=[{"text": "Be brief."}, {"cachePoint": {"type": "default", "ttl": "1h"}}],
        tools=[{"toolSpec": {"name": "f"}}, point],
    )
    found = blocks_of(chat)
    assert [path for path, *_ in found] == ["tools[0]", "system[0]", "messages[0]", "messages[0]"]
    assert [mark for *_, mark, _ in found] == [1, 2, 1, 0]
