"""Observers: objects that look at the texts of a workload while they pass by."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch
from jeton.corpus.places import RecordPlaces
from jeton.corpus.requests.blocks import Blocks
from jeton.workload.choice import Chosen


class Observer(Protocol):
    """Told of the tokenizers first, then of every batch, in the order of the inputs."""

    def begin(self, tokenizers: Sequence[Chosen], *, current: int) -> None:
        """Hear what the audit measures; ``current`` is the index of the tokenizer in use."""

    def add(
        self,
        source: str,
        batch: TextBatch,
        *,
        domains: Sequence[str] | None = None,
        overhead_tokens: NDArray[np.int64] | None = None,
        places: RecordPlaces | None = None,
        blocks: Blocks | None = None,
    ) -> None:
        """Look at a batch.

        Args:
            source: The input that it is from.
            batch: The texts.
            domains: The domain of each text, ``""`` for none; None: no text has one.
            overhead_tokens: Tokens that a chat format adds to those of each text; None: none.
            blocks: Parts of each request; None: a text is one block of unknown kind.
            places: Line and id of the record that each text comes from; None: not known.
        """
