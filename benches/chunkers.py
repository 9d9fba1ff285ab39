"""Chunkers of several libraries behind one face: a text, a tokenizer and a budget give spans.

Each counts tokens by the same function, ours, which is faster than what they come with.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from jeton.chunking import chunk_text
from jeton.chunking.division import By

__all__ = ["CHUNKERS", "Chunker", "Span", "installed"]

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


def installed(module: str) -> bool:
    """True if a chunker's module is there; ours need none."""
    try:
        return not module or find_spec(module) is not None
    except ModuleNotFoundError:
        return False
