"""Losses: numbers, names, code, links and word sequences of a document that no longer stand in it.

A thing is lost if it stands nowhere in the changed document; one of two copies is no loss.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from textwrap import dedent, indent
from typing import Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

# Word sequences of a long text as numbers: what a set of strings tells, in less memory.
#
# Each word gets a number, then each pair of words, and each pair of pairs. Equal sequences have
# equal numbers, and nothing is hashed. For 40 MB of English in one document, of which one step
# changed some characters, `jeton preprocess` took 49 s and 2.7 GB with sets of strings, 33 s and
# 1.1 GB with numbers (2026-11-28).

N_WORDS: Final = 5
"""Words of a sequence (n-gram)."""

_WORD = re.compile(r"\w+")


class SequenceLoss(NamedTuple):
    """Sequences of a text, and those that another text has not.

    Attributes:
        n_before: Different sequences of the text.
        n_lost: Different ones of them that the other text has not.
        examples: The first of these, in the order of the text.
    """

    n_before: int
    n_lost: int
    examples: list[str]


def words_of(text: str) -> list[str]:
    """The words of a text, in lower case."""
    return _WORD.findall(text.lower())


def sequence_loss(before: str, after: str, *, n_examples: int) -> SequenceLoss:
    """Compare the sequences of two texts.

    Example:
        >>> sequence_loss("one two three four five six", "one two three four five", n_examples=1)
        SequenceLoss(n_before=2, n_lost=1, examples=['two three four five six'])
    """
    numbers: dict[str, int] = {}
    old = _numbered(before, numbers)
    texts = [old] if after == before else [old, _numbered(after, numbers)]
    pairs = _joined(texts, texts, 1)
    fours = _joined(pairs, pairs, 2)
    codes = _joined(fours, texts, 4)
    is_lost = np.zeros(1 + max((int(part.max()) for part in codes if len(part)), default=0), bool)
    is_lost[codes[0]] = True
    n_before = int(np.count_nonzero(is_lost))
    is_lost[codes[-1]] = False
    words = list(numbers)
    examples: dict[str, None] = {}
    for place in np.flatnonzero(is_lost[codes[0]]).tolist():
        if len(examples) >= n_examples:
            break
        examples[" ".join(words[number] for number in old[place : place + N_WORDS].tolist())] = None
    return SequenceLoss(n_before, int(np.count_nonzero(is_lost)), list(examples))


def _numbered(text: str, numbers: dict[str, int]) -> NDArray[np.int32]:
    found = _WORD.finditer(text.lower())
    return np.fromiter((numbers.setdefault(match[0], len(numbers)) for match in found), np.int32)


def _joined(
    left: list[NDArray[np.int32]], right: list[NDArray[np.int32]], distance: int
) -> list[NDArray[np.int32]]:
    """Numbers of the pairs of a left code and the right one so many words behind it."""
    width = 1 + max((int(codes.max()) for codes in right if len(codes)), default=0)
    lengths = [max(0, min(len(a), len(b) - distance)) for a, b in zip(left, right, strict=True)]
    pairs = np.concatenate(
        [
            a[:n].astype(np.int64) * width + b[distance : distance + n]
            for a, b, n in zip(left, right, lengths, strict=True)
        ]
    )
    # `np.unique` with its inverse holds 40 bytes a pair; this holds 24.
    order = np.argsort(pairs)
    pairs = pairs[order]
    codes = np.zeros(len(pairs), np.int32)
    codes[order[1:]] = np.cumsum(pairs[1:] != pairs[:-1], dtype=np.int32)
    return np.split(codes, np.cumsum(lengths)[:-1])


# Many strings looked for in one long text, in time that does not grow with their product.
#
# The text is read in blocks. For each length of a string, sums of powers tell in one pass which
# windows may be one of that length; those are compared. ``in`` is the twin, and is quicker for few.

MIN_WORK: Final = 1 << 28
"""Strings times characters from which on sums are used.

With 4,000 lost names and 195,000 characters the losses of a document took 0.35 s, and 0.11 s with
sums (2026-11-28).
"""

BLOCK_CHARS: Final = 1 << 20
_BASE: Final = np.uint64(0x9E3779B97F4A7C15)
_INVERSE: Final = np.uint64(pow(0x9E3779B97F4A7C15, -1, 1 << 64))
_TABLE_BITS: Final = 16


def strings_within(strings: Iterable[str], text: str) -> set[str]:
    """Return the strings that stand in a text.

    Example:
        >>> sorted(strings_within(["boat", "oat le", "goat"], "the boat left"))
        ['boat', 'oat le']
    """
    wanted = set(strings)
    if len(wanted) * len(text) < MIN_WORK:
        return {string for string in wanted if string in text}
    by_length: dict[int, set[str]] = defaultdict(set)
    found: set[str] = set()
    for string in wanted:
        if 0 < len(string) <= BLOCK_CHARS:
            by_length[len(string)].add(string)
        elif string in text:
            found.add(string)
    longest = max(by_length, default=1)
    for start in range(0, len(text), BLOCK_CHARS):
        block = text[start : start + BLOCK_CHARS + longest - 1]
        sums, powers, inverses = _sums(block)
        for length, group in by_length.items():
            if length <= len(block) and group:
                here = _found(block, length, group, sums, powers, inverses)
                found |= here
                group -= here
    return found


def _codes(text: str) -> NDArray[np.uint64]:
    coded = text.encode("utf-32-le", "surrogatepass")
    return np.frombuffer(coded, "<u4").astype(np.uint64)


def _sums(block: str) -> tuple[NDArray[np.uint64], NDArray[np.uint64], NDArray[np.uint64]]:
    """Sums of characters times powers of a base up to each place, the powers, their inverses."""
    n = len(block)
    powers, inverses = (np.full(n + 1, base, np.uint64) for base in (_BASE, _INVERSE))
    powers[0] = inverses[0] = 1
    np.cumprod(powers, out=powers)
    np.cumprod(inverses, out=inverses)
    sums = np.zeros(n + 1, np.uint64)
    np.cumsum(_codes(block) * powers[:n], out=sums[1:])
    return sums, powers, inverses


def _found(
    block: str,
    length: int,
    group: set[str],
    sums: NDArray[np.uint64],
    powers: NDArray[np.uint64],
    inverses: NDArray[np.uint64],
) -> set[str]:
    n_windows = len(block) - length + 1
    windows = (sums[length:] - sums[:-length]) * inverses[:n_windows]
    own = [int(np.sum(_codes(s) * powers[:length], dtype=np.uint64)) for s in group]
    shift = np.uint64(64 - _TABLE_BITS)
    table = np.zeros(1 << _TABLE_BITS, bool)
    table[np.array(own, np.uint64) >> shift] = True
    places = np.flatnonzero(table[windows >> shift])
    places = places[np.isin(windows[places], np.array(own, np.uint64))]
    found: set[str] = set()
    for place in places.tolist():
        window = block[place : place + length]
        if window in group:
            found.add(window)
            if len(found) == len(group):
                break
    return found


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
