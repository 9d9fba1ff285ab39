"""Code: identifiers, their parts, and whether the source survives."""

from __future__ import annotations

import ast
import importlib
import inspect
import textwrap

import pytest

from jeton._core import Tokenizer, from_vocab_txt
from jeton.errors import EmptyCorpusError, MissingExtraError, UsageError
from jeton.metrics import code_use, identifier_parts
from jeton.metrics.code import LANGUAGES, MAX_SOURCE_CHARS, grammar
from tests.auditing.tiny import train_tiny

SOURCE = "def parseHttp(maxSize):\n    return maxSize + größe_2  # a comment\n"

EXAMPLES = {
    "c": ("int addTwo(int a) { return a + 2; }", ["addTwo", "a", "a"]),
    "cpp": ("int f() { auto x_y = g(); return x_y; }", ["f", "x_y", "g", "x_y"]),
    "go": ("package p\nfunc F(é int) int { return é }", ["p", "F", "é", "int", "int", "é"]),
    "java": ("class A { int b = c; }", ["A", "b", "c"]),
    "javascript": ("const fooBar = obj.key;", ["fooBar", "obj", "key"]),
    "rust": ("fn f(x: Foo) -> u8 { x }", ["f", "x", "Foo", "x"]),
    "tsx": ("const a = <B c={d}/>;", ["a", "B", "c", "d"]),
    "typescript": ("let a: Foo = b;", ["a", "Foo", "b"]),
}


@pytest.mark.parametrize(
    ("identifier", "parts"),
    [
        ("parseHttp", ["parse", "Http"]),
        ("HTTPGet_v2", ["HTTP", "Get", "_", "v", "2"]),
        ("__init__", ["__", "init", "__"]),
        ("MAX_SIZE", ["MAX", "_", "SIZE"]),
        ("x", ["x"]),
        ("größe2", ["gr", "öß", "e", "2"]),
    ],
)
def test_parts(identifier: str, parts: list[str]) -> None:
    assert identifier_parts(identifier) == parts
    assert "".join(parts) == identifier


def test_python_identifiers() -> None:
    found = grammar("python").identifiers(SOURCE)
    assert found is not None
    assert [SOURCE[a:b] for a, b in found] == ["parseHttp", "maxSize", "maxSize", "größe_2"]
    assert grammar("python").identifiers("x = (") is None
    parses = grammar("python").parses
    assert parses("assert (1, 'always')\n'\\d'")  # a warning is no error
    for broken in ("def f(:", "\0", "(" * 5000, "x" + "+x" * 100_000):
        parses(broken)
    assert not parses("def f(:")


def by_hand(tokenizer: Tokenizer, source: str) -> tuple[int, int, int]:
    encoding = tokenizer.encode_with_offsets(source)
    found = grammar("python").identifiers(source)
    assert found is not None
    spans = [int(((encoding.starts < end) & (encoding.ends > start)).sum()) for start, end in found]
    return len(spans), sum(n == 1 for n in spans), sum(spans)


def test_code_use_by_hand() -> None:
    tokenizer = train_tiny(vocab_size=1200)
    sources = [SOURCE, textwrap.dedent(inspect.getsource(ast.dump))]
    use = code_use(tokenizer, [*sources, "x = (", "y" * (MAX_SOURCE_CHARS + 1)], language="python")
    counts = [by_hand(tokenizer, source) for source in sources]
    n_identifiers, n_kept, n_pieces = (sum(column) for column in zip(*counts, strict=True))
    assert (use.n_sources, use.n_left_out, use.n_identifiers) == (2, 2, n_identifiers)
    assert use.identifier_kept_share == n_kept / n_identifiers
    assert use.tokens_per_identifier == n_pieces / n_identifiers
    assert use.n_tokens == sum(len(tokenizer.encode(source)) for source in sources)
    assert (use.n_parsed, use.n_parsed_decoded, use.n_decoded_alike) == (2, 2, 2)
    blank = sum(not tokenizer.decode([i]).strip() for s in sources for i in tokenizer.encode(s))
    assert use.whitespace_token_share == pytest.approx(blank / use.n_tokens)
    assert 0 < use.cuts_at_parts_share < 1


def test_cuts_at_parts() -> None:
    # Every letter a token: of the 8 cuts inside parseHttp one is where parts meet.
    tokenizer = train_tiny(vocab_size=256)
    use = code_use(tokenizer, ["parseHttp"], language="python")
    assert (use.n_identifiers, use.tokens_per_identifier) == (1, 9)
    assert use.cuts_at_parts_share == 1 / 8


def test_a_tokenizer_that_loses_white_space_breaks_python() -> None:
    tokenizer = from_vocab_txt(
        "\n".join(["[UNK]", *"()=:+", "def", "f", "##f", "x", "return", "1"]).encode()
    )
    use = code_use(tokenizer, ["x=1\nx=1\n", "x=1"], language="python")
    assert use.n_parsed == 2
    assert use.n_parsed_decoded == 1


@pytest.mark.parametrize("language", sorted(EXAMPLES))
def test_tree_sitter_grammars(language: str) -> None:
    source, expected = EXAMPLES[language]
    parser = grammar(language)
    found = parser.identifiers(source)
    assert found is not None
    assert [
        source[a:b] for a, b in found if source[a:b] not in ("int",) or language == "go"
    ] == expected
    assert parser.parses(source)
    assert not parser.parses(source[: len(source) // 2] + "}}}(")
    use = code_use(train_tiny(vocab_size=600), [source], language=language)
    assert (use.n_parsed, use.n_parsed_decoded) == (1, 1)


def test_deep_trees_do_not_recurse() -> None:
    deep = "x=" + "(" * 20_000 + "y" + ")" * 20_000
    found = grammar("javascript").identifiers(deep)
    assert found is not None
    assert [deep[a:b] for a, b in found] == ["x", "y"]


def test_code_bad_input(monkeypatch: pytest.MonkeyPatch) -> None:
    assert set(EXAMPLES) | {"python"} == set(LANGUAGES)
    with pytest.raises(UsageError, match="language 'cobol' is not known; expected one of python"):
        grammar("cobol")
    with pytest.raises(EmptyCorpusError, match="no python source could be read; 1 were left out"):
        code_use(train_tiny(vocab_size=600), ["("], language="python")

    def missing(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr(importlib, "import_module", missing)
    with pytest.raises(MissingExtraError, match=r"reading rust code needs .*jeton\[code\]"):
        grammar("rust")
