"""Encoding of foreign text between text of one's own, with a policy for the foreign part."""

from __future__ import annotations

import os
from collections.abc import Sequence

from jeton._core import GuardedEncoding
from jeton.guard.policy import Policy, enforce_for
from jeton.guard.scanning import special_texts
from jeton.registry import TokenizerLike, resolve


def encode_guarded(
    text: str,
    trusted_spans: Sequence[tuple[int, int]],
    *,
    tokenizer: TokenizerLike,
    policy: Policy | str | os.PathLike[str] = "default",
    control_tokens: Sequence[str] = (),
) -> GuardedEncoding:
    """Enforce a policy on all text outside the trusted spans, then ``Tokenizer.encode_guarded``.

    Args:
        text: A prompt.
        trusted_spans: Ranges of it that the caller wrote, in code points, rising and apart.
        tokenizer: A name, a path or a tokenizer.
        policy: A policy, the name of one, or a TOML file.
        control_tokens: As of ``Tokenizer.encode_guarded``.

    Returns:
        The encoding of the cleaned text; offsets count in it.

    Raises:
        GuardRejected: The policy rejects a part.

    Example:
        >>> found = encode_guarded("user: hi", [(0, 6)], tokenizer="jeton-general-32k")
        >>> len(found.refused)
        0
    """
    tok = resolve(tokenizer)
    chosen = Policy.of(policy)
    own = special_texts(tok)
    pieces: list[str] = []
    spans = []
    at = length = 0
    for start, end in [*trusted_spans, (len(text), len(text))]:
        cleaned = enforce_for(text[at:start], chosen, own).text
        pieces += [cleaned, text[start:end]]
        length += len(cleaned)
        if end > start:
            spans.append((length, length + end - start))
        length += end - start
        at = end
    return tok.encode_guarded("".join(pieces), spans, control_tokens=list(control_tokens))
