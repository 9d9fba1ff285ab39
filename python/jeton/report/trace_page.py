"""A trace as one page with a slider: the tokens after each step, and what decided it."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from jeton.report.json_report import embed_json
from jeton.report.result_page import Opening, Sum
from jeton.report.visible import visible
from jeton.tracing import (
    DrawTraced,
    EncodeTrace,
    LatticeTraced,
    LearnedMerge,
    MatchTraced,
    TracedPart,
    TracedStep,
    TrainTrace,
)

Frame = dict[str, Any]
"""One position of the slider: ``title``, ``tokens``, ``note`` and ``rows``."""


def trace_html(found: EncodeTrace | TrainTrace) -> str:
    """The page of a trace; it needs nothing but itself."""
    from jeton.report.page import asset, environment

    frames = list(_of_text(found) if isinstance(found, EncodeTrace) else _of_training(found))
    context = {
        "title": "Step by step",
        "opening": Opening(_headline(found), _sums(found)),
        "matches": found.matches_engine,
        "n_frames": len(frames),
        "embedded": embed_json({"frames": frames}),
        "css": asset("report.css"),
        "script": asset("trace.js"),
    }
    return environment().get_template("trace.html.j2").render(context)


def _headline(found: EncodeTrace | TrainTrace) -> str:
    if isinstance(found, EncodeTrace):
        words = f"{found.tokenizer} makes {len(found.ids):,} tokens in {found.n_steps:,} steps"
        cut = f"; {found.n_chars_cut:,} more characters were left out" if found.n_chars_cut else ""
        return words + cut
    if found.rounds:
        n_pieces = found.rounds[-1].n_pieces
        return f"{found.algorithm} leaves {n_pieces:,} pieces in {len(found.rounds)} rounds"
    left = found.merges[-1].n_tokens if found.merges else found.n_tokens_before
    before = found.n_tokens_before
    return f"{len(found.merges):,} merges take the text from {before:,} to {left:,} tokens"


def _sums(found: EncodeTrace | TrainTrace) -> tuple[Sum, ...]:
    """Tokens before the first step, and after the last."""
    if isinstance(found, EncodeTrace):
        begins = sum(max(len(part.symbols), 1) for part in found.parts)
        return (
            Sum("At the beginning", f"{begins:,}", "pieces"),
            Sum("In the end", f"{len(found.ids):,}", "tokens"),
        )
    before, after = found.n_tokens_before, found.merges[-1].n_tokens if found.merges else 0
    if found.rounds and found.rounds[-1].n_tokens is not None:
        after = found.rounds[-1].n_tokens
    if not before or not after:
        return ()
    return (
        Sum("Without merges", f"{before:,}", "tokens"),
        Sum("With what was learned", f"{after:,}", "tokens"),
    )


def _of_text(found: EncodeTrace) -> Iterator[Frame]:
    for part in found.parts:
        name = _seen(part.text)
        if part.is_added:
            yield _frame(f"{name} is an added token", [part.text], "the model never sees it")
            continue
        yield _frame(f"{name}: the beginning", part.symbols, "bytes, characters or words")
        for number, step in enumerate(part.steps, start=1):
            yield _of_step(step, f"{name}: step {number} of {len(part.steps)}", part)
    tokens = [token.text for part in found.parts for token in part.tokens]
    yield _frame("the result", tokens, " ".join(map(str, found.ids)))


def _of_step(step: TracedStep, title: str, part: TracedPart) -> Frame:
    if isinstance(step, MatchTraced):
        so_far = [token.text for token in part.tokens] if step.found else [part.text]
        rows = [(_seen(text), "") for text in step.tried]
        note = "the longest candidate that is a token" if step.found else "nothing fits: unknown"
        return _frame(title, so_far, note, rows)
    if isinstance(step, DrawTraced):
        done = "left out" if step.dropped else "drawn"
        return _frame(title, step.tokens, f"{_seen(step.what)} {done}, chance {step.chance:.3g}")
    if isinstance(step, LatticeTraced):
        rows = [(" | ".join(map(_seen, way)), f"{score:.3f}") for score, way in step.ways]
        best = step.ways[0][1] if step.ways else ()
        return _frame(title, best, f"the likeliest of all ways; {step.n_arcs:,} pieces fit", rows)
    rows = [(f"{_seen(p.left)} + {_seen(p.right)}", f"{p.rank:,}") for p in step.lost]
    pair = f"{_seen(step.taken.left)} + {_seen(step.taken.right)}"
    note = f"{pair} has the lowest rank, {step.taken.rank:,}; {step.n_lost:,} pairs lost"
    return _frame(title, step.tokens, note, rows)


def _of_training(found: TrainTrace) -> Iterator[Frame]:
    for number, merge in enumerate(found.merges, start=1):
        yield _of_merge(merge, number)
    for number, turn in enumerate(found.rounds, start=1):
        word = "no room for" if turn.kind == "count" else "removed"
        rows = [(f"{word} {_seen(text)}", f"{why:.3g}") for text, why in turn.removed]
        said = f"{turn.n_pieces:,} pieces are left, {turn.n_removed:,} went"
        yield _frame(f"round {number}: {turn.kind}", [text for text, _ in turn.best], said, rows)


def _of_merge(merge: LearnedMerge, number: int) -> Frame:
    rows = [
        (f"{_seen(left)} + {_seen(right)}", f"{score:,.4g}")
        for left, right, score, _ in merge.runners_up
    ]
    note = (
        f"{merge.count:,} times; saves {merge.n_saved:,} tokens and leaves {merge.n_tokens:,}; "
        "the next pairs:"
    )
    if merge.language:
        note = f"for {_seen(merge.language)}, which pays most; {note}"
    return _frame(f"merge {number}", [merge.left, merge.right, merge.made], note, rows)


def _frame(title: str, tokens: Any, note: str, rows: Any = ()) -> Frame:
    return {"title": title, "tokens": [_seen(t) for t in tokens], "note": note, "rows": list(rows)}


def _seen(text: str) -> str:
    """A token as it can be seen: spaces are dots, hidden characters are escaped."""
    return visible(text).replace(" ", "·")
