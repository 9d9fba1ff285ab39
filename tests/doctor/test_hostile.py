"""Directories with anything in their small files: a diagnosis or one clear error, never a crash."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from jeton.doctor import Output, Settings, diagnose, examine
from jeton.doctor.patient import Patient
from jeton.errors import JetonError, UsageError
from tests.doctor import ward

VALUES = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(1 << 70), 1 << 70)
    | st.floats()
    | st.text(max_size=6)
    | st.sampled_from(["left", "<s>", "<|im_end|>", "llama", "LlamaForCausalLM", "{{ x }}"]),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=5,
)


def keys_of(*more: str, values: dict[str, Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.dictionaries(st.sampled_from([*values, *more]), VALUES, max_size=5)


@settings(max_examples=40)
@given(
    keys_of("rope_scaling", "text_config", values=ward.CONFIG),
    keys_of("suppress_tokens", "bad_words_ids", "max_new_tokens", values=ward.GENERATION),
    keys_of("extra_special_tokens", "added_tokens_decoder", values=ward.TOKENIZER_CONFIG),
)
def test_small_files_may_hold_anything(
    tmp_path_factory: pytest.TempPathFactory,
    config: dict[str, Any],
    generation: dict[str, Any],
    tokenizer_config: dict[str, Any],
) -> None:
    # A template of hypothesis' making costs a process each: the fixed ones say enough.
    tokenizer_config.pop("chat_template", None)
    folder = ward.model_dir(
        tmp_path_factory.mktemp("x") / "m",
        config=config,
        generation=generation,
        tokenizer_config=tokenizer_config,
    )
    try:
        found = diagnose(folder)
    except JetonError:
        return
    json.dumps(found.to_dict(), allow_nan=True)


@settings(max_examples=40)
@given(
    st.lists(
        st.builds(
            Output,
            st.just("here"),
            st.none() | st.text(max_size=20),
            st.none() | st.lists(st.integers(-5, 1 << 40), max_size=6).map(tuple),
            st.none() | st.lists(st.text(max_size=4), max_size=4).map(tuple),
        ),
        min_size=1,
        max_size=4,
    ),
    st.lists(st.text(max_size=30), min_size=1, max_size=5),
    st.dictionaries(st.text(max_size=6), st.integers() | st.text(max_size=4), max_size=4),
)
def test_outputs_texts_and_settings_may_be_anything(
    outputs: list[Output], texts: list[str], values: dict[str, Any]
) -> None:
    tokenizer = ward.tokenizer()
    found = examine(
        Patient(
            name="x",
            tokenizer=tokenizer,
            outputs=outputs,
            texts=texts,
            training_texts=texts[::-1],
            settings=Settings("a", values),
            other=Settings("b", {**values, "padding_side": "left"}),
        )
    )
    assert found.looked_for


@settings(max_examples=40)
@given(
    st.lists(st.lists(st.integers(-200, 400), max_size=7), min_size=1, max_size=4),
    st.booleans(),
    st.booleans(),
)
def test_batches_may_hold_any_ids(
    tmp_path_factory: pytest.TempPathFactory, rows: list[list[int]], masks: bool, labels: bool
) -> None:
    file = tmp_path_factory.mktemp("x") / "b.jsonl"
    records = []
    for row in rows:
        record: dict[str, Any] = {"input_ids": row, "position_ids": [i % 3 for i in row]}
        if masks:
            record["attention_mask"] = [abs(i) % 3 for i in row]
        if labels:
            record["labels"] = row[::-1]
        records.append(json.dumps(record))
    file.write_text("\n".join(records))
    diagnose(ward.tokenizer(bos=True), batches=[file])


def test_folders_with_nothing_to_say(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="neither a tokenizer nor a model"):
        diagnose(tmp_path)
    with pytest.raises(UsageError, match="one str"):
        diagnose(ward.tokenizer(), texts="hello")
    with pytest.raises(UsageError, match="how many tokens"):
        diagnose(ward.tokenizer(), texts=["hello"], embedder=ward.tokenizer())
    (tmp_path / "b.npz").mkdir()
    with pytest.raises(UsageError, match="regular"):
        diagnose(ward.tokenizer(), batches=[tmp_path / "b.npz"])


def test_a_model_without_a_tokenizer_is_looked_at(tmp_path: Path) -> None:
    remove = ("tokenizer.json", "tokenizer_config.json")
    folder = ward.model_dir(
        tmp_path / "m", files=dict.fromkeys(remove, ward.REMOVE), config={"vocab_size": 1}
    )
    found = diagnose(folder)
    assert "config-vocab-size-wrong" in [f.id for f in found.findings]
    # And with the tokenizer from elsewhere, both.
    special = {f"<x{i}>": ward.N_BASE + i for i in range(60)}
    found = diagnose(folder, tokenizer=ward.tokenizer(special=special))
    assert "added-tokens-without-rows" in [f.id for f in found.findings]


def test_a_gguf_file_in_a_folder(tmp_path: Path) -> None:
    (tmp_path / "model.gguf").write_bytes(ward.gguf(n_rows=300))
    assert "gguf-rows-differ" in [f.id for f in diagnose(tmp_path).findings]
