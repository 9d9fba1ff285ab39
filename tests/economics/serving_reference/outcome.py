"""Outcome of the requests of one run, request by request."""

from __future__ import annotations

from array import array
from collections.abc import Sequence
from dataclasses import dataclass, field

__all__ = ["DONE", "TOO_LARGE", "TOO_LONG", "Outcome"]

DONE, TOO_LARGE, TOO_LONG = 0, 1, 2
"""How a request ended: answered; larger than the whole cache; longer than the model's context, or
than what is reserved."""


@dataclass(slots=True)
class Outcome:
    """Outcome of the requests, and the work of the group.

    Attributes:
        arrived: Time of arrival of each request, seconds.
        admitted: When it first left the queue; NaN: never.
        first_token: When its first token came; NaN: none.
        finished: When it ended; NaN: it was refused.
        status: `DONE`, `TOO_LARGE` or `TOO_LONG`.
        n_preempted: How often it lost its cache.
        waits: Stretches of waiting, each from and to: those after a preemption too.
        runs: Stretches in the batch, each from and to.
        memory_out: Moments at which a request had to be preempted.
        end_seconds: When the last request ended.
        prompt_tokens_read: Prompt tokens read, those that were read again included.
        cached_tokens: Prompt tokens that were not read, because the cache had them.
        recomputed_tokens: Tokens of the read ones that were read again after a preemption.
        output_tokens: Tokens given.
        prompt_seconds: Time of steps that read prompts.
        decode_seconds: Time of steps that only decode.
        blocked_seconds: Time in which the head of the queue waited for memory.
        n_steps: Steps.
        allocated_bytes_at_end: Memory still handed out; 0, or the books are wrong.
        predicted: Predicted output lengths, of the requests that had a prediction.
        predicted_actual: Their actual ones.
    """

    arrived: array[float]
    admitted: array[float]
    first_token: array[float]
    finished: array[float]
    status: bytearray
    n_preempted: array[int]
    waits: tuple[array[float], array[float]]
    runs: tuple[array[float], array[float]]
    memory_out: array[float]
    end_seconds: float = 0.0
    prompt_tokens_read: int = 0
    cached_tokens: int = 0
    recomputed_tokens: int = 0
    output_tokens: int = 0
    prompt_seconds: float = 0.0
    decode_seconds: float = 0.0
    blocked_seconds: float = 0.0
    n_steps: int = 0
    allocated_bytes_at_end: int = 0
    predicted: list[int] = field(default_factory=list)
    predicted_actual: list[int] = field(default_factory=list)

    @classmethod
    def of(cls, arrivals: Sequence[float]) -> Outcome:
        """Before the run, when all that is known is when requests come."""
        n = len(arrivals)
        never = array("d", [float("nan")]) * n
        return cls(
            arrived=array("d", arrivals),
            admitted=never[:],
            first_token=never[:],
            finished=never,
            status=bytearray(n),
            n_preempted=array("i", [0]) * n,
            waits=(array("d"), array("d")),
            runs=(array("d"), array("d")),
            memory_out=array("d"),
        )
