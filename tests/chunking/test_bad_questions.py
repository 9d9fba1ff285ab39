"""Lines that are no questions with references are named, with what is wrong."""

from __future__ import annotations

from pathlib import Path

import pytest
from click.testing import CliRunner

from jeton.cli.app import app


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"{bad", "not valid JSON"),
        (b"[1]", "the line is no object"),
        (b'{"references": [[0, 3]]}', "there is no question"),
        (b'{"question": " ", "references": [[0, 3]]}', "there is no question"),
        (b'{"question": 7, "references": [[0, 3]]}', "there is no question"),
        (b'{"question": "a"}', "there is no reference"),
        (b'{"question": "a", "references": []}', "there is no reference"),
        (b'{"question": "a", "references": {"0": 3}}', "there is no reference"),
        (b'{"question": "a", "references": [[true, 3]]}', "[true, 3] is no pair of whole numbers"),
        (b'{"question": "a", "references": [[0.5, 3]]}', "[0.5, 3] is no pair of whole numbers"),
        (b'{"question": "a", "references": [["0", "3"]]}', "is no pair of whole numbers"),
        (b'{"question": "a", "references": [[0, 3, 5]]}', "[0, 3, 5] is no pair"),
        (b'{"question": "a", "references": [3]}', "3 is no pair"),
        (b'{"question": "a", "references": [[3, 3]]}', "lies outside of the text"),
        (b'{"question": "a", "references": [[-1, 3]]}', "lies outside of the text"),
        (b'{"question": "a", "references": [[0, 99]]}', "lies outside of the text"),
        (b"\xff\xfe{", "not UTF-8"),
        (b"[" * 100_000, "not valid JSON"),
    ],
)
def test_the_line_is_named(tmp_path: Path, line: bytes, message: str) -> None:
    text, questions = tmp_path / "a.txt", tmp_path / "q.jsonl"
    text.write_text("A boat left at noon.", encoding="utf-8")
    good = b'\xef\xbb\xbf{"question": "When?", "references": [[2, 6]]}\n\n'
    questions.write_bytes(good + line + b"\n")
    words = ["chunk", str(text), "-t", "jeton-general-32k", "--max-tokens", "9"]
    result = CliRunner().invoke(app, [*words, "--evaluate", str(questions)])
    assert result.exit_code == 2
    assert f"q.jsonl:3: {'the reference' if 'lies' in message else ''}" in result.output
    assert message in result.output
    assert "hint: " in result.output
    questions.write_bytes(good)
    result = CliRunner().invoke(app, [*words, "--evaluate", str(questions)])
    assert result.exit_code == 0
