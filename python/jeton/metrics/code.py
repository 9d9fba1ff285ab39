"""Source code under a tokenizer: identifiers cut, indentation paid for, source kept.

An identifier is cut well where its parts meet (``parse|Http|Response``, ``max|_size``); the share
of cuts at such places is counted. And a tokenizer that loses white space or signs gives back a
program that no longer parses, so every source is decoded from its ids and parsed again.

Where identifiers are in source code, and whether it parses: one small face over several parsers.

Python is read with the standard library, other languages with tree-sitter grammars (the optional
dependencies ``jeton[code]``). A tree-sitter parser never gives up: code "parses" if its tree has no
error in it.
"""

from __future__ import annotations

import ast
import importlib
import io
import keyword
import re
import tokenize
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np

from jeton.errors import EmptyCorpusError, MissingExtraError, UsageError
from jeton.registry import TokenizerLike, resolve

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


__all__ = ["LANGUAGES", "MAX_SOURCE_CHARS", "CodeUse", "code_use", "identifier_parts"]

MAX_SOURCE_CHARS = 1_000_000
"""Longer sources are left out: a syntax tree takes about a hundred times the memory of its text."""

_PARTS = re.compile(r"_+|[A-Z]+(?![a-z])|[A-Z]?[a-z]+|\d+|[^\W\d_A-Za-z]+|[^\w]")


@dataclass(frozen=True, slots=True)
class CodeUse:
    """Source code of one language under one tokenizer.

    Attributes:
        language: Its name.
        n_sources: Sources that were read.
        n_left_out: Sources that are too long, or in which no identifiers can be found.
        n_tokens: Their tokens.
        n_lines: Their lines.
        n_identifiers: Identifiers, each time they occur; keywords are none.
        identifier_kept_share: Share of these that one token overlaps, 0 to 1.
        tokens_per_identifier: Tokens that overlap an identifier, over the identifiers.
        cuts_at_parts_share: Share of the cuts inside identifiers where parts meet (camelCase,
            snake_case, digits), 0 to 1; 1.0 without a cut.
        whitespace_token_share: Share of all tokens that are white space alone, 0 to 1.
        n_parsed: Sources that parse as they are.
        n_parsed_decoded: Sources of these that still parse when decoded from their ids.
        n_decoded_alike: Sources that decode to themselves.
    """

    language: str
    n_sources: int
    n_left_out: int
    n_tokens: int
    n_lines: int
    n_identifiers: int
    identifier_kept_share: float
    tokens_per_identifier: float
    cuts_at_parts_share: float
    whitespace_token_share: float
    n_parsed: int
    n_parsed_decoded: int
    n_decoded_alike: int


def identifier_parts(identifier: str) -> list[str]:
    """The parts of an identifier: of ``HTTPGet_v2`` ``HTTP``, ``Get``, ``_``, ``v`` and ``2``."""
    return _PARTS.findall(identifier)


def code_use(tokenizer: TokenizerLike, sources: Iterable[str], *, language: str) -> CodeUse:
    """Encode, cut, decode and parse sources.

    Raises:
        EmptyCorpusError: No source could be read.
        MissingExtraError: The grammar of the language is not installed.
        UsageError: The language is not known.
    """
    tokenizer = resolve(tokenizer)
    parser = grammar(language)
    n_sources = n_left_out = n_tokens = n_lines = n_blank = 0
    n_identifiers = n_kept = n_pieces = n_cuts = n_good_cuts = 0
    n_parsed = n_parsed_decoded = n_alike = 0
    for source in sources:
        ranges = parser.identifiers(source) if len(source) <= MAX_SOURCE_CHARS else None
        if ranges is None:
            n_left_out += 1
            continue
        n_sources += 1
        n_lines += len(source.splitlines())
        encoding = tokenizer.encode_with_offsets(source)
        n_tokens += len(encoding.ids)
        n_blank += _n_blank(source, encoding.starts, encoding.ends)
        first = np.searchsorted(encoding.ends, [start for start, _ in ranges], side="right")
        last = np.searchsorted(encoding.starts, [end for _, end in ranges], side="left")
        for (start, end), low, high in zip(ranges, first.tolist(), last.tolist(), strict=True):
            n_identifiers += 1
            n_pieces += high - low
            n_kept += high - low == 1
            cuts = {int(at) for at in encoding.starts[low:high] if start < at < end}
            n_cuts += len(cuts)
            n_good_cuts += len(cuts & _part_edges(source[start:end], start)) if cuts else 0
        decoded = tokenizer.decode(encoding.ids)
        alike = decoded == source
        n_alike += alike
        if parser.parses(source):
            n_parsed += 1
            n_parsed_decoded += alike or parser.parses(decoded)
    if not n_sources:
        raise EmptyCorpusError(f"no {language} source could be read; {n_left_out} were left out")
    return CodeUse(
        language=language,
        n_sources=n_sources,
        n_left_out=n_left_out,
        n_tokens=n_tokens,
        n_lines=n_lines,
        n_identifiers=n_identifiers,
        identifier_kept_share=n_kept / n_identifiers if n_identifiers else 0.0,
        tokens_per_identifier=n_pieces / n_identifiers if n_identifiers else 0.0,
        cuts_at_parts_share=n_good_cuts / n_cuts if n_cuts else 1.0,
        whitespace_token_share=n_blank / n_tokens if n_tokens else 0.0,
        n_parsed=n_parsed,
        n_parsed_decoded=n_parsed_decoded,
        n_decoded_alike=n_alike,
    )


def _part_edges(identifier: str, start: int) -> set[int]:
    edges = set()
    position = start
    for part in identifier_parts(identifier):
        edges.add(position)
        position += len(part)
    return edges


def _n_blank(
    source: str,
    starts: np.ndarray[tuple[int], np.dtype[np.int64]],
    ends: np.ndarray[tuple[int], np.dtype[np.int64]],
) -> int:
    """Tokens of white space alone: no visible character begins in their range."""
    visible = np.fromiter(
        (not char.isspace() for char in source), dtype=np.int64, count=len(source)
    )
    before = np.concatenate([[0], np.cumsum(visible)])
    return int(((before[ends] == before[starts]) & (ends > starts)).sum())
