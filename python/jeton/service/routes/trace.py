"""``/v1/trace``: each step from a text to its ids, or to a vocabulary, as data and as a page."""

from __future__ import annotations

from dataclasses import replace
from typing import Annotated, Any

import msgspec

from jeton.findings import Basis
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked

_MOST_CHARS, _MOST_TRAINED_BYTES, _MOST_MERGES = 400, 8_000, 40


class TraceRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A text to follow.

    Attributes:
        text: The text; 400 characters are encoded, 8,000 bytes trained on.
        tokenizer: Name of the tokenizer; the service's first one by default.
        algorithm: Follow training on the text instead, by this algorithm of ``jeton train``.
        vocab_size: Tokens to train.
        n_best: Unigram: ways to cut the text to list.
        seed: Follow a drawn segmentation instead.
        dropout: With a seed, BPE: merges left out.
        page: Give the page with a slider too.
    """

    text: str
    tokenizer: str | None = None
    algorithm: str | None = None
    vocab_size: Annotated[int, msgspec.Meta(ge=1, le=400)] = 300
    n_best: Annotated[int, msgspec.Meta(ge=1, le=20)] = 3
    seed: Annotated[int, msgspec.Meta(ge=0, le=(1 << 32) - 1)] | None = None
    dropout: Annotated[float, msgspec.Meta(ge=0, le=1)] | None = None
    page: bool = False


class TraceAnswer(msgspec.Struct, omit_defaults=True):
    """A trace.

    Attributes:
        trace: The steps, as ``jeton trace --json`` writes them.
        matches_engine: True if the fast engine gives the same.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of its canonical form.
        basis: Always ``exact``.
        html: The page, if it was asked for.
    """

    trace: dict[str, Any]
    matches_engine: bool
    tokenizer: str
    fingerprint: str
    basis: Basis
    html: str = ""


def _trace(state: ServiceState, request: TraceRequest) -> Worked:
    from jeton.report.trace_page import trace_html
    from jeton.tracing import EncodeTrace, TrainTrace, trace_encode, trace_train

    served = state.tokenizers.get(request.tokenizer)
    found: EncodeTrace | TrainTrace
    if request.algorithm is not None:
        found = trace_train(
            iter([request.text]),
            algorithm=request.algorithm,
            vocab_size=request.vocab_size,
            steps=_MOST_MERGES,
            max_bytes=_MOST_TRAINED_BYTES,
        )
        n_tokens = 0
    else:
        found = trace_encode(
            served.tokenizer,
            request.text,
            n_best=request.n_best,
            seed=request.seed,
            dropout=request.dropout,
            max_chars=_MOST_CHARS,
        )
        found = replace(found, tokenizer=served.name)
        n_tokens = len(found.ids)
    answer = TraceAnswer(
        found.to_dict(),
        found.matches_engine,
        served.name,
        served.fingerprint,
        Basis.EXACT,
        trace_html(found) if request.page else "",
    )
    return Worked(answer, served, Basis.EXACT, n_tokens)


TRACE = ServiceRoute(
    "/v1/trace",
    "Follow a text step by step.",
    TraceRequest,
    TraceAnswer,
    _trace,
    is_heavy=True,
)
"""The route."""
