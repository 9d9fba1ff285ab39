"""Answers: how long they are, and what in them nobody asked for."""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

MIN_ECHO_CHARS = 80
"""A line of the prompt of this length comes back word for word only if it is repeated on purpose
or by habit: shorter ones are names, headings and quotations."""

_OPENING = re.compile(
    r"\A\s*(?:sure|certainly|of course|absolutely|great question|great(?=[!,])|happy to help|"
    r"as an ai(?: language)? model|i(?:'|\u2019)d be happy to|here(?:'|\u2019)?s|here is|here are|"
    r"thank you for|i understand (?:that )?you)\b[^\n.!?:]{0,200}[.!?:]\s*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?<!\s)\s*+(?:i hope (?:this|that) helps|let me know if|feel free to|please let me know|"
    r"if you have any (?:other |further |more )?questions|is there anything else)"
    r"[^\n]{0,200}\s*\Z",
    re.IGNORECASE,
)
_MAX_FRAMES = 3
_TAIL_CHARS = 600


@dataclass(frozen=True, slots=True)
class OutputLengthFigures:
    """Output tokens of requests.

    Attributes:
        n_requests: Requests whose output is known.
        n_tokens: Their output tokens.
        p50, p95: Nearest-rank quantiles.
        n_tokens_beyond: Tokens beyond ``limit`` in requests that are longer.
        limit: Where long answers begin: a multiple of the median.
    """

    n_requests: int
    n_tokens: int
    p50: int
    p95: int
    limit: int
    n_tokens_beyond: int


def output_lengths(
    output_tokens: NDArray[np.int64], *, times_median: int
) -> OutputLengthFigures | None:
    """Summarize outputs; None where none is known (negative: not known)."""
    known = np.sort(output_tokens[output_tokens >= 0])
    if not len(known) or not known.sum():
        return None
    p50 = int(np.quantile(known, 0.5, method="inverted_cdf"))
    p95 = int(np.quantile(known, 0.95, method="inverted_cdf"))
    limit = times_median * max(1, p50)
    beyond = int((known[known > limit] - limit).sum())
    return OutputLengthFigures(len(known), int(known.sum()), p50, p95, limit, beyond)


def without_politeness(response: str) -> tuple[str, int]:
    """Drop openings and closings that say nothing (a `rewriting.Rewrite`); English only."""
    new = response
    for _ in range(_MAX_FRAMES):
        shorter = _OPENING.sub("", new, count=1)
        tail = max(0, len(shorter) - _TAIL_CHARS)
        shorter = shorter[:tail] + _CLOSING.sub("", shorter[tail:], count=1)
        if shorter == new or not shorter.strip():
            break
        new = shorter
    return new, 4 * (len(response) - len(new))


def without_echo(response: str, prompt: str) -> tuple[str, int]:
    """Drop the long lines of an answer that stand in its prompt word for word."""
    if len(response) < MIN_ECHO_CHARS:
        return response, 0
    lines = {line.strip() for line in prompt.split("\n")}
    kept = [
        line
        for line in response.split("\n")
        if len(line.strip()) < MIN_ECHO_CHARS or line.strip() not in lines
    ]
    new = "\n".join(kept)
    return new, 4 * (len(response) - len(new))
