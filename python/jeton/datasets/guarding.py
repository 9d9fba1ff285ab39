"""Documents under a policy of the guard, before they are tokenized."""

from __future__ import annotations

from dataclasses import replace

from jeton._core import TextBatch, Tokenizer
from jeton.datasets.reading import TextPiece
from jeton.errors import GuardRejected
from jeton.guard.policy import Policy, enforce_for
from jeton.guard.scanning import special_texts

__all__ = ["guarded"]


def guarded(piece: TextPiece, tokenizer: Tokenizer, policy: str) -> TextPiece:
    """Return a piece with its documents as a policy leaves them, and those it changed counted.

    Args:
        piece: Texts.
        tokenizer: The tokenizer whose special tokens are looked for.
        policy: The policy as ``Policy.to_json`` writes it.

    Raises:
        GuardRejected: The policy rejects a document; the message says which.
    """
    chosen = Policy.from_json(policy)
    own = special_texts(tokenizer)
    texts = []
    n_changed = 0
    for number, text in enumerate(piece.texts):
        try:
            found = enforce_for(text, chosen, own)
        except GuardRejected as error:
            message = f"document {number + 1:,} of its batch: {error}"
            raise GuardRejected(message, verdict=error.verdict) from None
        n_changed += bool(found.changes)
        texts.append(found.text)
    if not n_changed:
        return piece
    return replace(
        piece,
        texts=TextBatch.from_texts(texts),
        counts=replace(piece.counts, n_guarded_documents=n_changed),
    )
