"""Vocabularies chosen after merging: without scaffolding, and for fewest tokens."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton._core import from_hf_json
from jeton.cli.app import app
from jeton.errors import UsageError
from jeton.formats import card_path
from jeton.training import TrainSettings, count_pretokens, learn_from_counts, read_card

pytestmark = pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")

TEXTS = [
    "In the end of the day, dramatically, we went to the end of the road: 12345 stones!",
    "the newest and the widest, dramatically lower than the lowest of the lower rows",
    "e.g. don't do it... it's the end  of   the day\n\tthe end of the day\r\n\r\nnever",
    "在这里的人们说：你好，世界。在这里的人们说你好。 Ende der Straße, Ende der Straße",
] * 12
SIZE = 310
PAGES = sorted((Path(__file__).resolve().parents[2] / "docs").rglob("*.md"))
"""Text in which words share their beginnings."""

BOTH = ("trimmed-bpe", "min-token-unigram")


def _train(algorithm: str, **options: Any) -> jeton.Tokenizer:
    return jeton.train(
        iter(TEXTS),
        algorithm=algorithm,
        **{"vocab_size": SIZE, "special_tokens": ("<|endoftext|>",), **options},
    )


@pytest.mark.parametrize("algorithm", BOTH)
@pytest.mark.parametrize("normalizer", [None, "nfc"])
def test_tokenizers_gives_the_same_ids(algorithm: str, normalizer: str | None) -> None:
    hf = pytest.importorskip("tokenizers")
    ours = _train(algorithm, normalizer=normalizer)
    theirs = hf.Tokenizer.from_str(ours.to_hf_json().decode())
    loaded = from_hf_json(ours.to_hf_json())
    assert theirs.get_vocab_size() == ours.vocab_size
    pieces = ["the", " end", "of", " dramatic", "ally", ".", "\n", "\r", " ", "12", "'t", "在", "é"]

    @settings(max_examples=80, deadline=None)
    @given(
        st.lists(st.sampled_from(pieces)).map("".join)
        | st.text(st.characters(codec="utf-8"), max_size=30)
    )
    def check(text: str) -> None:
        ids = ours.encode(text)
        assert theirs.encode(text, add_special_tokens=False).ids == ids
        assert loaded.encode(text) == ids
        if normalizer is None:
            assert ours.decode(ids) == text
            assert theirs.decode(ids, skip_special_tokens=False) == text

    check()
    for text in (*TEXTS[:4], "a" * 5000, " " * 3000 + "x", "dramaticdramatically" * 300):
        assert theirs.encode(text, add_special_tokens=False).ids == ours.encode(text)
    special = "a<|endoftext|>b"
    allowed = ours.encode(special, allow_special="all")
    assert allowed == theirs.encode(special, add_special_tokens=False).ids
    assert 0 in allowed
    assert 0 not in ours.encode(special)


@pytest.mark.parametrize("algorithm", BOTH)
def test_order_threads_and_files_do_not_matter(algorithm: str, tmp_path: Path) -> None:
    one = _train(algorithm, num_threads=1)
    back = jeton.train(
        iter(TEXTS[::-1]),
        algorithm=algorithm,
        vocab_size=SIZE,
        special_tokens=("<|endoftext|>",),
        num_threads=3,
    )
    assert back.fingerprint == one.fingerprint
    one.save(tmp_path / "tokenizer.json")
    again = jeton.load(tmp_path / "tokenizer.json")
    for text in TEXTS[:4]:
        assert again.encode(text) == one.encode(text)


@pytest.mark.parametrize("algorithm", BOTH)
def test_text_needs_fewer_tokens_than_with_plain_bpe(algorithm: str) -> None:
    train, other = PAGES[::2], [page.read_text(encoding="utf-8") for page in PAGES[1::2]]
    plain = jeton.train(train, vocab_size=2000)
    chosen = jeton.train(train, algorithm=algorithm, vocab_size=2000)
    assert chosen.vocab_size == 2000
    # Pages that were not trained on, too.
    for texts in ([page.read_text(encoding="utf-8") for page in train], other):
        assert chosen.count_batch(texts).sum() < plain.count_batch(texts).sum()


def test_fewest_means_fewest() -> None:
    """Every word of the text: no other way to cut it into tokens of the vocabulary is shorter."""
    tokenizer = _train("min-token-unigram")
    vocabulary = json.loads(tokenizer.to_hf_json())["model"]["vocab"]
    tokens = {piece for piece, _ in vocabulary[1:]}
    counts = _core.PretokenCounts(pattern="llama3")
    counts.add(_core.TextBatch.from_texts(TEXTS))
    spelled = {
        byte: piece
        for byte, (piece, _) in zip(sorted(range(256), key=_letter), vocabulary[1:257], strict=True)
    }
    for word, _ in counts.items():
        letters = "".join(spelled[byte] for byte in word)
        fewest = [0] * (len(letters) + 1)
        for end in range(1, len(letters) + 1):
            fewest[end] = min(
                fewest[start] + 1 for start in range(end) if letters[start:end] in tokens
            )
        assert len(tokenizer.encode(word.decode())) == fewest[-1], word


def _letter(byte: int) -> tuple[bool, int]:
    """Where a byte stands in GPT-2's alphabet: printable ones keep their place, others follow."""
    kept = 33 <= byte <= 126 or 161 <= byte <= 172 or byte >= 174
    return (not kept, byte)


def test_scores_are_whole_numbers_that_no_sum_rounds() -> None:
    vocabulary = json.loads(_train("min-token-unigram").to_hf_json())["model"]["vocab"]
    assert vocabulary[0] == ["<|endoftext|>", -(2.0**52)]
    for _, score in vocabulary[1:]:
        assert score == int(score)
        # 2^19 tokens of the greatest rarity stay below 2^53, and their rarities below one token.
        assert 2**33 <= -score < 2**33 + 2**13


def test_a_saving_that_is_asked_for_takes_tokens_out() -> None:
    all_tokens = _train("min-token-unigram", vocab_size=500)
    fewer = _train("min-token-unigram", vocab_size=500, min_saving=40)
    assert fewer.vocab_size < all_tokens.vocab_size
    counted = count_pretokens(iter(TEXTS))
    tokens = TrainSettings(
        algorithm="min-token-unigram",
        vocab_size=fewer.vocab_size,
        options={"min_saving": 40},
    )
    assert learn_from_counts(counted, settings=tokens).tokenizer.vocab_size <= fewer.vocab_size


def test_facts_of_trimming(tmp_path: Path) -> None:
    corpus = tmp_path / "corpus.txt"
    corpus.write_text("\n".join(page.read_text(encoding="utf-8") for page in PAGES[:9]))
    arguments = ["train", str(corpus), "--algorithm", "trimmed-bpe", "--vocab-size", "1000"]
    arguments += ["-O", "least_use=0.9", "-q", "-o", str(tmp_path / "made")]
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, result.output
    learned = read_card(card_path(tmp_path / "made")).learned
    tokenizer = jeton.load(tmp_path / "made")
    text = corpus.read_text(encoding="utf-8")
    assert learned["n_training_tokens"] == len(tokenizer.encode(text))
    assert learned["n_training_tokens_plain_bpe"] == len(
        jeton.train([corpus], vocab_size=1000).encode(text)
    )
    assert learned["n_training_tokens"] < learned["n_training_tokens_plain_bpe"]
    # The card lists the first hundred.
    assert len(learned["removed"]) == min(100, learned["n_removed"]) > 0
    kept = {tokenizer.id_to_bytes(id) for id in range(1, tokenizer.vocab_size)}
    assert not kept & {token.encode() for token in learned["removed"]}


def test_forced_tokens_stay() -> None:
    for algorithm in BOTH:
        tokenizer = _train(algorithm, forced_tokens=(" hydroxychloroquine", "µg"))
        assert len(tokenizer.encode(" hydroxychloroquine")) == 1
        assert len(tokenizer.encode("µg")) == 1


def test_what_cannot_be_meant_is_refused() -> None:
    for algorithm, options, message in (
        ("trimmed-bpe", {"least_use": 1.5}, "least_use is 1.5; it should be at most 1"),
        ("trimmed-bpe", {"least_use": -0.1}, "least_use is -0.1; it should be at least 0"),
        ("min-token-unigram", {"seed_factor": 0.5}, "seed_factor is 0.5; it should be at least 1"),
        ("min-token-unigram", {"seed_factor": 1e9}, "it should be at most 100"),
        ("min-token-unigram", {"shrinking_factor": 1}, "taking out would never end"),
        ("min-token-unigram", {"min_saving": -1}, "min_saving is -1; it should be at least 0"),
        ("min-token-unigram", {"least_use": 1}, "has no option 'least_use'"),
    ):
        with pytest.raises(UsageError, match=message):
            TrainSettings(algorithm=algorithm, options=options).check()
