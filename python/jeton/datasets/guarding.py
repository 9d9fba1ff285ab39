"""Documents under a policy of the guard, before they are tokenized."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import replace

from jeton._core import TextBatch, Tokenizer
from jeton._plain import counted
from jeton.corpus import InputFile
from jeton.datasets.reading import TextPiece
from jeton.errors import GuardRejected
from jeton.guard.policy import Policy, enforce_for
from jeton.guard.scanning import special_texts


def guarded(
    piece: TextPiece,
    tokenizer: Tokenizer,
    policy: str,
    *,
    files: Sequence[InputFile],
    seen: Counter[int],
    start: int = 0,
) -> TextPiece:
    """Return a piece with its documents as a policy leaves them, and those it changed counted.

    Args:
        piece: Texts.
        tokenizer: The tokenizer whose special tokens are looked for.
        policy: The policy as ``Policy.to_json`` writes it.
        files: Files of the run, for messages.
        seen: Documents of each file that came before; those of the piece are added.
        start: First byte that was read of a file that is read in parts.

    Raises:
        GuardRejected: The policy rejects documents; the message names the first and counts those
            of the piece.
    """
    chosen = Policy.from_json(policy)
    own = special_texts(tokenizer)
    texts = []
    n_changed = 0
    refused: GuardRejected | None = None
    n_refused = 0
    numbered = ((file, at) for file, n in piece.runs for at in range(n))
    for (file, at), text in zip(numbered, piece.texts, strict=False):
        try:
            found = enforce_for(text, chosen, own)
        except GuardRejected as error:
            n_refused += 1
            if refused is None:
                place = f"{files[file].path}, document {seen[file] + at + 1:,}"
                place += f" behind byte {start:,}" if start else ""
                refused = GuardRejected(f"{place}: {error}", verdict=error.verdict)
            continue
        n_changed += bool(found.changes)
        texts.append(found.text)
    if refused is not None:
        message = (
            f"{refused}\n{counted(n_refused, 'document')} refused of {len(piece.texts):,} read"
        )
        raise GuardRejected(message, verdict=refused.verdict)
    for file, n in piece.runs:
        seen[file] += n
    if not n_changed:
        return piece
    return replace(
        piece,
        texts=TextBatch.from_texts(texts),
        counts=replace(piece.counts, n_guarded_documents=n_changed),
    )
