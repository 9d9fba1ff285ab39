"""transformers loads what we write, without a strange key, and computes what it computed.

Needs torch and transformers beside jeton: `make models MODELS_PYTHON=...`.
"""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt import VocabularyChange
from jeton.adapt.extending import extend
from jeton.adapt.pruning import prune
from jeton.adapt.reading import Reading
from jeton.adapt.saving import adapted_target, save_adapted
from jeton.adapt.weights import apply, verify
from tests.models.tiny_networks import (
    FAMILIES,
    is_tied,
    load_network,
    logits,
    write_network,
)

torch = pytest.importorskip("torch", reason="torch is not installed beside jeton")
transformers = pytest.importorskip("transformers", reason="transformers is not installed")

pytestmark = [pytest.mark.models, pytest.mark.filterwarnings("ignore")]

TEXT = "a slow boat crosses the wide river at noon, and the ferryman counts his coins by the pier"
SPECIAL = ["<pad>", "<s>", "</s>", "<unk>", "<mask>"]
TOLERANCE = 1e-5
"""Largest difference of logits, as a part of the largest logit; sums take another order."""
ALL = Reading(hold_out=0)
PADDED = ("llama", "bert", "t5", "gpt2", "bart", "xlm-roberta")
"""Families that are also tried with rows behind the vocabulary."""
CASES = [
    pytest.param(loader, kind, spare_rows, id=f"{kind}-{spare_rows}")
    for loader, kinds in FAMILIES.items()
    for kind in kinds
    for spare_rows in ((0, 20) if kind in PADDED else (0,))
]


@dataclass(frozen=True)
class Adapted:
    folder: Path
    tokenizer: jeton.Tokenizer
    change: VocabularyChange


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("base")
    jeton.train(iter([TEXT] * 3), vocab_size=300, special_tokens=SPECIAL).save(f"{folder}/")
    return folder


@pytest.fixture(scope="module")
def adapted(base: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Adapted]:
    """The tokenizer with more tokens, and with fewer."""
    folder = tmp_path_factory.mktemp("adapted")
    old = jeton.load(base)
    more = extend(base=old, terms=["barge", "oarsman"], reading=ALL)
    less = prune(iter([TEXT]), base=old, n_tokens=old.vocab_size - 9, reading=ALL)
    found = {}
    for name, made in (("extended", more), ("pruned", less)):
        target = adapted_target(old, f"{folder / name}/")
        saved = save_adapted(made.tokenizer, made.change, target)
        found[name] = Adapted(folder / name, saved.tokenizer, saved.change)
    return found


@pytest.mark.parametrize(("loader", "kind", "spare_rows"), CASES)
def test_a_tiny_network_computes_what_it_computed(
    loader: str, kind: str, spare_rows: int, base: Path, adapted: dict[str, Adapted], tmp_path: Path
) -> None:
    old = jeton.load(base)
    model = tmp_path / "model"
    write_network(loader, kind, old.vocab_size + spare_rows, model)
    for file in base.iterdir():
        shutil.copy(file, model / file.name)
    before = load_network(loader, model)
    for name, made in adapted.items():
        output = tmp_path / name
        apply(model, made.folder, output=output)
        assert verify(output, base=model).problems == ()
        after = load_network(loader, output)
        assert after.strange == before.strange
        check_network(before.network, after.network, old.encode(TEXT), made.change)
        check_ids(model, output, made.change)
        check_tokenizer(output, made.tokenizer)


def check_network(before: Any, after: Any, old_ids: list[int], change: VocabularyChange) -> None:
    """Checks logits of kept ids for text of kept ids, sizes and ties."""
    kept = change.kept
    old_ids = [id for id in old_ids if change.new_of[id] >= 0]
    ours = logits(after, change.new_of[old_ids].tolist())
    theirs = logits(before, old_ids)
    assert ours.shape[1] >= change.n_new_ids
    assert np.isfinite(ours).all()
    gap = np.abs(ours[:, kept] - theirs[:, change.old_of[kept]]).max()
    assert gap <= TOLERANCE * np.abs(theirs).max()
    n_rows = after.get_input_embeddings().weight.shape[0]
    assert after.config.get_text_config().vocab_size == n_rows
    assert is_tied(after) == is_tied(before)
    if after.can_generate() and hasattr(after, "generate"):
        ids = after.generate(torch.tensor([[5, 6, 7]]), max_new_tokens=4, do_sample=False)
        assert int(ids.max()) < n_rows


def check_ids(model: Path, output: Path, change: VocabularyChange) -> None:
    for file in ("config.json", "generation_config.json"):
        if not (model / file).exists():
            continue
        old, new = (json.loads((folder / file).read_text()) for folder in (model, output))
        for key, value in old.items():
            if key.endswith("_token_id") and isinstance(value, int):
                assert new[key] == change.new_of[value], f"{file}: {key}"


def check_tokenizer(folder: Path, ours: jeton.Tokenizer) -> None:
    theirs = transformers.AutoTokenizer.from_pretrained(folder)
    for text in (TEXT, "the barge and its oarsman", "naïve ☃ 12,345"):
        assert theirs(text, add_special_tokens=False)["input_ids"] == ours.encode(text)
    assert len(theirs) == ours.vocab_size
    assert theirs.pad_token == "<pad>"
    assert theirs.convert_tokens_to_ids("</s>") == ours.token_to_id("</s>")
