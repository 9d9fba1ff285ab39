"""Outcome of the requests of one run, request by request."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

DONE, TOO_LARGE, TOO_LONG = 0, 1, 2
"""How a request ended: answered; larger than the whole cache; longer than the model's context, or
than what is reserved."""


@dataclass(frozen=True, slots=True)
class MemoryRecord:
    """Memory of a run over time, by equally wide stretches.

    A run may last longer than its trace; beyond 4,096 stretches each two become one.

    Attributes:
        width: Seconds of a stretch.
        allocated: Integral of the bytes handed out, byte seconds.
        peak: The most bytes handed out.
        held: Integral of the layer tokens held by decoding requests.
        seconds: Seconds covered; less than ``width`` only in the last.
    """

    width: float
    allocated: list[float]
    peak: list[int]
    held: list[float]
    seconds: list[float]


@dataclass(frozen=True, slots=True, eq=False)
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
        memory: Memory over time.
    """

    arrived: NDArray[np.float64]
    admitted: NDArray[np.float64]
    first_token: NDArray[np.float64]
    finished: NDArray[np.float64]
    status: NDArray[np.uint8]
    n_preempted: NDArray[np.uint32]
    waits: tuple[NDArray[np.float64], NDArray[np.float64]]
    runs: tuple[NDArray[np.float64], NDArray[np.float64]]
    memory_out: NDArray[np.float64]
    end_seconds: float
    prompt_tokens_read: int
    cached_tokens: int
    recomputed_tokens: int
    output_tokens: int
    prompt_seconds: float
    decode_seconds: float
    blocked_seconds: float
    n_steps: int
    allocated_bytes_at_end: int
    predicted: NDArray[np.int64]
    predicted_actual: NDArray[np.int64]
    memory: MemoryRecord
