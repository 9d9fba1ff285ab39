"""The split pattern ``code``: what it cuts, nothing is lost, and ``tokenizers`` agrees."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import jeton
from jeton import _core
from jeton.metrics import identifier_parts

SOURCE = """\
def parseHTTPRequest(self, max_size=1024, __version__="1.0"):
    if a == b and x != y:  # e.g. "q"
        return self._value['key']->next::Type && (c || d) ? e++ : --f

\t\tconst utf8_decode = <T>(x) => x?.y ?? "s\\n\\\\";
/* =========== */
    MAX_INT <<= 2; z **= 3 ... `a${b}` '''doc''' ÄÖüß 中文 éte\u0301
"""


@pytest.fixture(scope="module")
def tokenizer() -> _core.Tokenizer:
    with pytest.warns(jeton.JetonWarning):
        return jeton.train(iter([SOURCE] * 3), pattern="code", vocab_size=1000)


def cut(tokenizer: _core.Tokenizer, text: str) -> list[str]:
    return tokenizer.pretokenize(text)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("parseHTTPRequest", ["parse", "HTTP", "Request"]),
        ("max_size __version__", ["max", "_size", " __version", "__"]),
        ("MAX_INT getX2Y", ["MAX", "_INT", " get", "X", "2", "Y"]),
        (
            "x->y ::z a.b @staticmethod",
            ["x", "->", "y", " ::", "z", " a", ".b", " @staticmethod"],
        ),
        ("([{}])", ["(", "[", "{", "}", "]", ")"]),
        ("if x:\n        y", ["if", " x", ":", "\n        ", "y"]),
        ("        y", ["        ", "y"]),
        ("a\r\n\t\tb", ["a", "\r\n\t\t", "b"]),
        ('"a\\nb"', ['"', "a", "\\n", "b", '"']),
        ("==========", ["=========="]),
    ],
)
def test_what_is_cut(tokenizer: _core.Tokenizer, text: str, parts: list[str]) -> None:
    assert cut(tokenizer, text) == parts


@pytest.mark.parametrize(
    "operator",
    [
        *("==", "!=", "<=", ">=", "++", "--", "::", "&&", "||", "->", "=>", "<<", ">>", "**"),
        *("//", "+=", "-=", "*=", "/=", "??", "?.", ":=", "===", "!==", "<=>", "...", ">>="),
        *("<<=", "**=", '"""'),
    ],
)
def test_operators_are_whole_and_alone(tokenizer: _core.Tokenizer, operator: str) -> None:
    assert cut(tokenizer, f"a{operator}(b") == ["a", operator, "(", "b"]
    assert cut(tokenizer, f"a {operator} b")[:2] == ["a", f" {operator}"]


def test_a_part_is_never_two_of_the_metric(tokenizer: _core.Tokenizer) -> None:
    for word in ("parseHTTPRequest", "snake_case_name", "XMLHttpRequest2Go", "_private", "A", "aB"):
        letters = [part.strip("_") for part in cut(tokenizer, word)]
        assert [part for part in letters if part] == [
            p for p in identifier_parts(word) if p.strip("_")
        ]


HARD = ["==", "\n    ", "fooBar", "_", "$", "\x85", "\u2028", "\u01c5", "\u0301", "\u0661"]
PIECES = st.lists(st.sampled_from([*SOURCE, *HARD]))


@given(st.text() | PIECES.map("".join))
def test_nothing_is_lost_and_tokenizers_agrees(text: str) -> None:
    tokenizers = pytest.importorskip("tokenizers")
    ours, theirs = _both(tokenizers)
    assert "".join(ours.pretokenize(text)) == text
    ids = ours.encode(text)
    assert ours.decode(ids) == text
    assert theirs.encode(text, add_special_tokens=False).ids == ids


_MADE: list[tuple[_core.Tokenizer, Any]] = []


def _both(tokenizers: Any) -> tuple[_core.Tokenizer, Any]:
    if not _MADE:
        ours = jeton.train(iter([SOURCE] * 3), pattern="code", vocab_size=350)
        _MADE.append((ours, tokenizers.Tokenizer.from_str(ours.to_hf_json().decode())))
    return _MADE[0]
