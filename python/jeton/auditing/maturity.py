"""The maturity verdict: sizes that are fixed, sizes that follow the text, sizes that are foreseen.

``static``: a length, a batch or a reservation is one number whatever the text has, and costs for
it. ``dynamic``: sizes follow the text that has come. ``predictive``: lengths are foreseen before
requests are admitted, and what is reserved is close to what is used. The verdict is the lowest
level that any piece of evidence allows; it needs a described pipeline or request logs.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.result import Maturity, MaturityLevel

MAX_RESERVED_RATIO_DYNAMIC = 4.0
"""Reserved tokens over used ones (p95) above which a reservation is fixed in advance. Our choice:
twice the p95 is prudent, four times is one number for everybody."""

MAX_RESERVED_RATIO_PREDICTIVE = 1.5
"""Ratio up to which a reservation may be said to follow a forecast. Our choice: half as much again
leaves room for the forecast's error, and is not a number for everybody."""

MIN_CACHED_SHARE = 0.05
"""Share of input tokens read from a cache from which a cache is in use. Our choice: less happens
by accident where a provider caches by itself."""

MIN_REQUESTS = 30
"""Requests with counts from which a quantile of them says something."""


@dataclass(frozen=True, slots=True)
class _Sign:
    """One piece of evidence: the highest level that it allows, and what would raise it."""

    level: MaturityLevel
    says: str
    next_step: str = ""


_ORDER: tuple[MaturityLevel, ...] = ("static", "dynamic", "predictive")


def maturity_of(evidence: Evidence) -> Maturity | None:
    """The verdict; None where neither a pipeline nor logs say anything about sizes."""
    signs = [*_padding(evidence), *_chunks(evidence), *_reservation(evidence)]
    signs += [*_caches(evidence), *_prediction(evidence)]
    if not signs:
        return None
    level = min((sign.level for sign in signs), key=_ORDER.index)
    if level == "predictive" and not _foresees(evidence):
        level = "dynamic"
    steps = [sign.next_step for sign in signs if sign.level == level and sign.next_step]
    return Maturity(
        level=level,
        evidence=tuple(sign.says for sign in signs),
        next_step=steps[0] if steps else _NEXT[level],
    )


_NEXT: dict[MaturityLevel, str] = {
    "static": "Let sizes follow the text: pad to the longest of a batch, or not at all.",
    "dynamic": "Predict the length of each request before it starts, and reserve that much memory.",
    "predictive": "Compare the prediction with what comes, and correct it when they differ.",
}


def _foresees(evidence: Evidence) -> bool:
    return evidence.pipeline is not None and bool(evidence.pipeline.length_prediction)


def _padding(evidence: Evidence) -> list[_Sign]:
    pipeline = evidence.pipeline
    if pipeline is None:
        return []
    signs = []
    if pipeline.padding == "static":
        signs.append(
            _Sign(
                "static",
                f"every sequence is padded to {pipeline.max_length:,} tokens; the mean has "
                f"{evidence.current.lengths.mean:,.0f}",
                "pad to the longest of a batch sorted by length, or pack sequences",
            )
        )
    elif pipeline.padding == "longest":
        signs.append(_Sign("predictive", "batches are padded to their longest sequence"))
    elif pipeline.padding == "none":
        signs.append(_Sign("predictive", "sequences are not padded"))
    if pipeline.max_length is not None and pipeline.truncation in ("left", "right"):
        n_cut, n_tokens = evidence.current.lengths.above(pipeline.max_length)
        if n_cut:
            signs.append(
                _Sign(
                    "static",
                    f"{n_cut:,} documents lose {n_tokens:,} tokens at the fixed length of "
                    f"{pipeline.max_length:,}",
                    "split or summarise longer texts instead of cutting them off",
                )
            )
    return signs


def _chunks(evidence: Evidence) -> list[_Sign]:
    pipeline = evidence.pipeline
    if pipeline is None or pipeline.chunk_tokens is None:
        return []
    return [_Sign("predictive", f"documents are cut by tokens ({pipeline.chunk_tokens:,} a piece)")]


def _reservation(evidence: Evidence) -> list[_Sign]:
    """Reservation of each request, against the tokens that requests use."""
    pipeline = evidence.pipeline
    if pipeline is None:
        return []
    signs = []
    if pipeline.reserved_tokens is not None:
        used = evidence.current.lengths.quantile(0.95) + evidence.output_tokens_per_request
        signs.append(_ratio_sign("context", pipeline.reserved_tokens, used))
    outputs = _known_outputs(evidence)
    if pipeline.max_output_tokens is not None and len(outputs) >= MIN_REQUESTS:
        used = float(np.quantile(outputs, 0.95, method="inverted_cdf"))
        signs.append(_ratio_sign("output", pipeline.max_output_tokens, used))
    return signs


def _ratio_sign(what: str, reserved: int, used: float) -> _Sign:
    ratio = reserved / max(used, 1.0)
    level: MaturityLevel = (
        "static"
        if ratio > MAX_RESERVED_RATIO_DYNAMIC
        else "dynamic"
        if ratio > MAX_RESERVED_RATIO_PREDICTIVE
        else "predictive"
    )
    return _Sign(
        level,
        f"{reserved:,} tokens of {what} are reserved for a request; 95% use at most {used:,.0f} "
        f"({ratio:.1f} times as many are reserved)",
        f"reserve {what} by the use of requests, not by their limit",
    )


def _known_outputs(evidence: Evidence) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    if evidence.requests is None:
        return np.zeros(0, dtype=np.int64)
    outputs = evidence.requests.output_tokens
    known: np.ndarray[tuple[int], np.dtype[np.int64]] = outputs[outputs >= 0]
    return known


def _caches(evidence: Evidence) -> list[_Sign]:
    share = evidence.requests.summary.cached_share if evidence.requests else None
    if share is not None:
        if share >= MIN_CACHED_SHARE:
            return [_Sign("predictive", f"{percent(share)} of the input is read from a cache")]
        return [
            _Sign(
                "dynamic",
                f"{percent(share)} of the input is read from a cache",
                "cache the prefixes that requests share",
            )
        ]
    said = evidence.pipeline.cache if evidence.pipeline else None
    if said is None:
        return []
    if said:
        return [_Sign("predictive", "prompt prefixes are cached, as it was said")]
    return [
        _Sign("dynamic", "prompt prefixes are not cached", "cache the prefixes that requests share")
    ]


def _prediction(evidence: Evidence) -> list[_Sign]:
    said = evidence.pipeline.length_prediction if evidence.pipeline else None
    if said is None:
        return []
    if said:
        return [_Sign("predictive", "lengths are predicted, as it was said")]
    return [_Sign("dynamic", "lengths are not predicted", _NEXT["dynamic"])]
