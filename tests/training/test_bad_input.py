"""Bad input, for every algorithm and for continuing: a clear error, or a result that says so."""

from __future__ import annotations

import re
import resource
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from typing import Any

import pytest

import jeton
from jeton.corpus import CorpusCare
from jeton.errors import (
    CorpusError,
    EmptyCorpusError,
    JetonWarning,
    TrainingError,
    UsageError,
)
from jeton.training import (
    ALGORITHMS,
    ContinueSettings,
    TrainSettings,
    continue_from_counts,
    count_pretokens,
    learn_from_counts,
)

BASE = "base"
"""Stands for continuing a tokenizer."""

EVERY = [*ALGORITHMS, BASE]
WORDS = "low lower lowest new newer newest wide wider widest the and of".split()  # noqa: SIM905
TEXT = " ".join(WORDS * 30) + "\n"


def _trained(inputs: Any, how: str, *, vocab_size: int = 300, **more: Any) -> jeton.Tokenizer:
    """By any algorithm, or continued; files are languages, if languages are asked for."""
    counting = {name: more.pop(name) for name in ("documents", "care") if name in more}
    if how == BASE:
        base = jeton.train(iter(["the"] * 5), vocab_size=258)
        corpus = count_pretokens(inputs, base=base, **counting)
        settings = ContinueSettings(vocab_size=vocab_size, min_frequency=1)
        return continue_from_counts(corpus, base=base, settings=settings).tokenizer
    wanted = TrainSettings(algorithm=how, vocab_size=vocab_size, **more)
    corpus = count_pretokens(inputs, settings=wanted, **counting)
    return learn_from_counts(corpus, settings=wanted).tokenizer


@pytest.mark.parametrize("how", EVERY)
def test_no_text_is_an_error(how: str, tmp_path: Path) -> None:
    (tmp_path / "a.txt").touch()
    with pytest.raises(EmptyCorpusError):
        _trained([tmp_path / "a.txt"], how)
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "b.bin").write_bytes(b"\0\1\2" * 10)
    with pytest.raises((EmptyCorpusError, CorpusError), match=re.compile("skipped|no text")):
        _trained([tmp_path / "in"], how)


@pytest.mark.parametrize("how", EVERY)
def test_too_little_text_is_said_and_the_tokenizer_works(how: str, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text(TEXT, encoding="utf-8")
    with pytest.warns(JetonWarning, match=re.compile("the text is enough for .* tokens only")):
        tokenizer = _trained([source], how, vocab_size=50_000)
    assert tokenizer.vocab_size < 1000
    assert tokenizer.encode("lowest newest")


@pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")
@pytest.mark.parametrize("how", [how for how in EVERY if how != BASE])
def test_special_tokens_that_collide_are_an_error(how: str, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text(TEXT, encoding="utf-8")
    for tokens in (("<|a|>", "<|a|>"), ("",)):
        with pytest.raises((TrainingError, UsageError), match=re.compile("twice|empty|nothing")):
            _trained([source], how, special_tokens=tokens)


@pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")
@pytest.mark.parametrize("how", EVERY)
def test_binary_that_is_named_is_read_and_said(how: str, tmp_path: Path) -> None:
    source = tmp_path / "a.bin"
    source.write_bytes(b"\xff\xfe\0\x80 low \0 lower" * 50)
    tokenizer = _trained([source], how)
    assert tokenizer.count(" low") >= 1


@pytest.mark.filterwarnings("ignore:.* of the text:jeton.JetonWarning")
@pytest.mark.filterwarnings("ignore:the text is enough for:jeton.errors.JetonWarning")
@pytest.mark.parametrize("how", EVERY)
def test_one_line_without_any_space(how: str, tmp_path: Path) -> None:
    """One pretoken of 200 kB."""
    n_bytes = 200_000
    source = tmp_path / "a.txt"
    source.write_text("ab" * (n_bytes // 2) + TEXT, encoding="utf-8")
    if how == "sentencepiece-word":
        with pytest.warns(JetonWarning, match="1 word of 8,000 bytes or more"):
            assert _trained([source], how).count(" low") >= 1
        return
    assert _trained([source], how).count("abab") >= 1


@pytest.mark.parametrize("how", EVERY)
def test_weights_that_leave_nothing_are_an_error(how: str, tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text(TEXT, encoding="utf-8")
    with pytest.raises((UsageError, EmptyCorpusError)):
        _trained([source], how, care=CorpusCare(weights={"a": Fraction(0)}))
    with pytest.raises(UsageError, match="matches no input"):
        _trained([source], how, care=CorpusCare(weights={"b": Fraction(1)}))


FULL = """
import resource, signal, sys
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[1]), int(sys.argv[1])))
from jeton.cli.app import app
app(sys.argv[2:])
"""


@pytest.mark.parametrize(
    "words",
    [
        ("count-pretokens", "IN", "-o", "OUT"),
        ("train", "IN", "--vocab-size", "300", "-o", "OUT.json"),
        ("train", "IN", "--vocab-size", "300", "--checkpoint", "OUT", "-o", "t.json"),
    ],
    ids=["counts", "tokenizer", "checkpoint"],
)
@pytest.mark.skipif(not hasattr(resource, "RLIMIT_FSIZE"), reason="no limit of file sizes here")
def test_a_disk_that_is_full_leaves_nothing_half_written(
    tmp_path: Path, words: tuple[str, ...]
) -> None:
    """A limit on the size of files stands in for the disk."""
    source = tmp_path / "a.txt"
    source.write_text("".join(f"word{i} " for i in range(3000)), encoding="utf-8")
    names = {"IN": str(source), "OUT": "out", "OUT.json": "out.json"}
    # -B: compiled modules would be cut at the limit, too, and stay so for the tests that follow.
    command = [sys.executable, "-B", "-c", FULL, "4096", *(names.get(word, word) for word in words)]
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert run.returncode == 2
    assert re.search("file too large|no space left|disk is full", run.stderr), run.stderr
    assert "Traceback" not in run.stderr
    left = {path.name for path in tmp_path.iterdir()}
    assert not any(path.name.startswith("out") for path in tmp_path.iterdir()), left
