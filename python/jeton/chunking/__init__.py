"""Documents divided into chunks under a token budget, and the measure of what chunking tears.

``chunk_text`` divides one text, ``chunk`` documents from files. The budget holds for each chunk as
it is sent: prefix, context and special tokens included, counted by the tokenizer it is meant for.
"""

from __future__ import annotations

from jeton._lazy import lazy_names

TYPE_CHECKING = False
if TYPE_CHECKING:
    from jeton.chunking.documents import DocumentChunks, chunk, chunk_text
    from jeton.chunking.evaluation import (
        Question,
        Retention,
        evaluate_chunks,
        read_questions,
    )
    from jeton.chunking.results import Chunk, Chunking, DroppedText
    from jeton.chunking.similarity import Bm25, StaticEmbedder, load_static_embedder

__all__ = [
    "Bm25",
    "Chunk",
    "Chunking",
    "DocumentChunks",
    "DroppedText",
    "Question",
    "Retention",
    "StaticEmbedder",
    "chunk",
    "chunk_text",
    "evaluate_chunks",
    "load_static_embedder",
    "read_questions",
]

_LAZY = {
    "Bm25": "jeton.chunking.similarity",
    "Chunk": "jeton.chunking.results",
    "Chunking": "jeton.chunking.results",
    "DocumentChunks": "jeton.chunking.documents",
    "DroppedText": "jeton.chunking.results",
    "Question": "jeton.chunking.evaluation",
    "Retention": "jeton.chunking.evaluation",
    "StaticEmbedder": "jeton.chunking.similarity",
    "chunk": "jeton.chunking.documents",
    "chunk_text": "jeton.chunking.documents",
    "evaluate_chunks": "jeton.chunking.evaluation",
    "load_static_embedder": "jeton.chunking.similarity",
    "read_questions": "jeton.chunking.evaluation",
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
