"""The shell completes commands, options, and the names of tokenizers, models and GPUs."""

from __future__ import annotations

import pytest
from click.shell_completion import ShellComplete

from jeton.cli.app import app


def completed(*words: str) -> set[str]:
    shell = ShellComplete(app, {}, "jeton", "_JETON_COMPLETE")
    return {item.value for item in shell.get_completions(list(words[:-1]), words[-1])}


def test_names_are_completed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("_JETON_COMPLETE", "bash_complete")
    assert "jeton-general-32k-v1" in completed("count", "-t", "jeton-g")
    assert "jeton-general-32k-v1" in completed("trace", "encode", "--tokenizer", "jeton-g")
    assert "h100" in completed("memory", "--gpu", "h1")
    assert "llama-3.1-8b" in completed("predict", "memory", "--model", "llama-3.1-8")
    assert "trace" in completed("tra")
    assert "--vocab-size" in completed("trace", "train", "--vo")
