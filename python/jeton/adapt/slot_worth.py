"""Tokens that each new token saves on a text, beyond those that the tokens before it save.

The text is cut again with all new tokens. BPE makes a new token only of what it did before, so each
of its merges saves one token, wherever it happens, and that does not depend on later merges: sums
over all new tokens are the tokens that the text needs less. A piece or word saves its parts less
one for each use; of Unigram and WordPiece the sum may differ a little, since neighbours change.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.adapt.extension import Added, is_reserved_name
from jeton.adapt.segmenting import unreachable_tokens
from jeton.checkpoint.rows import can_read_rows, row_statistics
from jeton.checkpoint.weights import read_weights
from jeton.registry import TokenizerLike, resolve

# Slots of a vocabulary that need not be bought: rows that are there and serve nothing.

UNDERTRAINED_SHARE = 0.5
"""Share of the median length of a row below which it is taken for never trained. Rows that no text
ever reached shrink by weight decay (arXiv:2405.05417 finds them by small norms, section 3.2)."""


@dataclass(frozen=True, slots=True)
class FreeSlots:
    """Ids that could be given to new tokens.

    Attributes:
        holes: Ids without a token, within the vocabulary.
        padding_rows: Rows of the model behind the last id; 0 without a model.
        reserved: Tokens that are named reserved or unused, as ``[unused7]``.
        unreachable: Ordinary tokens that no text becomes, by the rules of the model.
        undertrained: Ordinary tokens whose row is zero or very short; empty without a model.
    """

    holes: tuple[int, ...]
    padding_rows: int
    reserved: tuple[int, ...]
    unreachable: tuple[int, ...]
    undertrained: tuple[int, ...]

    @property
    def n_ready(self) -> int:
        """Slots that can be used as they are: holes, padding and reserved tokens."""
        return len(self.holes) + self.padding_rows + len(self.reserved)


def free_slots(tokenizer: TokenizerLike, model_folder: Path | None = None) -> FreeSlots:
    """Returns the slots that need not be bought.

    Args:
        tokenizer: The tokenizer, or its name or path.
        model_folder: A folder with safetensors, to look at rows; None: the tokenizer alone.

    Raises:
        OSError: The folder cannot be read.
    """
    tokenizer = resolve(tokenizer)
    has_token = tokenizer.is_token_mask()
    added = {token.id: token.content for token in tokenizer.added_tokens}
    ordinary = [id for id in np.flatnonzero(has_token).tolist() if id not in added]
    named = {id for id, name in added.items() if is_reserved_name(name)}
    named |= {
        id for id in ordinary if is_reserved_name(tokenizer.id_to_token(id) or "", is_added=False)
    }
    reserved = tuple(sorted(named))
    ordinary = [id for id in ordinary if id != tokenizer.unknown_id and id not in named]
    padding = 0
    undertrained: tuple[int, ...] = ()
    if model_folder is not None:
        padding, undertrained = _rows(model_folder, tokenizer.vocab_size, ordinary)
    return FreeSlots(
        holes=tuple(np.flatnonzero(~has_token).tolist()),
        padding_rows=padding,
        reserved=reserved,
        unreachable=tuple(unreachable_tokens(tokenizer, ordinary)),
        undertrained=undertrained,
    )


def _rows(folder: Path, n_ids: int, ordinary: list[int]) -> tuple[int, tuple[int, ...]]:
    table = read_weights(folder).embedding
    if table is None:
        return 0, ()
    padding = max(0, table.shape[0] - n_ids)
    if not can_read_rows(table):
        return padding, ()
    found = row_statistics(table)
    if found.is_quantized or not found.median_norm:
        return padding, ()
    short = found.norms < UNDERTRAINED_SHARE * found.median_norm
    return padding, tuple(id for id in ordinary if id < len(short) and short[id])


_NORMAL_95 = 1.959964
"""Standard deviations within which a normal variable lies with a probability of 95%."""


@dataclass(slots=True)
class SlotCounter:
    """Counts tokens saved by each new token, document by document.

    Attributes:
        old: The old tokenizer.
        new: The new one.
        added: The new tokens in the order of their ids, which is the order of merges.
        n_documents: Documents so far.
        n_bytes: Bytes of their text.
        n_tokens_before: Their tokens with the old tokenizer.
        n_tokens_after: Their tokens with the new one.
    """

    old: Tokenizer
    new: Tokenizer
    added: Sequence[Added]
    num_threads: int | None = None
    n_documents: int = 0
    n_bytes: int = 0
    n_tokens_before: int = 0
    n_tokens_after: int = 0
    document_tokens: list[NDArray[np.int64]] = field(default_factory=list)
    _saved: NDArray[np.int64] = field(init=False)
    _squares: NDArray[np.float64] = field(init=False)
    _documents_with: NDArray[np.int64] = field(init=False)
    _offsets: NDArray[np.int64] = field(init=False)
    _slots: NDArray[np.int64] = field(init=False)
    _savings: NDArray[np.int64] = field(init=False)

    def __post_init__(self) -> None:
        n = len(self.added)
        self._saved = np.zeros(n, dtype=np.int64)
        self._squares = np.zeros(n, dtype=np.float64)
        self._documents_with = np.zeros(n, dtype=np.int64)
        self._offsets, self._slots, self._savings = _merges_within(self.added)

    def add(self, batch: TextBatch) -> None:
        """Counts the documents of a batch."""
        before = self.old.count_batch(batch, num_threads=self.num_threads)
        rows = self.new.encode_batch(batch, num_threads=self.num_threads)
        ids, offsets = rows.ids.astype(np.int64), rows.offsets
        self.n_documents += len(batch)
        self.n_bytes += batch.n_bytes
        self.n_tokens_before += int(before.sum())
        self.n_tokens_after += len(ids)
        self.document_tokens.append(before)
        first, n = self.added[0].id, len(self.added)
        is_new = np.flatnonzero(ids >= first)
        if not len(is_new):
            return
        documents = np.searchsorted(offsets, is_new, side="right") - 1
        keys, counts = np.unique(documents * n + ids[is_new] - first, return_counts=True)
        places = keys % n
        sizes = (self._offsets[places + 1] - self._offsets[places]).astype(np.int64)
        # Every use of a token is a use of each merge within it.
        starts = np.repeat(self._offsets[places], sizes)
        steps = np.arange(len(starts)) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        at = starts + steps
        wide = np.repeat(keys // n, sizes) * n + self._slots[at]
        pairs, inverse = np.unique(wide, return_inverse=True)
        saved = np.bincount(inverse, weights=np.repeat(counts, sizes) * self._savings[at])
        slots = pairs % n
        self._saved += np.bincount(slots, weights=saved, minlength=n).astype(np.int64)
        self._squares += np.bincount(slots, weights=saved * saved, minlength=n)
        self._documents_with += np.bincount(slots, minlength=n)

    @property
    def saved(self) -> NDArray[np.int64]:
        """int64 (n_added,): tokens saved by each new token."""
        return self._saved

    @property
    def documents_with(self) -> NDArray[np.int64]:
        """int64 (n_added,): documents in which each new token saves something."""
        return self._documents_with

    @property
    def half_width(self) -> NDArray[np.float64]:
        """float64 (n_added,): half of the interval of 95% around ``saved``.

        Documents are taken as a sample: the total of so many documents drawn anew lies within.
        """
        n = max(1, self.n_documents)
        variance = np.maximum(self._squares - self._saved.astype(np.float64) ** 2 / n, 0.0)
        return _NORMAL_95 * np.sqrt(variance * n / max(1, n - 1))


def _merges_within(
    added: Sequence[Added],
) -> tuple[NDArray[np.int64], NDArray[np.int64], NDArray[np.int64]]:
    """Returns for each new token the merges that one use of it takes, and tokens that each saves.

    The three arrays are offsets (n_added + 1,), places of new tokens, and tokens saved.
    """
    place = {new.id: i for i, new in enumerate(added)}
    trees: list[dict[int, int]] = []
    for i, new in enumerate(added):
        if new.pair is None:
            trees.append({i: len(new.parts) - 1})
            continue
        tree = {i: 1}
        for part in new.pair:
            if part in place:
                for slot, times in trees[place[part]].items():
                    tree[slot] = tree.get(slot, 0) + times
        trees.append(tree)
    offsets = np.concatenate([[0], np.cumsum([len(tree) for tree in trees])]).astype(np.int64)
    slots = np.array([slot for tree in trees for slot in tree], dtype=np.int64)
    savings = np.array([times for tree in trees for times in tree.values()], dtype=np.int64)
    return offsets, slots, savings
