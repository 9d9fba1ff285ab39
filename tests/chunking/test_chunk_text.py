"""Chunks cover their text, within the budget, with exact offsets."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton.chunking import Chunking, chunk_text
from jeton.chunking.division import BY, By

TOKENIZER = jeton.load("jeton-general-32k").with_template("<|endoftext|> $A")
PIECES = [
    "# Head\n", "\n", "\n\n", "Word ", "word, ", "End. ", "中文。", "🙂", "e\u0301", "\r\n",
    "- item\n", "| a | b |\n", "| - | - |\n", "```\n", "<p>", "</p>", "{", '"a": 1,', "}", "  ",
    "def f(x):\n", "    return x\n", "สวัสดี ", "x" * 40,
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=60).map("".join)


def check(text: str, found: Chunking, max_tokens: int) -> None:
    data = text.encode()
    covered = np.zeros(len(text), dtype=bool)
    done = 0
    for part in found.chunks:
        assert text[part.start : part.end] == part.text
        assert data[part.start_bytes : part.end_bytes].decode() == part.text
        assert part.n_tokens == TOKENIZER.count(part.sent, add_special_tokens=True)
        assert part.n_tokens <= max_tokens
        assert part.end > done
        covered[part.start : part.end] = True
        done = part.end
    for gap in found.dropped:
        assert text[gap.start : gap.end].isspace()
        assert not covered[gap.start : gap.end].any()
        covered[gap.start : gap.end] = True
    assert covered.all()


@given(texts, st.sampled_from(BY), st.integers(16, 60), st.booleans(), st.booleans())
@settings(max_examples=60, deadline=None)
def test_chunks_join_to_the_text(
    text: str, by: By, max_tokens: int, context: bool, trim: bool
) -> None:
    found = chunk_text(
        text,
        tokenizer=TOKENIZER,
        max_tokens=max_tokens,
        by=by,
        context=context,
        trim=trim,
        prefix="passage: ",
    )
    check(text, found, max_tokens)
    if not trim:
        assert "".join(part.text for part in found.chunks) == text


@given(texts, st.sampled_from(BY), st.integers(16, 40), st.integers(0, 8), st.integers(1, 3))
@settings(max_examples=60, deadline=None)
def test_overlapping_chunks_cover_the_text(
    text: str, by: By, max_tokens: int, overlap: int, parts: int
) -> None:
    if by == "tokens" or overlap:
        found = chunk_text(text, tokenizer=TOKENIZER, max_tokens=max_tokens, by=by, overlap=overlap)
    else:
        found = chunk_text(
            text, tokenizer=TOKENIZER, max_tokens=max_tokens, by=by, overlap_sentences=parts
        )
    check(text, found, max_tokens)


def test_overlap_repeats_the_end_of_the_chunk_before() -> None:
    text = "alpha beta gamma delta epsilon zeta eta theta iota kappa " * 5
    found = chunk_text(text, tokenizer=TOKENIZER, max_tokens=30, by="tokens", overlap=10)
    for before, after in zip(found.chunks[:-1], found.chunks[1:], strict=True):
        assert before.start < after.start < before.end
        repeated = text[after.start : before.end]
        assert 8 <= TOKENIZER.count(repeated) <= 11


def test_a_text_longer_than_a_window_is_cut_as_well() -> None:
    text = "One sentence of many, numbered {}. " * 40_000
    found = chunk_text(text, tokenizer=TOKENIZER, max_tokens=100, by="sentences", language="en")
    assert "".join(part.text for part in found.chunks) == text
    assert all(part.text.endswith(". ") for part in found.chunks)
    assert max(part.n_tokens for part in found.chunks) <= 100


def test_semantic_cuts_where_the_subject_changes() -> None:
    cats = "The cat purrs. The cat sleeps by the warm stove. A cat hunts mice. Cats purr. "
    ships = "The ship sails. A ship carries coal to the port. Sailors steer the ship. Ports open. "
    found = chunk_text(cats + ships, tokenizer=TOKENIZER, max_tokens=30, by="semantic")
    assert len(cats) in {part.start for part in found.chunks}


def test_an_embedder_of_the_user_is_asked() -> None:
    def embed(texts: list[str]) -> Sequence[Sequence[float]]:
        return [[1.0, 0.0] if "cat" in text.lower() else [0.0, 1.0] for text in texts]

    text = "A cat. Cats run. The cat eats. Ships sail. A ship sinks. Ports close."
    found = chunk_text(text, tokenizer=TOKENIZER, max_tokens=14, by="semantic", embed=embed)
    assert text.index("Ships") in {part.start for part in found.chunks}
    with pytest.raises(jeton.UsageError, match="expected a row for each"):
        chunk_text(text, tokenizer=TOKENIZER, max_tokens=14, by="semantic", embed=lambda _: [[1]])


def test_context_that_takes_half_of_the_budget_is_shortened() -> None:
    text = f"# {'very long heading ' * 20}\n\n" + "Text of the section. " * 20
    found = chunk_text(text, tokenizer=TOKENIZER, max_tokens=40, context=True)
    assert all(part.context == () for part in found.chunks)
    asked: list[int] = []

    def summarize(long: str, max_tokens: int) -> str:
        asked.append(max_tokens)
        return "a heading"

    found = chunk_text(text, tokenizer=TOKENIZER, max_tokens=40, context=True, summarize=summarize)
    # The heading does not fit into a chunk either.
    assert asked == [19, 39]
    assert found.chunks[-1].context == ("a heading",)
    assert found.chunks[-1].sent.startswith("a heading\n\n")
    check(text, found, 40)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"max_tokens": 0}, "expected at least 1"),
        ({"max_tokens": 9, "overlap": -1}, "expected at least 0"),
        ({"max_tokens": 9, "overlap": 2, "overlap_sentences": 1}, "expected one of them"),
        ({"max_tokens": 9, "by": "pages"}, "expected one of tokens"),
        ({"max_tokens": 9, "by": "tokens", "overlap_sentences": 1}, "needs sentences"),
        ({"max_tokens": 9, "markup": "rtf"}, "expected one of auto"),
        ({"max_tokens": 9, "template": "no place"}, "places for the text"),
        ({"max_tokens": 9, "template": "{text} {context}"}, "expected it before"),
        ({"max_tokens": 1}, "nothing is left"),
        ({"max_tokens": 9, "by": "code", "code_language": "cobol"}, "is not known"),
    ],
)
def test_what_cannot_be_is_refused(options: dict[str, object], message: str) -> None:
    with pytest.raises(jeton.UsageError, match=message):
        chunk_text("text", tokenizer=TOKENIZER, **options)  # type: ignore[arg-type]
