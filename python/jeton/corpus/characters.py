"""Which characters a corpus has, how often, of which scripts, and how many of them cover it.

Counted from pretokens, so it costs one look at each distinct one, and weights count. A normalizer
that the counts were made with was applied: these are the characters that a model would see.
"""

from __future__ import annotations

from dataclasses import dataclass
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from jeton._core import PretokenCounts
from jeton.errors import EmptyCorpusError, UsageError


@dataclass(frozen=True, slots=True, eq=False)
class CharacterStatistics:
    """Characters by falling count, then by code point.

    Attributes:
        code_points: uint32 (n_characters,).
        counts: uint64 (n_characters,), how often each occurs, with weights.
        scripts: By name: how many characters of text are of each script, with weights; ``Common``
            are signs, digits and spaces. By falling count.
        n_bad_bytes: Bytes of pretokens that are no text (of patterns that cut characters).
    """

    code_points: NDArray[np.uint32]
    counts: NDArray[np.uint64]
    scripts: dict[str, int]
    n_bad_bytes: int

    @classmethod
    def of(cls, counts: PretokenCounts) -> CharacterStatistics:
        """Count the characters of pretokens.

        Raises:
            EmptyCorpusError: There are none.
        """
        table = counts.characters()
        if not len(table.code_points):
            raise EmptyCorpusError("there are no characters: nothing was counted")
        totals = {
            table.script_names[script]: sum(table.counts[table.scripts == script].tolist())
            for script in np.unique(table.scripts).tolist()
        }
        ranked = dict(sorted(totals.items(), key=lambda item: (-item[1], item[0])))
        return cls(table.code_points, table.counts, ranked, table.n_bad_bytes)

    @property
    def n_characters(self) -> int:
        """Characters of the text, with weights; distinct ones are ``len(code_points)``."""
        return sum(self.counts.tolist())

    def covering(self, share: float) -> str:
        """The fewest characters that make up this share of the text, the most frequent first.

        SentencePiece keeps 0.9995 of scripts with many characters (``character_coverage``).

        Raises:
            UsageError: The share is not between 0 and 1.

        Example:
            >>> from jeton._core import PretokenCounts, TextBatch
            >>> counts = PretokenCounts(pattern="gpt2")
            >>> counts.add(TextBatch.from_texts(["aaaaaabbbc"]))
            >>> CharacterStatistics.of(counts).covering(0.9)
            'ab'
        """
        if not 0 < share <= 1:
            raise UsageError(f"share is {share}; expected a number above 0 and at most 1")
        # As written, not as the nearest binary number is: 0.9 of ten is nine.
        wanted = Fraction(str(share)) * self.n_characters
        total, kept = 0, 0
        for number in self.counts.tolist():
            if total >= wanted:
                break
            total += number
            kept += 1
        return "".join(map(chr, self.code_points[:kept].tolist()))

    def coverage(self, characters: str) -> float:
        """The share of the text that these characters make up."""
        points = np.asarray(sorted({ord(c) for c in characters}), dtype=np.uint32)
        covered: int = sum(self.counts[np.isin(self.code_points, points)].tolist())
        return covered / self.n_characters

    def to_dict(self, *, n_characters: int = 50) -> dict[str, Any]:
        """As plain JSON values, with the most frequent characters."""
        shares = (0.9, 0.99, 0.999, 0.9995, 0.9999, 1.0)
        return {
            "schema_version": "jeton.characters/1",
            "n_characters": self.n_characters,
            "n_distinct": len(self.code_points),
            "n_bad_bytes": self.n_bad_bytes,
            "covering": {str(share): len(self.covering(share)) for share in shares},
            "scripts": self.scripts,
            "most_frequent": [
                {"character": chr(point), "count": count}
                for point, count in zip(
                    self.code_points[:n_characters].tolist(),
                    self.counts[:n_characters].tolist(),
                    strict=True,
                )
            ],
        }
