"""A tokenizer written and read again is the same one, for us and for other libraries."""

from __future__ import annotations

import base64
import functools
import json
import random
from pathlib import Path

import pytest
import tiktoken
from hypothesis import HealthCheck, given, settings
from tokenizers import Tokenizer as HfTokenizer

import jeton
from jeton import FormatError, Tokenizer, VocabularyError, _core
from jeton._core import from_canonical, from_hf_json, from_tiktoken
from tests.core import makers
from tests.core.texts import assert_equal_ids, from_vocabulary, glued, texts

N_TEXTS = 4000 if makers.THOROUGH else 300

# The digest covers all that decides ids. Whoever changes the canonical form, or what it means,
# changes it for every file and lock that exists: that takes a new version of the form.
FIXED_FINGERPRINT = "9049a148a3083bdd808fb19a0aba17525c5ce8b0ea68b496ef7d0c38c5e7479e"


def fixed_tokenizer() -> Tokenizer:
    """A tokenizer that depends on nothing but the lines below."""
    tokens = [bytes([b]) for b in range(256)] + [b"he", b"ll", b"hell", b"hello", b" w"]
    lines = [f"{base64.b64encode(token).decode()} {rank}" for rank, token in enumerate(tokens)]
    return from_tiktoken("\n".join(lines).encode(), pattern="gpt2", special_tokens={"<|end|>": 300})


def test_fingerprint_is_what_it_was() -> None:
    assert fixed_tokenizer().fingerprint == FIXED_FINGERPRINT


def test_fingerprint_sees_what_decides_ids() -> None:
    data = fixed_tokenizer().to_tiktoken()
    variants = [
        from_tiktoken(data, pattern="gpt2"),
        from_tiktoken(data, pattern="gpt2", special_tokens={"<|end|>": 300}),
        from_tiktoken(data, pattern="gpt2", special_tokens={"<|end|>": 301}),
        from_tiktoken(data, pattern="gpt2", special_tokens={"<|stop|>": 300}),
        from_tiktoken(data, pattern="cl100k_base"),
        from_tiktoken(data, pattern="gpt2", normalizer="nfc"),
        from_tiktoken(data.replace(b"IHc= 260", b"IHg= 260"), pattern="gpt2"),
    ]
    assert len({t.fingerprint for t in variants}) == len(variants)


def test_fingerprint_does_not_see_the_name() -> None:
    tokenizer = fixed_tokenizer()
    renamed = tokenizer.with_name("other")
    assert renamed.name == "other"
    assert renamed.fingerprint == tokenizer.fingerprint


def test_canonical_form(tokenizer: Tokenizer) -> None:
    written = tokenizer.to_canonical()
    again = from_canonical(written, name=tokenizer.name)
    assert again.to_canonical() == written
    assert again.fingerprint == tokenizer.fingerprint
    for attribute in (
        "algorithm",
        "n_tokens",
        "name",
        "reference",
        "special_tokens",
        "split_pattern",
        "vocab_size",
    ):
        assert getattr(again, attribute) == getattr(tokenizer, attribute), attribute
    batch = glued(random.Random(1), N_TEXTS) + from_vocabulary(random.Random(2), tokenizer, N_TEXTS)
    for allow in ((), "all"):
        ours = tokenizer.encode_batch(batch, allow_special=allow).to_lists()
        theirs = again.encode_batch(batch, allow_special=allow).to_lists()
        assert ours == theirs


def test_canonical_form_is_text_that_people_can_read() -> None:
    value = json.loads(fixed_tokenizer().to_canonical())
    assert value["jeton"] == 1


@pytest.mark.parametrize("keep", [0, 1, 100, -1])
def test_a_canonical_form_cut_short_is_refused(keep: int) -> None:
    data = fixed_tokenizer().to_canonical()
    end = len(data.rstrip()) + keep if keep < 0 else keep
    with pytest.raises(VocabularyError):
        from_canonical(data[:end])


@pytest.mark.rivals
@pytest.mark.parametrize("name", [*makers.TINY, *makers.PUBLISHED, "llama3"])
def test_tokenizer_json_in_tokenizers(name: str, request: pytest.FixtureRequest) -> None:
    if name in makers.TINY:
        tokenizer = makers.tiny(name)
    else:
        tokenizer = makers.published(request.getfixturevalue("shared"), name)
    written = tokenizer.to_hf_json()
    reference = HfTokenizer.from_str(written.decode())
    assert reference.get_vocab_size() == tokenizer.n_tokens
    batch = glued(random.Random(3), N_TEXTS) + from_vocabulary(random.Random(4), tokenizer, N_TEXTS)

    def theirs(text: str) -> list[int]:
        found: list[int] = reference.encode(text, add_special_tokens=False).ids
        return found

    for special in (False, True):
        reference.encode_special_tokens = not special
        ours = functools.partial(tokenizer.encode, allow_special="all" if special else ())
        assert_equal_ids(batch, ours, theirs)
        for text in batch[:50]:
            ids = ours(text)
            assert reference.decode(ids, skip_special_tokens=False) == tokenizer.decode(ids)
    again = from_hf_json(written)
    assert [again.encode(text) for text in batch] == [tokenizer.encode(text) for text in batch]
    assert again.special_tokens == tokenizer.special_tokens


@pytest.mark.rivals
@pytest.mark.parametrize(
    "name",
    [
        *(name for name in makers.TINY if name != "tiny-qwen-nfc"),
        *makers.PUBLISHED,
        "llama3",
    ],
)
def test_rank_file_in_tiktoken(name: str, request: pytest.FixtureRequest) -> None:
    if name in makers.TINY:
        tokenizer = makers.tiny(name)
    else:
        tokenizer = makers.published(request.getfixturevalue("shared"), name)
    assert tokenizer.split_pattern is not None
    lines = [line.split() for line in tokenizer.to_tiktoken().splitlines()]
    ranks = {base64.b64decode(token): int(rank) for token, rank in lines}
    assert len(ranks) == len(lines)
    reference = tiktoken.Encoding(
        "written",
        pat_str=_core.published_patterns().get(tokenizer.split_pattern, tokenizer.split_pattern),
        mergeable_ranks=ranks,
        special_tokens=tokenizer.special_tokens,
    )
    batch = glued(random.Random(5), N_TEXTS) + from_vocabulary(random.Random(6), tokenizer, N_TEXTS)
    assert_equal_ids(batch, tokenizer.encode, reference.encode_ordinary)
    assert_equal_ids(
        batch,
        lambda text: tokenizer.encode(text, allow_special="all"),
        lambda text: reference.encode(text, allowed_special="all"),
    )


@pytest.mark.parametrize("file", ["roberta-base.json.zst", "gpt_neox_20b.json.zst"])
def test_a_rank_file_is_refused_or_gives_the_same_ids(file: str, shared: Path) -> None:
    tokenizer = jeton.load(shared / "data" / "vocab" / file)
    try:
        data = tokenizer.to_tiktoken()
    except FormatError:
        return
    again = from_tiktoken(data, pattern=tokenizer.split_pattern or "gpt2")
    batch = glued(random.Random(7), N_TEXTS)
    assert [again.encode(t) for t in batch] == [tokenizer.encode(t) for t in batch]


@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(text=texts)
def test_a_written_rank_file_read_again(tiny: Tokenizer, text: str) -> None:
    if tiny.split_pattern is None or tiny.normalize("e\u0301") != "e\u0301":
        return
    again = from_tiktoken(
        tiny.to_tiktoken(), pattern=tiny.split_pattern, special_tokens=tiny.special_tokens
    )
    assert again.encode(text) == tiny.encode(text)
