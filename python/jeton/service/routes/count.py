"""``/v1/count``: tokens of texts, without their ids."""

from __future__ import annotations

import msgspec

from jeton.findings import Basis
from jeton.service.arrow import ArrowForm
from jeton.service.routes.texts import TextRequest, is_single
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked


class CountRequest(TextRequest, kw_only=True):
    """Texts to count.

    Attributes:
        add_special_tokens: Count the tokens too that the tokenizer puts around a text.
    """

    add_special_tokens: bool = False


class CountAnswer(msgspec.Struct):
    """Tokens of one text.

    Attributes:
        count: Tokens.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    count: int
    tokenizer: str
    fingerprint: str
    basis: Basis


class CountsAnswer(msgspec.Struct):
    """Tokens of several texts.

    Attributes:
        counts: Tokens of each text.
        total: Their sum.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    counts: list[int]
    total: int
    tokenizer: str
    fingerprint: str
    basis: Basis


def _count(state: ServiceState, request: CountRequest) -> Worked:
    served = state.tokenizers.get(request.tokenizer)
    special = request.add_special_tokens
    if is_single(request):
        text = request.text or ""
        n = served.tokenizer.count(text, add_special_tokens=special)
        one = CountAnswer(n, served.name, served.fingerprint, Basis.EXACT)
        return Worked(one, served, Basis.EXACT, n, (text,))
    texts = request.texts or []
    state.check_texts(len(texts))
    counts = served.tokenizer.count_batch(texts, add_special_tokens=special).tolist()
    total = sum(counts)
    several = CountsAnswer(counts, total, served.name, served.fingerprint, Basis.EXACT)
    return Worked(several, served, Basis.EXACT, total, texts)


COUNT = ServiceRoute(
    "/v1/count",
    "Count the tokens of texts.",
    CountRequest,
    CountAnswer | CountsAnswer,
    _count,
    arrow=ArrowForm("texts", {"counts": "int64"}),
)
"""The route."""
