"""Folders that ``jeton adapt`` wrote are healthy; tokenizer and weights mixed up are not."""

from __future__ import annotations

import shutil
from pathlib import Path

import jeton
from jeton.adapt import Reading, adapted_target, extend, prune, save_adapted
from jeton.adapt.weights import apply
from jeton.doctor import diagnose
from jeton.findings import Severity
from jeton.formats.folders import read_folder
from tests.doctor.ward import matrix, model_dir

TEXTS = [f"hello wool world, hello again {n} times" for n in range(40)]
N_IDS = 270
OURS = {
    "table-lacks-rows",
    "file-names-id-without-row",
    "vocabulary-change-differs",
    "weights-not-adapted",
    "added-rows-not-filled",
    "vocabulary-exceeds-embeddings",
    "added-tokens-without-rows",
}


def wrong(folder: Path) -> set[str]:
    return {f.id for f in diagnose(folder).worse_than(Severity.WARNING)} & OURS


def test_applied_extensions_are_healthy_and_mixtures_are_not(tmp_path: Path) -> None:
    base = model_dir(tmp_path / "base")
    tokenizer = jeton.load(base)
    found = extend(iter(TEXTS), base=tokenizer, n_tokens=10, reading=Reading(hold_out=0))
    save_adapted(found.tokenizer, found.change, adapted_target(tokenizer, tmp_path / "more"))
    apply(base, tmp_path / "more", output=tmp_path / "applied")
    assert len(found.new_tokens) > 0
    assert wrong(base) == wrong(tmp_path / "applied") == set()
    # Roles and chat template of the model's folder stay; nothing is guessed from names.
    before, after = (read_folder(tmp_path / name) for name in ("base", "applied"))
    assert after.roles == before.roles
    assert after.chat_template == before.chat_template != ""


def test_spare_rows_are_filled_by_apply_and_by_nothing_else(tmp_path: Path) -> None:
    base = model_dir(tmp_path / "base")
    tokenizer = jeton.load(base)
    rows = {
        name: matrix(tokenizer.vocab_size + 16)
        for name in ("model.embed_tokens.weight", "lm_head.weight")
    }
    rows["model.embed_tokens.weight"][tokenizer.vocab_size :] = 0
    base = model_dir(
        tmp_path / "spare", config={"vocab_size": tokenizer.vocab_size + 16}, tensors=rows
    )
    found = extend(iter(TEXTS), base=tokenizer, n_tokens=10, reading=Reading(hold_out=0))
    save_adapted(found.tokenizer, found.change, adapted_target(tokenizer, tmp_path / "more"))
    apply(base, tmp_path / "more", output=tmp_path / "applied")
    assert wrong(base) == wrong(tmp_path / "applied") == set()
    for file in (tmp_path / "applied").iterdir():
        if not file.name.endswith(".safetensors"):
            shutil.copy(file, base / file.name)
    assert wrong(base) == {"added-rows-not-filled"}
    (finding,) = (f for f in diagnose(base).findings if f.id == "added-rows-not-filled")
    assert finding.severity is Severity.ERROR


def test_a_pruned_tokenizer_over_the_old_weights_is_found(tmp_path: Path) -> None:
    rows = {name: matrix(N_IDS) for name in ("model.embed_tokens.weight", "lm_head.weight")}
    base = model_dir(tmp_path / "base", config={"vocab_size": N_IDS}, tensors=rows)
    tokenizer = jeton.load(base)
    assert tokenizer.vocab_size == N_IDS
    less = prune(iter(TEXTS), base=tokenizer, n_tokens=tokenizer.vocab_size - 3)
    save_adapted(less.tokenizer, less.change, adapted_target(tokenizer, tmp_path / "less"))
    apply(base, tmp_path / "less", output=tmp_path / "applied")
    assert wrong(tmp_path / "applied") == set()
    for file in (tmp_path / "applied").iterdir():
        if not file.name.endswith(".safetensors") and file.name != "config.json":
            shutil.copy(file, base / file.name)
    # 270 rows for 267 ids are no filling up: the next multiples are 268 and 272.
    assert wrong(base) == {"weights-not-adapted"}
