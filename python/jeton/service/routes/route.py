"""``/v1/route``: the endpoint that takes a request at the least cost."""

from __future__ import annotations

import msgspec

from jeton.findings import Basis
from jeton.service.failures import HttpFailure, ServiceFailure
from jeton.service.routes.encode import Positive
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked


class RouteRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """A request that wants an endpoint.

    Attributes:
        text: The whole prompt.
        extra_tokens: Tokens beside the text: chat format, tools, images.
        task: Kind of request, for tables of quality.
        conversation: Name of the conversation, for prompt caches.
        max_output_tokens: Most answer tokens that it asks for.
    """

    text: str
    extra_tokens: int = 0
    task: str = ""
    conversation: str = ""
    max_output_tokens: Positive | None = None


class RouteCandidate(msgspec.Struct):
    """One endpoint for the request.

    Attributes:
        endpoint: Its name.
        input_tokens: Prompt tokens by its own tokenizer.
        output_tokens: Expected answer tokens.
        usd: Expected dollars.
        seconds: Expected time to the last token; null: not known.
        fits: True if prompt and answer are within its limits.
        meets: True if latency and quality meet the policy.
        reasons: Its drawbacks, in words.
    """

    endpoint: str
    input_tokens: int
    output_tokens: float
    usd: float
    seconds: float | None
    fits: bool
    meets: bool
    reasons: tuple[str, ...]


class RouteAnswer(msgspec.Struct):
    """The endpoint, and its reasons.

    Attributes:
        endpoint: Name of the endpoint; null: no endpoint takes the request.
        usd: Expected dollars there.
        reason: The grounds of the choice, in words.
        is_fallback: True if no endpoint met the policy, and one was taken all the same.
        candidates: All endpoints.
        basis: ``calibrated`` where answers were learned from a history, else ``estimated``.
    """

    endpoint: str | None
    usd: float
    reason: str
    is_fallback: bool
    candidates: list[RouteCandidate]
    basis: Basis


def _route(state: ServiceState, request: RouteRequest) -> Worked:
    router = state.router
    if router is None:
        raise ServiceFailure(
            HttpFailure(
                404, "no_endpoints", "this service has no endpoints", "jeton serve --endpoints F"
            )
        )
    asked = router.request(
        request.text,
        extra_tokens=request.extra_tokens,
        task=request.task,
        conversation=request.conversation,
        max_output_tokens=request.max_output_tokens,
    )
    # The router learns and keeps conversations: one request at a time.
    with state.router_lock:
        found = router.explain(asked)
        choice = router.choose(asked)
    candidates = [
        RouteCandidate(
            one.endpoint,
            one.input_tokens,
            one.output_tokens,
            one.usd,
            one.seconds,
            one.fits,
            one.meets,
            one.reasons,
        )
        for one in found.candidates
    ]
    basis = Basis.CALIBRATED if found.output_history else Basis.ESTIMATED
    answer = RouteAnswer(
        choice.endpoint, choice.usd, found.reason, choice.is_fallback, candidates, basis
    )
    served = state.tokenizers.get(None)
    return Worked(answer, served, basis, max(asked.input_tokens, default=0))


ROUTE = ServiceRoute(
    "/v1/route",
    "Choose an endpoint for a request.",
    RouteRequest,
    RouteAnswer,
    _route,
)
"""The route."""
