"""Extending: old ids and merges stay, new tokens are reached, and no text gets longer."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import training
from jeton.adapt import VocabularyChange
from jeton.adapt.extend_pieces import IdText
from jeton.adapt.extending import Extended, extend
from jeton.adapt.reading import Reading
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.adapt.segmenting import unreachable_tokens
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError, JetonWarning, UsageError

GENERAL = ["the low lower lowest newer newest wide wider widest town, and the slow road"] * 30
DOMAIN = [
    "hepatic steatosis and hepatic fibrosis; the hepatocyte was wide",
    "steatohepatitis, fibrosis stage 2: hepatocyte ballooning",
    "the patient has hepatic fibrosis with steatosis",
] * 20
ALGORITHMS = ["bpe", "wordpiece", "unigram", "sentencepiece-bpe", "sentencepiece-unigram"]
ALL = Reading(hold_out=0)


def base_of(algorithm: str) -> jeton.Tokenizer:
    size = {"bpe": 280, "wordpiece": 90, "unigram": 60}.get(algorithm, 60)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JetonWarning)
        return jeton.train(iter(GENERAL + DOMAIN[:3]), algorithm=algorithm, vocab_size=size)


BASES = {name: base_of(name) for name in ALGORITHMS if name in training.ALGORITHMS}
EXTENDED: dict[str, Extended] = {
    name: extend(iter(DOMAIN), base=base, n_tokens=8, reading=ALL) for name, base in BASES.items()
}
words = st.lists(
    st.sampled_from(["hepatic", "fibrosis", "steato", "hepat", "low", "st", "a", ",", "  ", "\n"])
    | st.text(alphabet="abefhilnoprstwy é", max_size=6),
    max_size=12,
).map(" ".join)


@pytest.mark.parametrize("name", BASES)
def test_domain_text_needs_fewer_tokens(name: str) -> None:
    old, new = BASES[name], EXTENDED[name].tokenizer
    before, after = (sum(map(tok.count, DOMAIN)) for tok in (old, new))
    assert after < before * 0.95
    assert 1 <= len(EXTENDED[name].new_tokens) <= 8


@pytest.mark.parametrize("name", BASES)
def test_old_ids_and_merges_stay(name: str) -> None:
    old, new = BASES[name], EXTENDED[name].tokenizer
    for id in range(old.vocab_size):
        assert old.id_to_token(id) == new.id_to_token(id)
    assert old.special_tokens == new.special_tokens
    before, after = WrittenTokenizer(old).merges, WrittenTokenizer(new).merges
    if before is not None:
        assert after is not None
        assert after[: len(before)] == before
    assert [t.content for t in new.added_tokens] == [t.content for t in old.added_tokens]


@pytest.mark.parametrize("name", BASES)
@given(text=words)
def test_no_text_needs_more_tokens(name: str, text: str) -> None:
    old, new = BASES[name], EXTENDED[name].tokenizer
    if name != "wordpiece":  # words that were never seen: see extend_words
        assert new.count(text) <= old.count(text)
    assert new.decode(new.encode(text)) == old.decode(old.encode(text))


@pytest.mark.parametrize("name", BASES)
def test_every_new_token_is_made_from_its_text(name: str) -> None:
    found = EXTENDED[name]
    assert unreachable_tokens(found.tokenizer, [new.id for new in found.new_tokens]) == []


@pytest.mark.parametrize("name", BASES)
def test_change_says_of_what_each_token_is_made(name: str) -> None:
    found, base = EXTENDED[name], BASES[name]
    change = found.change
    assert change.old_of[: base.vocab_size].tolist() == list(range(base.vocab_size))
    assert change.added.tolist() == [new.id for new in found.new_tokens]
    for new in found.new_tokens:
        parts = change.made_of(new.id).tolist()
        text = b"".join(map(base.id_to_bytes, parts))
        assert text.strip() == found.tokenizer.id_to_bytes(new.id).strip()
        assert len(parts) >= 2


@pytest.mark.parametrize("name", BASES)
def test_terms_become_one_token(name: str) -> None:
    base = BASES[name]
    found = extend(base=base, terms=["steatosis", "hepatic", "ballooning"], reading=ALL)
    made = [new for new in found.new_tokens if new.origin == "term"]
    assert len(made) + len(found.known_terms) + len(found.left_out_terms) == 3
    for term in {"steatosis", "hepatic", "ballooning"} - {term for term, _ in found.left_out_terms}:
        with_space, alone = (found.tokenizer.count(f"the{x}{term}") for x in (" ", ""))
        assert with_space == base.count("the") + 1
        assert alone >= 1


def test_terms_and_learning_share_the_number_asked_for() -> None:
    found = extend(iter(DOMAIN), base=BASES["bpe"], n_tokens=14, terms=["ballooning"], reading=ALL)
    origins = [new.origin for new in found.new_tokens]
    assert len(origins) == 14
    assert origins.count("term") == 1
    assert origins.index("learned") == origins.index("term") + 1
    with pytest.raises(AdaptError, match=r"the terms need \d+ new tokens, the steps to them incl"):
        extend(iter(DOMAIN), base=BASES["bpe"], n_tokens=2, terms=["ballooning"])


def test_forms_of_terms() -> None:
    both = extend(base=BASES["bpe"], terms=["zebra"], term_form="both").tokenizer
    assert both.count("zebra") == both.count(" zebra") == 1
    bare = extend(base=BASES["bpe"], terms=["zebra"], term_form="bare").tokenizer
    assert (bare.count("zebra"), bare.count(" zebra")) == (1, 2)


def test_terms_that_no_token_can_be_are_told() -> None:
    base = jeton.train(iter(GENERAL), vocab_size=270, special_tokens=["<end>"])
    found = extend(base=base, terms=["two words", "<end>", "xylem", "low"])
    left = dict(found.left_out_terms)
    assert "is cut into 2 pretokens" in left["two words"]
    assert "special or added token" in left["<end>"]
    assert found.known_terms == ("low",)
    with pytest.raises(AdaptError, match="no term can be one token: 'two words' is cut into 2"):
        extend(base=base, terms=["two words"])
    with pytest.raises(AdaptError, match="all 1 terms are one token already"):
        extend(base=base, terms=["low"])


def test_held_out_text_is_measured() -> None:
    texts = [f"{text} case {i}" for i, text in enumerate(DOMAIN)]
    found = extend(iter(texts), base=BASES["bpe"], n_tokens=12, reading=Reading(hold_out=0.3))
    held = found.held_out
    assert held is not None
    assert 0 < held.n_documents < len(texts)
    assert held.n_documents + found.n_documents == len(texts)
    assert held.n_tokens_after < held.n_tokens_before
    assert held.n_longer_documents == 0
    assert held.change_share == pytest.approx(held.n_tokens_after / held.n_tokens_before - 1)


def test_spare_rows_are_used_first() -> None:
    special = ["<|end|>", "<|reserved_0|>", "<|reserved_1|>"]
    base = jeton.train(iter(GENERAL), vocab_size=280, special_tokens=special)
    first, second = (base.special_tokens[name] for name in special[1:])
    found = extend(base=base, terms=["lowest road", "xyz"], spare=[first, second])
    new = found.tokenizer
    assert [token.id for token in found.new_tokens] == [first, second, base.vocab_size][
        : len(found.new_tokens)
    ]
    assert new.count(" xyz") == 1
    assert list(new.special_tokens) == ["<|end|>"]
    assert set(found.change.gone.tolist()) == {first, second}
    with pytest.raises(AdaptError, match=r"spare id \d+ is in use: '<|end|>'"):
        extend(base=base, terms=["xyz"], spare=[base.special_tokens["<|end|>"]])
    with pytest.raises(AdaptError, match="spare id 999 is not an old one"):
        extend(base=base, terms=["xyz"], spare=[999])


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({}, "nothing to add"),
        ({"n_tokens": 0}, "expected at least 1"),
        ({"n_tokens": 5}, "tokens are learned from text"),
        ({"terms": "word"}, "expected a list of strings"),
        ({"terms": ["x"], "min_frequency": 0}, "min_frequency is 0"),
    ],
)
def test_refuses_what_cannot_be_meant(arguments: dict[str, Any], message: str) -> None:
    with pytest.raises(UsageError, match=message):
        extend(base=BASES["bpe"], **arguments)


def test_too_little_text_is_told() -> None:
    with pytest.warns(JetonWarning, match="the text is enough for"):
        extend(iter(["hepatic hepatic"]), base=BASES["bpe"], n_tokens=500, reading=ALL)
    with pytest.raises(AdaptError, match="nothing in the text occurs 99 times"):
        extend(iter(["zz"]), base=BASES["wordpiece"], n_tokens=5, min_frequency=99, reading=ALL)


def test_rank_files_keep_their_ranks(tmp_path: Path) -> None:
    base = BASES["bpe"]
    base.save(tmp_path / "base.tiktoken")
    ranks = jeton.load(tmp_path / "base.tiktoken", pattern="llama3")
    found = extend(iter(DOMAIN), base=ranks, n_tokens=10, terms=["zebra"], reading=ALL)
    target = adapted_target(ranks, str(tmp_path / "new.tiktoken"))
    saved = save_adapted(found.tokenizer, found.change, target)
    old, new = ((tmp_path / name).read_text() for name in ("base.tiktoken", "new.tiktoken"))
    assert new.startswith(old)
    assert len(new.splitlines()) == len(old.splitlines()) + 10
    again = jeton.load(tmp_path / "new.tiktoken", pattern="llama3")
    assert again.encode(DOMAIN[0]) == found.tokenizer.encode(DOMAIN[0])
    assert saved.change_file.name == "new.vocabulary_change.json"


@pytest.mark.parametrize("name", BASES)
def test_saved_files_load_in_the_reference(name: str, tmp_path: Path) -> None:
    """The libraries whose formats these are give the ids that we give."""
    found, base = EXTENDED[name], BASES[name]
    saved = save_adapted(found.tokenizer, found.change, adapted_target(base, str(tmp_path / "new")))
    assert VocabularyChange.read(tmp_path / "new") == saved.change
    assert jeton.load(tmp_path / "new").fingerprint == saved.change.new_fingerprint
    texts = [*DOMAIN[:3], "a hepatic, steatosis-like low road"]
    model = tmp_path / "new" / "tokenizer.model"
    if model.exists():
        spm = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=str(model))
        for text in texts:
            assert spm.encode(text) == saved.tokenizer.encode(text)
    else:
        hf = pytest.importorskip("tokenizers").Tokenizer.from_file(
            str(tmp_path / "new" / "tokenizer.json")
        )
        for text in texts:
            ids = hf.encode(text, add_special_tokens=False).ids
            assert ids == saved.tokenizer.encode(text)


def without_bytes(folder: Path, absent: bytes) -> jeton.Tokenizer:
    """A tokenizer as some published ones are: some bytes have no token of their own."""
    folder.mkdir()
    BASES["bpe"].save(folder / "tokenizer.json")
    data = json.loads((folder / "tokenizer.json").read_text())
    gone = {BASES["bpe"].id_to_token(BASES["bpe"].bytes_to_id(bytes([b])) or 0) for b in absent}
    kept = [token for token in data["model"]["vocab"] if token not in gone]
    data["model"]["vocab"] = {token: id for id, token in enumerate(kept)}
    (folder / "tokenizer.json").write_text(json.dumps(data))
    return jeton.load(folder / "tokenizer.json")


def test_bytes_without_a_token_do_not_stop_learning(tmp_path: Path) -> None:
    absent = b"\x04\x7f\xc0\xff"
    base = without_bytes(tmp_path / "base", absent)
    assert all(base.bytes_to_id(bytes([byte])) is None for byte in absent)
    texts = [*DOMAIN, *["\x04\x04\x7f steat\x04osis"] * 200]
    found = extend(iter(texts), base=base, n_tokens=9, terms=["zolpidem"], reading=ALL)
    whole = extend(iter(DOMAIN), base=BASES["bpe"], n_tokens=9, terms=["zolpidem"], reading=ALL)
    assert [new.id for new in found.new_tokens] == list(range(base.vocab_size, base.vocab_size + 9))
    assert all(not set(absent) & set(new.token_bytes) for new in found.new_tokens)
    for new in found.new_tokens:
        made_of = b"".join(base.id_to_bytes(part) for part in found.change.made_of(new.id))
        assert made_of == new.token_bytes
    # Terms and the steps to them come first, then what the same text teaches.
    assert [new.token_bytes for new in found.new_tokens if new.origin != "learned"] == [
        new.token_bytes for new in whole.new_tokens if new.origin != "learned"
    ]
    assert sum(map(found.tokenizer.count, texts)) < sum(map(base.count, texts))


def test_never_as_added_tokens(tmp_path: Path) -> None:
    found = EXTENDED["bpe"]
    save_adapted(found.tokenizer, found.change, adapted_target(BASES["bpe"], str(tmp_path / "new")))
    data = json.loads((tmp_path / "new" / "tokenizer.json").read_text())
    texts = {token["content"] for token in data["added_tokens"]}
    assert not texts & {new.token_bytes.decode() for new in found.new_tokens}


def test_ids_and_characters_are_one_to_one() -> None:
    base = BASES["unigram"]
    ids = IdText(base, WrittenTokenizer(base))
    row = base.encode_array(DOMAIN[0])
    text = ids.text(row)
    back = [id for char in text if char != "\x01" for id in ids.ids(char)]
    assert back == [id for id, char in zip(row.tolist(), text, strict=True) if char != "\x01"]
