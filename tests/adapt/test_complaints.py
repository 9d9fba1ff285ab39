"""Complaints about tools that change vocabularies, by number: none can happen here.

`COVERED` names the test or the case that shows it. A complaint without one has its test below, with
its number in the name.
"""

from __future__ import annotations

import ast
import json
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from jeton.adapt.remapping_columns import remap_ids
from jeton.adapt.weights import apply, verify
from jeton.adapt.weights.gguf_applying import apply_gguf
from jeton.adapt.written import WrittenTokenizer
from jeton.checkpoint.gguf_file import read_gguf_file
from jeton.errors import AdaptError, JetonError, UsageError
from tests.adapt import tiny
from tests.adapt.test_change import change
from tests.adapt.test_extending import BASES, EXTENDED
from tests.adapt.test_gguf import BASE, KIND, MERGES, blocks, new_tokenizer, table, write_gguf
from tests.adapt.test_special_tensors import old, put, read, values

N = tiny.N_OLD
TESTS = Path(__file__).resolve().parent.parent

COVERED: dict[int, tuple[str, ...]] = {
    1: ("adapt/test_apply_properties.py::test_any_change_is_proven_and_the_way_back_is_exact",),
    2: ("adapt/test_settings_follow.py::test_rows_by_padding",),
    3: (
        "adapt/test_special_tensors.py::test_a_table_for_each_layer_and_ids_of_sound",
        "cases/adapt_families/gemma4.json",
        "cases/adapt_families/t5gemma.json",
    ),
    4: ("adapt/test_special_tensors.py::test_a_table_for_each_layer_and_ids_of_sound",),
    5: ("adapt/test_special_tensors.py::test_llama_vision_keeps_eight_rows_beyond_its_vocabulary",),
    6: (
        "adapt/test_settings_follow.py::test_rows_by_padding",
        "cases/adapt_families/gemma3_vision.json",
    ),
    7: ("adapt/test_special_tensors.py::test_a_spare_row_with_an_owner_is_not_given_away",),
    8: ("adapt/test_bad_models.py::test_verify_finds_what_was_changed_afterwards",),
    9: ("cases/adapt_families/qwen3_wrong_flag.json",),
    10: ("adapt/test_settings_follow.py::test_a_flag_without_an_output_layer_is_reported",),
    11: ("cases/adapt_families/bert.json", "cases/adapt_families/phi2.json"),
    12: ("adapt/test_settings_follow.py::test_every_field_that_names_an_id_follows",),
    13: (
        "adapt/test_settings_follow.py::test_every_field_that_names_an_id_follows",
        "adapt/test_pruning.py::test_so_many_are_left_with_compact_ids",
    ),
    15: ("adapt/test_special_tensors.py::test_an_adapter_follows_on_the_right_axes",),
    17: ("adapt/test_gguf.py::test_new_tokens_get_rows_and_the_rest_is_exact",),
    18: ("adapt/test_extending.py::test_never_as_added_tokens",),
    19: ("adapt/test_pruning.py::test_parts_and_result_of_every_merge_live",),
    20: (
        "adapt/test_extending.py::test_every_new_token_is_made_from_its_text",
        "adapt/test_term_worth.py::test_free_slots_of_a_tokenizer",
    ),
    21: ("adapt/test_extending.py::test_old_ids_and_merges_stay",),
    23: (
        "adapt/test_pruning.py::test_so_many_are_left_with_compact_ids",
        "adapt/test_pruning.py::test_ids_can_stay_with_holes",
    ),
    24: ("adapt/test_special_tensors.py::test_a_draft_leads_to_the_same_tokens",),
    25: (
        "adapt/test_settings_follow.py::test_rows_by_padding",
        "adapt/test_special_tensors.py::test_scales_of_tiles_stay_and_new_tiles_get_their_own",
        "cases/adapt_families/deepseek_v3.json",
    ),
    28: ("cases/test_adapt_families.py::test_no_change_keeps_every_byte",),
    29: ("adapt/test_special_tensors.py::test_a_packed_body_beside_plain_tables_is_copied",),
}
"""Number of a complaint: tests (``FILE::NAME``) and cases that show it cannot happen here."""


@pytest.fixture
def model(tmp_path: Path) -> Path:
    folder = tmp_path / "model"
    folder.mkdir()
    tiny.write_tokenizer(folder, tiny.old_tokens())
    return folder


def names_in(file: Path) -> set[str]:
    tree = ast.parse(file.read_text(encoding="utf-8"))
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


@pytest.mark.parametrize("number", range(1, 30))
def test_complaint_has_a_test(number: int) -> None:
    own = {
        int(found[1])
        for name in names_in(Path(__file__))
        if (found := re.match(r"test_complaint_(\d+)_", name))
    }
    places = COVERED.get(number, ())
    assert places or number in own
    for place in places:
        file, _, name = place.partition("::")
        assert (TESTS / file).is_file(), place
        assert not name or name in names_in(TESTS / file), place


@pytest.mark.parametrize("n_more", [1, 5])
def test_complaint_14_adapter_with_more_rows_than_its_base(
    n_more: int, model: Path, tmp_path: Path
) -> None:
    """An adapter that was trained after tokens were added has rows that no token here owns."""
    prefix = "base_model.model.model.embed_tokens"
    tiny.write_safetensors(
        model / "adapter_model.safetensors",
        {
            f"{prefix}.modules_to_save.weight": values(1, N + n_more, 6),
            "base_model.model.lm_head.modules_to_save.weight": values(2, N + n_more, 6),
        },
        None,
    )
    (model / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    added = tiny.extension(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o")
    name = f"{prefix}.modules_to_save.weight"
    before, after = read(model, name), read(tmp_path / "o", name)
    # Rows behind the tokenizer's ids are spare: new tokens get them, and none is left half done.
    assert len(after) >= added.n_new_ids
    assert np.array_equal(after[:N], before[:N])
    assert verify(tmp_path / "o", base=model).is_proven


def test_complaint_14_adapter_with_fewer_rows_than_the_tokenizer_is_refused(
    model: Path, tmp_path: Path
) -> None:
    tiny.write_safetensors(
        model / "adapter_model.safetensors",
        {"base_model.model.model.embed_tokens.modules_to_save.weight": values(1, N - 3, 6)},
        None,
    )
    (model / "adapter_config.json").write_text(json.dumps({"peft_type": "LORA"}))
    tiny.extension(tmp_path / "t", old(model))
    with pytest.raises(AdaptError, match=r"embed_tokens\.modules_to_save\.weight.* 50 "):
        apply(model, tmp_path / "t", output=tmp_path / "o")
    assert not (tmp_path / "o").exists()


@pytest.mark.parametrize("n_rows", [len(BASE) - 1, len(BASE) + 3])
def test_complaint_16_gguf_with_another_number_of_rows(n_rows: int, tmp_path: Path) -> None:
    file = tmp_path / "m.gguf"
    write_gguf(file, {"token_embd.weight": blocks(KIND["Q8_0"], [n_rows, 64], 1)})
    new_tokenizer(tmp_path / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    try:
        apply_gguf(file, tmp_path / "t", output=tmp_path / "o.gguf")
    except JetonError:
        assert not (tmp_path / "o.gguf").exists()
        return
    after = read_gguf_file(tmp_path / "o.gguf")
    n_tokens = len(after.values["tokenizer.ggml.tokens"].texts())
    assert len(table(after, "token_embd.weight")) == n_tokens


@pytest.mark.parametrize("name", sorted({"unigram", "sentencepiece-bpe"} & set(BASES)))
def test_complaint_22_new_pieces_do_not_win_unasked(name: str) -> None:
    base, found = BASES[name], EXTENDED[name]
    scores = WrittenTokenizer(found.tokenizer).scores()
    new = found.change.added_ids
    assert len(new)
    assert np.isfinite(scores[new]).all()
    assert (scores[new] < 0).all()
    for text in ("the low lower", "newest wide widest", "town slow road"):
        assert found.tokenizer.encode(text) == base.encode(text)


def test_complaint_26_random_rows_need_no_covariance(model: Path, tmp_path: Path) -> None:
    """All rows are one row times a number: no covariance of theirs is positive definite."""
    row = np.arange(1, 7, dtype=np.float32)
    table_ = tiny.stored("F32", np.outer(np.linspace(0.5, 2, N), row).astype(np.float32))
    put(model, {"model_type": "llama", "vocab_size": N}, model__embed_tokens__weight=table_)
    tiny.extension(tmp_path / "t", old(model))
    apply(model, tmp_path / "t", output=tmp_path / "o", init="random")
    assert np.isfinite(read(tmp_path / "o", "model.embed_tokens.weight")).all()


def test_complaint_27_width_of_numbers_goes_by_the_highest_id() -> None:
    """A vocabulary of few tokens with a high id does not fit into small numbers."""
    old_of = [0, 1, *[-1] * 298, 2]
    sparse = change(old_of, n_old=3, holes=tuple(range(2, 300)))
    assert sparse.n_new_ids == 301
    with pytest.raises(UsageError, match="uint8 does not hold 301 ids"):
        remap_ids(sparse, np.array([0, 2], dtype=np.uint8))
    assert remap_ids(sparse, np.array([0, 2], dtype=np.uint16)).tolist() == [0, 300]


@pytest.mark.parametrize("model_type", ["roberta", "xlm-roberta", "mpnet", "m2m_100"])
def test_moved_pad_id_is_refused_where_positions_count_from_it(
    model_type: str, model: Path, tmp_path: Path
) -> None:
    config: dict[str, Any] = {"model_type": model_type, "vocab_size": N, "pad_token_id": 1}
    put(model, config, model__embed_tokens__weight=values(1, N, 6))
    order = [1, 0, *range(2, N)]
    tiny.write_change(tmp_path / "t", old(model), order, {})
    with pytest.raises(AdaptError, match=r"pad id 1 becomes 0.*\n?.*positions"):
        apply(model, tmp_path / "t", output=tmp_path / "o")
    assert not (tmp_path / "o").exists()
    (model / "config.json").write_text(json.dumps({**config, "model_type": "llama"}))
    apply(model, tmp_path / "t", output=tmp_path / "o")
    assert json.loads((tmp_path / "o/config.json").read_text())["pad_token_id"] == 0


@pytest.mark.parametrize("is_tied", [True, False])
def test_gguf_without_an_output_layer_has_one_table(is_tied: bool, tmp_path: Path) -> None:
    """A row that is an output row, too, is a plain mean; an input row is made as long as others."""
    tensors = {"token_embd.weight": blocks(KIND["F32"], [len(BASE), 64], 1)}
    if not is_tied:
        tensors["output.weight"] = blocks(KIND["F32"], [len(BASE), 64], 4)
    write_gguf(tmp_path / "m.gguf", tensors)
    new_tokenizer(tmp_path / "t", [*BASE, "abcdxy"], [*MERGES, "abcd xy"])
    output = tmp_path / "o.gguf"
    done = apply_gguf(tmp_path / "m.gguf", tmp_path / "t", output=output, init="asymmetric")
    assert set(done.tables) == set(tensors)
    rows = table(read_gguf_file(tmp_path / "o.gguf"), "token_embd.weight").view("<f4")
    mean = rows[[28, 29]].mean(axis=0)
    longer = np.median(np.linalg.norm(rows[: len(BASE)], axis=1)) / np.linalg.norm(mean)
    assert np.allclose(rows[30], mean * (1 if is_tied else longer), atol=1e-5)
