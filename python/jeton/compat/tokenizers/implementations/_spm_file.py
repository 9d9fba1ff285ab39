"""Parts of a SentencePiece file that ``from_spm`` needs; the core reads them."""

from __future__ import annotations

import base64
import json
from dataclasses import dataclass
from pathlib import Path

from jeton._core import from_sentencepiece

__all__ = ["SpmFile", "read_spm"]


@dataclass(frozen=True, slots=True)
class SpmFile:
    """Pieces and settings of a SentencePiece model.

    Attributes:
        model_type: ``unigram``, ``bpe``, ``word`` or ``char``.
        pieces: Every piece with its score, by id.
        unk_id: The id of the unknown piece.
        byte_fallback: True if unknown text becomes bytes.
        charsmap: Compiled rules of normalization; empty for none.
    """

    model_type: str
    pieces: list[tuple[str, float]]
    unk_id: int | None
    byte_fallback: bool
    charsmap: bytes


def read_spm(path: Path) -> SpmFile:
    """Read a ``.model`` file."""
    core = from_sentencepiece(path.read_bytes(), path=str(path))
    model = json.loads(core.to_canonical())["model"]
    pieces = [(base64.b64decode(text).decode(), score) for text, score, *_ in model["pieces"]]
    kinds = [kind for _, _, kind in (piece[:3] for piece in model["pieces"])]
    return SpmFile(
        model_type=model["algorithm"],
        pieces=pieces,
        unk_id=kinds.index("unknown") if "unknown" in kinds else None,
        byte_fallback=bool(model["byte_fallback"]),
        charsmap=base64.b64decode(model["normalizer"]["charsmap"] or ""),
    )
