"""``/v1/estimate``: an interval of tokens, before anything is encoded."""

from __future__ import annotations

from typing import Annotated, Literal

import msgspec

from jeton.errors import UsageError
from jeton.estimating.bounds import bounds_of_length, count_limits, token_bounds
from jeton.findings import Basis
from jeton.service.routes.encode import TextRequest, batch_of, is_single
from jeton.service.state import ServiceState
from jeton.service.tokenizers import ServedTokenizer
from jeton.service.wire import ServiceRoute, Worked


class EstimateRequest(TextRequest, kw_only=True):
    """Texts, or the size of one, to estimate.

    Attributes:
        n_bytes: Size of a text as UTF-8, instead of the text itself.
        method: ``bounds`` holds for every text; ``calibrated`` needs a count model and is closer;
            ``auto`` takes the model where there is one.
    """

    n_bytes: Annotated[int, msgspec.Meta(ge=0, le=1 << 40)] | None = None
    method: Literal["auto", "bounds", "calibrated"] = "auto"


class TokenInterval(msgspec.Struct):
    """Interval of one text's tokens.

    Attributes:
        lower_tokens: Lower end.
        upper_tokens: Upper end.
        expected_tokens: Expected tokens; null: bounds expect none.
        coverage: Share of texts whose count the interval holds; 1 for bounds.
    """

    lower_tokens: float
    upper_tokens: float
    expected_tokens: float | None
    coverage: float


class TextEstimate(TokenInterval, kw_only=True):
    """Interval of one text's tokens, and the tokenizer.

    Attributes:
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: ``estimated`` for bounds, ``calibrated`` for a model's interval.
    """

    tokenizer: str
    fingerprint: str
    basis: Basis


class TextEstimates(msgspec.Struct):
    """Intervals of several texts' tokens.

    Attributes:
        texts: The interval of each text.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: ``estimated`` for bounds, ``calibrated`` for a model's intervals.
    """

    texts: list[TokenInterval]
    tokenizer: str
    fingerprint: str
    basis: Basis


def _estimate(state: ServiceState, request: EstimateRequest) -> Worked:
    served = state.tokenizers.get(request.tokenizer)
    if request.n_bytes is not None:
        if request.text is not None or request.texts is not None or request.method == "calibrated":
            raise UsageError("n_bytes goes without text and texts, by the method bounds")
        n = request.n_bytes
        bounds = bounds_of_length(count_limits(served.tokenizer), n, n)
        found = [TokenInterval(bounds.lower_tokens, bounds.upper_tokens, None, 1.0)]
        return _answer(served, found, Basis.ESTIMATED, is_one=True)
    texts = batch_of(request)
    state.check_texts(len(texts))
    has_model = served.name in state.count_models
    if request.method == "calibrated" and not has_model:
        raise UsageError(
            f"there is no count model for {served.name!r}\n"
            "hint: `jeton predict calibrate` learns one; `jeton serve --count-model` takes it"
        )
    is_model = has_model and request.method != "bounds"
    found = [_interval(state, served, text, is_model=is_model) for text in texts]
    basis = Basis.CALIBRATED if is_model else Basis.ESTIMATED
    return _answer(served, found, basis, is_one=is_single(request))


def _interval(
    state: ServiceState, served: ServedTokenizer, text: str, *, is_model: bool
) -> TokenInterval:
    if is_model:
        found = state.count_models[served.name].count(text)
        return TokenInterval(found.lower_tokens, found.upper_tokens, found.n_tokens, found.coverage)
    bounds = token_bounds(served.tokenizer, text.encode("utf-8", "surrogatepass"))
    return TokenInterval(bounds.lower_tokens, bounds.upper_tokens, None, 1.0)


def _answer(
    served: ServedTokenizer, found: list[TokenInterval], basis: Basis, *, is_one: bool
) -> Worked:
    answer: TextEstimate | TextEstimates
    if is_one:
        (one,) = found
        fields = {name: getattr(one, name) for name in TokenInterval.__struct_fields__}
        answer = TextEstimate(
            **fields, tokenizer=served.name, fingerprint=served.fingerprint, basis=basis
        )
    else:
        answer = TextEstimates(found, served.name, served.fingerprint, basis)
    return Worked(answer, served, basis, 0)


ESTIMATE = ServiceRoute(
    "/v1/estimate",
    "Estimate the tokens of texts by an interval.",
    EstimateRequest,
    TextEstimate | TextEstimates,
    _estimate,
)
"""The route."""
