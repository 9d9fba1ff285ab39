"""Adapting, by form of the tokenizer and state of the model: equal, or refused with a way out.

Equal: the ids of the written tokenizer are those that the form's own library gives, old texts keep
their ids, old rows keep their bytes, and each new row is what the method defines.
"""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt import extend, prune
from jeton.adapt.replacing import replacement
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.adapt.weights import apply, verify
from jeton.errors import LossyConversionError, LossyConversionWarning
from tests.adapt import tiny

N_COLUMNS = 6
WORDS = ["low", "lower", "lowest", "newer", "newest", "wider", "widest", "slow"]
WORDS += ["slower", "renew", "stow", "zip", "quiz", "jam", "vex"]
CORPUS = [" ".join(WORDS[i:] + WORDS[:i]) for i in range(len(WORDS))] * 3
TERMS = ["slowest", "rewiden"]
TEXTS = ["low slowest rewiden zip", "the slowest quiz", "zzfoo slowest zzfoo", "Newest JAM!"]

ALGORITHMS = {
    "bytes.json": "bpe",
    "fallback.json": "sentencepiece-bpe",
    "unigram.json": "unigram",
    "wordpiece.json": "wordpiece",
    "spm.model": "sentencepiece-bpe",
    "canonical.jeton.json": "bpe",
}
STATES = ("plain", "added", "special", "padded")
REFUSED = {("wordpiece.json", "special")}
"""Text would become the special token, which WordPiece's file lists as a word."""
JSON_FORMS = [form for form in ALGORITHMS if form.endswith(".json") and "jeton" not in form]


@pytest.fixture(scope="module")
def trained() -> dict[str, jeton.Tokenizer]:
    sizes = {"bpe": 280, "sentencepiece-bpe": 310, "unigram": 36, "wordpiece": 60}
    options: dict[str, Any] = {"sentencepiece-bpe": {"byte_fallback": True}}
    return {
        name: jeton.train(iter(CORPUS), algorithm=name, vocab_size=size, **options.get(name, {}))
        for name, size in sizes.items()
    }


def model_of(form: str, state: str, trained: dict[str, jeton.Tokenizer], folder: Path) -> Path:
    """Writes a model's folder: a tokenizer in a form and state, and rows for its ids."""
    folder.mkdir()
    name = "tokenizer" + form[form.index(".") :]
    tokenizer = trained[ALGORITHMS[form]]
    with warnings.catch_warnings():
        # A Unigram file has its sums in 64 bits, whatever trained it.
        warnings.simplefilter("ignore", LossyConversionWarning)
        tokenizer.save(folder / name, lossy=True)
    if state in ("added", "special"):
        path = folder / name
        document = json.loads(path.read_text(encoding="utf-8"))
        is_special = state == "special"
        token = {
            "id": tokenizer.vocab_size,
            "content": "zzfoo",
            "single_word": False,
            "lstrip": False,
            "rstrip": False,
            "normalized": not is_special,
            "special": is_special,
        }
        document["added_tokens"] = [*document["added_tokens"], token]
        path.write_text(json.dumps(document), encoding="utf-8")
    base = jeton.load(folder)
    n_rows = base.vocab_size + (8 if state == "padded" else 0)
    rng = np.random.default_rng(0)
    tensors = {
        name: tiny.stored("F32", tiny.random_values(rng, [n_rows, N_COLUMNS]))
        for name in ("model.embed_tokens.weight", "lm_head.weight")
    }
    tiny.write_shards(folder, tensors, 1)
    config = {"model_type": "llama", "vocab_size": n_rows, "hidden_size": N_COLUMNS}
    (folder / "config.json").write_text(json.dumps({**config, "tie_word_embeddings": False}))
    return folder


def cases() -> list[Any]:
    return [
        pytest.param(form, state, id=f"{form}-{state}")
        for form in ALGORITHMS
        for state in STATES
        if form in JSON_FORMS or state in ("plain", "padded")
    ]


def ids_by_library(folder: Path, texts: list[str]) -> list[list[int]] | None:
    """Ids by the form's own library; None where there is none here."""
    if (folder / "tokenizer.json").is_file():
        tokenizers = pytest.importorskip("tokenizers")
        own = tokenizers.Tokenizer.from_file(str(folder / "tokenizer.json"))
        return [own.encode(text, add_special_tokens=False).ids for text in texts]
    if (folder / "tokenizer.model").is_file():
        sentencepiece = pytest.importorskip("sentencepiece")
        own = sentencepiece.SentencePieceProcessor(str(folder / "tokenizer.model"))
        return [own.encode(text) for text in texts]
    return None


def texts_of(state: str) -> list[str]:
    """Texts without those that spell a special token, which libraries find in any text."""
    return [text for text in TEXTS if state != "special" or "zzfoo" not in text]


def rows_of(folder: Path) -> dict[str, np.ndarray]:
    return {
        name: np.frombuffer(data, np.float32).reshape(shape)
        for name, (_, shape, data) in tiny.read_tensors(folder).items()
    }


@pytest.mark.parametrize(("form", "state"), cases())
def test_extend_then_apply(
    form: str, state: str, trained: dict[str, jeton.Tokenizer], tmp_path: Path
) -> None:
    model = model_of(form, state, trained, tmp_path / "model")
    base = jeton.load(model)
    found = extend(base=base, terms=TERMS)
    folder = tmp_path / "more"
    if (form, state) in REFUSED:
        with pytest.raises(LossyConversionError, match=r"hint: -o .*tokenizer\.jeton\.json"):
            save_adapted(found.tokenizer, found.change, adapted_target(base, f"{folder}/"))
        folder /= "tokenizer.jeton.json"
        save_adapted(found.tokenizer, found.change, adapted_target(base, folder))
        apply(model, folder, output=tmp_path / "output")
        assert verify(tmp_path / "output", base=model).problems == ()
        return
    saved = save_adapted(found.tokenizer, found.change, adapted_target(base, f"{folder}/"))
    texts = texts_of(state)
    new = [saved.tokenizer.encode(text) for text in texts]
    library = ids_by_library(folder, texts)
    assert library is None or new == library
    assert all(n < base.count(text) for n, text in zip(map(len, new), texts[:2], strict=False))
    assert saved.tokenizer.decode(new[0]) == base.decode(base.encode(TEXTS[0]))
    output = tmp_path / "output"
    apply(model, folder, output=output)
    assert jeton.load(output).encode(TEXTS[0]) == new[0]
    assert verify(output, base=model).problems == ()
    before, after = rows_of(model), rows_of(output)
    for name, rows in before.items():
        assert np.array_equal(after[name][: base.vocab_size], rows[: base.vocab_size])
        for token in found.new_tokens:
            wanted = rows[list(token.parts)].astype(np.float64).mean(axis=0)
            assert np.allclose(after[name][token.id], wanted, atol=1e-6)


@pytest.mark.parametrize(("form", "state"), cases())
def test_prune_then_apply(
    form: str, state: str, trained: dict[str, jeton.Tokenizer], tmp_path: Path
) -> None:
    model = model_of(form, state, trained, tmp_path / "model")
    base = jeton.load(model)
    found = prune(iter(["low lower lowest"] * 9), base=base, n_tokens=base.n_tokens - 3)
    folder = tmp_path / "less"
    saved = save_adapted(found.tokenizer, found.change, adapted_target(base, f"{folder}/"))
    texts = texts_of(state)
    library = ids_by_library(folder, texts)
    assert library is None or library == [saved.tokenizer.encode(text) for text in texts]
    apply(model, folder, output=tmp_path / "output")
    assert verify(tmp_path / "output", base=model).problems == ()
    before, after = rows_of(model), rows_of(tmp_path / "output")
    for name, rows in before.items():
        for new, old in enumerate(found.change.old_of.tolist()):
            assert np.array_equal(after[name][new], rows[old])


@pytest.mark.parametrize("new", ["bpe", "unigram", "wordpiece"])
@pytest.mark.parametrize("old", ["sentencepiece-bpe", "bpe"])
def test_replace(old: str, new: str, trained: dict[str, jeton.Tokenizer]) -> None:
    """Raw bytes beside tokens of the same bytes are no reason to refuse."""
    if old == new:
        return
    found = replacement(trained[old], trained[new], force=True)
    before, after = trained[old], trained[new]
    for id in found.change.kept.tolist():
        kept = int(found.change.old_of[id])
        same_bytes = before.id_to_bytes(kept) == after.id_to_bytes(id)
        assert same_bytes or before.id_to_token(kept) == after.id_to_token(id)
        # The row that text of these bytes gets, not that of a byte that no text becomes.
        assert before.bytes_to_id(before.id_to_bytes(kept)) in (kept, None)
