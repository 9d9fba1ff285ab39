"""The book of a mirror: pairs of answers, and a verdict for each stage.

A request is in a stage by the hash of its text, as in ``jeton adapt shadow``. Looking after each
request would find a difference by chance soon enough, so a stage is judged when its requests have
doubled since the last look.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

import numpy as np

from jeton._core import TextBatch, text_digests
from jeton.adapt.shadowing import (
    PairedDifference,
    Stage,
    judge_stage,
    paired_difference,
    request_places,
    stage_seed,
)
from jeton.service.mirror import MirrorPlan

_MAX_PAIRS: Final = 100_000
"""Pairs that are kept; a stage rarely wants more."""


class SideAnswer(NamedTuple):
    """One side's answer to a request.

    Attributes:
        is_fine: True if its status is a success.
        input_tokens: Prompt tokens.
        output_tokens: Answer tokens.
        usd: Dollars; None: the side has no price.
        first_seconds: Time to the first byte.
        seconds: Time to the last byte.
        is_counted: True if tokens were counted here, because the answer stated none.
    """

    is_fine: bool
    input_tokens: int
    output_tokens: int
    usd: float | None
    first_seconds: float
    seconds: float
    is_counted: bool


NO_ANSWER: Final = SideAnswer(
    is_fine=False,
    input_tokens=0,
    output_tokens=0,
    usd=None,
    first_seconds=0.0,
    seconds=0.0,
    is_counted=False,
)
"""The answer of an endpoint that gives none."""


class MirroredPair(NamedTuple):
    """A request that both sides answered."""

    a: SideAnswer
    b: SideAnswer


@dataclass(frozen=True, slots=True)
class MirrorStage:
    """A stage as it stands.

    Attributes:
        stage: Figures and verdict, as of ``jeton adapt shadow``.
        first_seconds: Time to the first byte.
        n_errors_a: Requests that failed at A.
        n_errors_b: Requests that failed at B.
        n_counted: Pairs of which a side's tokens were counted here.
    """

    stage: Stage
    first_seconds: PairedDifference
    n_errors_a: int
    n_errors_b: int
    n_counted: int


class MirrorBook:
    """Pairs of the current stage, and the verdicts so far. Belongs to one event loop."""

    def __init__(self, plan: MirrorPlan) -> None:
        self.plan = plan
        self._seed = stage_seed(plan.salt)
        self._pairs: deque[MirroredPair] = deque(maxlen=_MAX_PAIRS)
        self._place = 0
        self._next_look = plan.rules.shadow.min_requests
        self.done: list[MirrorStage] = []
        self.n_seen = 0
        self.n_skipped = 0
        self.is_aborted = False

    @property
    def percent(self) -> float:
        """Share of the traffic that is mirrored now; 0 when the mirror has stopped."""
        return 0.0 if self.is_aborted else self.plan.stages[self._place]

    def wants(self, text: str) -> bool:
        """True if a request with this text is to be mirrored."""
        self.n_seen += 1
        if self.is_aborted:
            return False
        high, low = text_digests(TextBatch.from_texts([text]), num_threads=1)
        return bool(request_places(high ^ low, self._seed)[0] < self.percent / 100)

    def add(self, pair: MirroredPair) -> None:
        """Take a pair; judge the stage when it is time."""
        if self.is_aborted:
            return
        self._pairs.append(pair)
        n = len(self._pairs)
        rules = self.plan.rules
        enough = max(rules.stage_requests, rules.shadow.min_requests)
        if n < self._next_look and n < enough:
            return
        self._next_look = 2 * n
        found = self.current()
        if found.stage.verdict == "abort":
            self.done.append(found)
            self.is_aborted = True
        elif n >= enough and self._place + 1 < len(self.plan.stages):
            self.done.append(found)
            self._place += 1
            self._pairs.clear()
            self._next_look = rules.shadow.min_requests

    def current(self) -> MirrorStage:
        """Return the stage that runs, judged now."""
        fine = [pair for pair in self._pairs if pair.a.is_fine and pair.b.is_fine]
        n_errors_a = sum(not pair.a.is_fine for pair in self._pairs)
        n_errors_b = sum(not pair.b.is_fine for pair in self._pairs)
        usd = None
        if fine and fine[0].a.usd is not None and fine[0].b.usd is not None:
            usd = _difference(fine, "usd")
        seconds = _difference(fine, "seconds")
        stage = judge_stage(
            self.plan.rules.shadow,
            percent=self.plan.stages[self._place],
            tokens=_difference(fine, "input_tokens"),
            usd=usd,
            seconds=seconds,
            n_requests=len(fine),
            n_priced=len(fine) if usd else 0,
        )
        reasons = (*stage.reasons, *self._more_reasons(seconds, len(fine), n_errors_a, n_errors_b))
        if len(reasons) > len(stage.reasons):
            stage = Stage(**{**_fields(stage), "verdict": "abort", "reasons": reasons})
        return MirrorStage(
            stage,
            _difference(fine, "first_seconds"),
            n_errors_a,
            n_errors_b,
            sum(pair.a.is_counted or pair.b.is_counted for pair in fine),
        )

    def _more_reasons(
        self, seconds: PairedDifference, n_fine: int, n_errors_a: int, n_errors_b: int
    ) -> list[str]:
        rules, n = self.plan.rules, len(self._pairs)
        reasons = []
        if n_fine >= rules.shadow.min_requests and seconds.low_share > rules.max_more_seconds:
            reasons.append(
                f"seconds rise by {seconds.share:+.2%}, beyond {rules.max_more_seconds:.2%}"
            )
        more = n_errors_b - n_errors_a
        if n >= rules.shadow.min_requests and more > rules.max_more_errors * n:
            reasons.append(f"{more:,} of {n:,} requests fail at B and not at A")
        return reasons


def _difference(pairs: list[MirroredPair], name: str) -> PairedDifference:
    a = np.array([getattr(pair.a, name) for pair in pairs], dtype=np.float64)
    b = np.array([getattr(pair.b, name) for pair in pairs], dtype=np.float64)
    return paired_difference(a, b)


def _fields(stage: Stage) -> dict[str, Any]:
    return {name: getattr(stage, name) for name in Stage.__dataclass_fields__}
