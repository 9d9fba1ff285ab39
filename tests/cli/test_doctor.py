"""``jeton doctor``: what it writes, exit codes, snapshots."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from click.testing import Result

from jeton.doctor import failures
from tests.doctor import ward


def test_a_healthy_model(run: Callable[..., Result], tmp_path: Path) -> None:
    folder = ward.model_dir(tmp_path / "m")
    result = run("doctor", str(folder))
    assert result.exit_code == 0, result.stdout
    assert "error:" not in result.stdout
    assert "known failures looked for" in result.stdout
    assert "a batch dump (--batch)" in result.stdout


def test_an_ill_model(run: Callable[..., Result], tmp_path: Path) -> None:
    folder = ward.model_dir(tmp_path / "m", generation={"eos_token_id": ward.EOS})
    result = run("doctor", str(folder))
    assert result.exit_code == 1
    words = " ".join(result.stdout.split())
    assert "error: turn-end-not-eos" in words
    assert "because the chat template ends answers" in words
    assert "do list it: generation_config.json" in words
    report = json.loads(run("doctor", str(folder), "--json").stdout)
    assert report["schema_version"] == "jeton.doctor/1"
    assert report["is_healthy"] is False
    assert "turn-end-not-eos" in [finding["id"] for finding in report["findings"]]
    assert report["not_looked_for"]["ids-out-of-range"] == ["a batch dump (--batch)"]


def test_what_does_not_count(run: Callable[..., Result], tmp_path: Path) -> None:
    folder = str(ward.model_dir(tmp_path / "m", tokenizer_config={"padding_side": "right"}))
    assert run("doctor", folder).exit_code == 1
    assert run("doctor", folder, "--fail-on", "error").exit_code == 0
    assert run("doctor", folder, "--ignore", "padding-side").exit_code == 0
    assert run("doctor", folder, "--task", "train").exit_code == 0
    result = run("doctor", folder, "--ignore", "padding-sid")
    assert result.exit_code == 2
    assert "the nearest are padding-side" in result.stderr


def test_batches_outputs_and_texts(run: Callable[..., Result], tmp_path: Path) -> None:
    folder = str(ward.model_dir(tmp_path / "m"))
    np.savez(tmp_path / "b.npz", input_ids=np.asarray([[1, 2, 999]]))
    (tmp_path / "o.jsonl").write_text('{"text": "It isn\\u00e2\\u20ac\\u2122t"}\n')
    (tmp_path / "t.txt").write_text("hello " * 80)
    result = run(
        *("doctor", folder, "--batch", str(tmp_path / "b.npz")),
        *("--outputs", str(tmp_path / "o.jsonl"), "--texts", str(tmp_path / "t.txt"), "--json"),
    )
    found = [finding["id"] for finding in json.loads(result.stdout)["findings"]]
    assert {"ids-out-of-range", "wrong-encoding", "context-overflow"} <= set(found)
    assert result.exit_code == 1


def test_snapshots(run: Callable[..., Result], tmp_path: Path) -> None:
    here = ward.model_dir(tmp_path / "here")
    there = ward.model_dir(tmp_path / "there", tokenizer_config={"truncation_side": "left"})
    snapshot = str(tmp_path / "s.json")
    assert run("doctor", str(there), "--snapshot", snapshot).exit_code == 0
    assert run("doctor", str(there), "--against", snapshot).exit_code == 0
    result = run("doctor", str(here), "--against", snapshot)
    assert result.exit_code == 1
    assert "truncation_side is '(not set)' here and 'left' there" in " ".join(result.stdout.split())


def test_retrieval(run: Callable[..., Result], tmp_path: Path) -> None:
    (tmp_path / "t.txt").write_text("hello world " * 40)
    words = ["doctor", "small", "--embedder", "small", "--texts", str(tmp_path / "t.txt")]
    result = run(*words, "--embedder-max", "16", "--chunk", "20")
    assert result.exit_code == 1
    assert "embedder-truncates" in result.stdout
    assert "of the text lost" in result.stdout
    fits = run(*words, "--embedder-max", "16", "--chunk", "16")
    assert "embedder-truncates" not in fits.stdout


def test_the_list_and_the_explanations(run: Callable[..., Result]) -> None:
    listed = run("doctor", "--list").stdout
    assert all(f"  {failure.id} " in listed for failure in failures())
    assert len(json.loads(run("doctor", "--list", "--json").stdout)) == len(failures())
    shown = run("doctor", "--explain", "double-bos").stdout
    assert shown.startswith("double-bos: rows begin with two BOS tokens (warning)")
    assert run("doctor", "--explain", "nothing").exit_code == 2


def test_nothing_given(run: Callable[..., Result]) -> None:
    result = run("doctor")
    assert result.exit_code == 2
    assert "nothing to look at" in result.stderr


@pytest.mark.parametrize("name", ["config.json", "generation_config.json", "tokenizer_config.json"])
@pytest.mark.parametrize("content", [b"{", b"[]", b"\xff", b"null", b'{"a":' * 50_000])
def test_damaged_files_are_findings(
    run: Callable[..., Result], tmp_path: Path, name: str, content: bytes
) -> None:
    folder = ward.model_dir(tmp_path / "m", files={name: content})
    result = run("doctor", str(folder))
    assert result.exit_code == 1, result.stderr
    assert name in result.stdout


def test_hostile_tokens_do_not_reach_the_terminal(
    run: Callable[..., Result], tmp_path: Path
) -> None:
    special = {**ward.SPECIAL, "<|\x1b[31m|>": 270}
    template = ward.CHATML.replace("<|im_end|>", "<|\x1b[31m|>")
    folder = ward.model_dir(
        tmp_path / "m", tokens={"special": special}, tokenizer_config={"chat_template": template}
    )
    result = run("doctor", str(folder))
    assert "turn-end-not-eos" in result.stdout
    assert "\x1b" not in result.stdout
