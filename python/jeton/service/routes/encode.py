"""``/v1/encode``: ids of texts, with the bytes and characters that each id stands for."""

from __future__ import annotations

from typing import Any

import msgspec

from jeton._core import Tokenizer
from jeton.findings import Basis
from jeton.service.arrow import ArrowForm
from jeton.service.routes.texts import TextRequest, batch_of, is_single
from jeton.service.state import ServiceState
from jeton.service.wire import ServiceRoute, Worked, ids_of


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
