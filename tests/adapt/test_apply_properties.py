"""Properties of any change: what is kept stays, ways there and back cancel, bytes are safe."""

from __future__ import annotations

import json
import tempfile
from pathlib import Path

import numpy as np
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

import jeton
from jeton.adapt import VocabularyChange
from jeton.adapt.weights import apply, verify
from jeton.adapt.weights.tensor_plans import FILL, NEW, padded_map
from jeton.checkpoint.snapshot import read_groups
from jeton.errors import JetonError
from tests.adapt import tiny

N = tiny.N_OLD


def model_in(folder: Path, *, spare: int, dtype: str, n_shards: int) -> Path:
    model = folder / "model"
    model.mkdir()
    tiny.write_tokenizer(model, tiny.old_tokens())
    rng = np.random.default_rng(2)
    names = ("model.embed_tokens.weight", "lm_head.weight")
    tensors = {n: tiny.stored(dtype, tiny.random_values(rng, [N + spare, 4])) for n in names}
    tensors["model.layers.0.w"] = tiny.stored("F32", tiny.random_values(rng, [97, 3]))
    tiny.write_shards(model, tensors, n_shards)
    config = {"model_type": "llama", "vocab_size": N + spare, "eos_token_id": 0}
    (model / "config.json").write_text(json.dumps(config))
    return model


@st.composite
def orders(draw: st.DrawFn) -> list[int]:
    """Old ids in any order, some gone, id 0 kept; -1 is an added id."""
    kept = draw(st.lists(st.integers(1, N - 1), unique=True, min_size=9, max_size=N - 1))
    order = [0, *kept, *[-1] * draw(st.integers(0, 9))]
    return draw(st.permutations(order))


# Each example writes five models: shrinking would take minutes.
@settings(max_examples=25, phases=(Phase.explicit, Phase.reuse, Phase.generate))
@given(
    order=orders(),
    spare=st.integers(0, 12),
    dtype=st.sampled_from(["F32", "BF16", "F16", "F8_E4M3", "I8"]),
    n_shards=st.integers(1, 3),
    parts=st.lists(st.integers(0, N - 1), max_size=4),
)
def test_any_change_is_proven_and_the_way_back_is_exact(
    order: list[int], spare: int, dtype: str, n_shards: int, parts: list[int]
) -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        model = model_in(folder, spare=spare, dtype=dtype, n_shards=n_shards)
        old = jeton.load(model / "tokenizer.json")
        added = {
            new: tiny.Parts(parts, [1] * len(parts))
            for new, old_id in enumerate(order)
            if old_id < 0
        }
        change = tiny.write_change(folder / "t", old, order, added)
        apply(model, folder / "t", output=folder / "there")
        assert verify(folder / "there", base=model).is_proven
        # Written again it is the same: a function of the change alone.
        apply(model, folder / "t", output=folder / "again")
        assert tiny.read_tensors(folder / "again") == tiny.read_tensors(folder / "there")
        back = change.inverse()
        tiny.write_tokenizer(folder / "b", tiny.old_tokens())
        back.write(folder / "b" / "vocabulary_change.json")
        apply(folder / "there", folder / "b", output=folder / "back")
        before, after = tiny.read_tensors(model), tiny.read_tensors(folder / "back")
        kept = np.flatnonzero(change.new_of >= 0)
        for tensor in ("model.embed_tokens.weight", "lm_head.weight"):
            rows = [
                np.frombuffer(data, np.uint8).reshape(shape[0], -1)
                for _, shape, data in (before[tensor], after[tensor])
            ]
            assert np.array_equal(rows[1][kept], rows[0][kept])
        assert after["model.layers.0.w"] == before["model.layers.0.w"]


def test_extending_and_pruning_again_is_the_identity(tmp_path: Path) -> None:
    model = model_in(tmp_path, spare=0, dtype="BF16", n_shards=2)
    old = jeton.load(model / "tokenizer.json")
    change = tiny.extension(tmp_path / "t", old)
    apply(model, tmp_path / "t", output=tmp_path / "more")
    pruned = tmp_path / "b"
    tiny.write_tokenizer(pruned, tiny.old_tokens())
    change.inverse().write(pruned / "vocabulary_change.json")
    apply(tmp_path / "more", pruned, output=tmp_path / "less")
    for name in ("config.json", "tokenizer.json", *(p.name for p in model.glob("*.safetensors"))):
        written, before = ((folder / name) for folder in (tmp_path / "less", model))
        if name == "config.json":
            assert json.loads(written.read_text()) == {
                **json.loads(before.read_text()), "tie_word_embeddings": False,
            } or json.loads(written.read_text()) == json.loads(before.read_text())  # fmt: skip
        elif name == "tokenizer.json":
            assert written.read_bytes() == before.read_bytes()
    assert tiny.read_tensors(tmp_path / "less") == tiny.read_tensors(model)


@given(order=orders(), spare=st.integers(0, 40), pad_to=st.none() | st.integers(1, 64))
def test_a_map_covers_every_row_once(order: list[int], spare: int, pad_to: int | None) -> None:
    added = [new for new, old_id in enumerate(order) if old_id < 0]
    change = VocabularyChange(
        old_fingerprint="0" * 64,
        new_fingerprint="1" * 64,
        n_old_ids=N,
        old_of=np.array(order),
        holes=np.zeros(0, np.int64),
        added_ids=np.array(added, np.int64),
        offsets=np.zeros(len(added) + 1, np.int64),
        parts=np.zeros(0, np.int64),
        part_bytes=np.zeros(0, np.int64),
    )
    rows = padded_map(change, N + spare, label="x", pad_to=pad_to)
    assert rows.n_new_rows >= len(order)
    assert len(order) < N or rows.n_new_rows >= N + spare
    assert pad_to is None or rows.n_new_rows % pad_to == 0
    assert rows.source[: len(order)].tolist() == [NEW if i < 0 else i for i in order]
    old_rows = rows.source[rows.source >= 0]
    assert len(np.unique(old_rows)) == len(old_rows)
    covered: list[int] = []
    for run in rows.runs():
        covered += range(run.new, run.new + run.n)
        expected = rows.source[run.new : run.new + run.n]
        step = 0 if run.old < 0 else 1
        assert expected.tolist() == [run.old + step * i for i in range(run.n)]
    assert covered == list(range(rows.n_new_rows))
    assert set(rows.source[rows.source < 0].tolist()) <= {NEW, FILL}


@given(data=st.binary(max_size=300), n_shards=st.integers(1, 2))
def test_any_bytes_for_weights_are_refused_or_read(data: bytes, n_shards: int) -> None:
    with tempfile.TemporaryDirectory() as name:
        model = model_in(Path(name), spare=0, dtype="F32", n_shards=n_shards)
        file = sorted(model.glob("*.safetensors"))[0]
        whole = file.read_bytes()
        for content in (data, whole[:8] + data + whole[8 + len(data) :]):
            file.write_bytes(content)
            try:
                groups = read_groups(model)
            except JetonError:
                continue
            assert all(group.tensors is not None for group in groups)
