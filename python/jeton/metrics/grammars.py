"""Where identifiers are in source code, and whether it parses: one small face over several parsers.

Python is read with the standard library, other languages with tree-sitter grammars (the optional
dependencies ``jeton[code]``). A tree-sitter parser never gives up: code "parses" if its tree has no
error in it.
"""

from __future__ import annotations

import ast
import importlib
import io
import keyword
import tokenize
import warnings
from collections.abc import Iterator
from typing import Any, Protocol

from jeton.errors import MissingExtraError, UsageError

_GRAMMARS = {
    "c": ("tree_sitter_c", "language"),
    "cpp": ("tree_sitter_cpp", "language"),
    "go": ("tree_sitter_go", "language"),
    "java": ("tree_sitter_java", "language"),
    "javascript": ("tree_sitter_javascript", "language"),
    "rust": ("tree_sitter_rust", "language"),
    "tsx": ("tree_sitter_typescript", "language_tsx"),
    "typescript": ("tree_sitter_typescript", "language_typescript"),
}
"""Language, module of its grammar, the function in it that gives the grammar."""

LANGUAGES = ("python", *sorted(_GRAMMARS))
"""Languages that are known by name."""


class Grammar(Protocol):
    """Interface of a parser."""

    def parses(self, source: str) -> bool:
        """True if the whole source is well formed."""

    def identifiers(self, source: str) -> list[tuple[int, int]] | None:
        """Half-open ranges of identifiers in code points; None where it cannot be read."""


def grammar(language: str) -> Grammar:
    """The parser of a language.

    Raises:
        UsageError: The language is not known.
        MissingExtraError: Its grammar is not installed.
    """
    return _Python() if language == "python" else _tree_sitter(language)


def syntax_tree(language: str, source: str) -> Any:
    """The tree-sitter tree of a source, whose places are bytes, lines and columns.

    Raises:
        UsageError: No tree-sitter grammar is known for the language.
        MissingExtraError: Its grammar is not installed.
    """
    return _tree_sitter(language).tree(source.encode("utf-8", errors="surrogatepass"))


def _tree_sitter(language: str) -> _TreeSitter:
    if language not in _GRAMMARS:
        raise UsageError(
            f"language {language!r} is not known; expected one of {', '.join(LANGUAGES)}"
        )
    return _TreeSitter(*_GRAMMARS[language], language=language)


class _Python:
    def parses(self, source: str) -> bool:
        try:
            # Code with a parser's warning (an invalid escape, say) is still well formed.
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                ast.parse(source)
        except (SyntaxError, ValueError, RecursionError, MemoryError):
            return False
        return True

    def identifiers(self, source: str) -> list[tuple[int, int]] | None:
        # Lines as `tokenize` counts them.
        edges = [0]
        for line in io.StringIO(source, newline="\n"):
            edges.append(edges[-1] + len(line))
        found = []
        try:
            for token in tokenize.generate_tokens(io.StringIO(source, newline="\n").readline):
                if token.type == tokenize.NAME and not keyword.iskeyword(token.string):
                    start = edges[token.start[0] - 1] + token.start[1]
                    found.append((start, start + len(token.string)))
        except (tokenize.TokenError, SyntaxError, IndexError, RecursionError):
            return None
        return found


class _TreeSitter:
    def __init__(self, module: str, function: str, *, language: str) -> None:
        try:
            library = importlib.import_module("tree_sitter")
            loaded = importlib.import_module(module)
        except ImportError as error:
            raise MissingExtraError(f"reading {language} code", extra="code") from error
        self._parser = library.Parser(library.Language(getattr(loaded, function)()))

    def parses(self, source: str) -> bool:
        return not self.tree(source.encode("utf-8", errors="surrogatepass")).root_node.has_error

    def identifiers(self, source: str) -> list[tuple[int, int]] | None:
        data = source.encode("utf-8", errors="surrogatepass")
        ranges = list(_identifier_ranges(self.tree(data).walk()))
        if len(data) == len(source):
            return ranges
        # Code points before each byte: those are counted that begin there.
        before = [0]
        for byte in data:
            before.append(before[-1] + (byte & 0xC0 != 0x80))
        return [(before[start], before[end]) for start, end in ranges]

    def tree(self, data: bytes) -> Any:
        return self._parser.parse(data)


def _identifier_ranges(cursor: Any) -> Iterator[tuple[int, int]]:
    """Byte ranges of leaves that are identifiers, in order; no recursion, for deep trees."""
    while True:
        node = cursor.node
        if node.type.endswith("identifier") and node.child_count == 0 and not node.is_missing:
            yield node.start_byte, node.end_byte
        if cursor.goto_first_child() or cursor.goto_next_sibling():
            continue
        while cursor.goto_parent():
            if cursor.goto_next_sibling():
                break
        else:
            return
