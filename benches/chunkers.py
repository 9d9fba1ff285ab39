"""Chunkers of several libraries behind one face: a text, a tokenizer and a budget give spans.

Each counts tokens by the same function, ours, which is faster than what they come with. Some are
there with their own counters as well.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any, ClassVar

from jeton._core import published_patterns
from jeton.chunking import chunk_text
from jeton.chunking.division import By

__all__ = ["CHUNKERS", "OWN_COUNTERS", "Chunker", "Span", "installed"]

Span = tuple[int, int]
Chunker = Callable[[str, Any, int], list[Span]]


def _ours(by: By) -> Chunker:
    def divide(text: str, tokenizer: Any, budget: int) -> list[Span]:
        found = chunk_text(text, tokenizer=tokenizer, max_tokens=budget, by=by)
        return [(part.start, part.end) for part in found.chunks]

    return divide


def _semchunk(text: str, tokenizer: Any, budget: int) -> list[Span]:
    semchunk = import_module("semchunk")

    chunker = semchunk.chunkerify(tokenizer.count, budget)
    return [tuple(span) for span in chunker(text, offsets=True)[1]]


def _chonkie(name: str) -> Chunker:
    def divide(text: str, tokenizer: Any, budget: int) -> list[Span]:
        chonkie = import_module("chonkie")

        chunker = getattr(chonkie, name)(tokenizer=tokenizer.count, chunk_size=budget)
        return [(part.start_index, part.end_index) for part in chunker.chunk(text)]

    return divide


def _langchain(text: str, tokenizer: Any, budget: int) -> list[Span]:
    splitter = import_module("langchain_text_splitters").RecursiveCharacterTextSplitter(
        chunk_size=budget,
        chunk_overlap=0,
        length_function=tokenizer.count,
        add_start_index=True,
    )
    parts = splitter.create_documents([text])
    starts = [(part.metadata["start_index"], part.page_content) for part in parts]
    return [(start, start + len(part)) for start, part in starts if start >= 0]


def _llama_index(text: str, tokenizer: Any, budget: int) -> list[Span]:
    core = import_module("llama_index.core")
    parser = import_module("llama_index.core.node_parser")
    splitter = parser.SentenceSplitter(
        chunk_size=budget, chunk_overlap=0, tokenizer=lambda part: tokenizer.encode(part)
    )
    nodes = splitter.get_nodes_from_documents([core.Document(text=text)])
    return [
        (node.start_char_idx, node.end_char_idx)
        for node in nodes
        if node.start_char_idx is not None and node.end_char_idx is not None
    ]


def _text_splitter(name: str) -> Chunker:
    def divide(text: str, tokenizer: Any, budget: int) -> list[Span]:
        semantic_text_splitter = import_module("semantic_text_splitter")

        splitter = getattr(semantic_text_splitter, name).from_callback(tokenizer.count, budget)
        parts = splitter.chunk_indices(text)
        return [(start, start + len(part)) for start, part in parts]

    return divide


CHUNKERS: dict[str, tuple[str, Chunker]] = {
    "jeton, tokens": ("", _ours("tokens")),
    "jeton, sentences": ("", _ours("sentences")),
    "jeton, structure": ("", _ours("structure")),
    "jeton, semantic": ("", _ours("semantic")),
    "semchunk": ("semchunk", _semchunk),
    "chonkie, sentence": ("chonkie", _chonkie("SentenceChunker")),
    "chonkie, recursive": ("chonkie", _chonkie("RecursiveChunker")),
    "LangChain, recursive": ("langchain_text_splitters", _langchain),
    "LlamaIndex, sentence": ("llama_index.core", _llama_index),
    "text-splitter": ("semantic_text_splitter", _text_splitter("TextSplitter")),
    "text-splitter, Markdown": ("semantic_text_splitter", _text_splitter("MarkdownSplitter")),
}
"""Chunkers by name: the module that each needs, and the function."""


def _semchunk_own(text: str, tokenizer: Any, budget: int) -> list[Span]:
    return _semchunk(text, _Tiktoken.of(tokenizer), budget)


def _chonkie_own(text: str, tokenizer: Any, budget: int) -> list[Span]:
    return _chonkie("RecursiveChunker")(text, _Tiktoken.of(tokenizer), budget)


def _text_splitter_own(text: str, tokenizer: Any, budget: int) -> list[Span]:
    # It brings the vocabulary of this model, which is cl100k_base.
    splitter = import_module("semantic_text_splitter").TextSplitter
    parts = splitter.from_tiktoken_model("gpt-4", budget).chunk_indices(text)
    return [(start, start + len(part)) for start, part in parts]


_CL100K_RANKS = 100_256
"""Tokens of cl100k_base that are not special."""


class _Tiktoken:
    """cl100k_base as tiktoken has it, made from ours: it fetches its file from the net."""

    _known: ClassVar[dict[str, _Tiktoken]] = {}

    def __init__(self, tokenizer: Any) -> None:
        pattern = published_patterns()["cl100k_base"]
        ranks = {tokenizer.id_to_bytes(rank): rank for rank in range(_CL100K_RANKS)}
        self._encoding = import_module("tiktoken").Encoding(
            "cl100k_base", pat_str=pattern, mergeable_ranks=ranks, special_tokens={}
        )

    @classmethod
    def of(cls, tokenizer: Any) -> _Tiktoken:
        """The one of a tokenizer, made once."""
        made = cls._known.get(tokenizer.fingerprint)
        if made is None:
            made = cls._known[tokenizer.fingerprint] = cls(tokenizer)
        return made

    def count(self, text: str) -> int:
        """The tokens of a text."""
        return len(self._encoding.encode_ordinary(text))


OWN_COUNTERS: dict[str, tuple[tuple[str, ...], Chunker]] = {
    "semchunk, tiktoken": (("semchunk", "tiktoken"), _semchunk_own),
    "chonkie, recursive, tiktoken": (("chonkie", "tiktoken"), _chonkie_own),
    "text-splitter, tiktoken-rs": (("semantic_text_splitter",), _text_splitter_own),
}
"""Chunkers with the counters that their users have, for cl100k_base: needed modules, function."""


def installed(module: str) -> bool:
    """True if a chunker's module is there; ours need none."""
    try:
        return not module or find_spec(module) is not None
    except ModuleNotFoundError:
        return False
