"""Chunks of a text, and the text that lies in none."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["Chunk", "Chunking", "DroppedText"]


@dataclass(frozen=True, slots=True)
class Chunk:
    """A part of a text that fits the budget.

    Attributes:
        text: The part, ``document[start:end]``.
        start: First code point of the document.
        end: One past the last.
        start_bytes: First byte of the document as UTF-8.
        end_bytes: One past the last.
        n_tokens: Tokens of the chunk as it is sent, special tokens included.
        context: Headings above the part, the outermost first, or imports and class of code.
        head: Text that is sent before the part: prefix, context, template.
        tail: Text that is sent behind it.
    """

    text: str
    start: int
    end: int
    start_bytes: int
    end_bytes: int
    n_tokens: int
    context: tuple[str, ...] = ()
    head: str = ""
    tail: str = ""

    @property
    def sent(self) -> str:
        """Text to embed or to send, with all that stands around the part."""
        return f"{self.head}{self.text}{self.tail}"


@dataclass(frozen=True, slots=True)
class DroppedText:
    """White space that lies in no chunk.

    Attributes:
        start: First code point of the document.
        end: One past the last.
    """

    start: int
    end: int


@dataclass(frozen=True, slots=True)
class Chunking:
    """Chunks of one text, in its order.

    Attributes:
        chunks: The chunks.
        dropped: Text that lies in none; empty unless white space was to be trimmed.
        max_tokens: The budget.
        by: The way in which places for cuts were found.
        language: Language whose rules found sentences (ISO 639-1); empty: none was needed.
    """

    chunks: tuple[Chunk, ...]
    dropped: tuple[DroppedText, ...]
    max_tokens: int
    by: str
    language: str

    @property
    def n_tokens(self) -> int:
        """Tokens of all chunks as they are sent: the size of an index of them."""
        return sum(chunk.n_tokens for chunk in self.chunks)
