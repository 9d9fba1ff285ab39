"""Losses: numbers, names, code, links and word sequences of a document that no longer stand in it.

A thing is lost if it stands nowhere in the changed document; one of two copies is no loss.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Final

from jeton.preprocess.sequences import N_WORDS, sequence_loss, words_of
from jeton.preprocess.substrings import strings_within

MAX_EXAMPLES: Final = 5
MAX_EXAMPLE_CHARS: Final = 80

_NUMBER = re.compile(r"\d(?:[\d.,]*\d)?(?:[eE][-+]?\d+)?")
# A capital that begins no sentence, or several capitalised words.
_CAPITAL = r"[^\W\d_a-z][\w'\u2019-]*"
_NAME = re.compile(rf"{_CAPITAL}(?:[ \t\u00a0]+{_CAPITAL})+|(?<=[a-z,;] ){_CAPITAL}")
_LINK = re.compile(r"https?://[^\s<>\"'`)\]}]+")
_FENCED = re.compile(r"^[ \t]*(`{3,}|~{3,})[^\n]*\n(.*?)^[ \t]*\1", re.MULTILINE | re.DOTALL)
_SPAN = re.compile(r"(?<!`)`([^`\n]+)`(?!`)")
_BLANKS = re.compile(r"\s+")

MAX_CODE_CHARS: Final = 1_000_000
"""Characters of a document in which fences are looked for."""

MIN_NUMBERED_CHARS: Final = 100_000
"""Characters from which on word sequences are compared as numbers."""


def _plain(text: str) -> str:
    return _BLANKS.sub(" ", text).strip()


def _numbers(text: str) -> Iterable[str]:
    return (match[0] for match in _NUMBER.finditer(text))


def _names(text: str) -> Iterable[str]:
    for match in _NAME.finditer(text):
        name = _plain(match[0])
        if name[0].isupper() and len(name) > 1:
            yield name


def _code(text: str) -> Iterable[str]:
    head = text[:MAX_CODE_CHARS]
    for match in _FENCED.finditer(head):
        yield match[2].rstrip()
    for match in _SPAN.finditer(head):
        yield match[1]


def _links(text: str) -> Iterable[str]:
    for match in _LINK.finditer(text):
        yield match[0].rstrip(".,;:!?")


def _sequences(text: str) -> Iterable[str]:
    words = words_of(text)
    for start in range(len(words) - N_WORDS + 1):
        yield " ".join(words[start : start + N_WORDS])


_FINDERS: Final = {
    "numbers": _numbers,
    "names": _names,
    "code": _code,
    "links": _links,
    "n_grams": _sequences,
}

LOSS_KINDS: Final = tuple(_FINDERS)
"""Kinds of things that are looked for."""


def things_of(text: str, kinds: Iterable[str] = LOSS_KINDS) -> dict[str, dict[str, None]]:
    """The different things of a text by kind, each kind in the order of the text.

    Example:
        >>> found = things_of("Mail Ada Lovelace 12 letters, see https://a.org/x.")
        >>> list(found["numbers"]), list(found["names"]), list(found["links"])
        (['12'], ['Mail Ada Lovelace'], ['https://a.org/x'])
    """
    return {kind: dict.fromkeys(_FINDERS[kind](text)) for kind in kinds}


@dataclass(frozen=True, slots=True)
class LossCount:
    """Things of a kind that were there, and those that are gone.

    Attributes:
        kind: ``"numbers"``, ``"names"``, ``"code"``, ``"links"`` or ``"n_grams"`` of five words.
        n_before: Different things of a document before, summed over documents.
        n_lost: Number of them that stand nowhere in the document any more.
        examples: Some of what is lost, the first ones met.
    """

    kind: str
    n_before: int
    n_lost: int
    examples: tuple[str, ...]

    @property
    def kept_share(self) -> float | None:
        """Share that is still there, 0 to 1; None where there was nothing."""
        return 1 - self.n_lost / self.n_before if self.n_before else None


def _kept_blocks(blocks: list[str], after: str) -> set[str]:
    """Blocks of code that still stand there line by line, indented as a whole or not."""
    forms: dict[str, list[str]] = {}
    for block in blocks:
        lines = _without_ends(dedent(block.strip("\n")))
        forms[block] = [
            _without_ends(block.strip("\n")),
            lines,
            _without_ends(indent(lines, " " * 4)),
        ]
    every = [form for some in forms.values() for form in some]
    there = strings_within(every, _without_ends(after)) if every else set()
    return {block for block, some in forms.items() if any(form in there for form in some)}


def _without_ends(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))


class LossTally:
    """Adds the losses of documents up."""

    def __init__(self) -> None:
        self._before = dict.fromkeys(LOSS_KINDS, 0)
        self._lost = dict.fromkeys(LOSS_KINDS, 0)
        self._examples: dict[str, list[str]] = {kind: [] for kind in LOSS_KINDS}

    def add(self, before: str, after: str) -> None:
        """Add a document."""
        kinds = LOSS_KINDS
        if len(before) >= MIN_NUMBERED_CHARS:
            kinds = tuple(kind for kind in LOSS_KINDS if kind != "n_grams")
            self._add_sequences(before, after)
        old = things_of(before, kinds)
        new = old if after == before else things_of(after, kinds)
        for kind in kinds:
            self._before[kind] += len(old[kind])
            if new is old:
                continue
            gone = [thing for thing in old[kind] if thing not in new[kind]]
            if gone and kind in ("code", "links", "names"):
                # A span without its marks, or a name that now begins a line, is still there.
                blocks = [thing for thing in gone if kind == "code" and "\n" in thing.strip("\n")]
                kept = _kept_blocks(blocks, after)
                plain = [_plain(thing) for thing in gone]
                there = strings_within(plain, _plain(after))
                gone = [
                    thing
                    for thing, one in zip(gone, plain, strict=True)
                    if (thing not in kept if thing in blocks else one not in there)
                ]
            self._lost[kind] += len(gone)
            room = MAX_EXAMPLES - len(self._examples[kind])
            self._examples[kind] += [_plain(thing)[:MAX_EXAMPLE_CHARS] for thing in gone[:room]]

    def _add_sequences(self, before: str, after: str) -> None:
        examples = self._examples["n_grams"]
        found = sequence_loss(before, after, n_examples=MAX_EXAMPLES - len(examples))
        self._before["n_grams"] += found.n_before
        self._lost["n_grams"] += found.n_lost
        examples += [example[:MAX_EXAMPLE_CHARS] for example in found.examples]

    def counts(self) -> tuple[LossCount, ...]:
        """The sums, one for each kind."""
        return tuple(
            LossCount(kind, self._before[kind], self._lost[kind], tuple(self._examples[kind]))
            for kind in LOSS_KINDS
        )
