"""Blocks that do not fit are sent as their summaries."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

import jeton
from jeton.chunking import chunk_text
from jeton.cli.chunk import summarizer

TOKENIZER = jeton.load("jeton-general-32k")
TABLE = "| part | price |\n| - | - |\n" + "| bolt | 4.50 |\n" * 40
TEXT = f"# Parts\n\nThe list.\n\n{TABLE}\n\n# End\n\nThat is all. Thank you.\n"


def test_a_table_that_does_not_fit_is_sent_as_its_summary() -> None:
    asked: list[tuple[str, int]] = []

    def summarize(block: str, max_tokens: int) -> str:
        asked.append((block, max_tokens))
        return "A table of 40 bolts."

    found = chunk_text(
        TEXT, tokenizer=TOKENIZER, max_tokens=40, prefix="passage: ", summarize=summarize
    )
    ((block, room),) = asked
    assert block.strip() == TABLE.strip()
    assert room == 40 - TOKENIZER.count("passage: ", add_special_tokens=True)
    (part,) = (part for part in found.chunks if part.summary is not None)
    assert part.text == block
    assert part.sent == "passage: A table of 40 bolts."
    assert "".join(part.text for part in found.chunks) == TEXT
    for part in found.chunks:
        assert part.n_tokens == TOKENIZER.count(part.sent, add_special_tokens=True) <= 40
        assert TEXT[part.start : part.end] == part.text
        assert TEXT.encode()[part.start_bytes : part.end_bytes].decode() == part.text


@pytest.mark.parametrize("summary", ["", "word " * 60])
def test_a_summary_that_does_not_fit_leaves_the_block_divided(summary: str) -> None:
    found = chunk_text(TEXT, tokenizer=TOKENIZER, max_tokens=40, summarize=lambda *_: summary)
    plain = chunk_text(TEXT, tokenizer=TOKENIZER, max_tokens=40)
    assert found.chunks == plain.chunks


def test_a_long_function_is_sent_as_its_summary() -> None:
    lines = "".join(f"    total += rate_{n} * {n}\n" for n in range(30))
    small = "import os\n\n\ndef small():\n    return 1\n\n\n"
    code = f"{small}def long(total):\n{lines}    return total\n"
    found = chunk_text(
        code,
        tokenizer=TOKENIZER,
        max_tokens=60,
        by="code",
        code_language="python",
        summarize=lambda block, _: block.split("\n")[0] + " ...",
    )
    assert found.chunks[-1].sent == "def long(total): ..."
    assert found.chunks[-1].text.endswith("return total\n")
    assert "".join(part.text for part in found.chunks) == code


def test_characters_of_several_bytes_stand_around_the_block() -> None:
    text = "é中 first.\n\n" + "ü" * 400 + "\n\nañ last.\n"
    found = chunk_text(text, tokenizer=TOKENIZER, max_tokens=30, summarize=lambda *_: "us")
    assert [part.text for part in found.chunks] == [
        "é中 first.\n\n",
        "ü" * 400 + "\n\n",
        "añ last.\n",
    ]
    assert [text[part.start : part.end] for part in found.chunks] == [
        part.text for part in found.chunks
    ]


def test_a_command_summarises(tmp_path: Path) -> None:
    script = tmp_path / "short.py"
    script.write_text(
        "import os, sys\n"
        "text = sys.stdin.read()\n"
        "print(os.environ['JETON_MAX_TOKENS'], len(text), end='')\n",
        encoding="utf-8",
    )
    summarize = summarizer(f"'{sys.executable}' '{script}'")
    assert summarize("four", 7) == "7 4"


@pytest.mark.parametrize(
    ("command", "message"),
    [
        ("", "is empty"),
        ("say 'so", "close the quotes"),
        ("no-such-program-here", "name a program"),
        (f"'{sys.executable}' -c 'import sys; sys.exit(\"tired\")'", "ended with 1 .*: tired"),
    ],
)
def test_a_command_that_fails_is_named(command: str, message: str) -> None:
    with pytest.raises(jeton.UsageError, match=message):
        summarizer(command)("text", 5)
