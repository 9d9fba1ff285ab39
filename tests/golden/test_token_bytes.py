"""Bytes of a token are those that it adds to a decoded text: for every shared vocabulary."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

import jeton
from jeton.metrics.reachability import reachability
from jeton.metrics.vocabulary import vocabulary_use

SHARED = Path(__file__).resolve().parents[2].parent / "shared"
VOCAB = SHARED / "data" / "vocab"
# A merges.txt or vocab.json is one half of a pair.
FILES = sorted(
    p for p in VOCAB.glob("*") if not p.name.endswith((".merges.txt", ".vocab.json.zst"))
)
PAIRS = (
    ("llama2.json.zst", "llama2.model"),
    ("xlnet_base_cased.json.zst", "xlnet_base_cased.model.zst"),
    ("bert_base_cased.json.zst", "bert_base_cased.vocab.txt"),
    ("mistral03.json.zst", "mistral_v3.model"),
    ("clip_base.json.zst", "bpe_simple_vocab_16e6.txt.gz"),
)
# Its decoded text is rewritten as a whole in the end.
DENORMALIZED = "nmt_joint.spm.model"
N_SAMPLED = 400

pytestmark = pytest.mark.skipif(not VOCAB.is_dir(), reason="needs the shared data folder")


def _load(path: Path) -> jeton.Tokenizer:
    return jeton.load(path)


@pytest.fixture(scope="module", params=FILES, ids=lambda path: path.name)
def path(request: pytest.FixtureRequest) -> Path:
    found: Path = request.param
    return found


@pytest.fixture(scope="module")
def tok(path: Path) -> jeton.Tokenizer:
    """Loads each file once: all tests of one file follow one another."""
    return _load(path)


def test_a_token_adds_its_bytes(path: Path, tok: jeton.Tokenizer) -> None:
    if path.name == DENORMALIZED:
        pytest.skip("the model rewrites decoded text as a whole")
    ids = [token for text in ("a house", "Ein Haus") for token in tok.encode(text)]
    inner = next(i for i in ids[::-1] if tok.id_to_bytes(i).strip())
    left_out = {t.id for t in tok.added_tokens} | {tok.unknown_id}
    mask = tok.is_token_mask()
    drawn = random.Random(5).sample(range(tok.vocab_size), min(tok.vocab_size, 4000))
    before = tok.decode_bytes([inner, inner])
    after = tok.id_to_bytes(inner)
    n_looked_at = 0
    for token in drawn:
        if token in left_out or not mask[token]:
            continue
        own = tok.id_to_bytes(token)
        whole = tok.decode_bytes([inner, inner, token, inner])
        if path.name.startswith("clip_base"):
            whole = whole.replace(b"</w>", b" ")
            expected = before.replace(b"</w>", b" ") + own + after
        else:
            expected = before + own + after
        assert whole == expected, (token, own, whole)
        n_looked_at += 1
        if n_looked_at == N_SAMPLED:
            break
    assert n_looked_at > 100


def test_the_way_back(tok: jeton.Tokenizer) -> None:
    mask = tok.is_token_mask()
    lengths = tok.token_lengths()
    for token in random.Random(6).sample(range(tok.vocab_size), min(tok.vocab_size, 500)):
        if not mask[token]:
            continue
        own = tok.id_to_bytes(token)
        assert lengths[token] == len(own)
        found = tok.bytes_to_id(own)
        if found is not None:
            assert tok.id_to_bytes(found) == own
        name = tok.id_to_token(token)
        assert name is not None
        again = tok.token_to_id(name)
        assert again is not None
        assert tok.id_to_token(again) == name


@pytest.mark.parametrize(("one", "other"), PAIRS)
def test_two_files_of_one_tokenizer(one: str, other: str) -> None:
    a, b = _load(VOCAB / one), _load(VOCAB / other)
    added = {t.id for t in (*a.added_tokens, *b.added_tokens)} | {a.unknown_id, b.unknown_id}
    for token in range(min(a.vocab_size, b.vocab_size)):
        if token not in added:
            assert a.id_to_bytes(token) == b.id_to_bytes(token), token
    counts = []
    for tok in (a, b):
        ids = np.asarray(tok.encode("The quick brown fox, 12 times"), dtype=np.int64)
        counts.append(np.bincount(ids, minlength=tok.vocab_size).astype(np.uint64))
    uses = [vocabulary_use(tok, count) for tok, count in zip((a, b), counts, strict=True)]
    assert uses[0].single_byte_share == uses[1].single_byte_share
    assert uses[0].whitespace_share == uses[1].whitespace_share
    assert uses[0].partial_character_share == uses[1].partial_character_share


def test_clip_reaches_its_words() -> None:
    found = reachability(_load(VOCAB / "clip_base.json.zst"))
    assert found.n_unreachable < 2_600


def test_llama_in_two_files_reaches_the_same() -> None:
    counts = [
        reachability(_load(VOCAB / name)).n_unreachable
        for name in ("llama2.json.zst", "llama2.model")
    ]
    assert counts[0] == counts[1]
