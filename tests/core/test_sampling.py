"""Drawn segmentations: seeded, refused where there are none, and as often as they should be."""

from __future__ import annotations

import itertools
import json
import math
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton import Tokenizer, _core, errors
from jeton._core import from_hf_json
from tests.core import makers

SPECIAL = "<s>"
SCORES = [("<unk>", 0.0), ("a", -1.5), ("b", -2.0), ("ab", -2.5), ("aba", -4.0)]


def hf_file(
    model: dict[str, Any], n_tokens: int, post_processor: dict[str, Any] | None = None
) -> bytes:
    """A tokenizer.json that splits at white space, with one special token behind the model's."""
    flags = dict.fromkeys(("single_word", "lstrip", "rstrip", "normalized"), False)
    special = flags | {"id": n_tokens, "content": SPECIAL, "special": True}
    file = {
        "added_tokens": [special],
        "normalizer": None,
        "pre_tokenizer": {"type": "WhitespaceSplit"},
        "post_processor": post_processor,
        "decoder": None,
        "model": model,
    }
    return json.dumps(file).encode()


def unigram() -> Tokenizer:
    model = {"type": "Unigram", "vocab": SCORES, "unk_id": 0}
    return from_hf_json(hf_file(model, len(SCORES)))


WORDS = {"a": 0, "b": 1, "[UNK]": 2}


def words(post_processor: dict[str, Any] | None = None) -> bytes:
    model = {"type": "WordLevel", "vocab": WORDS, "unk_token": "[UNK]"}
    return hf_file(model, len(WORDS), post_processor)


def test_a_seed_is_a_draw(plain: Tokenizer) -> None:
    text = "tokenizers are trained on text " * 3
    drawn = {seed: plain.sample(text, seed=seed, dropout=0.3) for seed in (0, 1, 2, 2**64 - 1)}
    assert len({tuple(ids) for ids in drawn.values()}) == 4
    for seed, ids in drawn.items():
        assert plain.sample(text, seed=seed, dropout=0.3) == ids
        assert plain.decode(ids) == text
        assert plain.sample(text, seed=seed, dropout=0.0) == plain.encode(text)


@pytest.mark.parametrize("method", ["dropout", "uniform"])
def test_threads_do_not_matter(plain: Tokenizer, method: Any) -> None:
    texts = list(makers.prose())
    one = plain.sample_batch(texts, seed=3, method=method, num_threads=1)
    for num_threads in (2, 8):
        many = plain.sample_batch(texts, seed=3, method=method, num_threads=num_threads)
        assert np.array_equal(one.ids, many.ids)
        assert np.array_equal(one.offsets, many.offsets)
    assert one[0].tolist() == plain.sample(texts[0], seed=3, method=method)
    assert [plain.decode(ids) for ids in one] == texts


def test_the_place_in_a_batch_matters(plain: Tokenizer) -> None:
    batch = plain.sample_batch(["tokenizers"] * 40, seed=1, method="uniform")
    assert len({tuple(ids.tolist()) for ids in batch}) > 10
    assert plain.sample_batch([], seed=1).to_lists() == []


@pytest.mark.parametrize("name", ["jeton-general-32k-v1", "jeton-code-32k-v1"])
def test_bundled_tokenizers(name: str) -> None:
    tokenizer = jeton.load(name)
    text = "for line in file: # Hawaiian \u02bbokina, \u4e2d\u6587\n"
    for method in tokenizer.sampling_methods:
        arguments: dict[str, Any] = {"method": method}
        assert tokenizer.decode(tokenizer.sample(text, seed=1, **arguments)) == text


def test_frequencies_are_the_probabilities() -> None:
    tokenizer = unigram()
    scores = {(1, 2, 1): -5.0, (3, 1): -4.0, (4,): -4.0}
    n_draws = 20_000
    for alpha in (0.0, 1.0, 2.0):
        batch = tokenizer.sample_batch(["aba"] * n_draws, seed=11, alpha=alpha)
        counts = Counter(tuple(ids.tolist()) for ids in batch)
        weights = {ids: math.exp(alpha * score) for ids, score in scores.items()}
        assert counts.keys() == weights.keys()
        for ids, weight in weights.items():
            share = weight / sum(weights.values())
            deviation = math.sqrt(n_draws * share * (1 - share))
            assert abs(counts[ids] - n_draws * share) < 5 * deviation


def test_nbest_combines_pretokens() -> None:
    tokenizer = unigram()
    parts = [tokenizer.nbest(word, 10) for word in ("aba", "ab", "aba")]
    combined = [
        (list(itertools.chain.from_iterable(s.ids for s in choice)), sum(s.score for s in choice))
        for choice in itertools.product(*parts)
    ]
    found = tokenizer.nbest("aba ab aba", 10)
    assert len(found) == 10
    assert [best.score for best in found] == sorted((s for _, s in combined), reverse=True)[:10]
    assert all((best.ids, best.score) in combined for best in found)
    assert found[0].ids == tokenizer.encode("aba ab aba")
    assert [(best.ids, best.score) for best in tokenizer.nbest("", 2)] == [([], 0.0)]


def test_special_tokens_and_template() -> None:
    around = {
        "type": "RobertaProcessing",
        "sep": [SPECIAL, 5],
        "cls": [SPECIAL, 5],
        "trim_offsets": True,
        "add_prefix_space": False,
    }
    model = {"type": "Unigram", "vocab": SCORES, "unk_id": 0}
    tokenizer = from_hf_json(hf_file(model, len(SCORES), around))
    for seed in range(20):
        ids = tokenizer.sample("ab<s>b", seed=seed, add_special_tokens=True, allow_special="all")
        assert ids in ([5, 3, 5, 2, 5], [5, 1, 2, 5, 2, 5])
        assert 5 not in tokenizer.sample("ab<s>b", seed=seed)


def test_what_is_refused(plain: Tokenizer) -> None:
    cases: list[tuple[Tokenizer, dict[str, Any], str]] = [
        (plain, {"method": "unigram"}, "it has dropout and uniform"),
        (plain, {"method": "best"}, 'expected "dropout", "uniform", "unigram", "nbest"'),
        (plain, {"dropout": math.nan}, "dropout is NaN"),
        (plain, {"dropout": 1.5}, "expected a number from 0 to 1"),
        (plain, {"dropout": -0.5}, "expected a number from 0 to 1"),
        (plain, {"method": "uniform", "dropout": 0.1}, "dropout is no parameter"),
        (plain, {"seed": -1}, "seed is -1"),
        (plain, {"seed": 2**64}, "expected 0 to"),
        (unigram(), {"alpha": math.nan}, "alpha is NaN"),
        (unigram(), {"alpha": -1.0}, "expected a finite number of 0 or more"),
        (unigram(), {"alpha": math.inf}, "expected a finite number of 0 or more"),
        (unigram(), {"nbest": 0}, "expected 1 to 1024"),
        (unigram(), {"nbest": -1}, "nbest is -1"),
        (unigram(), {"method": "nbest"}, "needs nbest"),
        (unigram(), {"dropout": 0.1}, "it has unigram and nbest"),
        (from_hf_json(words()), {}, "one segmentation"),
    ]
    for tokenizer, arguments, message in cases:
        with pytest.raises(errors.UsageError, match=message):
            tokenizer.sample("a", **({"seed": 1} | arguments))
        with pytest.raises(errors.UsageError, match=message):
            tokenizer.sample_batch(["a"], **({"seed": 1} | arguments))
    with pytest.raises(TypeError):
        plain.sample("a", seed="1")  # type: ignore[arg-type]
    with pytest.raises(errors.UsageError, match="unigram models only"):
        plain.nbest("a", 2)
    for n in (0, -1, 1025):
        with pytest.raises(errors.UsageError, match=f"n is {n}"):
            unigram().nbest("a", n)


SENTENCEPIECE = ("albert_30k-clean.model.zst", "llama2.model", "nmt_joint.spm.model")


@pytest.mark.parametrize("name", SENTENCEPIECE)
def test_sentencepiece_models(shared: Path, name: str) -> None:
    tokenizer = makers.load(shared / "data" / "vocab" / name)
    text = "a sampled segmentation of sentences"
    expected = tokenizer.decode(tokenizer.encode(text))
    for method in tokenizer.sampling_methods:
        arguments: dict[str, Any] = {"method": method} | ({"nbest": 8} if method == "nbest" else {})
        drawn = [tokenizer.sample(text, seed=seed, **arguments) for seed in range(30)]
        assert len({tuple(ids) for ids in drawn}) > 1
        assert {tokenizer.decode(ids) for ids in drawn} == {expected}


@pytest.mark.rivals
@pytest.mark.parametrize("name", ["albert_30k-clean.model.zst", "xlnet_base_cased.model.zst"])
def test_nbest_is_that_of_sentencepiece(shared: Path, name: str) -> None:
    import sentencepiece

    path = shared / "data" / "vocab" / name
    theirs = sentencepiece.SentencePieceProcessor()
    theirs.LoadFromSerializedProto(_core.decompress(path.read_bytes()))
    tokenizer = makers.load(path)
    for text in ("", "a", "hello world", "unbelievable sentences are tokenized", "na\xefve \u4e2d"):
        found = [best.ids for best in tokenizer.nbest(text, 12)]
        assert found == theirs.NBestEncodeAsIds(text, 12)


TEMPLATES: dict[str, dict[str, Any] | None] = {
    "none": None,
    "bert": {"type": "BertProcessing", "sep": [SPECIAL, 3], "cls": [SPECIAL, 3]},
    "types": {
        "type": "TemplateProcessing",
        "single": [
            {"SpecialToken": {"id": SPECIAL, "type_id": 1}},
            {"Sequence": {"id": "A", "type_id": 2}},
            {"SpecialToken": {"id": SPECIAL, "type_id": 3}},
        ],
        "pair": [{"Sequence": {"id": "A", "type_id": 0}}, {"Sequence": {"id": "B", "type_id": 0}}],
        "special_tokens": {SPECIAL: {"id": SPECIAL, "ids": [3], "tokens": [SPECIAL]}},
    },
}


@pytest.mark.rivals
@pytest.mark.parametrize("name", TEMPLATES)
@pytest.mark.parametrize("add_special_tokens", [False, True])
@pytest.mark.parametrize("text", ["a b c", "a <s> b<s>", "", "<s>"])
def test_masks_and_types_are_those_of_tokenizers(
    name: str, *, add_special_tokens: bool, text: str
) -> None:
    import tokenizers

    data = words(TEMPLATES[name])
    theirs = tokenizers.Tokenizer.from_str(data.decode())
    expected = theirs.encode(text, add_special_tokens=add_special_tokens)
    found = from_hf_json(data).encode_with_offsets(
        text, add_special_tokens=add_special_tokens, allow_special="all"
    )
    assert found.ids.tolist() == expected.ids
    assert found.special_tokens_mask.dtype == np.bool_
    assert found.special_tokens_mask.astype(int).tolist() == expected.special_tokens_mask
    assert found.type_ids.tolist() == expected.type_ids


def test_what_is_put_around_a_text_is_marked() -> None:
    tokenizer = from_hf_json(words(TEMPLATES["types"]))
    arguments: dict[str, Any] = {"add_special_tokens": True, "allow_special": "all"}
    encoding = tokenizer.encode_with_offsets("a <s>", **arguments)
    assert encoding.ids.tolist() == [3, 0, 3, 3]
    assert encoding.special_tokens_mask.tolist() == [True, False, False, True]
    assert encoding.type_ids.tolist() == [1, 2, 2, 3]
    # By id it does not matter where a token came from.
    assert tokenizer.special_tokens_mask(encoding.ids).tolist() == [True, False, True, True]
    assert tokenizer.special_tokens_mask([]).dtype == np.bool_
