"""SentencePiece: a sentence as it is, spaces written as U+2581, pieces with scores.

Two parts come before the model. ``normalize`` replaces by rules, takes extra spaces away, puts one
in front and writes each as U+2581, so that decoding is joining. ``first_symbols`` finds the pieces
that a user defined; the rest are characters.

The model is either ``unigram`` or BPE by score: of all neighbours that together are a piece, those
of the highest score are joined first (``score_join``). Text without a piece becomes bytes
(``<0xE2>``) or the unknown piece; unknown neighbours are one (``emit``).

Cost: O(n^2).

Source: Kudo and Richardson, "SentencePiece" (EMNLP 2018); the behaviour of ``sentencepiece`` 0.2.3.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

SPACE = "\u2581"


@dataclass(frozen=True, slots=True)
class Piece:
    """A piece of the vocabulary.

    ``kind`` is ``normal``, ``user_defined``, ``unused``, ``byte``, ``control`` or ``unknown``.
    """

    id: int
    text: str
    score: float
    kind: str = "normal"


def normalize(
    text: str,
    *,
    rules: Mapping[str, str],
    kept: Iterable[str] = (),
    add_dummy_prefix: bool = True,
    remove_extra: bool = True,
    escape: bool = True,
    as_suffix: bool = False,
) -> str:
    """A text as the model sees it.

    At each place the longest user-defined piece is kept as it is, or else the longest rule applies.

    Args:
        text: The text.
        rules: Text and replacement, such as the rules of NFKC.
        kept: User-defined pieces.
        add_dummy_prefix: Put a space in front, so that a word is the same at the beginning.
        remove_extra: Make runs of spaces one, and take those at the ends away.
        escape: Write spaces as U+2581.
        as_suffix: Put the space behind instead of in front.

    Example:
        >>> normalize(" Hello  world ", rules={})
        '▁Hello▁world'
        >>> normalize("ﬁne", rules={"ﬁ": "fi"}, add_dummy_prefix=False)
        'fine'
    """
    kept = set(kept)
    longest = max(map(len, [*rules, *kept]), default=1)
    parts: list[str] = []
    place = 0
    while place < len(text):
        ends = range(min(len(text), place + longest), place, -1)
        end = next((end for end in ends if text[place:end] in kept), None)
        part = None if end is None else text[place:end]
        if end is None:
            end = next((end for end in ends if text[place:end] in rules), place + 1)
            part = rules.get(text[place:end], text[place:end])
        parts.append(part or "")
        place = end
    if remove_extra:
        while parts and parts[0] == " ":
            parts.pop(0)
    if not parts:
        return ""
    space = SPACE if escape else " "
    written = space if add_dummy_prefix and not as_suffix else ""
    after_space = remove_extra
    for part in parts:
        shown = part.lstrip(" ") if after_space else part
        written += shown.replace(" ", space)
        if shown:
            after_space = remove_extra and shown.endswith(" ")
    if remove_extra:
        while written.endswith(space):
            written = written[: -len(space)]
    return written + space if add_dummy_prefix and as_suffix else written


def first_symbols(text: str, user_defined: Iterable[str]) -> list[tuple[str, bool]]:
    """Characters, and user-defined pieces, which are frozen: they merge with nothing.

    Example:
        >>> first_symbols("a<sep>b", ["<sep>"])
        [('a', False), ('<sep>', True), ('b', False)]
    """
    known = set(user_defined)
    longest = max(map(len, known), default=1)
    symbols: list[tuple[str, bool]] = []
    place = 0
    while place < len(text):
        ends = range(min(len(text), place + longest), place, -1)
        end = next((end for end in ends if text[place:end] in known), None)
        symbols.append((text[place : end or place + 1], end is not None))
        place = end or place + 1
    return symbols


def score_join(
    pieces: Mapping[str, Piece],
) -> Callable[[tuple[str, bool], tuple[str, bool]], tuple[int, tuple[str, bool]] | None]:
    """The rule by which neighbours merge: ranks by falling score; equal scores are one rank.

    Example:
        >>> join = score_join({t: Piece(i, t, -i) for i, t in enumerate(["lo", "low"])})
        >>> join(("l", False), ("o", False)), join(("l", True), ("o", False))
        ((0, ('lo', False)), None)
    """
    usable = {t: p for t, p in pieces.items() if p.kind in ("normal", "user_defined", "unused")}
    scores = sorted({piece.score for piece in usable.values()}, reverse=True)
    rank = {score: place for place, score in enumerate(scores)}

    def join(
        left: tuple[str, bool], right: tuple[str, bool]
    ) -> tuple[int, tuple[str, bool]] | None:
        found = usable.get(left[0] + right[0])
        if left[1] or right[1] or found is None:
            return None
        return rank[found.score], (found.text, False)

    return join


def stretches(
    symbols: Sequence[tuple[str, bool]], pieces: Iterable[str]
) -> list[list[tuple[str, bool]]]:
    """Symbols in stretches that no piece crosses: words, if pieces have spaces at one side only.

    User-defined pieces stand alone, and so do characters that no piece has.

    Example:
        >>> [len(s) for s in stretches(first_symbols("▁a▁b", []), ["▁a", "▁b"])]
        [2, 2]
    """
    crosses = {False: False, True: False}
    known = set[str]()
    for piece in pieces:
        known |= set(piece)
        for left, right in pairwise(piece):
            if (left == SPACE) != (right == SPACE):
                crosses[left == SPACE] = True
    parts: list[list[tuple[str, bool]]] = [[]]
    before: bool | None = None
    for symbol in symbols:
        is_space = symbol[0] == SPACE
        boundary = before is not None and before != is_space and not crosses[before]
        if symbol[1] or symbol[0] not in known:
            parts += [[symbol], []]
        elif boundary:
            parts.append([symbol])
        else:
            parts[-1].append(symbol)
        before = is_space
    return [part for part in parts if part]


def emit(
    segments: Iterable[tuple[str, int | None]],
    *,
    unknown: int,
    byte_ids: Sequence[int] = (),
) -> list[tuple[int, str]]:
    """Segments (text, id; None: no piece) to ids with their text.

    Example:
        >>> emit([("a", 5), ("é", None), ("è", None)], unknown=0)
        [(5, 'a'), (0, 'éè')]
        >>> emit([("é", None)], unknown=0, byte_ids=range(3, 259))
        [(198, 'é'), (172, 'é')]
    """
    ids: list[tuple[int, str]] = []
    after_unknown = False
    for text, id in segments:
        if id is not None and id != unknown:
            ids.append((id, text))
            after_unknown = False
            continue
        if byte_ids:
            ids += [(byte_ids[byte], text) for byte in text.encode()]
        elif after_unknown:
            ids[-1] = (unknown, ids[-1][1] + text)
        else:
            ids.append((unknown, text))
        after_unknown = True
    return ids
