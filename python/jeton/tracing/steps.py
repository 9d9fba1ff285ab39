"""Steps of a trace as data: what each kind of model does to a pretoken."""

from __future__ import annotations

from dataclasses import dataclass


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
