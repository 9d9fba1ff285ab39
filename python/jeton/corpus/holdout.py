"""Text kept apart: documents that no training sees, so that figures on them mean something.

Which side a document is on depends on its text (by digest) or on its source, never on the order or
number of documents: adding text moves nothing. Copies of a document are always on one side.
Near-duplicates are too: a document goes where the first one went that it resembles, and one that
resembles documents of both sides is left out of both. So no two documents that ``NearDuplicates``
finds alike are on different sides.
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import blake2b
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, text_digests
from jeton.corpus.dedup import NearDuplicateSettings
from jeton.errors import UsageError

TRAINED, HELD_OUT, BETWEEN = 0, 1, 255
"""Sides of a document; what is between resembles documents of both and belongs to neither."""


@dataclass(frozen=True, slots=True, kw_only=True)
class HoldOut:
    """How much to keep apart, and by what.

    Attributes:
        share: Share of the documents, or of the sources; between 0 and 1.
        by: ``"document"``: unseen documents of the same sources; ``"source"``: unseen sources.
        near: Rule for nearly alike documents; None: only exact copies are kept together.
        seed: Another seed, another choice.
    """

    share: float = 0.01
    by: Literal["document", "source"] = "document"
    near: NearDuplicateSettings | None = None
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.share < 1:
            raise UsageError(f"share is {self.share}; expected a number between 0 and 1")
        if self.by not in ("document", "source"):
            raise UsageError(f"by is {self.by!r}; expected 'document' or 'source'")

    def is_held_out(self, source: str) -> bool:
        """True if a source is kept apart, by its name; only with ``by="source"``."""
        key = f"{self.seed}\0{source}".encode("utf-8", "surrogateescape")
        digest = int.from_bytes(blake2b(key, digest_size=8).digest(), "big")
        return digest < int(self.share * 2**64)


class HoldOutSplit:
    """Splits documents as they come."""

    def __init__(self, settings: HoldOut) -> None:
        """Nothing was split yet."""
        self.settings = settings
        self._near = settings.near.new_index() if settings.near is not None else None
        self.n_documents = {TRAINED: 0, HELD_OUT: 0, BETWEEN: 0}
        """Documents by side."""

    def sides(
        self,
        batch: TextBatch,
        *,
        source: str = "",
        among: NDArray[np.bool_] | None = None,
        num_threads: int | None = None,
    ) -> NDArray[np.uint8]:
        """The side of each document of a batch.

        Args:
            batch: The documents.
            source: Where they come from.
            among: bool (n_documents,): only these are looked at; the others are between.
            num_threads: Threads; None: all there are. Does not change the result.

        Returns:
            uint8 (n_documents,): ``TRAINED``, ``HELD_OUT`` or ``BETWEEN``.
        """
        looked_at = np.ones(len(batch), dtype=np.bool_) if among is None else among
        chosen = np.flatnonzero(looked_at)
        if self.settings.by == "source":
            side = HELD_OUT if self.settings.is_held_out(source) else TRAINED
            wanted = np.full(len(chosen), side, dtype=np.uint8)
        else:
            high, _ = text_digests(batch, num_threads=num_threads)
            limit = np.uint64(int(self.settings.share * 2**64))
            wanted = (_drawn(high[chosen], self.settings.seed) < limit).astype(np.uint8)
        if self._near is not None:
            texts = TextBatch.from_texts([batch[int(index)] for index in chosen])
            _, wanted = self._near.place(
                texts, sides=wanted, keep_all=True, num_threads=num_threads
            )
        sides = np.full(len(batch), BETWEEN, dtype=np.uint8)
        sides[chosen] = wanted
        for side in self.n_documents:
            self.n_documents[side] += int((wanted == side).sum())
        return sides


def _drawn(digests: NDArray[np.uint64], seed: int) -> NDArray[np.uint64]:
    """A number for each digest: which are small with one seed tells nothing of another seed.

    The mixing is that of SplitMix64 (Steele, Lea, Flood, OOPSLA 2014).
    """
    drawn = digests * np.uint64(0x9E37_79B9_7F4A_7C15)
    if seed == 0:
        # Digests are as good as drawn already.
        return drawn
    drawn += np.uint64(seed * 0x9E37_79B9_7F4A_7C15 % 2**64)
    drawn = (drawn ^ drawn >> np.uint64(30)) * np.uint64(0xBF58_476D_1CE4_E5B9)
    drawn = (drawn ^ drawn >> np.uint64(27)) * np.uint64(0x94D0_49BB_1331_11EB)
    return drawn ^ drawn >> np.uint64(31)
