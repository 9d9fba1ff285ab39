"""Objective of a server: limits of the latency, and the figure that the best policy has most of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from jeton.errors import UsageError

Aim: TypeAlias = Literal["goodput", "ttft", "cost", "utilisation"]

AIMS: tuple[Aim, ...] = ("goodput", "ttft", "cost", "utilisation")

_MAX_SECONDS = 86_400.0


@dataclass(frozen=True, slots=True)
class LatencyObjective:
    """Limits that an answer keeps to be in time, and what is sought.

    Attributes:
        ttft_seconds: Longest time from arrival to the first token.
        tpot_seconds: Longest mean time between the tokens of an answer.
        aim: ``goodput``: most answers in time a second; ``ttft``: shortest time to the first token
            of 99 in 100; ``cost``: fewest dollars a million tokens of answers in time;
            ``utilisation``: the fullest cache.
    """

    ttft_seconds: float = 2.0
    tpot_seconds: float = 0.1
    aim: Aim = "goodput"

    def __post_init__(self) -> None:
        for name in ("ttft_seconds", "tpot_seconds"):
            value = getattr(self, name)
            if not 0 < value <= _MAX_SECONDS:
                raise UsageError(f"{name} is {value}; expected seconds above 0, at most a day")
        if self.aim not in AIMS:
            raise UsageError(f"the aim is {self.aim!r}; expected one of {', '.join(AIMS)}")
