"""The value of a change: what it says, what it refuses, its file, and changes in a row."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton._core import from_hf_json
from jeton.adapt import CHANGE_FILE, VocabularyChange, disagreement
from jeton.adapt.weights import apply
from jeton.errors import AdaptError, FormatError
from tests.adapt import tiny

A, B, C = "a" * 64, "b" * 64, "c" * 64
TEXT = ["the low lower lowest newer newest wide wider widest town"] * 30


def change(
    old_of: list[int],
    *,
    n_old: int = 10,
    added: dict[int, list[int]] | None = None,
    holes: tuple[int, ...] = (),
    old: str = A,
    new: str = B,
) -> VocabularyChange:
    added = added or {}
    sizes = [len(added[id]) for id in sorted(added)]
    parts = [part for id in sorted(added) for part in added[id]]
    return VocabularyChange(
        old_fingerprint=old,
        new_fingerprint=new,
        n_old_ids=n_old,
        old_of=np.array(old_of),
        holes=np.array(holes, dtype=np.int64),
        added_ids=np.array(sorted(added), dtype=np.int64),
        offsets=np.concatenate([[0], np.cumsum(sizes, dtype=np.int64)]),
        parts=np.array(parts, dtype=np.int64),
        part_bytes=np.array([part % 3 + 1 for part in parts], dtype=np.int64),
    )


@st.composite
def changes(draw: st.DrawFn, *, old: str = A, new: str = B, n_old: int | None = None) -> Any:
    n_old = draw(st.integers(0, 30)) if n_old is None else n_old
    kept = draw(st.lists(st.integers(0, n_old - 1), unique=True)) if n_old else []
    parts = st.lists(st.integers(0, n_old - 1), max_size=4) if n_old else st.just([])
    rows: list[Any] = [("kept", id) for id in kept]
    rows += [("hole", -1)] * draw(st.integers(0, 3))
    rows += [("added", part) for part in draw(st.lists(parts, max_size=6))]
    rows = draw(st.permutations(rows))
    return change(
        [row[1] if row[0] == "kept" else -1 for row in rows],
        n_old=n_old,
        added={i: row[1] for i, row in enumerate(rows) if row[0] == "added"},
        holes=tuple(i for i, row in enumerate(rows) if row[0] == "hole"),
        old=old,
        new=new,
    )


def test_says_what_stays_goes_and_comes() -> None:
    one = change([0, 1, 4, -1, -1, 3], n_old=6, added={3: [2, 5]}, holes=(4,))
    assert one.n_new_ids == 6
    assert one.new_of.tolist() == [0, 1, -1, 5, 2, -1]
    assert one.gone.tolist() == [2, 5]
    assert one.added.tolist() == [3]
    assert one.made_of(3).tolist() == [2, 5]
    assert not one.is_identity
    assert change([0, 1, 2], n_old=3).is_identity
    assert not change([0, 2, 1], n_old=3).is_identity
    assert not change([0, 1], n_old=3).is_identity
    with pytest.raises(AdaptError, match="id 4 is not an added one"):
        one.made_of(4)
    with pytest.raises(ValueError, match="read-only"):
        one.old_of[0] = 3


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"old_of": [0, 10]}, "old_of is 10; expected -1 to 9"),
        ({"old_of": [0, 0]}, "old id 0 is kept as several new ids"),
        ({"old_of": [0, -1]}, "new id 1 is neither kept nor added nor a hole"),
        ({"old_of": [0, 1], "holes": (2,)}, "a hole is 2; expected 0 to 1"),
        ({"old_of": [0, 1], "added": {1: [0]}}, "new id 1 is both added and kept"),
        ({"old_of": [0, -1], "added": {1: [0]}, "holes": (1,)}, "both added and a hole"),
        ({"old_of": [0, -1], "added": {1: [10]}}, "a part is 10; expected 0 to 9"),
        ({"old_of": [0], "old": "A" * 64}, "expected 64 hexadecimal digits"),
        ({"old_of": [0], "n_old": -1}, "-1 old ids"),
    ],
)
def test_refuses_what_cannot_be(wrong: dict[str, Any], message: str) -> None:
    with pytest.raises(AdaptError, match=message):
        change(**wrong)


@given(changes())
def test_file_gives_the_value_back(one: VocabularyChange) -> None:
    text = one.to_json()
    assert VocabularyChange.from_json(text) == one
    assert VocabularyChange.from_json(text.encode()).to_json() == text


def test_file_has_runs() -> None:
    one = change([*range(5), *range(7, 10), -1, -1], added={8: [1, 2]}, holes=(9,))
    data = json.loads(one.to_json())
    assert data["kept"] == [[0, 0, 5], [7, 5, 3]]
    assert data["holes"] == [[9, 1]]
    assert data["added"] == [[8, [1, 2], [2, 3]]]


def test_writes_whole_beside_a_tokenizer(tmp_path: Path) -> None:
    one = change([1, 0], n_old=2)
    one.write(tmp_path)
    assert VocabularyChange.read(tmp_path) == one
    assert VocabularyChange.read(tmp_path / CHANGE_FILE) == one
    assert [path.name for path in tmp_path.iterdir()] == [CHANGE_FILE]
    with pytest.raises(FileNotFoundError):
        VocabularyChange.read(tmp_path / "absent")


GOOD = change([0, 1, -1, 2], n_old=4, added={2: [3, 1]}).to_json()


@pytest.mark.parametrize(
    ("path", "value", "message"),
    [
        (["format"], "jeton.card", "format is 'jeton.card'"),
        (["version"], 2, "version is 2, this release reads 1"),
        (["version"], True, "version is True"),
        (["kept"], None, "kept is None"),
        (["kept"], [[0, 0, 5]], "not within 4 old and 4 new ids"),
        (["kept"], [[0, 0, 0]], "not within"),
        (["kept"], [[0, 0, 10**30]], "expected a whole number"),
        (["kept"], [[0, 0, 2], [2, 1, 2]], "gives a new id a second old one"),
        (["kept"], [[0, 0, 1], [0, 1, 1], [0, 3, 1]], "old id 0 is kept as several new ids"),
        (["kept"], [[0, 0]], "expected a run of 3 numbers"),
        (["kept"], [[0, 0, 1.5]], "expected a whole number"),
        (["kept"], [[0, -1, 1]], "expected a whole number"),
        (["holes"], [[3, 2]], "is not within 4 new ids"),
        (["holes"], [[1, 1], [1, 1]], "is a hole already"),
        (["added"], [[2, [3, 1], [1]]], "2 parts and 1 lengths"),
        (["added"], [[2, [4], [1]]], "a part is 4; expected 0 to 3"),
        (["added"], [[2, [1], [1]], [2, [1], [1]]], "new id 2 is added twice"),
        (["added"], [[2, 1, 1]], "expected a list"),
        (["added"], [], "new id 2 is neither kept nor added nor a hole"),
        (["new", "n_ids"], 10**12, "expected a whole number|at most"),
        (["new", "n_ids"], 1 << 26, "at most 33,554,432 are possible"),
        (["old", "fingerprint"], 7, "expected 64 hexadecimal digits"),
        (["old"], [], "expected a fingerprint and n_ids"),
        (["comment"], "x", "'comment' is not known"),
    ],
)
def test_broken_file_is_one_clear_error(
    path: list[str], value: Any, message: str, tmp_path: Path
) -> None:
    data = json.loads(GOOD)
    place = data
    for key in path[:-1]:
        place = place[key]
    place[path[-1]] = value
    file = tmp_path / CHANGE_FILE
    file.write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(FormatError, match=message) as caught:
        VocabularyChange.read(file)
    assert str(caught.value).startswith(f"{file}: not a valid change of vocabulary: ")
    assert "\nhint: " in str(caught.value)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"\xff\xfe",
        b'{"a": NaN}',
        b"[" * 100_000,
        b"1" * 10_000,
        b'{"format": 1, "format": 1}',
        GOOD[:-20].encode(),
    ],
)
def test_what_is_no_json_object_is_refused(text: bytes) -> None:
    with pytest.raises(FormatError, match="not a valid change"):
        VocabularyChange.from_json(text)


def test_missing_part_is_named() -> None:
    data = json.loads(GOOD)
    del data["holes"]
    with pytest.raises(FormatError, match="'holes' is missing"):
        VocabularyChange.from_json(json.dumps(data))


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=4),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=4), inner),
    max_leaves=8,
)


@given(st.data())
def test_any_changed_file_parses_or_is_refused(data: st.DataObject) -> None:
    """Replaces a value anywhere in a good file by any JSON value, or patches its text."""
    tree = json.loads(data.draw(changes()).to_json())
    place: Any = {"root": tree}
    key: Any = "root"
    while data.draw(st.integers(0, 3)) and isinstance(place[key], dict | list) and place[key]:
        place = place[key]
        keys = sorted(place) if isinstance(place, dict) else range(len(place))
        key = data.draw(st.sampled_from(list(keys)))
    place[key] = data.draw(json_values)
    text = json.dumps(tree)
    start = data.draw(st.integers(0, len(text)))
    if data.draw(st.booleans()):
        text = text[:start] + data.draw(st.text(max_size=3)) + text[start + 1 :]
    try:
        found = VocabularyChange.from_json(text)
    except FormatError as error:
        assert "not a valid change" in str(error)  # noqa: PT017 - most examples raise, some parse
    else:
        assert VocabularyChange.from_json(found.to_json()) == found


@given(st.binary(max_size=200))
def test_any_bytes_are_refused(data: bytes) -> None:
    with pytest.raises(FormatError):
        VocabularyChange.from_json(data)


@given(st.data())
def test_changes_in_a_row_are_one(data: st.DataObject) -> None:
    one = data.draw(changes())
    two = data.draw(changes(old=B, new=C, n_old=one.n_new_ids))
    both = one.then(two)
    assert both.n_new_ids == two.n_new_ids
    for new, middle in enumerate(two.old_of.tolist()):
        assert both.old_of[new] == (-1 if middle < 0 else one.old_of[middle])
    for new in both.added_ids.tolist():
        middles = two.made_of(new) if new in two.added_ids else [two.old_of[new]]
        expected: list[int] = []
        for middle in middles:
            if one.old_of[middle] >= 0:
                expected.append(int(one.old_of[middle]))
            elif middle in one.added_ids:
                expected += one.made_of(int(middle)).tolist()
        assert both.made_of(new).tolist() == expected
    three = data.draw(changes(old=C, new="d" * 64, n_old=two.n_new_ids))
    assert both.then(three) == one.then(two.then(three))


@given(changes())
def test_way_back_is_the_identity_on_what_is_kept(one: VocabularyChange) -> None:
    there_and_back = one.then(one.inverse())
    kept = one.old_of[np.setdiff1d(one.kept, one.holes)]
    assert np.array_equal(there_and_back.old_of[kept], kept)
    assert len(there_and_back.added) == 0
    assert np.array_equal(one.inverse().then(one).old_of[one.kept], one.kept)


def test_changes_out_of_order_are_refused() -> None:
    with pytest.raises(AdaptError, match="the later change begins at vocabulary aaaaaaaaaaaa"):
        change([0], n_old=1).then(change([0], n_old=1))


def test_derived_change_of_a_continued_tokenizer() -> None:
    base = jeton.train(iter(TEXT), vocab_size=262, special_tokens=["<end>"])
    more = jeton.training.continue_training(iter(TEXT), base=base, vocab_size=266)
    found = VocabularyChange.between(base, more.tokenizer)
    assert found.old_of.tolist() == [*range(262), -1, -1, -1, -1]
    for new in more.new_tokens:
        parts = found.made_of(new.id)
        assert b"".join(map(base.id_to_bytes, parts.tolist())) == new.token_bytes
        assert len(parts) == new.n_old_tokens
    assert found.part_bytes.sum() == sum(len(new.token_bytes) for new in more.new_tokens)


def test_derived_change_of_the_same_tokenizer_is_none() -> None:
    base = jeton.train(iter(TEXT), vocab_size=262)
    assert VocabularyChange.between(base, base).is_identity
    assert VocabularyChange.identity(base) == VocabularyChange.between(base, base)


def test_equal_bytes_are_told_apart_by_writing_or_refused() -> None:
    def twice(tokens: list[str]) -> jeton.Tokenizer:
        pieces = [["<unk>", 0.0], *([token, -1.0 - i] for i, token in enumerate(tokens))]
        model = {"type": "Unigram", "unk_id": 0, "vocab": pieces, "byte_fallback": True}
        data = {"version": "1.0", "added_tokens": [], "model": model}
        return from_hf_json(json.dumps(data).encode())

    bytes_256 = [f"<0x{byte:02X}>" for byte in range(256)]
    old, new = twice(["a", *bytes_256]), twice([*bytes_256, "b", "a"])
    found = VocabularyChange.between(old, new)
    assert found.old_of[1 : 1 + 256].tolist() == list(range(2, 258))
    assert found.old_of[258] == 1
    assert found.added.tolist() == [257]


def test_a_stated_change_agrees_with_the_derived_one_or_the_difference_is_named() -> None:
    base = jeton.train(iter(TEXT), vocab_size=262, special_tokens=["<end>"])
    more = jeton.training.continue_training(iter(TEXT), base=base, vocab_size=266)
    derived = VocabularyChange.between(base, more.tokenizer)
    assert disagreement(derived, derived).is_none
    swapped = derived.old_of.copy()
    swapped[[7, 9]] = swapped[[9, 7]]
    (words,) = disagreement(replace(derived, old_of=swapped), derived).wrong
    assert "7 (row 9, by bytes 7), 9 (row 7, by bytes 9)" in words
    parts = derived.parts.copy()
    parts[0] = (parts[0] + 1) % 262
    found = disagreement(replace(derived, parts=parts), derived)
    assert found.wrong == ()
    assert found.other == ("other parts make the new ids 262",)
    other = VocabularyChange.identity(base)
    assert any("number of ids" in words for words in disagreement(other, derived).wrong)


def test_a_change_file_with_swapped_rows_is_refused(tmp_path: Path) -> None:
    model = tmp_path / "m"
    old = tiny.write_tokenizer(model, tiny.old_tokens())
    values = tiny.random_values(np.random.default_rng(1), [tiny.N_OLD, 4])
    tiny.write_safetensors(
        model / "model.safetensors",
        {"model.embed_tokens.weight": tiny.stored("F32", values)},
        None,
    )
    (model / "config.json").write_text(json.dumps({"vocab_size": tiny.N_OLD}))
    change = tiny.extension(tmp_path / "t", old)
    swapped = change.old_of.copy()
    swapped[[3, 4]] = swapped[[4, 3]]
    replace(change, old_of=swapped).write(tmp_path / "t")
    with pytest.raises(AdaptError, match=r"3 \(row 4, by bytes 3\)"):
        apply(model, tmp_path / "t", output=tmp_path / "o")
    assert not (tmp_path / "o").exists()
