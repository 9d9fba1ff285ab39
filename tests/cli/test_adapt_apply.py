"""``jeton adapt apply`` and ``verify`` from the command line."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from jeton.adapt.weights import METHODS
from jeton.cli.adapt.apply import INIT_NAMES
from tests.adapt import tiny

Run = Callable[..., Result]


@pytest.fixture
def place(tmp_path: Path) -> Path:
    model = tmp_path / "model"
    model.mkdir()
    old = tiny.write_tokenizer(model, tiny.old_tokens())
    rng = np.random.default_rng(1)
    tensors = {
        "model.embed_tokens.weight": tiny.stored("F32", tiny.random_values(rng, [tiny.N_OLD, 6]))
    }
    tiny.write_safetensors(model / "model.safetensors", tensors, None)
    (model / "config.json").write_text('{"model_type": "llama", "vocab_size": 53}')
    tiny.extension(tmp_path / "t", old)
    return tmp_path


def test_a_plan_is_shown_and_nothing_written(place: Path, run: Run) -> None:
    before = sorted(place.rglob("*"))
    result = run("adapt", "apply", str(place / "model"), str(place / "t"), "--dry-run")
    assert result.exit_code == 0
    assert "53 -> 60: 53 kept, 7 added, 0 gone" in result.stdout
    assert "model.embed_tokens.weight: 53 x 6 -> 60 x 6 (7 rows made)" in result.stdout
    assert sorted(place.rglob("*")) == before


def test_applied_and_proven(place: Path, run: Run) -> None:
    model, output = str(place / "model"), str(place / "o")
    result = run("adapt", "apply", model, str(place / "t"), "-o", output, "--json")
    assert result.exit_code == 0
    assert json.loads(result.stdout)["tensors"][0]["shape_after"] == [60, 6]
    proof = run("adapt", "verify", output, "--base", model)
    assert proof.exit_code == 0
    assert proof.stdout.endswith("proven\n")
    (place / "o" / "config.json").write_text('{"vocab_size": 60, "eos_token_id": 77}')
    proof = run("adapt", "verify", output, "--base", model, "--json")
    assert proof.exit_code == 1
    assert json.loads(proof.stdout)["problems"] == [
        {"where": "config.json", "what": "eos_token_id is 77; there are 60 rows"}
    ]


def test_errors_are_one_line_and_a_hint(place: Path, run: Run) -> None:
    model, tokenizer = str(place / "model"), str(place / "t")
    for words, message in (
        (("apply", model, tokenizer), "missing option '-o'"),
        (("apply", model, tokenizer, "-o", f"{model}/in"), "lie in one another"),
        (("apply", str(place / "none"), tokenizer, "-o", str(place / "o")), "no such file"),
        (("apply", tokenizer, tokenizer, "-o", str(place / "o")), "has no .safetensors file"),
        (("verify", str(place / "none")), "no such file"),
    ):
        result = run("adapt", *words)
        assert result.exit_code == 2, words
        assert message in result.stderr
        assert "hint:" in result.stderr
    assert not (place / "o").exists()


def test_the_names_of_methods_are_those_of_the_library() -> None:
    assert tuple(METHODS) == INIT_NAMES
