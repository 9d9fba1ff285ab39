"""The worker: a unit of the inputs becomes pieces of ids. Threads and Ray tasks call the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from jeton._core import TextBatch, Tokenizer
from jeton._plain import counted
from jeton.corpus import InputFile
from jeton.corpus.objects import FileState
from jeton.datasets.options import DatasetOptions
from jeton.datasets.pieces import TokenPiece
from jeton.datasets.reading import TextPiece, read_unit
from jeton.datasets.units import WorkUnit
from jeton.errors import GuardRejected
from jeton.guard.policy import Policy, enforce_for
from jeton.guard.scanning import special_texts

# Documents under a policy of the guard, before they are tokenized.


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


@dataclass(frozen=True, slots=True)
class TokenizeJob:
    """Everything that a worker has to know.

    Attributes:
        files: The inputs.
        states: Size and time of each input when the run began; None: it cannot be known.
        units: The work.
        tokenizer: The tokenizer, whose template is that of the documents; None where ids are
            copied.
        options: Settings of the run.
        holds_text: The format wants the texts, too.
        texts: Texts that were given as Python objects, instead of files.
    """

    files: tuple[InputFile, ...]
    states: tuple[FileState | None, ...]
    units: tuple[WorkUnit, ...]
    tokenizer: Tokenizer | None
    options: DatasetOptions
    holds_text: bool = False
    texts: Any = None

    def pieces(
        self,
        number: int,
        *,
        first_document: int = 0,
        num_threads: Callable[[], int] = lambda: 1,
        prefetch: Callable[[Iterator[TextPiece]], Iterator[TextPiece]] | None = None,
    ) -> Iterator[TokenPiece]:
        """Yield the ids of a unit.

        Args:
            number: The unit.
            first_document: Documents that are not wanted: they are read and not tokenized.
            num_threads: Asked before each batch for the threads that it may use.
            prefetch: Wraps the texts, to read ahead; None: one thread reads and tokenizes.

        Raises:
            CorpusError: A file cannot be read as documents, or changed.
            OSError: A file is gone.
        """
        tokenizer = self.tokenizer
        assert tokenizer is not None
        n_before = 0
        seen: Counter[int] = Counter()
        texts = read_unit(
            self.units[number],
            self.files,
            self.states,
            self.options,
            texts=self.texts,
            read_ahead=prefetch is not None,
        )
        for text in texts if prefetch is None else prefetch(texts):
            n = len(text.texts)
            if n_before + n <= first_document and first_document:
                n_before += n
                continue
            if self.options.guard:
                text = guarded(
                    text,
                    tokenizer,
                    self.options.guard,
                    files=self.files,
                    seen=seen,
                    start=self.units[number].start,
                )
            tokens = tokenizer.encode_batch(
                text.texts, add_special_tokens=True, num_threads=num_threads()
            )
            piece = TokenPiece(
                ids=tokens.ids,
                offsets=tokens.offsets,
                runs=text.runs,
                counts=text.counts,
                texts=text.texts if self.holds_text else text.records,
            )
            yield piece.from_document(max(0, first_document - n_before))
            n_before += n


def without_empty(piece: TokenPiece, n_special: int) -> tuple[TokenPiece, np.ndarray | None]:
    """Return a piece without documents that have no tokens of their own.

    Args:
        piece: The piece.
        n_special: Special tokens of each document.

    Returns:
        The piece, and the places of its documents among those of the piece before; None: all.
    """
    lengths = np.diff(piece.offsets)
    is_kept = lengths > n_special
    if bool(is_kept.all()):
        return piece, None
    places = np.flatnonzero(is_kept)
    texts = piece.texts
    if texts is not None:
        from jeton._core import TextBatch

        all_texts = list(texts)
        texts = TextBatch.from_texts([all_texts[i] for i in places.tolist()])
    kept = replace(
        piece,
        ids=piece.ids[np.repeat(is_kept, lengths)],
        offsets=np.concatenate([[0], np.cumsum(lengths[places])]).astype(np.int64),
        texts=texts,
    )
    return kept, places
