"""``/v1/decode``: ids back to text."""

from __future__ import annotations

import msgspec

from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.service.arrow import ArrowForm
from jeton.service.routes.texts import Id
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked


class DecodeRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Ids to decode.

    Attributes:
        ids: Ids of one text.
        ids_batch: Ids of several texts; the answer has a list.
        tokenizer: Name of the tokenizer; the service's first one by default.
        skip_special_tokens: Leave out tokens that are no text.
    """

    ids: list[Id] | None = None
    ids_batch: list[list[Id]] | None = None
    tokenizer: str | None = None
    skip_special_tokens: bool = False


class DecodedText(msgspec.Struct):
    """Text of one list of ids.

    Attributes:
        text: The text; bytes that are not UTF-8 are U+FFFD.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    text: str
    tokenizer: str
    fingerprint: str
    basis: Basis


class DecodedTexts(msgspec.Struct):
    """Texts of several lists of ids.

    Attributes:
        texts: The texts.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    texts: list[str]
    tokenizer: str
    fingerprint: str
    basis: Basis


def _decode(state: ServiceState, request: DecodeRequest) -> Worked:
    if (request.ids is None) == (request.ids_batch is None):
        raise UsageError("give ids or ids_batch, and not both\nhint: {'ids': [1, 2, 3]}")
    served = state.tokenizers.get(request.tokenizer)
    batch = [request.ids] if request.ids is not None else request.ids_batch or []
    state.check_texts(len(batch))
    n_tokens = sum(map(len, batch))
    state.check_tokens(n_tokens)
    skip = request.skip_special_tokens
    texts = [served.tokenizer.decode(ids, skip_special_tokens=skip) for ids in batch]
    answer: DecodedText | DecodedTexts
    if request.ids is not None:
        answer = DecodedText(texts[0], served.name, served.fingerprint, Basis.EXACT)
    else:
        answer = DecodedTexts(texts, served.name, served.fingerprint, Basis.EXACT)
    return Worked(answer, served, Basis.EXACT, n_tokens)


DECODE = ServiceRoute(
    "/v1/decode",
    "Turn ids back into text.",
    DecodeRequest,
    DecodedText | DecodedTexts,
    _decode,
    arrow=ArrowForm("ids_batch", {"texts": "string"}),
)
"""The route."""
