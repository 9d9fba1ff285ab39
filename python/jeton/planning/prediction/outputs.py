"""Lengths of answers foreseen: intervals by group, and how often they held on later traffic."""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from dataclasses import asdict, dataclass
from typing import TYPE_CHECKING, Any, Final

import numpy as np

from jeton._plain import counted
from jeton._shown import NotebookResult
from jeton.economics.prediction import LengthDrift, LengthInterval, OutputLengths
from jeton.errors import UsageError

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from jeton.planning.prediction.history import RequestHistory

SECONDS_PER_TOKEN: Final = 0.05
"""Time of a token of an answer, where the log does not say when it ended: 20 tokens a second, the
slow end of what people are served with. An answer teaches when it has ended. A judgement."""

_MAX_CONVERSATIONS: Final = 100_000
_STRETCHES: Final = 40
"""Stretches of later traffic that coverage is plotted over."""
_FEW: Final = 30
"""Requests of a route below which its coverage says nothing."""


@dataclass(frozen=True, slots=True)
class RouteCoverage:
    """How good the intervals of a group were on later traffic.

    Attributes:
        group: Values of the fields.
        n_judged: Later requests that had an interval.
        coverage_share: Share of them that were within it.
        coverage_error: Standard error of that share.
        upper_coverage_share: Share that was not above the one-sided bound.
        frozen_coverage_share: Share that the intervals of the earlier half, left as they were,
            would have held.
        median_width_tokens: Upper less lower end, median.
        median_output_tokens: Tokens of the answers, median.
        is_few: True if there are too few requests to say.
    """

    group: tuple[str, ...]
    n_judged: int
    coverage_share: float
    coverage_error: float
    upper_coverage_share: float
    frozen_coverage_share: float
    median_width_tokens: float
    median_output_tokens: float
    is_few: bool


@dataclass(frozen=True, slots=True)
class GroupInterval:
    """The interval that the next request of a group has.

    Attributes:
        group: Values of the fields.
        prompt_tokens: Prompts from this length on to twice it; the median one of the group.
        interval: The interval; None without history.
        upper_tokens: One-sided bound.
    """

    group: tuple[str, ...]
    prompt_tokens: int
    interval: LengthInterval | None
    upper_tokens: int | None


@dataclass(frozen=True, slots=True, eq=False)
class OutputPrediction(NotebookResult):
    """Lengths of answers, foreseen from those that had ended.

    Attributes:
        sources: Where the requests come from.
        fields: Names of the fields, the coarsest first.
        coverage: Share that the intervals are to hold.
        n_requests: Requests with a known output.
        n_calibrated: The earlier of them, which only taught.
        has_times: True if the log said when requests came; else its order is theirs.
        has_conversations: True if turn and last answer of a conversation were used, too.
        n_without_output: Requests left out.
        n_out_of_order: Requests that were sorted in.
        rejected: Rows that cannot be meant, by reason.
        overall: Coverage of all groups together.
        routes: Coverage by group, the largest first.
        intervals: Intervals that the next requests have, by group.
        drifts: Groups whose answers have become longer or shorter.
        stretches: Coverage over later traffic, in order: share held, and share held by the frozen
            intervals.
    """

    _page = "jeton.report.prediction:output_html"
    _table = "routes"
    _line = ("n_requests", "coverage", "routes")

    sources: tuple[str, ...]
    fields: tuple[str, ...]
    coverage: float
    n_requests: int
    n_calibrated: int
    has_times: bool
    has_conversations: bool
    n_without_output: int
    n_out_of_order: int
    rejected: dict[str, int]
    overall: RouteCoverage
    routes: tuple[RouteCoverage, ...]
    intervals: tuple[GroupInterval, ...]
    drifts: tuple[LengthDrift, ...]
    stretches: tuple[tuple[float, float], ...]

    def to_dict(self) -> dict[str, Any]:
        """As JSON values."""
        from jeton._core import __version__

        return {
            "schema_version": "jeton.predict_output/1",
            "jeton_version": __version__,
            **asdict(self),
        }


class _Conversations:
    """Turn and last answer of the conversations of late."""

    def __init__(self) -> None:
        self._known: OrderedDict[int, tuple[int, int]] = OrderedDict()

    def history(self, conversation: int) -> tuple[str, ...]:
        """Turn of a conversation, and the octave of its last answer, as fields."""
        if not conversation:
            return ()
        turn, last = self._known.get(conversation, (0, -1))
        if not turn:
            return ("first turn",)
        return ("later turn", f"last answer below {1 << last.bit_length():,}")

    def add(self, conversation: int, output: int) -> None:
        if conversation:
            turn, _ = self._known.pop(conversation, (0, -1))
            self._known[conversation] = (turn + 1, output)
            if len(self._known) > _MAX_CONVERSATIONS:
                self._known.popitem(last=False)


def predict_outputs(
    history: RequestHistory,
    *,
    coverage: float = 0.9,
    seconds_per_token: float = SECONDS_PER_TOKEN,
) -> OutputPrediction:
    """Foresee the lengths of answers, and judge that on the later half of the requests.

    The earlier half teaches. Each request of the later half is foreseen from the requests that had
    ended by then, and teaches in its turn. Intervals of the earlier half that are left as they were
    are judged beside them.

    Args:
        history: Finished requests.
        coverage: Share that the intervals are to hold.
        seconds_per_token: Time of a token of an answer: when a request teaches.

    Raises:
        UsageError: A number is out of range, or there are too few requests.

    Example:
        >>> from jeton.planning.prediction import predict_outputs, read_history
        >>> history = read_history("requests.jsonl", by=["customer"])  # doctest: +SKIP
        >>> predict_outputs(history).overall.coverage_share  # doctest: +SKIP
        0.902
    """
    if not 0 <= seconds_per_token < 1e6:
        raise UsageError(f"seconds_per_token is {seconds_per_token}; expected seconds from 0")
    lengths = OutputLengths(coverage=coverage)
    n = len(history)
    n_before = n // 2
    if n_before < lengths.min_history:
        raise UsageError(
            f"{counted(n, 'request')} with a known output; expected at least "
            f"{2 * lengths.min_history:,} for a coverage of {coverage:g}: half of them teach\n"
            "hint: more logs, or a lower coverage"
        )
    judged = _replay(history, lengths, n_before, seconds_per_token)
    return OutputPrediction(
        sources=history.sources,
        fields=history.fields,
        coverage=coverage,
        n_requests=n,
        n_calibrated=n_before,
        has_times=history.has_times,
        has_conversations=bool(history.conversation.any()),
        n_without_output=history.n_without_output,
        n_out_of_order=history.n_out_of_order,
        rejected=dict(history.rejected),
        overall=judged.coverage(("all",), np.ones(n - n_before, dtype=np.bool_)),
        routes=judged.by_group(history),
        intervals=_next_intervals(history, lengths),
        drifts=lengths.drifts(),
        stretches=judged.stretches(),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _Judged:
    """Later requests, one row each; -1 in ``is_held`` where there was no interval."""

    is_held: NDArray[np.int8]
    is_below: NDArray[np.int8]
    is_held_frozen: NDArray[np.int8]
    width: NDArray[np.int64]
    output: NDArray[np.int64]
    n_before: int

    def coverage(self, group: tuple[str, ...], rows: NDArray[np.bool_]) -> RouteCoverage:
        """Coverage of some of the rows."""
        known = rows & (self.is_held >= 0)
        n_known = int(known.sum())
        held = float((self.is_held[known] == 1).mean()) if n_known else 0.0
        return RouteCoverage(
            group=group,
            n_judged=n_known,
            coverage_share=held,
            coverage_error=math.sqrt(held * (1 - held) / n_known) if n_known else 0.0,
            upper_coverage_share=float((self.is_below[known] == 1).mean()) if n_known else 0.0,
            frozen_coverage_share=(
                float((self.is_held_frozen[known] == 1).mean()) if n_known else 0.0
            ),
            median_width_tokens=float(np.median(self.width[known])) if n_known else 0.0,
            median_output_tokens=float(np.median(self.output[known])) if n_known else 0.0,
            is_few=n_known < _FEW,
        )

    def by_group(self, history: RequestHistory) -> tuple[RouteCoverage, ...]:
        """Coverage by group, the largest first."""
        groups = history.groups[self.n_before :]
        found = [
            self.coverage(history.group_values[number], groups == number)
            for number in np.unique(groups).tolist()
        ]
        return tuple(sorted(found, key=lambda route: (-route.n_judged, route.group)))

    def stretches(self) -> tuple[tuple[float, float], ...]:
        """Coverage over the later requests in order."""
        known = np.flatnonzero(self.is_held >= 0)
        parts = np.array_split(known, max(1, min(_STRETCHES, len(known) // _FEW)))
        return tuple(
            (
                float((self.is_held[part] == 1).mean()),
                float((self.is_held_frozen[part] == 1).mean()),
            )
            for part in parts
            if len(part)
        )


def _replay(
    history: RequestHistory, lengths: OutputLengths, n_before: int, seconds_per_token: float
) -> _Judged:
    """Foresee each request of the later half from those that had ended."""
    n_after = len(history) - n_before
    is_held, is_below, is_held_frozen = (np.full(n_after, -1, dtype=np.int8) for _ in range(3))
    width = np.zeros(n_after, dtype=np.int64)
    conversations = _Conversations()
    frozen: OutputLengths | None = None
    under_way: list[tuple[float, int, int, int, tuple[str, ...]]] = []
    pause = seconds_per_token if history.has_times else 0.0
    rows = zip(
        history.arrival_seconds.tolist(),
        history.prompt_tokens.tolist(),
        history.output_tokens.tolist(),
        history.groups.tolist(),
        history.conversation.tolist(),
        strict=True,
    )
    for row, (now, prompt, output, number, conversation) in enumerate(rows):
        while under_way and under_way[0][0] <= now:
            _, _, known_prompt, known_output, known_group = heapq.heappop(under_way)
            lengths.learn(known_prompt, known_output, known_group)
        group = history.group_values[number] + conversations.history(conversation)
        if row >= n_before:
            if frozen is None:
                frozen = lengths.copy()
            place = row - n_before
            found, upper = lengths.interval(prompt, group), lengths.upper(prompt, group)
            if found is not None and upper is not None:
                is_held[place] = found.lower_tokens <= output <= found.upper_tokens
                is_below[place] = output <= upper
                width[place] = found.upper_tokens - found.lower_tokens
                before = frozen.interval(prompt, group)
                is_held_frozen[place] = (
                    before is not None and before.lower_tokens <= output <= before.upper_tokens
                )
        conversations.add(conversation, output)
        heapq.heappush(under_way, (now + pause * output, row, prompt, output, group))
    for _, _, known_prompt, known_output, known_group in sorted(under_way):
        lengths.learn(known_prompt, known_output, known_group)
    return _Judged(
        is_held, is_below, is_held_frozen, width, history.output_tokens[n_before:], n_before
    )


def _next_intervals(history: RequestHistory, lengths: OutputLengths) -> tuple[GroupInterval, ...]:
    """Intervals of the next request of each group, for its median prompt."""
    found = []
    counts = np.bincount(history.groups, minlength=len(history.group_values))
    for number in np.argsort(-counts, kind="stable").tolist():
        if counts[number]:
            group = history.group_values[number]
            prompt = int(np.median(history.prompt_tokens[history.groups == number]))
            found.append(
                GroupInterval(
                    group=group,
                    prompt_tokens=1 << max(0, prompt.bit_length() - 1) if prompt else 0,
                    interval=lengths.interval(prompt, group),
                    upper_tokens=lengths.upper(prompt, group),
                )
            )
    return tuple(found)
