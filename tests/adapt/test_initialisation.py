"""Rows of added tokens by each method, against the formulas of the papers worked out here."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jeton
from jeton.adapt import VocabularyChange
from jeton.adapt.weights import METHODS, apply
from jeton.adapt.weights.similar import matching_pursuit, sparsemax
from jeton.checkpoint.rows import decoded
from jeton.errors import UsageError
from tests.adapt import tiny

N, D = tiny.N_OLD, 8
Array = NDArray[np.float64]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    write_model(folder, tiny.old_tokens(), seed=3)
    return folder


def write_model(folder: Path, tokens: list[str], *, seed: int, width: int = D) -> None:
    folder.mkdir(exist_ok=True)
    tiny.write_tokenizer(folder, tokens)
    rng = np.random.default_rng(seed)
    n = len(tokens)
    tensors = {
        "model.embed_tokens.weight": tiny.stored("F32", tiny.random_values(rng, [n, width]) + 0.3),
        "lm_head.weight": tiny.stored("F32", tiny.random_values(rng, [n, width])),
        "lm_head.bias": tiny.stored("F32", tiny.random_values(rng, [n])),
    }
    tiny.write_safetensors(folder / "model.safetensors", tensors, {"format": "pt"})
    (folder / "config.json").write_text(json.dumps({"model_type": "phi", "vocab_size": n}))


def tables(folder: Path) -> list[Array]:
    """Embeddings, output layer, bias."""
    found = tiny.read_tensors(folder)
    names = ("model.embed_tokens.weight", "lm_head.weight", "lm_head.bias")
    return [
        decoded(found[n][0], found[n][2]).reshape(found[n][1]).astype(np.float64) for n in names
    ]


def made(
    model: Path, tmp_path: Path, **options: Any
) -> tuple[VocabularyChange, list[Array], list[Array]]:
    change = tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"))
    apply(model, tmp_path / "t", output=tmp_path / "o", **options)
    return change, tables(model), tables(tmp_path / "o")


def test_the_mean_of_the_parts_is_the_default(model: Path, tmp_path: Path) -> None:
    change, old, now = made(model, tmp_path)
    for new in change.added_ids.tolist():
        parts = change.made_of(new)
        for before, after in zip(old, now, strict=True):
            assert np.allclose(after[new], before[parts].mean(axis=0), atol=1e-6)


def test_asymmetric_makes_each_side_in_its_own_way(model: Path, tmp_path: Path) -> None:
    change, (e, h, b), (new_e, new_h, new_b) = made(model, tmp_path, init="asymmetric")
    median = np.median(np.linalg.norm(e, axis=1))
    for i, new in enumerate(change.added_ids.tolist()):
        parts = change.made_of(new)
        lengths = np.array([1, 4, 2][: 2 + i % 2], float)
        mean = e[parts].mean(axis=0)
        assert np.allclose(new_e[new], mean * median / np.linalg.norm(mean), atol=1e-6)
        by_bytes = lengths / lengths.sum()
        assert np.allclose(new_h[new], by_bytes @ h[parts], atol=1e-6)
        assert np.allclose(new_b[new], by_bytes @ b[parts], atol=1e-6)


@pytest.mark.parametrize("stored", ["no output layer", "equal bytes", "a flag says untied"])
def test_a_table_that_is_both_sides_is_not_made_longer(stored: str, tmp_path: Path) -> None:
    """A lengthened row that is an output row, too, outbids the right token."""
    model = tmp_path / "model"
    write_model(model, tiny.old_tokens(), seed=3)
    tensors = tiny.read_tensors(model)
    table = tensors["model.embed_tokens.weight"]
    tensors["lm_head.weight"] = table
    if stored != "equal bytes":
        del tensors["lm_head.weight"], tensors["lm_head.bias"]
    kept = {name: (dtype, list(shape), data) for name, (dtype, shape, data) in tensors.items()}
    tiny.write_safetensors(model / "model.safetensors", kept, {"format": "pt"})
    config = json.loads((model / "config.json").read_text())
    config["tie_word_embeddings"] = stored != "a flag says untied"
    (model / "config.json").write_text(json.dumps(config))
    change = tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"))
    apply(model, tmp_path / "t", output=tmp_path / "o", init="asymmetric")
    after = tiny.read_tensors(tmp_path / "o")
    old, new = (
        decoded("F32", part[2]).reshape(part[1])
        for part in (table, after["model.embed_tokens.weight"])
    )
    median = np.median(np.linalg.norm(old, axis=1))
    for id in change.added_ids.tolist():
        mean = old[change.made_of(id)].mean(axis=0)
        longer = stored == "a flag says untied"
        factor = median / np.linalg.norm(mean) if longer else 1.0
        assert np.allclose(new[id], mean * factor, atol=1e-6)
    if stored == "equal bytes":
        assert after["lm_head.weight"] == after["model.embed_tokens.weight"]
        bias_old, bias_new = (decoded("F32", part["lm_head.bias"][2]) for part in (tensors, after))
        for id in change.added_ids.tolist():
            assert np.isclose(bias_new[id], bias_old[change.made_of(id)].mean(), atol=1e-6)


def test_mean(model: Path, tmp_path: Path) -> None:
    change, before, after = made(model, tmp_path, init="mean")
    for old_table, new_table in zip(before, after, strict=True):
        for new in change.added_ids.tolist():
            assert np.allclose(new_table[new], old_table[change.made_of(new)].mean(0), atol=1e-6)


def test_vocabulary_mean_moves_the_distribution_by_no_more_than_the_bound(
    model: Path, tmp_path: Path
) -> None:
    change, (_, h, b), (_, new_h, new_b) = made(model, tmp_path, init="vocabulary-mean")
    n_added = len(change.added_ids)
    for x in np.random.default_rng(0).normal(size=(200, D)) * 3:
        old, new = h @ x + b, new_h @ x + new_b
        log_z, new_log_z = (np.log(np.exp(v - v.max()).sum()) + v.max() for v in (old, new))
        # Old tokens keep their logits, so the divergence is that of the sums.
        assert np.allclose(new[:N], old, rtol=1e-12)
        assert -1e-6 <= new_log_z - log_z <= np.log1p(n_added / N) + 1e-6


def test_exponential(model: Path, tmp_path: Path) -> None:
    change, (e, h, _), (new_e, new_h, _) = made(model, tmp_path, init="exponential")
    for new in change.added_ids.tolist():
        parts = change.made_of(new)
        rising = np.exp(2.0 * np.arange(len(parts)))
        assert np.allclose(new_e[new], rising / rising.sum() @ e[parts], atol=1e-6)
        falling = np.exp(-2.0 * np.arange(len(parts)))
        assert np.allclose(new_h[new], falling / falling.sum() @ h[parts], atol=1e-6)


def test_exponential_of_a_long_token_does_not_overflow(model: Path, tmp_path: Path) -> None:
    old = jeton.load(model / "tokenizer.json")
    parts = tiny.Parts([i % N for i in range(500)], [1] * 500)
    tiny.write_change(tmp_path / "t", old, [*range(N), -1], {N: parts})
    apply(model, tmp_path / "t", output=tmp_path / "o", init="exponential")
    assert np.isfinite(tables(tmp_path / "o")[0]).all()


def test_zero(model: Path, tmp_path: Path) -> None:
    change, _, after = made(model, tmp_path, init="zero")
    assert all(not table[change.added_ids].any() for table in after)


def test_random_is_a_function_of_its_seed(model: Path, tmp_path: Path) -> None:
    change, before, after = made(model, tmp_path, init="random", seed=1)
    apply(model, tmp_path / "t", output=tmp_path / "again", init="random", seed=1)
    apply(model, tmp_path / "t", output=tmp_path / "other", init="random", seed=2)
    again, other = tables(tmp_path / "again"), tables(tmp_path / "other")
    for old_table, a, b, c in zip(before, after, again, other, strict=True):
        rows = a[change.added_ids]
        assert np.array_equal(a, b)
        assert not np.allclose(rows, c[change.added_ids])
        assert len(np.unique(rows.reshape(len(rows), -1)[:, 0])) == len(rows)
        assert np.abs(rows - old_table.mean(axis=0)).max() < 6 * old_table.std()


def test_copy_takes_the_one_token_with_the_same_bytes(model: Path, tmp_path: Path) -> None:
    old = jeton.load(model / "tokenizer.json")
    added = {N: tiny.Parts([9], [2]), N + 1: tiny.Parts([9, 11], [2, 3])}
    tiny.write_change(tmp_path / "t", old, [*range(N), -1, -1], added)
    apply(model, tmp_path / "t", output=tmp_path / "o", init="copy")
    for before, after in zip(tables(model), tables(tmp_path / "o"), strict=True):
        assert np.array_equal(after[N], before[9])
        assert np.allclose(after[N + 1], before[[9, 11]].mean(axis=0), atol=1e-6)


@pytest.mark.parametrize("method", ["omp", "focus"])
def test_a_donor_carries_relations_over(method: str, model: Path, tmp_path: Path) -> None:
    # In the donor, the token n53 is exactly w9 and w11 in equal parts.
    donor = tmp_path / "donor"
    write_model(donor, [*tiny.old_tokens()[:40], "n53"], seed=8, width=12)
    tensors = tiny.read_tensors(donor)
    changed = {}
    for name, (dtype, shape, data) in tensors.items():
        values = decoded(dtype, data).reshape(shape).copy()
        values[40] = (values[9] + values[11]) / 2 if method == "omp" else values[9]
        changed[name] = tiny.stored(dtype, values)
    tiny.write_safetensors(donor / "model.safetensors", changed, None)
    _, (e, h, _), (new_e, new_h, _) = made(model, tmp_path, init=method, donor=donor)
    if method == "omp":
        assert np.allclose(new_e[N], (e[9] + e[11]) / 2, atol=1e-4)
        assert np.allclose(new_h[N], (h[9] + h[11]) / 2, atol=1e-4)
    else:
        likeness = np.linalg.norm(new_e[N] - e[9]) / np.linalg.norm(e[9])
        assert likeness < np.linalg.norm(new_e[N] - e[12]) / np.linalg.norm(e[9])
    # The donor does not have n54: it is the mean of its parts.
    assert np.allclose(new_e[N + 1], e[[8, 21, 31]].mean(axis=0), atol=1e-6)


def test_focus_without_a_donor_goes_by_letters(model: Path, tmp_path: Path) -> None:
    _, (e, _, _), (new_e, _, _) = made(model, tmp_path, init="focus")
    # "n53" has "5" and "53" in common with w5 and w3, and no letter with "w1" but none.
    weights = np.linalg.lstsq(e.T, new_e[N], rcond=None)[0]
    assert np.isfinite(weights).all()
    assert not np.allclose(new_e[N], e.mean(axis=0), atol=1e-3)


def test_a_sum_of_few_vectors_is_found_again() -> None:
    rng = np.random.default_rng(4)
    atoms = rng.normal(size=(200, 40)).astype(np.float32)
    wanted = {3: 2.0, 77: -1.5, 150: 0.5}
    target = sum(w * atoms[i] for i, w in wanted.items())
    [(places, weights)] = matching_pursuit(atoms, np.array([target], np.float32), n_atoms=8)
    found = {i: w for i, w in zip(places.tolist(), weights.tolist(), strict=True) if abs(w) > 1e-3}
    assert found == pytest.approx(wanted, abs=1e-3)


def test_sparsemax_is_the_nearest_point_of_the_simplex() -> None:
    assert np.allclose(sparsemax(np.array([0.9, 0.8, 0.1])), [0.55, 0.45, 0.0])
    assert np.allclose(sparsemax(np.array([3.0, 1.0])), [1.0, 0.0])
    assert sparsemax(np.array([0.2])).tolist() == [1.0]


def test_every_method_names_its_paper_and_runs(model: Path, tmp_path: Path) -> None:
    tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"))
    for name, method in METHODS.items():
        assert method.says
        assert method.paper
        donor = model if method.needs_donor else None
        apply(model, tmp_path / "t", output=tmp_path / name, init=name, donor=donor)
        assert all(np.isfinite(table).all() for table in tables(tmp_path / name))


def test_a_method_that_is_not_known_is_refused(model: Path, tmp_path: Path) -> None:
    tiny.extension(tmp_path / "t", jeton.load(model / "tokenizer.json"))
    for options, message in (
        ({"init": "magic"}, "no initialisation 'magic'"),
        ({"init": "omp"}, "needs a donor"),
        ({"init": "mean", "donor": model}, "a donor means nothing to 'mean'"),
    ):
        with pytest.raises(UsageError, match=message):
            apply(model, tmp_path / "t", output=tmp_path / "o", **options)


def test_a_nearly_zero_row_of_the_donor_is_in_no_sum() -> None:
    atoms = np.eye(6, dtype=np.float32)
    target = np.array([0.0, 0.0, 0.0, 0.0, 0.6, 0.8], np.float32)
    atoms[0] = target * 1e-7
    [(places, weights)] = matching_pursuit(atoms, target[None])
    assert sorted(places.tolist()) == [4, 5]
    assert np.abs(weights).max() < 1.0
