"""Each chunk's count is that of encoding it alone, whatever the tokenizer.

Chunks of long texts are counted by the tokens of the text, and encoded near their ends only. The
naive twin encodes all that is sent.
"""

from __future__ import annotations

import functools
import random
from collections.abc import Callable
from pathlib import Path

import pytest

import jeton
from jeton.chunking import chunk_text
from jeton.chunking.division import By
from jeton.training import train
from tests.core import makers

PIECES = (
    "The ferry left at noon. ", "It's 1234567 o'clock, isn't it?\n", "\n\n# A heading\n\n",
    "    indented_code(x_1, y2)\n", "中文句子。还有一个！", "é\u0301 🙂👍🏽 ", "   \t  ", "\r\n",
    "WORDS and CamelCase, don't; ", "| a | b |\n| - | - |\n| 1 | 2 |\n", "aaaa" * 30 + " ",
    "000000" * 20, "!!!???...", "สวัสดี ", "\n" * 7, "<|end|>", "Ünïcödé ﬁ ", "-----\n",
)  # fmt: skip


def text_of(seed: int, n_pieces: int) -> str:
    draw = random.Random(seed)
    return "".join(draw.choices(PIECES, k=n_pieces))


def wordpiece() -> jeton.Tokenizer:
    return train(iter(makers.prose()[:8]), algorithm="wordpiece", vocab_size=600)


def unigram() -> jeton.Tokenizer:
    return train(
        iter(makers.prose()[:8]), algorithm="unigram", vocab_size=500, character_coverage=1.0
    )


def sentencepiece_bpe() -> jeton.Tokenizer:
    return train(
        iter(makers.prose()[:8]),
        algorithm="sentencepiece-bpe",
        vocab_size=500,
        character_coverage=1.0,
    )


def with_added_token() -> jeton.Tokenizer:
    """A tokenizer with tokens around texts."""
    return makers.tiny("tiny-o200k_base").with_template(f"{makers.SPECIAL} $A {makers.SPECIAL}")


TOKENIZERS: dict[str, Callable[[], jeton.Tokenizer]] = {
    **{name: functools.partial(makers.tiny, name) for name in makers.TINY},
    "wordpiece": wordpiece,
    "unigram": unigram,
    "sentencepiece-bpe": sentencepiece_bpe,
    "template": with_added_token,
}


@pytest.mark.parametrize("name", TOKENIZERS)
def test_a_count_is_that_of_the_chunk_alone(name: str) -> None:
    tokenizer = TOKENIZERS[name]()
    cases: list[tuple[By, int, dict[str, object]]] = [
        ("structure", 300, {}),
        ("sentences", 800, {"prefix": "passage: "}),
        ("tokens", 500, {}),
        ("structure", 400, {"template": "<q>{text}'s end", "trim": True}),
        ("tokens", 700, {"overlap": 60}),
        ("structure", 600, {"context": True, "overlap_sentences": 2}),
    ]
    for seed, (by, max_tokens, options) in enumerate(cases):
        text = text_of(seed, 220)
        found = chunk_text(text, tokenizer=tokenizer, max_tokens=max_tokens, by=by, **options)  # type: ignore[arg-type]
        sent = [part.sent for part in found.chunks]
        alone = [len(tokenizer.encode(part, add_special_tokens=True)) for part in sent]
        assert found.chunks.n_tokens.tolist() == alone
        assert max(alone) <= max_tokens
        if not options.keys() & {"trim", "overlap", "overlap_sentences"}:
            assert "".join(part.text for part in found.chunks) == text


def test_many_documents_are_divided_as_one_by_one(tmp_path: Path) -> None:
    texts = [text_of(seed, n) for seed, n in enumerate((0, 3, 60, 1, 200, 0, 30))]
    texts.insert(3, '{"a": [1, 2, {"b": "c"}], "d": "' + "word " * 300 + '"}')
    texts.insert(5, "<html><body><p>One.</p><p>Two.</p></body></html>")
    tokenizer = makers.tiny("tiny-cl100k_base")
    found = list(jeton.chunk(iter(texts), tokenizer=tokenizer, max_tokens=90))
    assert [document.document for document in found] == list(range(len(texts)))
    for text, document in zip(texts, found, strict=True):
        alone = chunk_text(text, tokenizer=tokenizer, max_tokens=90)
        assert document.chunking.chunks == alone.chunks
        assert document.n_chars == len(text)


def test_documents_before_one_that_cannot_be_divided_come_out() -> None:
    tokenizer = makers.tiny("tiny-gpt2")
    found = jeton.chunk(iter(["One", "Two 🙂"]), tokenizer=tokenizer, max_tokens=2)
    assert "".join(part.text for part in next(found).chunking.chunks) == "One"
    with pytest.raises(jeton.UsageError, match="the character '🙂' at 4 takes"):
        next(found)
