"""A causal model whose new tokens have rows of their own beside the old ones; needs torch."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

__all__ = ["Judge", "Network", "NewRows"]

BATCH = 8
"""Texts that are read at once."""


@dataclass(frozen=True, slots=True)
class NewRows:
    """Rows behind the old ones.

    Attributes:
        input: float32 (n_rows, n_columns), of the embeddings.
        head: float32 (n_rows, n_columns), of the output layer.
    """

    input: Any
    head: Any


class Network:
    """The old model: its body and its one table of rows."""

    def __init__(self, folder: Path) -> None:
        import torch
        from transformers import AutoModelForCausalLM

        whole = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
        self._body = whole.model
        self.table = whole.get_input_embeddings().weight.detach()
        self.start = int(whole.config.bos_token_id or 0)
        whole.requires_grad_(requires_grad=False)

    @property
    def n_rows(self) -> int:
        """Rows of the old table."""
        return int(self.table.shape[0])

    def no_rows(self) -> NewRows:
        """Returns the rows of a model without new tokens."""
        return NewRows(self.table[:0], self.table[:0])

    def states(self, ids: Any, rows: NewRows) -> Any:
        """Returns what the body makes of ids, (n_texts, n_ids, n_columns)."""
        old = self.table[ids.clamp(max=self.n_rows - 1)]
        is_new = ids >= self.n_rows
        # Rows are put in place without writing to `old`, so that gradients reach them.
        if is_new.any():
            made = rows.input[(ids - self.n_rows).clamp(min=0)]
            old = old.where(~is_new[..., None], made)
        return self._body(inputs_embeds=old, use_cache=False).last_hidden_state

    def told(self, states: Any, ids: Any, rows: NewRows) -> tuple[Any, Any]:
        """Returns the logit of each id and the logarithm of the sum over the old ones."""
        logits = (states @ self.table.T).float()
        total = logits.logsumexp(-1)
        old = logits.gather(-1, ids.clamp(max=self.n_rows - 1)[..., None])[..., 0]
        is_new = ids >= self.n_rows
        if is_new.any():
            new = (states * rows.head[(ids - self.n_rows).clamp(min=0)]).sum(-1)
            old = old.where(~is_new, new)
        return old, total


class Judge:
    """Texts that models are judged on; what no new token touches is computed once."""

    def __init__(self, network: Network, encode: Any, texts: Sequence[str]) -> None:
        self._network = network
        self._texts = texts
        self._old = [np.array(encode(text), dtype=np.int64) for text in texts]
        self._states: list[Any] = [None] * len(texts)
        self._sums: list[tuple[Any, Any]] = [(None, None)] * len(texts)
        self._read(range(len(texts)), self._old, network.no_rows(), keep=True)

    def bits(self, encode: Any, rows: NewRows) -> NDArray[np.float64]:
        """Returns the bits that each text costs a model with these rows, (n_texts,)."""
        new = [np.array(encode(text), dtype=np.int64) for text in self._texts]
        pairs = zip(self._old, new, strict=True)
        is_same = [np.array_equal(old, now) for old, now in pairs]
        changed = [place for place, same in enumerate(is_same) if not same]
        found = self._read(changed, new, rows)
        for place, same in enumerate(is_same):
            if same:
                found[place] = _bits(self._states[place], *self._sums[place], rows)
        return np.array([found[place] for place in range(len(new))])

    def _read(
        self,
        places: Sequence[int],
        ids: Sequence[NDArray[np.int64]],
        rows: NewRows,
        *,
        keep: bool = False,
    ) -> dict[int, float]:
        import torch

        network = self._network
        found: dict[int, float] = {}
        ordered = sorted(places, key=lambda place: len(ids[place]))
        for first in range(0, len(ordered), BATCH):
            batch = ordered[first : first + BATCH]
            longest = max(len(ids[place]) for place in batch)
            # Padding stands behind: no id looks ahead.
            padded = torch.zeros((len(batch), longest + 1), dtype=torch.int64)
            padded[:, 0] = network.start
            for line, place in zip(padded, batch, strict=True):
                line[1 : len(ids[place]) + 1] = torch.from_numpy(ids[place])
            with torch.inference_mode():
                states = network.states(padded[:, :-1], rows)
                for line, place, made in zip(padded, batch, states, strict=True):
                    n = len(ids[place])
                    logits, total = network.told(made[:n], line[1 : n + 1], rows)
                    found[place] = _bits(made[:n], logits, total, rows)
                    if keep:
                        self._states[place] = made[:n].clone()
                        self._sums[place] = (logits, total)
        return found


def _bits(states: Any, logits: Any, old_total: Any, rows: NewRows) -> float:
    """The bits of one text, with the sum over new tokens added to that over old ones."""
    import torch

    with torch.inference_mode():
        total = old_total
        if len(rows.head):
            total = torch.logaddexp(total, (states @ rows.head.T).logsumexp(-1))
        return float((total - logits).double().sum()) / math.log(2)
