"""Random small tokenizers: ranks, word lists, SentencePiece models in every format they fit."""

from __future__ import annotations

import base64
import json
import struct
from typing import Any

from hypothesis import example, given
from hypothesis import strategies as st

from jeton import Tokenizer
from jeton._core import (
    from_canonical,
    from_hf_json,
    from_sentencepiece,
    from_tiktoken,
    from_vocab_txt,
    write_format,
)
from jeton.errors import EncodeError, FormatError
from jeton.formats import FORMATS

PATTERN = r"[a-d]+|\s+|[^a-d\s]+"
LETTERS = st.text("abcd \u00e9", max_size=24)


def ids(tokenizer: Tokenizer, text: str) -> tuple[list[int], str] | None:
    try:
        found = tokenizer.encode(text)
    except EncodeError:
        return None
    return found, tokenizer.decode(found)


def changed_parts(before: dict[str, Any], after: dict[str, Any]) -> set[str]:
    """Parts that differ; a SentencePiece model holds a normalizer and a decoder of its own."""
    changed = {part for part in before if before[part] != after[part]}
    old, new = before["model"], after["model"]
    if "model" not in changed or not old["type"] == new["type"] == "sentencepiece":
        return changed
    inner = {"normalizer": "normalizer", "denormalizer": "decoder", "unk_surface": "decoder"}
    fields = {field for field in {*old, *new} if old.get(field) != new.get(field)}
    return (changed - {"model"}) | {inner.get(field, "model") for field in fields}


def assert_accounted_for(source: Tokenizer) -> None:
    """Every part of the canonical form that does not come back is a loss or a rewording."""
    before = json.loads(source.to_canonical())
    for name in FORMATS:
        result = write_format(source, name)
        if result["obstacles"]:
            continue
        after = json.loads(result["read"].to_canonical())
        changed = changed_parts(before, after)
        named = {part for part, *_ in [*result["losses"], *result["rewordings"]]}
        assert changed <= named, name


ADDED = st.lists(
    st.fixed_dictionaries(
        {
            "id": st.integers(250, 275),
            "content": st.text("abx<", min_size=1, max_size=4),
            "special": st.booleans(),
            "single_word": st.booleans(),
            "lstrip": st.booleans(),
            "rstrip": st.booleans(),
            "normalized": st.booleans(),
        }
    ),
    max_size=4,
    unique_by=(lambda token: token["id"], lambda token: token["content"]),
)


@given(
    st.lists(st.text("abx<", min_size=2, max_size=4), max_size=8),
    ADDED,
    st.booleans(),
    st.lists(st.text("abx< ", max_size=12), max_size=3),
)
def test_added_tokens_come_back_or_are_named(
    tokens: list[str], added: list[dict[str, Any]], whole: bool, texts: list[str]
) -> None:
    # With holes between ids, in the vocabulary or not, special or not.
    tree = json.loads(from_tiktoken(rank_file(tokens), pattern=PATTERN).to_canonical())
    tree["reference"] = "hf"
    tree["added_tokens"] = sorted(added, key=lambda token: token["id"])
    tree["model"]["merges"] = []
    tree["model"]["whole_pretokens"] = whole
    try:
        source = from_canonical(json.dumps(tree).encode())
    except FormatError:
        return  # an id of a token with another text
    assert_accounted_for(source)
    result = write_format(source, "tokenizer.json")
    if not result["obstacles"] and not result["losses"]:
        for text in [*texts, *(token["content"] for token in added)]:
            assert ids(result["read"], text) == ids(source, text)


def rank_file(tokens: list[str]) -> bytes:
    every = [bytes([b]) for b in range(256)]
    every += [t.encode() for t in dict.fromkeys(tokens)]
    return b"".join(base64.b64encode(t) + b" %d\n" % rank for rank, t in enumerate(every))


@given(st.lists(st.text("abcd", min_size=2, max_size=5), max_size=12), st.lists(LETTERS))
def test_ranks_become_merges_and_ranks_again(tokens: list[str], texts: list[str]) -> None:
    # Also tokens that no merges make, and orders that no training gives.
    data = rank_file(tokens)
    ranks = from_tiktoken(data, pattern=PATTERN)
    merges = from_hf_json(ranks.to_bytes("tokenizer.json"))
    for text in [*texts, *tokens]:
        assert ids(merges, text) == ids(ranks, text)
    assert merges.to_bytes("tiktoken") == data


@given(
    st.lists(st.text("abcd", min_size=2, max_size=4), max_size=10),
    st.permutations(range(10)),
    st.lists(LETTERS, min_size=1),
)
def test_merges_become_ranks_only_where_they_are(
    tokens: list[str], order: list[int], texts: list[str]
) -> None:
    # A list in any order, with any pairs left out: what is written does the same, or is refused.
    ranks = from_tiktoken(rank_file(tokens), pattern=PATTERN)
    tree = json.loads(ranks.to_bytes("tokenizer.json"))
    merges = tree["model"]["merges"]
    kept = [merges[i] for i in order if i < len(merges)]
    tree["model"]["merges"] = kept
    tree["model"]["ignore_merges"] = len(kept) % 2 == 0
    source = from_hf_json(json.dumps(tree).encode())
    assert_accounted_for(source)
    try:
        data = source.to_bytes("tiktoken")
    except FormatError:
        return
    written = from_tiktoken(data, pattern=PATTERN)
    for text in [*texts, *tokens]:
        assert ids(written, text) == ids(source, text)


WORDS = st.lists(
    st.text("abc#[]\u00e9\u4e2d", min_size=1, max_size=4), min_size=1, max_size=20, unique=True
)


@given(WORDS, st.booleans(), st.lists(LETTERS))
def test_word_lists_come_back(words: list[str], lowercase: bool, texts: list[str]) -> None:
    data = "".join(f"{word}\n" for word in ["[UNK]", *(w for w in words if w != "[UNK]")]).encode()
    source = from_vocab_txt(data, lowercase=lowercase)
    assert source.to_bytes("vocab.txt") == data
    assert_accounted_for(source)
    as_json = from_hf_json(source.to_bytes("tokenizer.json"))
    for text in texts:
        assert ids(as_json, text) == ids(source, text)


def bits(score: float) -> int:
    found: int = struct.unpack("<I", struct.pack("<f", score))[0]
    return found


PIECES = st.lists(st.text("ab\u2581", min_size=2, max_size=5), max_size=8, unique=True)


@given(
    PIECES,
    st.booleans(),
    st.booleans(),
    st.booleans(),
    st.sampled_from(["bpe", "unigram", "char"]),
    st.lists(st.text("ab \u2581x\u00e9", max_size=16), min_size=1),
)
# Found by chance: of a first piece of several spaces, SentencePiece takes one away.
@example(["\u2581\u2581"], True, True, True, "bpe", ["\u2581a"])
def test_sentencepiece_models_come_back_and_become_others(
    longer: list[str],
    dummy: bool,
    extra: bool,
    fallback: bool,
    algorithm: str,
    texts: list[str],
) -> None:
    rules = {
        "charsmap": "",
        "add_dummy_prefix": dummy,
        "remove_extra_whitespaces": extra,
        "escape_whitespaces": True,
    }
    named = [("<unk>", 0.0, "unknown"), ("<s>", 0.0, "control")]
    if fallback:
        named += [(f"<0x{byte:02X}>", 0.0, "byte") for byte in range(256)]
    named += [(text, -float(place), "normal") for place, text in enumerate(longer)]
    named += [(text, -20.0, "normal") for text in ("a", "b", "\u2581")]
    tree: dict[str, Any] = {
        "jeton": 1,
        "reference": "sentencepiece",
        "normalizer": [],
        "added_tokens": [],
        "pretokenizer": [],
        "template": json.loads(TEMPLATE),
        "decoder": None,
        "truncation": None,
        "padding": None,
        "dropout": None,
        "model": {
            "type": "sentencepiece",
            "algorithm": algorithm,
            "pieces": [
                [base64.b64encode(text.encode()).decode(), bits(score), kind]
                for text, score, kind in named
            ],
            "byte_fallback": fallback,
            "treat_whitespace_as_suffix": False,
            "bos_piece": "<s>",
            "eos_piece": "</s>",
            "pad_piece": "<pad>",
            "unk_surface": " ? ",
            "normalizer": rules,
            "denormalizer": None,
        },
    }
    source = from_canonical(json.dumps(tree).encode())
    assert_accounted_for(source)
    model = from_sentencepiece(write_format(source, "sentencepiece")["files"][0][1])
    for text in texts:
        assert ids(model, text) == ids(source, text)
    again = from_sentencepiece(model.to_bytes("sentencepiece"))
    assert again.fingerprint == model.fingerprint
    for name in ("tokenizer.json", "gguf"):
        result = write_format(model, name)
        if result["obstacles"] or result["losses"]:
            continue
        for text in texts:
            assert ids(result["read"], text) == ids(model, text), name
        if name == "tokenizer.json":
            back = write_format(result["read"], "sentencepiece")
            if not back["obstacles"] and not back["losses"]:
                for text in texts:
                    assert ids(back["read"], text) == ids(model, text)


TEMPLATE = json.dumps(
    {
        "single": [{"text": {"segment": "first", "type_id": 0}}],
        "pair": [
            {"text": {"segment": "first", "type_id": 0}},
            {"text": {"segment": "second", "type_id": 1}},
        ],
        "trim_offsets": None,
    }
)
