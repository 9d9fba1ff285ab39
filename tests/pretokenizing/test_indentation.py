"""Indentation as tokens: exact for every text, and what the tokens mean."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton.cli.app import app
from jeton.errors import UsageError
from jeton.pretokenizing import IndentationTokenizer
from jeton.pretokenizing.indentation import (
    DEDENT_TOKEN,
    INDENT_TOKEN,
    Level,
    mark_levels,
    restore_levels,
    texts_between_levels,
)
from jeton.training import TrainSettings, load_counts, train_from_counts

IN, OUT = Level(is_deeper=True), Level(is_deeper=False)
SOURCE = "def f(x):\n    if x:\n        y()\n\n        z()\n    return 1\n\nf(2)\n"

SOURCES = st.lists(
    st.sampled_from(
        [
            *(" ", "\t", "    ", "  ", "\n", "a", "b:", "\n    ", "\n        ", "\r\n", "\r", "\f"),
            *("\v", INDENT_TOKEN, DEDENT_TOKEN, "\x85", "\u2028", "中"),
        ]
    )
).map("".join)


def test_levels() -> None:
    assert list(mark_levels(SOURCE)) == [
        "def f(x):\n", IN, "if x:\n", IN, "y()\n\nz()\n", OUT, "return 1\n\n", OUT, "f(2)\n",
    ]  # fmt: skip


def test_a_level_of_another_width_is_written_out_once() -> None:
    assert list(mark_levels("a\n\tb\n\t\tc\n")) == ["a\n", IN, "\tb\n", IN, "c\n"]


def test_a_dedent_to_nowhere() -> None:
    assert list(mark_levels("a\n    b\n  c\n")) == ["a\n", IN, "b\n", OUT, IN, "  c\n"]


@given(SOURCES | st.text())
def test_every_text_comes_back(source: str) -> None:
    events = list(mark_levels(source))
    assert restore_levels(events) == source
    assert all(events)
    assert texts_between_levels(source) == [e for e in events if isinstance(e, str)]


@given(st.lists(st.sampled_from([IN, OUT, "a\n", "  b\n", "\n", "c", "  "])))
def test_any_stream_can_be_read(stream: list[str | Level]) -> None:
    restore_levels(stream)


@pytest.fixture(scope="module")
def tokenizer() -> IndentationTokenizer:
    with pytest.warns(jeton.JetonWarning):
        inner = jeton.train(iter([SOURCE] * 4), vocab_size=330, pattern="code", indents=True)
    return IndentationTokenizer(inner)


@given(source=SOURCES | st.text())
def test_ids_come_back(tokenizer: IndentationTokenizer, source: str) -> None:
    ids = tokenizer.encode(source)
    assert tokenizer.decode(ids) == source
    assert tokenizer.count(source) == len(ids)


def test_tokens_of_a_source(tokenizer: IndentationTokenizer) -> None:
    ids = tokenizer.encode(SOURCE)
    assert ids.count(tokenizer.indent_id) == ids.count(tokenizer.dedent_id) == 2
    assert len(ids) < len(tokenizer.tokenizer.encode(SOURCE))
    assert tokenizer.encode_batch([SOURCE, ""]) == [ids, []]
    # What looks like a token is text.
    assert tokenizer.indent_id not in tokenizer.encode(f"x = '{INDENT_TOKEN}'")


def test_training_sees_no_indentation() -> None:
    source = "a\n        bcd\n" * 50
    with pytest.warns(jeton.JetonWarning):
        plain = jeton.train(iter([source]), vocab_size=400, pattern="code")
    with pytest.warns(jeton.JetonWarning):
        marked = jeton.train(iter([source]), vocab_size=400, pattern="code", indents=True)
    assert plain.bytes_to_id(b"\n        ") is not None
    assert marked.bytes_to_id(b"\n        ") is None
    ids = marked.special_tokens
    assert sorted(ids, key=ids.__getitem__) == ["<|endoftext|>", INDENT_TOKEN, DEDENT_TOKEN]


def test_what_cannot_be_meant() -> None:
    plain = jeton.load("jeton-general-32k")
    with pytest.raises(UsageError, match="indents=True"):
        IndentationTokenizer(plain)
    with pytest.raises(UsageError, match="does not take it"):
        TrainSettings(algorithm="unigram", indents=True).check()


def test_files_of_counts_know_of_indents(tmp_path: Path) -> None:
    source = tmp_path / "a.txt"
    source.write_text(SOURCE * 20, encoding="utf-8")
    run = CliRunner()

    def counted(name: str, *more: str) -> str:
        path = str(tmp_path / name)
        words = ["count-pretokens", str(source), "--pattern", "code", *more, "-q", "-o", path]
        assert run.invoke(app, words).exit_code == 0
        return path

    with_indents, without = counted("with", "--indents"), counted("without")
    size = ("--vocab-size", "290", "-q")
    text = ["train", str(source), "--pattern", "code", "--indents", *size]
    assert run.invoke(app, [*text, "-o", str(tmp_path / "text")]).exit_code == 0
    expected = jeton.load(str(tmp_path / "text"))
    assert expected.special_tokens[INDENT_TOKEN] == 1
    # What the counts were made with is adopted; said again, it is fine.
    for more in ((), ("--indents",)):
        words = ["train", "--from-counts", with_indents, *more, *size]
        done = run.invoke(app, [*words, "-o", str(tmp_path / "t")])
        assert done.exit_code == 0, done.output
        assert jeton.load(str(tmp_path / "t")).fingerprint == expected.fingerprint
    target = str(tmp_path / "no")
    for inputs, message in (
        ((without, "--indents"), "the counts were made from text with its indentation"),
        ((with_indents, without), f"{with_indents} was counted with indents and {without} was not"),
        ((without, with_indents), f"{with_indents} was counted with indents and {without} was not"),
        ((with_indents, "--algorithm", "word"), "algorithm 'word' does not take it"),
    ):
        refused = run.invoke(app, ["train", "--from-counts", *inputs, *size, "-o", target])
        assert refused.exit_code == 2
        assert message in refused.stderr
    settings = TrainSettings(pattern="code", vocab_size=290)
    with pytest.raises(UsageError, match="were made with indents, and the settings are without"):
        train_from_counts(load_counts(with_indents), settings=settings)
    with pytest.raises(UsageError, match="were made without indents, and the settings are with"):
        train_from_counts(load_counts(without), settings=replace(settings, indents=True))
