"""Ids that no text produces, and ids that are missing among their equals."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from jeton._core import TextBatch, Tokenizer, from_tiktoken
from jeton.errors import UsageError
from jeton.metrics import Category, reachability, undertrained_tokens
from jeton.metrics.undertrained import MIN_NEIGHBOUR_COUNT
from tests.auditing.tiny import documentation, train_tiny
from tests.core import makers


def with_dead_tokens() -> Tokenizer:
    """A small vocabulary with two tokens that no text becomes: the pattern cuts before their
    end."""
    lines = train_tiny(vocab_size=600).to_tiktoken()
    import base64

    dead = [b"the the", b"a b"]
    n_lines = lines.count(b"\n")
    more = b"".join(
        base64.b64encode(token) + f" {n_lines + place}\n".encode()
        for place, token in enumerate(dead)
    )
    return from_tiktoken(lines + more, pattern="gpt2")


def test_tokens_that_a_pattern_never_lets_through() -> None:
    tokenizer = with_dead_tokens()
    found = reachability(tokenizer)
    dead = [tokenizer.id_to_bytes(int(id_)) for id_ in found.ids(Category.UNREACHABLE_MULTI)]
    assert dead == [b"the the", b"a b"]
    assert found.n_unreachable == 2
    assert found.n_unreachable_single == found.n_holes == 0
    total = sum(
        (
            found.n_ok,
            found.n_special,
            found.n_undecodable,
            found.n_unreachable,
            found.n_holes,
        )
    )
    assert total == tokenizer.vocab_size == len(found.categories)
    for id_ in found.ids(Category.UNDECODABLE).tolist():
        with pytest.raises(UnicodeDecodeError):
            tokenizer.id_to_bytes(id_).decode()
    # Bytes 0x80 to 0xFF, and merges of parts of characters.
    assert found.n_undecodable >= 128


def test_special_tokens_are_no_fault() -> None:
    tokenizer = train_tiny(vocab_size=600, special_tokens=("<|end|>",))
    found = reachability(tokenizer)
    assert found.ids(Category.SPECIAL).tolist() == [tokenizer.special_tokens["<|end|>"]]
    assert found.n_unreachable == 0


@pytest.mark.parametrize(
    ("name", "n_unreachable", "examples"),
    [
        # Magikarp's report on Llama 2 (arXiv:2405.05417) too finds the bytes of ASCII characters
        # that are tokens.
        ("llama2.model", 96, [b"0", b"a"]),
        ("bert_base_uncased.json.zst", 1331, [b" [unused0]"]),
        ("gpt2.json.zst", 0, []),
        # Before a letter, tiktoken too makes tokens such as 无码AV of a text; one is left.
        ("o200k_base.tiktoken.zst", 1, [b" I'"]),
    ],
)
def test_published_vocabularies(
    shared: Path, name: str, n_unreachable: int, examples: list[bytes]
) -> None:
    tokenizer = makers.load(shared / "data" / "vocab" / name)
    found = reachability(tokenizer)
    assert found.n_unreachable == n_unreachable
    unreachable = np.concatenate(
        [found.ids(Category.UNREACHABLE_SINGLE), found.ids(Category.UNREACHABLE_MULTI)]
    )
    shown = {tokenizer.id_to_bytes(int(id_)) for id_ in unreachable}
    assert shown >= set(examples)


def test_an_id_missing_among_its_equals() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    batch = TextBatch.from_texts(documentation())
    counts = tokenizer.measure(batch).id_counts.copy()
    before = undertrained_tokens(tokenizer, counts)
    # Words such as these the trainer found by their frequency, in this very text.
    victim = tokenizer.encode(" statement")
    assert len(victim) == 1
    counts[victim[0]] = 0
    after = undertrained_tokens(tokenizer, counts, known=before.reachability)
    assert sorted(set(after.absent_ids.tolist()) - set(before.absent_ids.tolist())) == victim
    assert after.n_absent == before.n_absent + 1
    assert after.n_undertrained == after.n_unreachable + after.n_absent
    assert after.n_never_seen == before.n_never_seen + 1
    assert after.n_tokens == counts.sum()


def test_little_text_accuses_nobody() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    counts = tokenizer.measure(TextBatch.from_texts(["the statement"])).id_counts
    found = undertrained_tokens(tokenizer, counts)
    assert found.n_absent == 0
    assert found.n_never_seen > 500
    assert counts.max() < MIN_NEIGHBOUR_COUNT
    with pytest.raises(UsageError, match=r"3 counts for a vocabulary of 1200 ids"):
        undertrained_tokens(tokenizer, counts[:3])
