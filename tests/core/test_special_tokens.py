"""Special tokens come from ordinary text only where the caller allows it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import Tokenizer, UnknownSpecialTokenError
from tests.core.makers import SPECIAL
from tests.core.texts import texts


def test_look_alikes_stay_text(tokenizer: Tokenizer) -> None:
    special = tokenizer.special_tokens
    assert special
    for content, special_id in special.items():
        text = f"a{content}b {content}"
        ids = tokenizer.encode(text)
        assert special_id not in ids
        assert tokenizer.decode(ids) == text
        assert tokenizer.count(text) == len(ids)
        allowed = tokenizer.encode(text, allow_special={content})
        assert allowed.count(special_id) == 2
        assert tokenizer.decode(allowed) == text
        assert tokenizer.decode(allowed, skip_special_tokens=True) == "ab "
        assert tokenizer.encode(text, allow_special="all") == allowed
        assert tokenizer.count(text, allow_special=[content]) == len(allowed)


def test_only_what_is_allowed(shared: Path) -> None:
    tokenizer = jeton.load(shared / "data" / "vocab" / "cl100k_base.tiktoken.zst")
    text = "<|endoftext|><|fim_prefix|>"
    end, fim = (tokenizer.special_tokens[t] for t in ("<|endoftext|>", "<|fim_prefix|>"))
    assert tokenizer.encode(text, allow_special="all") == [end, fim]
    only_end = tokenizer.encode(text, allow_special=["<|endoftext|>"])
    assert only_end == [end, *tokenizer.encode("<|fim_prefix|>")]
    only_fim = tokenizer.encode(text, allow_special={"<|fim_prefix|>"})
    assert only_fim == [*tokenizer.encode("<|endoftext|>"), fim]
    assert tokenizer.encode(text, allow_special=()) == tokenizer.encode(text)


@given(before=texts, after=texts)
def test_the_text_around_is_encoded_on_its_own(plain: Tokenizer, before: str, after: str) -> None:
    if SPECIAL in before + after:
        return
    expected = [*plain.encode(before), plain.special_tokens[SPECIAL], *plain.encode(after)]
    text = before + SPECIAL + after
    if text.count(SPECIAL) == 1 and text.index(SPECIAL) == len(before):
        assert plain.encode(text, allow_special="all") == expected


@given(parts=st.lists(texts | st.just(SPECIAL), max_size=6))
def test_ways_to_encode_agree_with_special_tokens(plain: Tokenizer, parts: list[str]) -> None:
    text = "".join(parts)
    ids = plain.encode(text, allow_special="all")
    assert plain.decode(ids) == text
    assert plain.count(text, allow_special="all") == len(ids)
    assert plain.encode_array(text, allow_special="all").tolist() == ids
    batch = plain.encode_batch([text, text], allow_special="all")
    assert batch.to_lists() == [ids, ids]
    assert plain.count_batch([text], allow_special="all").tolist() == [len(ids)]
    found = plain.encode_with_offsets(text, allow_special="all")
    assert found.ids.tolist() == ids
    special = plain.special_tokens[SPECIAL]
    for i, word, start, end in zip(
        ids, found.word_ids.tolist(), found.starts.tolist(), found.ends.tolist(), strict=True
    ):
        assert (word == -1) == (i == special)
        if i == special:
            assert text[start:end] == SPECIAL
    words = [word for word in found.word_ids.tolist() if word >= 0]
    assert words == sorted(words)


@pytest.mark.parametrize("allow", ["<|end|>", "every", ""])
def test_a_bare_string_is_refused(allow: Any, plain: Tokenizer) -> None:
    for take in (plain.encode, plain.encode_array, plain.encode_with_offsets, plain.count):
        with pytest.raises(TypeError, match='allow_special must be "all" or an iterable'):
            take("text", allow_special=allow)
    for take_batch in (plain.encode_batch, plain.count_batch):
        with pytest.raises(TypeError, match='allow_special must be "all" or an iterable'):
            take_batch(["text"], allow_special=allow)


def test_an_unknown_one_is_refused(plain: Tokenizer) -> None:
    for name in ("<|nope|>", "a", ""):
        with pytest.raises(UnknownSpecialTokenError, match="is not a special token") as caught:
            plain.encode("text", allow_special=[SPECIAL, name])
        assert caught.value.token == name
    with pytest.raises(TypeError):
        plain.encode("text", allow_special=[1])  # type: ignore[list-item]


def test_added_tokens_say_whether_they_are_special(plain: Tokenizer) -> None:
    assert [(t.content, t.id, t.special) for t in plain.added_tokens] == [
        (SPECIAL, plain.special_tokens[SPECIAL], True)
    ]


class TestTemplate:
    """Tokens that ``add_special_tokens`` puts around a text."""

    def test_of_roberta(self, shared: Path) -> None:
        tokenizer = jeton.load(shared / "data" / "vocab" / "roberta-base.json.zst")
        start, end = tokenizer.special_tokens["<s>"], tokenizer.special_tokens["</s>"]
        inner = tokenizer.encode("a text")
        assert tokenizer.encode("a text", add_special_tokens=True) == [start, *inner, end]
        assert tokenizer.encode("", add_special_tokens=True) == [start, end]
        assert tokenizer.encode_array("", add_special_tokens=True).tolist() == [start, end]
        batch = tokenizer.encode_batch(["a text", ""], add_special_tokens=True, num_threads=2)
        assert batch.to_lists() == [[start, *inner, end], [start, end]]
        found = tokenizer.encode_with_offsets("a text", add_special_tokens=True)
        assert found.ids.tolist() == [start, *inner, end]
        assert found.word_ids[[0, -1]].tolist() == [-1, -1]
        assert (found.starts[0], found.ends[0]) == (0, 0)
        assert (found.starts[-1], found.ends[-1]) == (6, 6)
        decoded = tokenizer.decode([start, *inner, end], skip_special_tokens=True)
        assert decoded == "a text"
        # A look-alike in the text is still text.
        assert tokenizer.encode("<s>", add_special_tokens=True).count(start) == 1

    def test_of_a_tokenizer_without_one(self, tiny: Tokenizer) -> None:
        assert tiny.encode("a text", add_special_tokens=True) == tiny.encode("a text")
