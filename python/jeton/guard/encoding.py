"""Encoding of foreign text between text of one's own, with a policy for the foreign part."""

from __future__ import annotations

import os
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import GuardedEncoding
from jeton._nearest import nearest
from jeton.errors import UsageError
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


# Ids that come from a client instead of a text.


@dataclass(frozen=True, slots=True)
class IdCheck:
    """Faults of some ids.

    Attributes:
        out_of_range: Positions of ids that the tokenizer does not have.
        special: Positions of special tokens that the caller does not allow.
        noncanonical_at: First position at which the ids are not those of their own text; None: no
            such place, or it was not looked for, because ids are out of range.
        canonical_ids: The ids that belong there.
    """

    out_of_range: tuple[int, ...]
    special: tuple[int, ...]
    noncanonical_at: int | None
    canonical_ids: tuple[int, ...] = ()

    @property
    def is_clean(self) -> bool:
        """True without any fault."""
        return not self.out_of_range and not self.special and self.noncanonical_at is None


def check_ids(
    ids: Sequence[int] | NDArray[Any],
    tokenizer: TokenizerLike,
    *,
    allow_special: Collection[str] = (),
) -> IdCheck:
    """Check ids that a client sends.

    A model understands a text in other ids too, and filters trained on canonical ids do not
    know them ("Adversarial Tokenization", arXiv:2503.02174).

    Args:
        ids: Ids, int (n_tokens,).
        tokenizer: A name, a path or a tokenizer.
        allow_special: Special tokens that the client may send.

    Raises:
        UsageError: The ids are no flat list of whole numbers, or a special token is not known.

    Example:
        >>> import jeton
        >>> tok = jeton.load("jeton-general-32k")
        >>> check_ids(tok.encode("hello there"), tok).is_clean
        True
        >>> check_ids([tok.bytes_to_id(b"th"), tok.bytes_to_id(b"ere")], tok).noncanonical_at
        0
    """
    tok = resolve(tokenizer)
    unknown_names = [name for name in allow_special if name not in tok.special_tokens]
    if unknown_names:
        near = nearest(unknown_names[0], tok.special_tokens)
        raise UsageError(
            f"allow_special names {unknown_names[0]!r}, which is no special token"
            + (f"\nhint: did you mean {near[0]}?" if near else "")
        )
    values = _whole_numbers(ids)
    mask = tok.is_token_mask()
    is_known = (values >= 0) & (values < len(mask))
    is_known[is_known] = mask[values[is_known]]
    unknown = tuple(np.flatnonzero(~is_known).tolist())
    forbidden = {
        token.id
        for token in tok.added_tokens
        if token.special and token.content not in allow_special
    }
    special = tuple(i for i, one in enumerate(values.tolist()) if one in forbidden)
    if unknown or not len(values):
        return IdCheck(unknown, special, None)
    first = tok.first_noncanonical(values)
    if first is None:
        return IdCheck((), special, None)
    return IdCheck((), special, first.position, tuple(first.canonical_ids))


def _whole_numbers(ids: Sequence[int] | NDArray[Any]) -> NDArray[np.int64]:
    """Ids of a client: beyond 64 bits they are out of range, and no fraction is rounded."""
    if isinstance(ids, np.ndarray):
        if ids.ndim == 1 and ids.dtype.kind in "iu":
            return np.where(ids < 2**62, ids, -1).astype(np.int64)
        values: Any = ids.tolist()
    else:
        values = ids
    if isinstance(values, str | bytes) or not isinstance(values, Sequence):
        raise UsageError(f"ids are of type {type(ids).__name__}; expected a list of whole numbers")
    for at, value in enumerate(values):
        if isinstance(value, bool) or not isinstance(value, int | np.integer):
            raise UsageError(f"id {at} is {str(value)[:40]!r}; expected a whole number")
    return np.array([v if -1 <= v < 2**62 else -1 for v in values], dtype=np.int64)
