"""Tensors with rules of their own: extra rows, ids inside tensors, adapters, scales, owners."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import jeton
from jeton.adapt.weights import apply, verify
from jeton.checkpoint.rows import decoded, encoded
from jeton.errors import AdaptError
from tests.adapt import tiny

N = tiny.N_OLD
Array = NDArray[Any]


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    tiny.write_tokenizer(folder, tiny.old_tokens())
    return folder


def old(model: Path) -> jeton.Tokenizer:
    return jeton.load(model / "tokenizer.json")


def put(
    model: Path, config: dict[str, Any] | None, **tensors: tuple[str, list[int], bytes]
) -> None:
    if config is not None:
        (model / "config.json").write_text(json.dumps(config, indent=2))
    names = {name.replace("__", "."): value for name, value in tensors.items()}
    tiny.write_safetensors(model / "model.safetensors", names, {"format": "pt"})


def values(rng_seed: int, *shape: int, dtype: str = "F32") -> tuple[str, list[int], bytes]:
    return tiny.stored(dtype, tiny.random_values(np.random.default_rng(rng_seed), list(shape)))


def read(folder: Path, name: str) -> Array:
    dtype, shape, data = tiny.read_tensors(folder)[name]
    if dtype in ("I64", "I32"):
        return np.frombuffer(data, "<i8" if dtype == "I64" else "<i4").reshape(shape)
    if dtype in ("BOOL", "U8"):
        return np.frombuffer(data, np.uint8).reshape(shape)
    return decoded(dtype, data).reshape(shape)


def test_llama_vision_keeps_eight_rows_beyond_its_vocabulary(model: Path, tmp_path: Path) -> None:
    # The tokenizer's last id is the picture's: the output layer has no row for it.
    put(
        model,
        {"model_type": "mllama", "image_token_index": N - 1,
         "text_config": {"model_type": "mllama_text_model", "vocab_size": N - 1}},
        language_model__model__embed_tokens__weight=values(1, N - 1 + 8, 4),
        language_model__lm_head__weight=values(2, N - 1, 4),
    )  # fmt: skip
    change = tiny.extension(tmp_path / "t", old(model), 5)
    apply(model, tmp_path / "t", output=tmp_path / "o")
    config = json.loads((tmp_path / "o/config.json").read_text())
    size = config["text_config"]["vocab_size"]
    assert size == change.n_new_ids == N + 5
    assert config["image_token_index"] == N - 1
    embeddings = read(tmp_path / "o", "language_model.model.embed_tokens.weight")
    head = read(tmp_path / "o", "language_model.lm_head.weight")
    assert len(embeddings) == size + 8
    assert len(head) == size
    before = read(model, "language_model.model.embed_tokens.weight")
    assert np.array_equal(embeddings[:N], before[:N])
    assert verify(tmp_path / "o", base=model).is_proven


def test_a_table_for_each_layer_and_ids_of_sound(model: Path, tmp_path: Path) -> None:
    config = {
        "model_type": "gemma3n",
        "text_config": {"vocab_size": N + 10, "vocab_size_per_layer_input": N},
        "vision_config": {"vocab_offset": N},
        "audio_config": {"vocab_offset": N + 4},
    }
    put(
        model,
        config,
        model__language_model__embed_tokens__weight=values(1, N + 10, 4),
        model__language_model__embed_tokens_per_layer__weight=values(2, N, 12),
    )
    tiny.extension(tmp_path / "t", old(model), 2)
    with pytest.raises(AdaptError, match=r"vision_config.vocab_offset 53 of config.json"):
        apply(model, tmp_path / "t", output=tmp_path / "o")
    tiny.pruning(tmp_path / "p", old(model))
    apply(model, tmp_path / "p", output=tmp_path / "o")
    # Rows of pictures and sound have an owner that config.json names; they stay where they are.
    after = read(tmp_path / "o", "model.language_model.embed_tokens.weight")
    before = read(model, "model.language_model.embed_tokens.weight")
    assert np.array_equal(after[N:], before[N : len(after)])
    assert len(after) > N + 4


def test_a_spare_row_with_an_owner_is_not_given_away(model: Path, tmp_path: Path) -> None:
    put(
        model,
        {"model_type": "gemma3", "image_token_index": N + 2, "text_config": {"vocab_size": N + 7}},
        language_model__model__embed_tokens__weight=values(1, N + 7, 4),
    )
    tiny.extension(tmp_path / "two", old(model), 2)
    apply(model, tmp_path / "two", output=tmp_path / "o")
    assert read(tmp_path / "o", "language_model.model.embed_tokens.weight").shape == (N + 7, 4)
    tiny.extension(tmp_path / "three", old(model), 3)
    with pytest.raises(AdaptError, match=r"row 55 of .* is named by the model's settings"):
        apply(model, tmp_path / "three", output=tmp_path / "p")


def test_a_draft_leads_to_the_same_tokens(model: Path, tmp_path: Path) -> None:
    targets = np.array([0, 1, 2, 7, 10, 23, 24, 52])
    marks = np.zeros(N, np.uint8)
    marks[targets] = 1
    put(
        model,
        {"model_type": "llama", "vocab_size": N, "draft_vocab_size": len(targets)},
        d2t=("I64", [8], (targets - np.arange(8)).astype("<i8").tobytes()),
        t2d=("BOOL", [N], marks.tobytes()),
        lm_head__weight=values(3, 8, 4),
        fc__weight=values(4, 4, 12),
    )
    change = tiny.pruning(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o")
    d2t = read(tmp_path / "o", "d2t")
    new_targets = np.arange(len(d2t)) + d2t
    kept = [t for t in targets.tolist() if change.new_of[t] >= 0]
    assert sorted(change.old_of[new_targets].tolist()) == kept
    # Engines read the draft's ids in the order of the target's.
    assert (np.diff(new_targets) > 0).all()
    assert np.array_equal(np.flatnonzero(read(tmp_path / "o", "t2d")), new_targets)
    before, after = read(model, "lm_head.weight"), read(tmp_path / "o", "lm_head.weight")
    for row, old_id in zip(after, change.old_of[new_targets].tolist(), strict=True):
        assert np.array_equal(row, before[targets.tolist().index(old_id)])
    config = json.loads((tmp_path / "o/config.json").read_text())
    assert config["draft_vocab_size"] == len(kept)
    assert config["vocab_size"] == change.n_new_ids
    assert verify(tmp_path / "o", base=model).is_proven


def test_a_static_model_gets_rows_behind_its_own(model: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(5)
    places = rng.integers(0, 20, N)
    put(
        model,
        {"model_type": "model2vec"},
        embeddings=("I8", [20, 8], rng.integers(-90, 90, (20, 8)).astype(np.int8).tobytes()),
        mapping=("I64", [N], places.astype("<i8").tobytes()),
        weights=("F64", [N], rng.random(N).tobytes()),
    )
    change = tiny.replacement(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o", init="mean")
    mapping, rows = read(tmp_path / "o", "mapping"), read(tmp_path / "o", "embeddings")
    kept = change.kept
    assert np.array_equal(mapping[kept], places[change.old_of[kept]])
    assert rows.shape == (20 + len(change.added_ids), 8)
    # The first new token is made of id 8 alone; the second one of nothing, so of all.
    old_rows = read(model, "embeddings")
    assert np.array_equal(rows[mapping[10]], old_rows[places[8]])
    last = rows[mapping[change.n_new_ids - 1]]
    assert np.array_equal(last, np.rint(old_rows[places].mean(axis=0, dtype=np.float64)))
    assert len(read(tmp_path / "o", "weights")) == change.n_new_ids
    assert verify(tmp_path / "o", base=model).is_proven


def test_an_adapter_follows_on_the_right_axes(model: Path, tmp_path: Path) -> None:
    (model / "adapter_config.json").write_text(
        json.dumps({"peft_type": "LORA", "trainable_token_indices": {"embed_tokens": [5, 10, 8]}})
    )
    prefix = "base_model.model.model.embed_tokens"
    tensors = {
        f"{prefix}.lora_embedding_A": values(1, 3, N),
        f"{prefix}.lora_embedding_B": values(2, 6, 3),
        f"{prefix}.token_adapter.trainable_tokens_delta": values(3, 3, 6),
        "base_model.model.lm_head.lora_A.weight": values(4, 3, 6),
        "base_model.model.lm_head.lora_B.weight": values(5, N, 3),
        "base_model.model.model.layers.0.self_attn.q_proj.lora_A.weight": values(6, 3, 6),
    }
    tiny.write_safetensors(model / "adapter_model.safetensors", tensors, None)
    change = tiny.replacement(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o")
    kept = change.kept
    for name, axis in (
        (f"{prefix}.lora_embedding_A", 1),
        ("base_model.model.lm_head.lora_B.weight", 0),
    ):
        before, after = read(model, name), read(tmp_path / "o", name)
        assert after.shape[axis] == change.n_new_ids
        assert np.array_equal(after.take(kept, axis), before.take(change.old_of[kept], axis))
        # Id 10 is made of the old id 8 alone.
        assert np.array_equal(after.take(10, axis), before.take(8, axis))
    delta = read(tmp_path / "o", f"{prefix}.token_adapter.trainable_tokens_delta")
    # Old ids 10 and 8 are gone.
    assert np.array_equal(delta, read(model, f"{prefix}.token_adapter.trainable_tokens_delta")[:1])
    stated = json.loads((tmp_path / "o/adapter_config.json").read_text())
    assert stated["trainable_token_indices"] == {"embed_tokens": [5]}
    assert verify(tmp_path / "o", base=model).is_proven


@pytest.mark.parametrize("shape", [[], [1], [N], [N, 1]], ids=str)
def test_scales_follow_their_rows(shape: list[int], model: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(9)
    scales = (rng.random(shape) + 0.5).astype("<f4") / 50
    put(
        model,
        {"model_type": "llama", "vocab_size": N},
        model__embed_tokens__weight=values(1, N, 6),
        lm_head__weight=values(2, N, 6, dtype="F8_E4M3"),
        lm_head__weight_scale=("F32", shape, scales.tobytes()),
    )
    change = tiny.replacement(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o", init="mean")

    def value(folder: Path) -> Array:
        raw, by = read(folder, "lm_head.weight"), read(folder, "lm_head.weight_scale")
        return raw * by.reshape(-1, 1)

    before, after = value(model), value(tmp_path / "o")
    assert np.array_equal(after[change.kept], before[change.old_of[change.kept]])
    # Three bits of mantissa: a sixteenth, beside the rounding of the smallest.
    assert np.allclose(after[10], before[8], rtol=1 / 15, atol=1e-3)
    assert verify(tmp_path / "o", base=model).is_proven


def test_scales_of_tiles_stay_and_new_tiles_get_their_own(model: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(10)
    scales = (rng.random((2, 2)) + 0.5).astype("<f4") / 40
    put(
        model,
        {"model_type": "deepseek_v3", "vocab_size": N + 75},
        model__embed_tokens__weight=values(1, N + 75, 160),
        lm_head__weight=values(2, N + 75, 160, dtype="F8_E4M3"),
        lm_head__weight_scale_inv=("F32", [1, 2], scales[:1].tobytes()),
    )
    change = tiny.extension(tmp_path / "t", old(model), 140)
    apply(model, tmp_path / "t", output=tmp_path / "o", init="mean", pad_to=64)
    raw = read(tmp_path / "o", "lm_head.weight")
    by = read(tmp_path / "o", "lm_head.weight_scale_inv")
    assert raw.shape == (256, 160)
    assert by.shape == (2, 2)
    assert np.array_equal(by[0], scales[0])
    assert np.array_equal(raw[:N], read(model, "lm_head.weight")[:N])
    wide = np.repeat(np.repeat(by, 128, axis=0), 128, axis=1)[:256, :160]
    old_rows = read(model, "lm_head.weight") * wide[:1]
    for new in (N + 3, N + 139):
        wanted = old_rows[change.made_of(new)].mean(axis=0)
        assert np.allclose((raw * wide)[new], wanted, rtol=1 / 15, atol=0.02)
    assert verify(tmp_path / "o", base=model).is_proven
    tiny.pruning(tmp_path / "p", old(model))
    with pytest.raises(AdaptError, match=r"share scales by blocks of 128; this change moves rows"):
        apply(model, tmp_path / "p", output=tmp_path / "q")


def test_packed_rows_of_mlx_are_gathered_and_made(model: Path, tmp_path: Path) -> None:
    rng = np.random.default_rng(11)
    whole = rng.integers(0, 2**32, (N, 8), dtype=np.uint32)
    put(
        model,
        {"model_type": "qwen3", "vocab_size": N, "quantization": {"group_size": 64, "bits": 4}},
        model__embed_tokens__weight=("U32", [N, 8], whole.astype("<u4").tobytes()),
        model__embed_tokens__scales=values(1, N, 1, dtype="F16"),
        model__embed_tokens__biases=values(2, N, 1, dtype="F16"),
    )
    change = tiny.replacement(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o", init="mean")

    def value(folder: Path) -> Array:
        _, shape, data = tiny.read_tensors(folder)["model.embed_tokens.weight"]
        words = np.frombuffer(data, "<u4").reshape(shape)
        nibbles = (words[:, :, None] >> np.arange(0, 32, 4, dtype=np.uint32) & 15).reshape(-1, 64)
        scales, biases = (read(folder, f"model.embed_tokens.{n}") for n in ("scales", "biases"))
        return nibbles * scales + biases

    before, after = value(model), value(tmp_path / "o")
    assert np.array_equal(after[change.kept], before[change.old_of[change.kept]])
    step = np.abs(read(tmp_path / "o", "model.embed_tokens.scales")[10])
    assert np.abs(after[10] - before[8]).max() <= step * 0.51 + 0.01
    assert verify(tmp_path / "o", base=model).is_proven


@pytest.mark.parametrize("part", ["qweight", "weight_packed"])
def test_an_output_layer_packed_by_columns_is_refused(
    part: str, model: Path, tmp_path: Path
) -> None:
    put(
        model,
        {"model_type": "llama", "vocab_size": N},
        model__embed_tokens__weight=values(1, N, 6),
        **{f"lm_head__{part}": ("I32", [1, N], bytes(4 * N))},
    )
    tiny.extension(tmp_path / "t", old(model))
    with pytest.raises(AdaptError, match=r"packs the rows of several tokens .* \(GPTQ, AWQ\)"):
        apply(model, tmp_path / "t", output=tmp_path / "o")
    assert not (tmp_path / "o").exists()


def test_a_packed_body_beside_plain_tables_is_copied(model: Path, tmp_path: Path) -> None:
    body = ("I32", [2, 12], np.arange(24, dtype="<i4").tobytes())
    put(
        model,
        {"model_type": "llama", "vocab_size": N, "quantization_config": {"quant_method": "gptq"}},
        model__embed_tokens__weight=values(1, N, 6, dtype="F16"),
        lm_head__weight=values(2, N, 6, dtype="F16"),
        model__layers__0__mlp__up_proj__qweight=body,
    )
    tiny.extension(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o")
    after = tiny.read_tensors(tmp_path / "o")["model.layers.0.mlp.up_proj.qweight"]
    assert after == (body[0], tuple(body[1]), body[2])


def test_an_unknown_tensor_as_long_as_the_vocabulary_is_named(model: Path, tmp_path: Path) -> None:
    put(
        model,
        {"model_type": "llama", "vocab_size": N + 3},
        model__embed_tokens__weight=values(1, N + 3, 6),
        model__token_frequencies=values(2, N),
        model__extra__table=values(3, 6, N + 3),
    )
    tiny.extension(tmp_path / "t", old(model))
    with pytest.raises(AdaptError, match=r"'model.token_frequencies' \[53\], 'model.extra.table'"):
        apply(model, tmp_path / "t", output=tmp_path / "o")
    as_is = ("model.token_frequencies", "model.extra.table")
    apply(model, tmp_path / "t", output=tmp_path / "o", as_is=as_is)
    assert verify(tmp_path / "o", base=model, as_is=as_is).is_proven
    assert encoded("F32", read(tmp_path / "o", as_is[0])) == encoded("F32", read(model, as_is[0]))
