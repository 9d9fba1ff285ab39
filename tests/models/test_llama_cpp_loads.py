"""llama.cpp loads the GGUF files that we write, gives our ids, and computes what it computed.

Needs llama-cpp-python beside jeton: `make models MODELS_PYTHON=...`.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt import VocabularyChange
from jeton.adapt.extending import extend
from jeton.adapt.pruning import prune
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.adapt.weights.gguf_applying import apply_gguf

llama_cpp = pytest.importorskip("llama_cpp", reason="llama-cpp-python is not installed")

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore")]

TERMS = ["hydroxychloroquine", "myocardial infarction", "thrombocytopenia", "pharmacokinetics"]
TEXT = "The weather in Paris is mild, and the trains of the city run on time."
TEXTS = (
    TEXT,
    "a case of hydroxychloroquine and thrombocytopenia, 12,345 times",
    "naïve ☃ café\n\n\tx = [i for i in range(10)]  # yes",
    "天气很好 😀 Ünïcödé",
    "",
)


@dataclass(frozen=True)
class Adapted:
    path: Path
    tokenizer: jeton.Tokenizer
    change: VocabularyChange


@pytest.fixture(scope="module")
def adapted(gguf: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Adapted]:
    """SmolLM2-135M with four tokens more, and with a quarter of its tokens."""
    folder = tmp_path_factory.mktemp("adapted")
    base = jeton.load(gguf)
    more = extend(base=base, terms=TERMS)
    less = prune(iter(TEXTS), base=base, n_tokens=12_000)
    found = {}
    for name, tokenizer, change in (
        ("extended", more.tokenizer, more.change),
        ("pruned", less.tokenizer, less.change),
    ):
        saved = save_adapted(tokenizer, change, adapted_target(base, f"{folder / name}/"))
        path = folder / f"{name}.gguf"
        apply_gguf(gguf, folder / name, output=path)
        found[name] = Adapted(path, saved.tokenizer, saved.change)
    return found


def opened(path: Path, **options: Any) -> Any:
    return llama_cpp.Llama(str(path), n_ctx=64, n_threads=2, verbose=False, **options)


def logits(model: Any, ids: list[int]) -> np.ndarray:
    model.reset()
    model.eval(ids)
    found: np.ndarray = np.array(model.scores[: len(ids)])
    return found


@pytest.mark.parametrize("name", ["extended", "pruned"])
def test_its_ids_are_ours(name: str, adapted: dict[str, Adapted]) -> None:
    one = adapted[name]
    model = opened(one.path, vocab_only=True)
    assert model.n_vocab() >= one.tokenizer.vocab_size
    for text in TEXTS:
        theirs = model.tokenize(text.encode(), add_bos=False, special=False)
        assert theirs == one.tokenizer.encode(text), text
        assert model.detokenize(theirs) == one.tokenizer.decode_bytes(theirs)


@pytest.mark.parametrize("name", ["extended", "pruned"])
def test_text_of_kept_tokens_is_computed_as_before(
    name: str, gguf: Path, adapted: dict[str, Adapted]
) -> None:
    one = adapted[name]
    ids = jeton.load(gguf).encode(TEXT)
    new_ids = one.change.new_of[ids].tolist()
    assert min(new_ids) >= 0
    before = logits(opened(gguf, logits_all=True), ids)
    after = logits(opened(one.path, logits_all=True), new_ids)
    kept = one.change.kept
    assert np.isfinite(after).all()
    # The same rows are multiplied in the same order.
    assert np.array_equal(after[:, kept], before[:, one.change.old_of[kept]])
