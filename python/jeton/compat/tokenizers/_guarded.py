"""A text in which only some parts may hold control tokens: a chat as its template wrote it."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = ["GuardedText"]


class GuardedText(str):
    """A text that is encoded with control tokens found in its trusted parts alone.

    It is a ``str``, so that it goes through the calls of ``transformers`` to the backend, which
    knows it. A call that makes another string of it loses the guard: ``n_tokens`` stays None then.

    Attributes:
        trusted_spans: The parts, as (start, end) in code points.
        control_tokens: Tokens that are guarded besides the special ones.
        marked_spans: Parts whose tokens are marked.
        n_tokens: How many tokens it became; None: it was not encoded.
        marks: For each of these tokens whether it has text of a marked part, 0 or 1.
        refused: Control tokens that stayed text, as (start, end, id).
    """

    trusted_spans: Sequence[tuple[int, int]]
    control_tokens: Sequence[str]
    marked_spans: Sequence[tuple[int, int]]
    n_tokens: int | None
    marks: list[int]
    refused: list[tuple[int, int, int]]

    __slots__ = (
        "control_tokens",
        "marked_spans",
        "marks",
        "n_tokens",
        "refused",
        "trusted_spans",
    )

    @classmethod
    def of(
        cls,
        text: str,
        trusted_spans: Sequence[tuple[int, int]],
        *,
        control_tokens: Sequence[str],
        marked_spans: Sequence[tuple[int, int]],
    ) -> GuardedText:
        """A text with its parts."""
        guarded = cls(text)
        guarded.trusted_spans = trusted_spans
        guarded.control_tokens = control_tokens
        guarded.marked_spans = marked_spans
        guarded.n_tokens = None
        guarded.marks = []
        guarded.refused = []
        return guarded

    def note(self, places: Sequence[tuple[int, int]], refused: list[tuple[int, int, int]]) -> None:
        """Keep what became of it; ``places`` are those of its tokens, with all white space."""
        self.n_tokens = len(places)
        self.refused = refused
        spans = list(self.marked_spans)
        # Both rise, so that one pass is enough.
        marks, at = [], 0
        for start, end in places:
            while at < len(spans) and spans[at][1] <= start:
                at += 1
            marks.append(int(at < len(spans) and spans[at][0] < end))
        self.marks = marks
