"""The step that all Unigram models share: a text as a lattice, and a way through it."""

from __future__ import annotations

from collections.abc import Mapping

from jeton._reference import unigram
from jeton.tracing.steps import DrawTraced, LatticeTraced, TracedArc, TracedStep
from jeton.tracing.twin import Draw

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
