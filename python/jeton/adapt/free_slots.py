"""Slots of a vocabulary that need not be bought: rows that are there and serve nothing."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np

from jeton.adapt.placing import is_reserved_name
from jeton.adapt.reachable import unreachable_tokens
from jeton.checkpoint.rows import can_read_rows, row_statistics
from jeton.checkpoint.weights import read_weights
from jeton.registry import TokenizerLike, resolve

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
