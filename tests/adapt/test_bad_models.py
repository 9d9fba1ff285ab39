"""Damaged, missing and contradictory input: one clear error, and nothing half-written."""

from __future__ import annotations

import errno
import json
import os
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import jeton
from jeton.adapt.weights import apply, verify
from tests.adapt import tiny

N = tiny.N_OLD
INDEX = "model.safetensors.index.json"


@pytest.fixture
def place(tmp_path: Path) -> Path:
    """A folder with a model in two shards and a tokenizer that adds tokens."""
    model = tmp_path / "model"
    model.mkdir()
    old = tiny.write_tokenizer(model, tiny.old_tokens())
    rng = np.random.default_rng(1)
    names = ("model.embed_tokens.weight", "lm_head.weight")
    tensors = {name: tiny.stored("F32", tiny.random_values(rng, [N, 6])) for name in names}
    tensors["model.norm.weight"] = tiny.stored("F32", tiny.random_values(rng, [6]))
    tiny.write_shards(model, tensors, 2)
    config = {"model_type": "llama", "vocab_size": N, "eos_token_id": 4}
    (model / "config.json").write_text(json.dumps(config))
    tiny.extension(tmp_path / "t", old)
    return tmp_path


def shard(place: Path, number: int) -> Path:
    return place / "model" / f"model-{number:05d}-of-00002.safetensors"


def cut(place: Path) -> None:
    file = shard(place, 1)
    file.write_bytes(file.read_bytes()[:-5])


def cut_header(place: Path) -> None:
    file = shard(place, 1)
    file.write_bytes(file.read_bytes()[:40])


def edit_index(place: Path, change: Callable[[dict[str, Any]], None]) -> None:
    file = place / "model" / INDEX
    index = json.loads(file.read_text())
    change(index["weight_map"])
    file.write_text(json.dumps(index))


def swap(entries: dict[str, Any]) -> None:
    one, two = "model.embed_tokens.weight", "lm_head.weight"
    entries[one], entries[two] = entries[two], entries[one]


def without_index_and_shard(place: Path) -> None:
    shard(place, 2).unlink()
    (place / "model" / INDEX).unlink()


def without_weights(place: Path) -> None:
    for file in (place / "model").glob("*.safetensors*"):
        file.unlink()


def twice(place: Path) -> None:
    # Without an index nothing says which of the two files is right.
    (place / "model" / INDEX).unlink()
    one = tiny.read_tensors(place / "model")["lm_head.weight"]
    tiny.write_safetensors(
        shard(place, 1), {"lm_head.weight": (one[0], list(one[1]), one[2])}, None
    )


def twice_in_one_header(place: Path) -> None:
    entry = '"a":{"dtype":"U8","shape":[1],"data_offsets":[0,1]}'
    text = ("{" + entry + "," + entry + "}").encode()
    shard(place, 2).write_bytes(len(text).to_bytes(8, "little") + text + b"\0")


def set_config(**values: Any) -> Callable[[Path], None]:
    def set_values(place: Path) -> None:
        file = place / "model" / "config.json"
        file.write_text(json.dumps({**json.loads(file.read_text()), **values}))

    return set_values


def only_pickles(place: Path) -> None:
    without_weights(place)

    class Bomb:
        def __reduce__(self) -> Any:
            return os.system, (f"touch {place / 'opened'}",)

    (place / "model" / "pytorch_model.bin").write_bytes(pickle.dumps(Bomb()))


def other_tokenizer(place: Path) -> None:
    tiny.write_tokenizer(place / "model", ["x", *tiny.old_tokens()[1:]])


def other_new_tokenizer(place: Path) -> None:
    tiny.write_tokenizer(place / "t", [f"y{i}" for i in range(N + 7)])


def more_ids_than_rows(place: Path) -> None:
    (place / "t" / "vocabulary_change.json").unlink()
    tiny.write_tokenizer(place / "model", [*tiny.old_tokens(), "w53", "w54"])


BAD: dict[str, tuple[Callable[[Path], object], str]] = {
    "a shard is missing": (
        lambda p: shard(p, 2).unlink(),
        r"index.json names 'model-00002-of-00002.safetensors', not there",
    ),
    "a numbered file is missing": (
        without_index_and_shard,
        r"model-00002-of-00002.safetensors is missing",
    ),
    "a shard is cut off": (cut, r"is cut off: its tensors take [\d,]+ bytes and it has"),
    "a header is cut off": (cut_header, r"announces a header of"),
    "the index names another file": (
        lambda p: edit_index(p, swap),
        r"index.json looks for .* in model-\d+-of-00002.safetensors; model-",
    ),
    "the index names what is not there": (
        lambda p: edit_index(p, lambda m: m.update(extra="model-00001-of-00002.safetensors")),
        r"index.json names 'extra', which model-00001-of-00002.safetensors does not have",
    ),
    "the index leaves out a tensor": (
        lambda p: edit_index(p, lambda m: m.pop("model.norm.weight")),
        r"index.json does not name 'model.norm.weight', which model-",
    ),
    "the index leads out of the folder": (
        lambda p: edit_index(p, lambda m: m.update(a="../x.safetensors")),
        r"index.json has no usable weight_map",
    ),
    "two tensors of one name": (twice, r"has the tensor 'lm_head.weight', which .* has, too"),
    "one header names a tensor twice": (twice_in_one_header, "names something twice"),
    "config.json contradicts the tensors": (
        set_config(vocab_size=N + 11),
        r"states vocab_size 64 and the embeddings have 53 rows",
    ),
    "config.json is damaged": (
        lambda p: (p / "model" / "config.json").write_text('{"vocab_size": 53'),
        r"config.json breaks off or is damaged",
    ),
    "weights are pickles": (only_pickles, r"pytorch_model.bin is a pickle, .* it is not opened"),
    "no weights at all": (
        without_weights,
        r"has no .safetensors file",
    ),
    "config.json states text as its size": (
        set_config(vocab_size="53"), r"config.json states vocab_size '53'; expected a number",
    ),
    "config.json states no size": (
        set_config(vocab_size=-1), r"config.json states vocab_size -1; expected a number of rows",
    ),
    "a role has no row": (
        set_config(eos_token_id=N), rf"eos_token_id is {N}, and the model has {N} rows",
    ),
    "a role of the text part has no row": (
        set_config(text_config={"vocab_size": N, "pad_token_id": N + 6}),
        rf"config.json: text_config.pad_token_id is {N + 6}, and the model has",
    ),
    "one of several ends has no row": (
        lambda p: (p / "model/generation_config.json").write_text('{"eos_token_id": [1, 5300]}'),
        r"generation_config.json: eos_token_id\[1\] is 5,300",
    ),
    "a role is a text": (
        set_config(bos_token_id="<s>"), r"config.json: bos_token_id is '<s>'; expected an id",
    ),
    "the change begins elsewhere": (other_tokenizer, r"begins with another tokenizer than that of"),
    "the change leads elsewhere": (other_new_tokenizer, r"leads to another tokenizer than the one"),
    "the tokenizer has more ids than rows": (
        more_ids_than_rows, r"has 53 rows and the tokenizer has ids up to 54",
    ),
    "the change is damaged": (
        lambda p: (p / "t" / "vocabulary_change.json").write_text("{"), r"vocabulary_change.json",
    ),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
def test_bad_input_is_one_clear_error(case: str, place: Path) -> None:
    damage, message = BAD[case]
    damage(place)
    left = sorted(path.name for path in place.iterdir())
    with pytest.raises(jeton.JetonError, match=message) as caught:
        apply(place / "model", place / "t", output=place / "o")
    assert "\nhint: " in str(caught.value)
    assert sorted(path.name for path in place.iterdir()) == left


def test_a_table_that_lacks_rows_cannot_stay(place: Path) -> None:
    with pytest.raises(jeton.JetonError, match=r"lm_head.weight of .* has 53 rows, and the new"):
        apply(place / "model", place / "t", output=place / "o", as_is=["lm_head.weight"])
    assert not (place / "o").exists()


def test_an_output_inside_its_source_is_refused(place: Path) -> None:
    (place / "link").symlink_to(place / "model")
    for output in ("model/out", "model", ".", "link/out", "t/out"):
        with pytest.raises(jeton.JetonError, match="lie in one another"):
            apply(place / "model", place / "t", output=place / output)
    (place / "note").write_text("mine")
    with pytest.raises(jeton.JetonError, match="lies below the file"):
        apply(place / "model", place / "t", output=place / "note" / "o")
    (place / "full").mkdir()
    (place / "full" / "notes.txt").write_text("mine")
    with pytest.raises(jeton.JetonError, match="is not empty"):
        apply(place / "model", place / "t", output=place / "full")
    assert (place / "full" / "notes.txt").read_text() == "mine"


def test_a_full_disk_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []

    def full(fd: int) -> None:
        calls.append(fd)
        if len(calls) == 3:
            raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("jeton.checkpoint.copying.os.fsync", full)
    left = sorted(path.name for path in place.iterdir())
    with pytest.raises(OSError, match="No space left") as caught:
        apply(place / "model", place / "t", output=place / "o")
    assert caught.value.errno == errno.ENOSPC
    assert str(place / "o") in str(caught.value.filename)
    assert sorted(path.name for path in place.iterdir()) == left


def test_a_stop_half_way_leaves_nothing(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def stopped(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("jeton.adapt.weights.writing.TensorWriter.write", stopped)
    left = sorted(path.name for path in place.iterdir())
    with pytest.raises(KeyboardInterrupt):
        apply(place / "model", place / "t", output=place / "o")
    assert sorted(path.name for path in place.iterdir()) == left


def test_a_snapshot_of_links_that_may_only_be_read(place: Path) -> None:
    # The hub's cache: a folder of links to blobs.
    blobs, snapshot = place / "blobs", place / "snapshot"
    blobs.mkdir()
    snapshot.mkdir()
    for number, file in enumerate(sorted((place / "model").iterdir())):
        blob = blobs / f"{number:040x}"
        file.rename(blob)
        blob.chmod(0o444)
        (snapshot / file.name).symlink_to(blob)
    snapshot.chmod(0o555)
    before = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in blobs.iterdir()}
    for link in (False, True):
        output = place / f"o{link}"
        apply(snapshot, place / "t", output=output, link=link)
        assert verify(output, base=snapshot).is_proven
        assert not any(path.is_symlink() for path in output.iterdir())
    after = {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in blobs.iterdir()}
    assert after == before
    snapshot.chmod(0o755)


def test_a_change_that_nobody_wrote_down_is_derived_by_bytes(place: Path) -> None:
    apply(place / "model", place / "t", output=place / "written", init="vocabulary-mean")
    (place / "t" / "vocabulary_change.json").unlink()
    apply(place / "model", place / "t", output=place / "derived", init="vocabulary-mean")
    assert tiny.read_tensors(place / "written") == tiny.read_tensors(place / "derived")
    assert verify(place / "derived", base=place / "model").is_proven


def test_verify_finds_what_was_changed_afterwards(place: Path) -> None:
    apply(place / "model", place / "t", output=place / "o")
    good = verify(place / "o", base=place / "model")
    assert good.is_proven
    assert good.n_kept_rows == 2 * N
    assert good.n_new_rows == 14
    file = next(f for f in (place / "o").glob("*.safetensors") if "embed" in str(f.read_bytes()))
    data = bytearray(file.read_bytes())
    n_header = int.from_bytes(data[:8], "little")
    data[8 + n_header + 6 * 4 * 3] ^= 1
    file.write_bytes(data)
    config = json.loads((place / "o" / "config.json").read_text())
    (place / "o" / "config.json").write_text(json.dumps({**config, "eos_token_id": 900}))
    bad = verify(place / "o", base=place / "model")
    text = "; ".join(f"{p.where}: {p.what}" for p in bad.problems)
    assert "row 3 differs from row 3 of the base" in text
    assert "eos_token_id is 900; there are 60 rows" in text
    alone = verify(place / "o")
    assert [p.where for p in alone.problems] == ["config.json"]
