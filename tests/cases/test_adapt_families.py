"""Families of models by their tensors' names: each table follows, and nothing else changes."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt import VocabularyChange
from jeton.adapt.weights import apply, verify
from jeton.checkpoint.safetensors import BITS
from jeton.checkpoint.vocabulary_tensors import families
from tests.adapt import tiny

FOLDER = Path(__file__).parent / "adapt_families"
CASES = sorted(FOLDER.glob("*.json"))
CHANGES = {
    "extension": tiny.extension,
    "pruning": tiny.pruning,
    "replacement": tiny.replacement,
}


def numbers(value: Any, *, rows: int) -> Any:
    """A case with its letters as numbers: V ids, R rows."""
    if isinstance(value, dict):
        return {key: numbers(item, rows=rows) for key, item in value.items()}
    if isinstance(value, list):
        return [numbers(item, rows=rows) for item in value]
    return {"V": tiny.N_OLD, "R": rows}.get(value, value) if isinstance(value, str) else value


def written(case: dict[str, Any], folder: Path) -> dict[str, Any]:
    """Writes the checkpoint of a case and returns the case in numbers."""
    known = numbers(case, rows=tiny.N_OLD + case.get("spare_rows", 0))
    assert isinstance(known, dict)
    rng = np.random.default_rng(sum(map(ord, case["title"])))
    tensors: dict[str, tuple[str, list[int], bytes]] = {}
    for name, entry in known["tensors"].items():
        dtype = known.get("dtypes", {}).get(name, "F32")
        values = tiny.random_values(rng, entry["shape"]) * (20 if dtype == "I8" else 1)
        tensors[name] = tiny.stored(dtype, values)
    for name, other in known.get("tied", {}).items():
        tensors[name] = tensors[other]
    tiny.write_tokenizer(folder, tiny.old_tokens())
    tiny.write_shards(folder, tensors, 2 if len(tensors) > 1 else 1)
    (folder / "config.json").write_text(json.dumps(known["config"], indent=2) + "\n")
    return known


def test_there_are_25_families_and_each_of_the_table_has_a_case() -> None:
    assert len(CASES) >= 25
    types = set()
    for file in CASES:
        config = json.loads(file.read_text())["config"]
        types |= {config["model_type"], config.get("text_config", {}).get("model_type")}
    # Drafts, static models and adapters have tests of their own.
    lacking = [f.name for f in families() if f.types and not types & set(f.types)]
    assert set(lacking) <= {"model2vec", "Llama-3.2-Vision"}


@pytest.mark.parametrize("kind", CHANGES)
@pytest.mark.parametrize("file", CASES, ids=lambda file: file.stem)
def test_every_table_follows(file: Path, kind: str, tmp_path: Path) -> None:
    model, output = tmp_path / "model", tmp_path / "output"
    model.mkdir()
    case = written(json.loads(file.read_text(encoding="utf-8")), model)
    before = {path.name: path.read_bytes() for path in model.iterdir()}
    old = jeton.load(model / "tokenizer.json")
    change = CHANGES[kind](tmp_path / "tokenizer", old)
    apply(model, tmp_path / "tokenizer", output=output)
    assert {path.name: path.read_bytes() for path in model.iterdir()} == before
    check_tensors(case, change, tiny.read_tensors(model), tiny.read_tensors(output))
    check_config(case, change, output)
    proof = verify(output, base=model)
    assert proof.problems == ()
    assert proof.n_kept_rows


def check_tensors(case: dict[str, Any], change: VocabularyChange, before: Any, after: Any) -> None:
    assert list(after) == list(before)
    for name, entry in case["tensors"].items():
        dtype, shape, data = before[name]
        new_dtype, new_shape, new_data = after[name]
        assert new_dtype == dtype
        along = entry["tokens_along"]
        if along is None:
            assert (new_shape, new_data) == (shape, data), name
            continue
        assert new_shape[along] >= change.n_new_ids
        ours, theirs = (
            np.moveaxis(np.frombuffer(data, f"V{BITS[dtype] // 8}").reshape(shape), along, 0)
            for data, shape in ((new_data, new_shape), (data, shape))
        )
        kept = np.flatnonzero(change.old_of >= 0)
        assert np.array_equal(ours[kept], theirs[change.old_of[kept]]), name
        if dtype in ("F32", "F64"):
            made = np.frombuffer(new_data, "<f4" if dtype == "F32" else "<f8")
            assert np.isfinite(made).all()
            made = np.moveaxis(made.reshape(new_shape), along, 0)
            assert all(np.abs(made[new]).max() > 0 for new in change.added_ids.tolist())
    for name, other in case.get("tied", {}).items():
        assert after[name] == after[other], f"{name} is no longer {other}"


def check_config(case: dict[str, Any], change: VocabularyChange, output: Path) -> None:
    rows = tiny.N_OLD + case.get("spare_rows", 0)
    old = case["config"]
    new = json.loads((output / "config.json").read_text())
    main = next(e for e in case["tensors"].values() if e["tokens_along"] == 0)
    name = next(n for n, e in case["tensors"].items() if e is main)
    n_new = tiny.read_tensors(output)[name][1][0]
    if change.n_new_ids >= tiny.N_OLD:
        assert n_new == max(rows, change.n_new_ids) or case.get("spare_rows", 0)

    def check(before: Any, after: Any) -> None:
        for key, value in before.items():
            if isinstance(value, dict):
                check(value, after[key])
            elif key in case.get("expect", {}):
                assert after[key] == case["expect"][key]
            elif value == rows and "size" in key:
                assert after[key] == n_new
            elif value == tiny.N_OLD and "size" in key:
                assert after[key] == change.n_new_ids
            else:
                # The ids that the configurations name come first in every vocabulary.
                assert after[key] == value, key

    check(old, new)


def test_no_change_keeps_every_byte(tmp_path: Path) -> None:
    for file in CASES[::6]:
        model = tmp_path / file.stem
        model.mkdir()
        written(json.loads(file.read_text(encoding="utf-8")), model)
        (model / "pytorch_model.bin").write_bytes(b"\x80\x02never opened")
        for link in (False, True):
            output = tmp_path / f"{file.stem}-{link}"
            apply(model, model / "tokenizer.json", output=output, link=link)
            assert {p.name: p.read_bytes() for p in output.iterdir()} == {
                p.name: p.read_bytes() for p in model.iterdir()
            }
            assert verify(output, base=model).is_proven
