"""``/v1/encode``, ``/v1/count`` and ``/v1/decode``: texts to ids or their number, and ids back."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Annotated, Any

import msgspec

from jeton._core import Tokenizer
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.service.arrow import ArrowForm
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked, ids_of

# Fields that requests share: one text, several, or a chat.

Positive = Annotated[int, msgspec.Meta(ge=1, le=1 << 31)]
"""A number of tokens or texts."""

Id = Annotated[int, msgspec.Meta(ge=0, le=(1 << 32) - 1)]
"""An id of a token."""


class TextRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """One text or several, and the tokenizer.

    Attributes:
        text: One text.
        texts: Several texts; the answer has a list.
        tokenizer: Name of the tokenizer; the service's first one by default.
    """

    text: str | None = None
    texts: list[str] | None = None
    tokenizer: str | None = None


def is_single(request: TextRequest) -> bool:
    """True if a request has one text.

    Raises:
        UsageError: It has both ``text`` and ``texts``, or neither.
    """
    if (request.text is None) == (request.texts is None):
        raise UsageError("give text or texts, and not both\nhint: {'text': '...'}")
    return request.text is not None


def batch_of(request: Any) -> Sequence[str]:
    """Return the texts of a request as a batch."""
    return [request.text] if is_single(request) else request.texts or []


class EncodeRequest(TextRequest, kw_only=True):
    """Texts to encode.

    Attributes:
        add_special_tokens: Add the tokens that the tokenizer puts around a text.
        offsets: Say where in the text each token comes from.
        pieces: Give the bytes of each token, as base64.
    """

    add_special_tokens: bool = False
    offsets: bool = False
    pieces: bool = False


class EncodedText(msgspec.Struct, omit_defaults=True):
    """Ids of one text.

    Attributes:
        ids: The ids.
        count: Number of the ids.
        starts: First character (code point) of each token.
        ends: One past its last character.
        starts_bytes: First byte of each token in the text as UTF-8.
        ends_bytes: One past its last byte.
        pieces: Bytes of each token, as base64.
        is_special: True for tokens that are no text.
    """

    ids: list[int]
    count: int
    starts: list[int] | None = None
    ends: list[int] | None = None
    starts_bytes: list[int] | None = None
    ends_bytes: list[int] | None = None
    pieces: list[bytes] | None = None
    is_special: list[bool] | None = None


class TextIds(EncodedText, omit_defaults=True, kw_only=True):
    """Ids of one text, and the tokenizer.

    Attributes:
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    tokenizer: str
    fingerprint: str
    basis: Basis


class TextsIds(msgspec.Struct):
    """Ids of several texts.

    Attributes:
        texts: The ids of each text.
        total: Number of all ids.
        tokenizer: Name of the tokenizer.
        fingerprint: SHA-256 of the tokenizer's canonical form.
        basis: Always ``exact``.
    """

    texts: list[EncodedText]
    total: int
    tokenizer: str
    fingerprint: str
    basis: Basis


def check_size(state: ServiceState, tokenizer: Tokenizer, texts: Any, n_texts: int) -> None:
    """Refuse texts whose ids would be too many, before the ids are made.

    Counting takes a fraction of the memory; short texts need no count.
    """
    state.check_texts(n_texts)
    n_bytes = sum(map(len, texts)) if isinstance(texts, list) else state.limits.max_tokens
    if n_bytes * 4 > state.limits.max_tokens:
        state.check_tokens(int(tokenizer.count_batch(texts).sum()))


def _encode(state: ServiceState, request: EncodeRequest) -> Worked:
    served = state.tokenizers.get(request.tokenizer)
    texts = list(batch_of(request))
    check_size(state, served.tokenizer, texts, len(texts))
    found = [_one(served.tokenizer, text, request) for text in texts]
    total = sum(item.count for item in found)
    answer: TextIds | TextsIds
    if is_single(request):
        fields = {name: getattr(found[0], name) for name in EncodedText.__struct_fields__}
        answer = TextIds(
            **fields, tokenizer=served.name, fingerprint=served.fingerprint, basis=Basis.EXACT
        )
    else:
        answer = TextsIds(found, total, served.name, served.fingerprint, Basis.EXACT)
    return Worked(answer, served, Basis.EXACT, total, texts)


def _one(tokenizer: Tokenizer, text: str, request: EncodeRequest) -> EncodedText:
    special = request.add_special_tokens
    if not request.offsets:
        ids = tokenizer.encode_array(text, add_special_tokens=special)
        found = EncodedText(ids_of(ids), len(ids))
    else:
        encoding = tokenizer.encode_with_offsets(text, add_special_tokens=special)
        ids = encoding.ids
        found = EncodedText(
            ids_of(ids),
            len(ids),
            encoding.starts.tolist(),
            encoding.ends.tolist(),
            encoding.starts_bytes.tolist(),
            encoding.ends_bytes.tolist(),
        )
    if request.pieces:
        # Each id once: texts repeat them.
        plain = ids.tolist()
        pieces = {id_: tokenizer.id_to_bytes(id_) for id_ in set(plain)}
        found.pieces = [pieces[id_] for id_ in plain]
        found.is_special = tokenizer.special_tokens_mask(ids).tolist()
    return found


ENCODE = ServiceRoute(
    "/v1/encode",
    "Turn texts into ids.",
    EncodeRequest,
    TextIds | TextsIds,
    _encode,
    arrow=ArrowForm(
        "texts",
        {
            "texts.ids": "int64[]",
            "texts.starts": "int64[]",
            "texts.ends": "int64[]",
            "texts.starts_bytes": "int64[]",
            "texts.ends_bytes": "int64[]",
            "texts.pieces": "string[]",
            "texts.is_special": "bool[]",
        },
    ),
)
"""The route."""


# ``/v1/count``: tokens of texts, without their ids.


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


# ``/v1/decode``: ids back to text.


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
