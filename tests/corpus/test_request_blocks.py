"""Blocks of requests: what a text is made of, to the byte."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from jeton import TextBatch
from jeton.corpus.requests.blocks import BlockKind, Blocks, kinds_of_last_turn, passages_in
from jeton.corpus.requests.messages import chat_of

Q, P, E, S = BlockKind.QUESTION, BlockKind.PASSAGE, BlockKind.EARLIER, BlockKind.SYSTEM


@pytest.mark.parametrize(
    ("roles", "kinds"),
    [
        ([], []),
        (["user"], [Q]),
        (["system", "user"], [S, Q]),
        (["developer", "user", "assistant", "user"], [S, E, E, Q]),
        (["user", "assistant", "tool", "user"], [E, E, P, Q]),
        (["user", "model"], [E, E]),
        (["assistant"], [E]),
    ],
)
def test_turns(roles: list[str], kinds: list[BlockKind]) -> None:
    assert kinds_of_last_turn(roles) == kinds


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("Where is my order 12?", [(Q, "Where is my order 12?")]),
        ("", [(Q, "")]),
        (
            "Context:\n[1] one two\n[2] three\n\nQuestion: why?",
            [(Q, "Context:\n"), (P, "[1] one two\n"), (P, "[2] three\n\n"), (Q, "Question: why?")],
        ),
        (
            "<document id=1>a</document>\n<document>b</document>\nWhy?",
            [(P, "<document id=1>a</document>"), (Q, "\n"), (P, "<document>b</document>"),
             (Q, "\nWhy?")],
        ),
        (
            "Document 1: a b\nDocument 2: c d\n\nwhat follows?",
            [(P, "Document 1: a b\n"), (P, "Document 2: c d\n\n"), (Q, "what follows?")],
        ),
        ("one note [1] of a list", [(Q, "one note [1] of a list")]),
        ("<document never closed", [(Q, "<document never closed")]),
    ],
)  # fmt: skip
def test_passages(text: str, parts: list[tuple[BlockKind, str]]) -> None:
    assert [(kind, text[a:b]) for kind, a, b in passages_in(text)] == parts


PIECES = st.sampled_from(
    ["[1] ", "[2] ", "\n", "<doc>", "</doc>", "Question: ", "Passage 1", "é", "😀", "word ", "\n\n"]
)


@given(st.lists(PIECES, max_size=30).map("".join))
def test_spans_cover_a_message_without_a_gap(text: str) -> None:
    spans = passages_in(text)
    assert spans[0][1] == 0
    assert spans[-1][2] == len(text)
    assert all(before[2] == after[1] for before, after in pairwise(spans))


TEXTS = st.text(st.characters(codec="utf-8"), max_size=12)


@given(st.lists(st.lists(st.tuples(st.sampled_from(["user", "assistant"]), TEXTS), max_size=5),
                max_size=5))  # fmt: skip
def test_blocks_are_the_messages_in_bytes(chats: list[list[tuple[str, str]]]) -> None:
    made = [
        chat_of([{"role": role, "content": text} for role, text in chat], system="é rules")
        for chat in chats
    ]
    texts, flat = [], []
    for chat in made:
        text, own = chat.joined_blocks()
        texts.append(text)
        flat.append(own)
    blocks = Blocks.of(texts, flat)
    assert len(blocks) == len(chats)
    batch = TextBatch.from_texts(texts)
    pieces = [piece.decode() for piece in blocks.texts(batch)]
    at = 0
    for chat, text in zip(made, texts, strict=True):
        wanted = [m["content"] for m in chat.messages if m["content"]]
        n = int(np.diff(blocks.offsets)[texts.index(text)])
        parts = pieces[at : at + n]
        at += n
        # Passages cut a last message in parts; together they are the message again.
        assert "".join(parts) == "".join(wanted)
    rows = np.arange(len(chats))[::-1]
    taken = blocks.take(rows)
    back = Blocks.concatenate([taken.take(np.array([i])) for i in rows.tolist()])
    assert back.kinds.tolist() == blocks.kinds.tolist()
    assert back.ends.tolist() == blocks.ends.tolist()
