"""``/v1/compare``: tokenizers side by side on one text."""

from __future__ import annotations

from typing import Annotated, Any

import msgspec

from jeton.comparing import compare
from jeton.errors import UsageError
from jeton.findings import Basis
from jeton.service.routes.encode import batch_of, check_size
from jeton.service.state import ServiceState, check_limit
from jeton.service.wire import ServiceRoute, Worked


class CompareRequest(msgspec.Struct, forbid_unknown_fields=True, kw_only=True):
    """Texts on which tokenizers are compared.

    Attributes:
        text: One text.
        texts: Several texts; each is a document.
        tokenizers: Names of the tokenizers; by default those of the service, up to its limit.
    """

    text: str | None = None
    texts: list[str] | None = None
    tokenizers: Annotated[list[str], msgspec.Meta(min_length=1)] | None = None


class ComparedTokenizer(msgspec.Struct):
    """One tokenizer on the text.

    Attributes:
        tokenizer: Its name.
        fingerprint: SHA-256 of its canonical form.
        algorithm: ``bpe``, ``unigram`` ...
        vocab_size: Rows that an embedding needs.
        n_tokens: Tokens of the whole text.
        tokens_change: By what share that is above (+) or below (-) the first one's.
        bytes_per_token: Text that one token holds.
        tokens_per_word: Tokens of a word.
        single_byte_token_share: Tokens of one byte, 0 to 1.
        unknown_token_share: Tokens that stand for unknown text; null: it has no such token.
        round_trip_failures: Texts whose ids do not decode to the text.
    """

    tokenizer: str
    fingerprint: str
    algorithm: str
    vocab_size: int
    n_tokens: int
    tokens_change: float | None
    bytes_per_token: float
    tokens_per_word: float
    single_byte_token_share: float
    unknown_token_share: float | None
    round_trip_failures: int


class ComparedTexts(msgspec.Struct):
    """Tokenizers side by side.

    Attributes:
        tokenizers: In the order of the request.
        n_bytes: Bytes of the text.
        n_chars: Its characters (code points).
        n_words: Its words, as white space divides them.
        groups: Parts of the text (domain, script, language) with each tokenizer's figures, as
            ``jeton compare --json`` has them.
        basis: Always ``exact``.
    """

    tokenizers: list[ComparedTokenizer]
    n_bytes: int
    n_chars: int
    n_words: int
    groups: list[dict[str, Any]]
    basis: Basis


def _compare(state: ServiceState, request: CompareRequest) -> Worked:
    most = state.limits.max_tokenizers
    names = request.tokenizers or list(state.tokenizers.names[:most])
    check_limit("tokenizers", len(names), most)
    if len(set(names)) < len(names):
        raise UsageError("tokenizers has a name twice; expected each once")
    served = state.tokenizers.several(names)
    texts = list(batch_of(request))
    # Two names may have one tokenizer, which is measured once.
    distinct = {item.fingerprint: item.tokenizer for item in served}
    for tokenizer in distinct.values():
        check_size(state, tokenizer, texts, len(texts))
    found = compare(
        iter(texts), tokenizers=list(distinct.values()), quality=False, time_encoding=False
    )
    by_fingerprint = {item.fingerprint: item for item in found.tokenizers}
    first = by_fingerprint[served[0].fingerprint]
    rows = []
    for item in served:
        one = by_fingerprint[item.fingerprint]
        rows.append(
            ComparedTokenizer(
                item.name,
                item.fingerprint,
                one.algorithm,
                one.vocab_size,
                one.n_tokens,
                one.n_tokens / first.n_tokens - 1 if first.n_tokens else None,
                one.bytes_per_token,
                one.tokens_per_word,
                one.single_byte_token_share,
                one.unknown_token_share,
                one.n_round_trip_failures,
            )
        )
    text = found.text
    groups = found.to_dict()["groups"]
    answer = ComparedTexts(rows, text.n_bytes, text.n_chars, text.n_words, groups, Basis.EXACT)
    return Worked(answer, served[0], Basis.EXACT, first.n_tokens, texts)


COMPARE = ServiceRoute(
    "/v1/compare",
    "Compare tokenizers on texts.",
    CompareRequest,
    ComparedTexts,
    _compare,
    is_heavy=True,
)
"""The route."""
