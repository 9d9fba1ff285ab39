"""How much of a vocabulary real text uses, by corpus and by size of text."""

from __future__ import annotations

from jeton import _core
from jeton.metrics import vocabulary_use
from studies.claims.data import Data
from studies.claims.figures import Figure

__all__ = ["ABOUT", "CORPORA", "KIND", "TOKENIZERS", "measure"]

ABOUT = "Share of a vocabulary's ids that occur in a corpus"
KIND = "long"

TOKENIZERS = ("r50k_base", "cl100k_base", "o200k_base", "llama3", "jeton-general-32k")

CORPORA = (
    "chat",
    "code",
    "english",
    "finance",
    "legal",
    "medical",
    "multilingual",
    "noisy",
    "udhr",
)

_CURVE = "medical"
_PARTS = 64


def measure(data: Data) -> dict[str, Figure]:
    """All figures of this group."""
    figures: dict[str, Figure] = {}
    for corpus in CORPORA:
        batch = _core.TextBatch.from_texts([record["text"] for record in data.records(corpus)])
        figures[f"mb.{corpus}"] = Figure(batch.n_bytes / 1e6, "MB", n=len(batch))
        for name in TOKENIZERS:
            figures[f"used.{corpus}.{name}"] = _used(data, name, batch)
        data.forget(corpus)
    texts = data.texts(_CURVE, "medical-abstract")
    size = 1
    while size <= _PARTS:
        # Every so-manieth document: the same kinds of text in each part.
        batch = _core.TextBatch.from_texts(texts[:: _PARTS // size])
        figures[f"curve.mb.{size}"] = Figure(batch.n_bytes / 1e6, "MB", n=len(batch))
        for name in ("r50k_base", "cl100k_base", "o200k_base"):
            figures[f"curve.used.{name}.{size}"] = _used(data, name, batch)
        size *= 4
    return figures


def _used(data: Data, name: str, batch: _core.TextBatch) -> Figure:
    tokenizer = data.tokenizer(name)
    counts = tokenizer.measure(batch, round_trip=False).id_counts
    return Figure(vocabulary_use(tokenizer, counts).used_share, "share", n=len(batch))
