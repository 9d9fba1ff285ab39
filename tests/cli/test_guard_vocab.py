"""``jeton guard vocab``: exit codes, forms, folders that are broken or hostile."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from jeton.formats import save_file
from tests.formats import small

Run = Callable[..., Result]


@pytest.fixture(autouse=True)
def _folder(vocab_dir: Path) -> None:
    """The working directory, which the fixture has made, with a model's folder."""
    Path("m").mkdir()
    save_file(small.tokenizer(), Path("m/tokenizer.json"))


def weights(n_bytes: int, *, n: int = 266, width: int = 4) -> None:
    """A matrix of zeros of which the file has only some bytes."""
    entry = {"dtype": "F32", "shape": [n, width], "data_offsets": [0, n * width * 4]}
    header = json.dumps({"model.embed_tokens.weight": entry}).encode()
    data = len(header).to_bytes(8, "little") + header + b"\0" * n_bytes
    Path("m/model.safetensors").write_bytes(data)
    config = {"model_type": "llama", "vocab_size": n, "hidden_size": width}
    Path("m/config.json").write_text(json.dumps(config))


def kinds(result: Result) -> dict[str, str]:
    values: dict[str, Any] = json.loads(result.stdout)
    assert values["schema_version"] == "jeton.guard-vocabulary/1"
    return {one["kind"]: one["severity"] for one in values["findings"]}


def test_a_clean_vocabulary(run: Run) -> None:
    result = run("guard", "vocab", "small")
    assert result.exit_code == 0
    assert result.stdout.startswith("small: 266 tokens\n")


def test_findings_say_what_an_attacker_would_do(run: Run) -> None:
    Path("m/tokenizer_config.json").write_text('{"chat_template": "{{ x.__class__ }}"}')
    result = run("guard", "vocab", "m", "--sarif", "x.sarif", "--markdown", "x.md")
    assert result.exit_code == 1
    assert "a chat template that reaches outside can run code or read files" in result.stdout
    assert "template-reaches-out" in Path("x.md").read_text(encoding="utf-8")
    (one,) = [
        one
        for one in json.loads(Path("x.sarif").read_text(encoding="utf-8"))["runs"][0]["results"]
        if one["ruleId"] == "guard-vocabulary/template-reaches-out"
    ]
    assert one["level"] == "error"
    assert run("guard", "vocab", "m", "-q").stdout == ""
    assert kinds(run("guard", "vocab", "m", "--json"))["template-reaches-out"] == "critical"


def test_the_severity_that_fails(run: Run) -> None:
    weights(260 * 16, n=260)
    assert run("guard", "vocab", "m").exit_code == 1
    values = kinds(run("guard", "vocab", "m", "--json"))
    assert values["zero-rows"] == "warning"
    assert values["model-rows"] == "error"
    assert run("guard", "vocab", "m", "--fail-at", "critical").exit_code == 0


def test_a_base(run: Run) -> None:
    tree = json.loads(Path("m/tokenizer.json").read_text(encoding="utf-8"))
    vocab = tree["model"]["vocab"]
    vocab["A"], vocab["B"] = vocab["B"], vocab["A"]
    Path("m/tokenizer.json").write_text(json.dumps(tree))
    result = run("guard", "vocab", "m", "--base", "small")
    assert result.exit_code == 1
    assert "2 tokens have another id than in the base; 2 of them were exchanged" in " ".join(
        result.stdout.split()
    )


def test_an_empty_vocabulary(run: Run) -> None:
    Path("m/tokenizer.json").write_text('{"model": {"type": "BPE", "vocab": {}, "merges": []}}')
    result = run("guard", "vocab", "m", "--json")
    assert result.exit_code == 1
    assert kinds(result) == {"empty": "error"}


def test_a_shard_that_is_cut_off(run: Run) -> None:
    weights(100)
    result = run("guard", "vocab", "m")
    assert result.exit_code == 1
    assert "model.safetensors is cut off" in " ".join(result.stdout.split())
    assert kinds(run("guard", "vocab", "m", "--json"))["damaged-file"] == "error"


@pytest.mark.parametrize(
    ("words", "part"),
    [
        (["nothing"], "'nothing'"),
        (["small", "--model", "nothing"], "nothing"),
        (["small", "--base", "smal"], "'smal'"),
        (["a.txt"], "a.txt is not a tokenizer"),
        (["small", "--fail-at", "fatal"], "'fatal'"),
    ],
)
def test_bad_input(run: Run, words: list[str], part: str) -> None:
    Path("a.txt").write_text("some text")
    result = run("guard", "vocab", *words)
    assert result.exit_code == 2
    assert result.stderr.startswith("jeton: error: ")
    assert part in result.stderr
