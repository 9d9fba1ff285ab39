"""Steps of a trace as data: what each kind of model does to a pretoken."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from jeton._reference import unigram
from jeton._reference.drawing import DropoutStep, SplitMix64


@dataclass(frozen=True, slots=True)
class TracedPair:
    """Two neighbours that could be joined.

    Attributes:
        left: The left token, as it can be seen.
        right: The right token.
        rank: Place among the merges, from 0; the lowest goes first.
        place: Place of the left token among the tokens before the step.
    """

    left: str
    right: str
    rank: int
    place: int


@dataclass(frozen=True, slots=True)
class MergeTraced:
    """BPE joined two neighbours.

    Attributes:
        made: The token that was made.
        taken: The pair that was joined.
        lost: The other pairs that could have been joined, in the order of their turn. Each has a
            higher rank than ``taken``, or the same rank and a place further right.
        n_lost: All of them, those that are not listed too.
        tokens: The tokens after the step.
        kind: ``"merge"``.
    """

    made: str
    taken: TracedPair
    lost: tuple[TracedPair, ...]
    n_lost: int
    tokens: tuple[str, ...]
    kind: str = "merge"


@dataclass(frozen=True, slots=True)
class MatchTraced:
    """A search for the longest token that fits (WordPiece, the longest match, whole words).

    Attributes:
        tried: Candidates, longest first; the last is the token that was found.
        found: False: no candidate is a token, and the pretoken is unknown.
        start: Characters of the pretoken before it.
        n_tried: All candidates, those that are not listed too.
        kind: ``"match"``.
    """

    tried: tuple[str, ...]
    found: bool
    start: int
    n_tried: int
    kind: str = "match"


@dataclass(frozen=True, slots=True)
class TracedArc:
    """A piece at a place of the lattice.

    Attributes:
        text: The text that it covers.
        id: Its id; None: the character has no piece.
        score: Log probability.
        start: First character.
        end: One past the last character.
        best: Score of the best way that ends with it; None: it was not asked for.
        on_path: True if the best way has it.
    """

    text: str
    id: int | None
    score: float
    start: int
    end: int
    best: float | None = None
    on_path: bool = False


@dataclass(frozen=True, slots=True)
class LatticeTraced:
    """The Unigram model weighed all ways to cut a text.

    Attributes:
        arcs: Every piece at every place.
        ways: The best ways, best first: score and texts of the pieces.
        score: Score of the best way.
        n_arcs: All arcs, those that are not listed too.
        kind: ``"lattice"``.
    """

    arcs: tuple[TracedArc, ...]
    ways: tuple[tuple[float, tuple[str, ...]], ...]
    score: float
    n_arcs: int
    kind: str = "lattice"


@dataclass(frozen=True, slots=True)
class DrawTraced:
    """A random choice: a merge that was left out or not, or a piece that was drawn.

    Attributes:
        what: The merge or the piece, as it can be seen.
        chance: Probability of what happened.
        dropped: True if a merge was left out.
        tokens: The tokens after the step.
        kind: ``"draw"``.
    """

    what: str
    chance: float
    dropped: bool
    tokens: tuple[str, ...]
    kind: str = "draw"


TracedStep = MergeTraced | MatchTraced | LatticeTraced | DrawTraced


# The types that the twins of all kinds of models share.

MAX_LISTED = 12
"""Pairs, candidates or ways that a step lists."""


@dataclass(frozen=True, slots=True)
class TracedToken:
    """A token with the text that it stands for.

    Attributes:
        id: Its id.
        text: The text, as it can be seen.
    """

    id: int
    text: str


@dataclass(frozen=True, slots=True)
class Traced:
    """A pretoken on its way.

    Attributes:
        symbols: Beginning of the model's work.
        letters: The symbols as files of byte-level models spell them; empty for others.
        steps: Every step.
        tokens: The result.
    """

    symbols: tuple[str, ...]
    steps: tuple[TracedStep, ...]
    tokens: tuple[TracedToken, ...]
    letters: tuple[str, ...] = ()


@dataclass(slots=True)
class Draw:
    """The settings of a drawn segmentation, and the generator that all pretokens share."""

    random: SplitMix64
    dropout: float = 0.1
    alpha: float = 1.0


Twin = Callable[[str, "Draw | None", int], Traced]
"""Takes a pretoken, the draw if there is one, and the number of best ways to list."""


def readable(text: bytes | str) -> str:
    r"""A token as it can be seen: bytes that are no text become ``\xNN``."""
    return text if isinstance(text, str) else text.decode("utf-8", "backslashreplace")


def drawn_step(
    step: DropoutStep[Any], before: Sequence[Any], chance: float, text: Callable[[Any], str]
) -> DrawTraced:
    """A draw of BPE as a step; ``before``: the symbols before it."""
    tokens = tuple(text(symbol) for symbol in step.tokens)
    if step.dropped or len(step.tokens) == len(before):
        what = "a merge of rank " + f"{step.rank:,}"
    else:
        place = next(
            (
                i
                for i, pair in enumerate(zip(before, step.tokens, strict=False))
                if pair[0] != pair[1]
            ),
            len(step.tokens) - 1,
        )
        what = tokens[place]
    return DrawTraced(what, chance if step.dropped else 1 - chance, step.dropped, tokens)


def tokens_of(pairs: Iterable[tuple[int, bytes | str]]) -> tuple[TracedToken, ...]:
    """Tokens of ids and texts."""
    return tuple(TracedToken(id, readable(text)) for id, text in pairs)


# The step that all Unigram models share: a text as a lattice, and a way through it.

Segments = list[tuple[str, "int | None"]]


def segmented(
    text: str,
    pieces: Mapping[str, tuple[int, float]],
    *,
    unknown_score: float,
    draw: Draw | None,
    n_best: int,
    in_single: bool,
    longest: int,
) -> tuple[list[TracedStep], Segments]:
    """The lattice of a text, and the way through it that was found or drawn."""
    n = len(text)
    arcs = unigram.lattice(text, pieces, unknown_score=unknown_score, longest=longest)
    path, best = unigram.best_path(arcs, n, in_single=in_single)
    chosen, steps = path, list[TracedStep]()
    ways = unigram.best_paths(arcs, n, n_best=n_best) if n else []
    if n:
        on_path = set(path)
        listed = tuple(
            TracedArc(
                text=text[arc.start : arc.end],
                id=None if arc.id < 0 else arc.id,
                score=arc.score,
                start=arc.start,
                end=arc.end,
                best=None if (way := best[arc.start]) is None else way.score + arc.score,
                on_path=arc in on_path,
            )
            for arc in arcs
        )
        shown = tuple(
            (score, tuple(text[arc.start : arc.end] for arc in way)) for score, way in ways
        )
        whole = best[n]
        steps.append(LatticeTraced(listed, shown, whole.score if whole else 0.0, len(arcs)))
    if draw is not None and n:
        drawn = unigram.draw(arcs, n, random=draw.random, alpha=draw.alpha)
        chosen = [arc for arc, _ in drawn]
        for place, (arc, chance) in enumerate(drawn):
            so_far = tuple(text[a.start : a.end] for a in chosen[: place + 1])
            steps.append(
                DrawTraced(text[arc.start : arc.end], chance, dropped=False, tokens=so_far)
            )
    return steps, [(text[a.start : a.end], None if a.id < 0 else a.id) for a in chosen]
