"""Find sentences that begin with a riddle or are too long, and count them by place.

``python -m scripts.sentences`` prints the counts; ``python -m scripts.sentences guides`` lists one
place. A sentence begins with the thing ("Returns the ids"), never with "What" or "Of". A question
may begin as it likes. Sentences of pages, help and messages have at most `MAX_WORDS` words.
"""

from __future__ import annotations

import ast
import io
import re
import sys
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

__all__ = ["MAX_WORDS", "Fault", "counts", "faults", "main", "sentences"]

ROOT = Path(__file__).resolve().parent.parent
MAX_WORDS = 30
"""Words of a sentence of a page, of help or of a message."""

_RIDDLE = re.compile(
    r"(?:What|Who|Whoever|Whose|Whether|Whatever|Those|That of|The same|So many|Of)\b(?!-)"
)
_COMMENT_RIDDLE = re.compile("#.*" + _RIDDLE.pattern)
_LOWER_RIDDLE = re.compile(r"(?:what|who|whoever|whose|whether|whatever|those|that of|so many)\b")
_VAGUE = re.compile(
    r"\b(?:so many|that of|those of|those that|those who|whoever|whatever|nobody|somebody|anybody"
    r"|what (?:is|was|were|are|it|they|he|comes|came|has|had|stands|costs?|does))\b",
    re.IGNORECASE,
)
_END = re.compile(r"(?<=[.!?])[)\"'*_]*\s+(?=[A-Z`*_\[(\"0-9-])")
_ABBREVIATION = re.compile(r"(?:e\.g|i\.e|cf|vs|etc|No|St|Dr)\.$")
_FENCE = re.compile(r"^\s*(```|~~~)")
_ITEM = re.compile(r"^\s*(?:[-*+]|\d+\.)\s+")
_ARGUMENT = re.compile(r"^\s{4,}\w+: (?=[A-Z`])")
_FIELD = re.compile(r"\w+: (?=[A-Z`])")
_TABLE = re.compile(r"^\s*\|")
_NAMES = re.compile(r"`[^`]+`(?:, `[^`]+`)*")
"""A list of names in a cell of a table is no sentence."""
_PAGES = {
    "readme": ("README.md",),
    "guides": ("docs/guides",),
    "concepts": ("docs/concepts",),
    "reference": ("docs/reference",),
}
_NAMED = ("readme", "guides", "concepts")
"""Pages in which every thing is called by its name."""
_MIN_WORDS = 3
"""Shorter texts are names of columns and parts of other texts."""


class Fault(NamedTuple):
    """One sentence that wants another form."""

    place: str
    kind: str
    """``riddle``, ``long``, or ``vague``: a pronoun stands for a thing with a name."""
    path: str
    line: int
    sentence: str


def sentences(text: str) -> Iterator[str]:
    """Split one paragraph into sentences."""
    start = 0
    text = " ".join(text.split())
    for match in _END.finditer(text):
        if _ABBREVIATION.search(text[: match.start()]):
            continue
        yield text[start : match.end()].strip()
        start = match.end()
    if text[start:].strip():
        yield text[start:].strip()


def _paragraphs(lines: list[str], first: int) -> Iterator[tuple[int, str]]:
    """Yield (line, paragraph) of Markdown or help; fences, headings and examples are skipped."""
    is_fenced = is_verbatim = False
    block: list[str] = []
    block_line = first
    for number, line in enumerate([*lines, ""], first):
        is_verbatim = line.strip() == "\b" or (is_verbatim and bool(line.strip()))
        if _FENCE.match(line):
            is_fenced = not is_fenced
            line = ""
        if is_fenced or is_verbatim or not line.strip() or line.startswith(("#", "<!--")):
            line = ""
        if block and (not line or _ITEM.match(line) or _ARGUMENT.match(line) or _TABLE.match(line)):
            yield block_line, " ".join(block)
            block = []
        if _TABLE.match(line):
            for cell in re.split(r"(?<!\\)\|", line.strip().strip("|")):
                if not _NAMES.fullmatch(cell.strip()):
                    yield number, cell.strip()
        elif line:
            if not block:
                block_line = number
            block.append(_ITEM.sub("", line).strip())


def _judge(
    place: str, path: str, line: int, text: str, *, is_limited: bool, is_message: bool = False
) -> Iterator[Fault]:
    for index, sentence in enumerate(sentences(text)):
        bare = sentence.lstrip("*_\"'(")
        is_riddle = _RIDDLE.match(bare) or (is_message and index == 0 and _LOWER_RIDDLE.match(bare))
        if (
            is_riddle
            and len(sentence.split()) >= _MIN_WORDS + is_message
            and not bare.rstrip("*_\"')").endswith("?")
        ):
            yield Fault(place, "riddle", path, line, sentence)
        if place in _NAMED and not sentence.endswith("?") and _VAGUE.search(sentence):
            yield Fault(place, "vague", path, line, sentence)
        if is_limited and " = " not in sentence and len(sentence.split()) > MAX_WORDS:
            yield Fault(place, "long", path, line, sentence)


def _of_pages(root: Path) -> Iterator[Fault]:
    for place, starts in _PAGES.items():
        for start in starts:
            top = root / start
            for path in [top] if top.is_file() else sorted(top.rglob("*.md")):
                lines = path.read_text(encoding="utf-8").splitlines()
                for line, text in _paragraphs(lines, 1):
                    name = path.relative_to(root).as_posix()
                    yield from _judge(place, name, line, text, is_limited=True)


def _literal(node: ast.AST) -> str | None:
    """Return the text of a string or f-string; "N" stands for a value."""
    if isinstance(node, ast.Constant):
        return node.value if isinstance(node.value, str) else None
    if isinstance(node, ast.JoinedStr):
        return "".join(
            str(part.value) if isinstance(part, ast.Constant) else "N" for part in node.values
        )
    return None


def _comments(source: str) -> Iterator[tuple[int, str]]:
    """Yield (line, text) of each block of comments, if any may begin a sentence with a riddle."""
    # Cutting a file into tokens takes most of the time, and few files have such a line.
    if not _COMMENT_RIDDLE.search(source):
        return
    block: list[str] = []
    first = last = 0
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        if token.type != tokenize.COMMENT:
            continue
        number, text = token.start[0], token.string.lstrip("# ").strip()
        is_next = number == last + 1 and token.line.lstrip().startswith("#")
        if block and not is_next:
            yield first, " ".join(block)
            block = []
        if not block:
            first = number
        block.append(text)
        last = number
    if block:
        yield first, " ".join(block)


def _of_python(root: Path) -> Iterator[Fault]:
    for path in sorted((root / "python/jeton").rglob("*.py")):
        name = path.relative_to(root).as_posix()
        source = path.read_text(encoding="utf-8")
        nodes = list(ast.walk(ast.parse(source)))
        docs: set[int] = set()
        inner: set[int] = set()
        is_cli = name.startswith("python/jeton/cli/")
        commands = {
            id(node.body[0])
            for node in nodes
            if isinstance(node, ast.FunctionDef)
            and any("command" in ast.dump(each) for each in node.decorator_list)
        }
        for node in nodes:
            if isinstance(node, ast.JoinedStr):
                inner.update(id(each) for each in ast.walk(node) if each is not node)
            if not isinstance(node, ast.Expr) or not isinstance(node.value, ast.Constant):
                continue
            if isinstance(node.value.value, str):
                docs.add(id(node.value))
                is_help = is_cli and id(node) in commands
                place = "help" if is_help else "docstrings"
                for line, text in _paragraphs(node.value.value.splitlines(), node.lineno):
                    field = _FIELD.match(text)
                    text = text[field.end() :] if field else text
                    where = "fields" if field else place
                    yield from _judge(where, name, line, text, is_limited=is_help)
        for line, text in _comments(source):
            yield from _judge("comments", name, line, text, is_limited=False)
        place = "help" if is_cli else "report" if "/report/" in name else "messages"
        for node in nodes:
            if not isinstance(node, ast.expr) or id(node) in docs or id(node) in inner:
                continue
            words = _literal(node)
            if words and len(words.split()) >= _MIN_WORDS and "\n" not in words.strip():
                yield from _judge(place, name, node.lineno, words, is_limited=True, is_message=True)


def faults(root: Path = ROOT) -> Iterator[Fault]:
    """Yield every riddle and every long sentence of pages and of the package."""
    yield from _of_pages(root)
    yield from _of_python(root)


def counts(found: list[Fault]) -> dict[str, int]:
    """Count the faults by place and kind, as ``guides riddle``."""
    return dict(sorted(Counter(f"{each.place} {each.kind}" for each in found).items()))


def main(places: list[str]) -> int:
    """Print the faults of these places, or the counts of all; return 0."""
    found = list(faults())
    for each in found:
        if each.place in places or f"{each.place} {each.kind}" in places:
            print(f"{each.path}:{each.line}: {each.kind}: {each.sentence}")
    for name, count in counts(found).items():
        print(f"{count:6} {name}")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
