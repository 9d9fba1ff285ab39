"""Pruning: what goes is a leaf, what must stay stays, and text of kept tokens keeps its cut."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import training
from jeton.adapt import VocabularyChange
from jeton.adapt.extending import extend
from jeton.adapt.pruning import Pruned, prune
from jeton.adapt.reading import Reading
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.adapt.segmenting import unreachable_tokens
from jeton.adapt.shrinking import derivations
from jeton.adapt.written import WrittenTokenizer
from jeton.errors import AdaptError, JetonWarning, UsageError

TEXT = [
    "the low lower lowest newer newest wide wider widest town, and the slow road",
    "hepatic steatosis and hepatic fibrosis; the hepatocyte was wide",
] * 30
USED = ["the low town and the slow road"] * 30
ALL = Reading(hold_out=0)
ALGORITHMS = ["bpe", "wordpiece", "unigram", "sentencepiece-bpe", "sentencepiece-unigram"]


def base_of(algorithm: str) -> jeton.Tokenizer:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", JetonWarning)
        size = 320 if algorithm == "bpe" else 100
        return jeton.train(iter(TEXT), algorithm=algorithm, vocab_size=size)


BASES = {name: base_of(name) for name in ALGORITHMS if name in training.ALGORITHMS}
PRUNED: dict[str, Pruned] = {
    name: prune(iter(USED), base=base, n_tokens=base.n_tokens - 12, reading=ALL)
    for name, base in BASES.items()
}
words = st.lists(
    st.sampled_from(["hepatic", "fibrosis", "low", "lowest", "the", "town", "road", ","])
    | st.text(alphabet="adehilnoprstwy", max_size=6),
    max_size=10,
).map(" ".join)


@pytest.mark.parametrize("name", BASES)
def test_so_many_are_left_with_compact_ids(name: str) -> None:
    found, base = PRUNED[name], BASES[name]
    assert found.tokenizer.n_tokens == base.n_tokens - 12
    assert found.tokenizer.vocab_size == found.tokenizer.n_tokens
    assert len(found.change.gone) == base.vocab_size - found.tokenizer.n_tokens
    assert len(found.change.holes) == 0
    kept = found.change.old_of
    assert (np.diff(kept) > 0).all()
    for new, old in enumerate(kept.tolist()):
        assert found.tokenizer.id_to_token(new) == base.id_to_token(old)
    assert set(found.tokenizer.special_tokens) == set(base.special_tokens)


@pytest.mark.parametrize("name", BASES)
@given(text=words)
def test_text_of_kept_tokens_keeps_its_cut(name: str, text: str) -> None:
    found, base = PRUNED[name], BASES[name]
    old = base.encode_array(text).astype(np.int64)
    new = found.change.new_of[old]
    now = found.tokenizer.encode_array(text)
    if (new >= 0).all():
        assert now.tolist() == new.tolist()
    else:
        assert len(now) >= len(old)
    assert found.tokenizer.decode(now) == base.decode(old)


@pytest.mark.parametrize("name", BASES)
def test_every_token_that_stays_is_still_made(name: str) -> None:
    base, new = BASES[name], PRUNED[name].tokenizer
    before = set(unreachable_tokens(base, np.flatnonzero(base.is_token_mask()).tolist()))
    after = unreachable_tokens(new, np.flatnonzero(new.is_token_mask()).tolist())
    assert {int(PRUNED[name].change.old_of[id]) for id in after} <= before


@pytest.mark.parametrize("name", ["bpe", "sentencepiece-bpe"])
def test_parts_and_result_of_every_merge_live(name: str) -> None:
    base, gone = BASES[name], set(PRUNED[name].change.gone.tolist())
    for id, pairs in derivations(WrittenTokenizer(base)).items():
        for pair in pairs:
            assert id in gone or not gone & set(pair)
    merges = WrittenTokenizer(PRUNED[name].tokenizer).merges
    if merges is not None:
        n_old = len(WrittenTokenizer(base).merges or ())
        assert len(merges) == n_old - len(gone)


@pytest.mark.parametrize("name", BASES)
def test_least_used_go_first(name: str) -> None:
    base, found = BASES[name], PRUNED[name]
    counted = sum(base.measure(USED).id_counts[token.id] for token in found.removed)
    assert counted == 0
    assert sum(map(found.tokenizer.count, USED)) == sum(map(base.count, USED))


def test_what_is_to_be_kept_stays() -> None:
    base = BASES["bpe"]
    kept = prune(iter(USED), base=base, n_tokens=275, keep=["hepatic"], reading=ALL).tokenizer
    assert kept.count("a hepatic") == base.count("a hepatic")
    without = prune(iter(USED), base=base, n_tokens=275, reading=ALL).tokenizer
    assert without.count("a hepatic") > base.count("a hepatic")


def test_bytes_and_special_tokens_never_go() -> None:
    base = jeton.train(iter(TEXT), vocab_size=290, special_tokens=["<end>", "<pad>"])
    found = prune(iter(["zzz"]), base=base, n_tokens=258, reading=ALL)
    assert found.tokenizer.n_tokens == 258
    assert found.tokenizer.special_tokens.keys() == {"<end>", "<pad>"}
    assert found.tokenizer.decode(found.tokenizer.encode("the é")) == "the é"
    with pytest.raises(AdaptError, match="257 tokens cannot be left: 258 are bytes"):
        prune(iter(["zzz"]), base=base, n_tokens=257, reading=ALL)
    with pytest.raises(AdaptError, match="the tokenizer has 290 tokens; 290 cannot be left"):
        prune(iter(["zzz"]), base=base, n_tokens=290, reading=ALL)
    with pytest.raises(UsageError, match="expected a list of strings"):
        prune(iter(["zzz"]), base=base, n_tokens=270, keep="low", reading=ALL)


@pytest.mark.parametrize("name", BASES)
def test_ids_can_stay_with_holes(name: str) -> None:
    base = BASES[name]
    if WrittenTokenizer(base).kind == "unigram":
        with pytest.raises(AdaptError, match="has no holes"):
            prune(iter(USED), base=base, n_tokens=base.n_tokens - 12, keep_ids=True, reading=ALL)
        return
    found = prune(iter(USED), base=base, n_tokens=base.n_tokens - 12, keep_ids=True, reading=ALL)
    kept = found.change.kept
    assert (found.change.old_of[kept] == kept).all()
    assert set(found.change.holes.tolist()) <= set(found.change.gone.tolist())
    assert len(found.change.gone) == 12
    for text in (*USED[:1], *TEXT[:2]):
        compact = PRUNED[name].tokenizer.encode_array(text)
        assert found.tokenizer.encode(text) == PRUNED[name].change.old_of[compact].tolist()


@pytest.mark.parametrize("name", BASES)
def test_extending_then_pruning_is_the_identity_on_kept_tokens(name: str) -> None:
    base = BASES[name]
    more = extend(base=base, terms=["zzyva", "stetopath", "dolorest"], reading=ALL)
    less = prune(iter(TEXT), base=more.tokenizer, n_tokens=base.n_tokens, reading=ALL)
    both = more.change.then(less.change)
    kept = both.old_of[both.kept]
    assert (np.diff(kept) > 0).all()
    if name == "bpe":
        removed = {token.id for token in less.removed}
        if removed == set(more.change.added.tolist()):
            assert both.is_identity
            assert less.tokenizer.fingerprint == base.fingerprint


@pytest.mark.parametrize("name", BASES)
def test_saved_files_load_in_the_reference(name: str, tmp_path: Path) -> None:
    found, base = PRUNED[name], BASES[name]
    saved = save_adapted(found.tokenizer, found.change, adapted_target(base, str(tmp_path / "new")))
    assert VocabularyChange.read(tmp_path / "new") == saved.change
    model = tmp_path / "new" / "tokenizer.model"
    for text in (*USED[:1], *TEXT[:2]):
        if model.exists():
            spm = pytest.importorskip("sentencepiece").SentencePieceProcessor(model_file=str(model))
            assert spm.encode(text) == saved.tokenizer.encode(text)
        else:
            hf = pytest.importorskip("tokenizers").Tokenizer.from_file(
                str(tmp_path / "new" / "tokenizer.json")
            )
            ids = hf.encode(text, add_special_tokens=False).ids
            assert ids == saved.tokenizer.encode(text)
