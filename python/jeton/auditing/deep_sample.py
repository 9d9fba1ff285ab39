"""The documents on which the expensive analyses run."""

from __future__ import annotations

from dataclasses import dataclass

__all__ = ["DeepSample", "SampleDocument"]


@dataclass(frozen=True, slots=True)
class SampleDocument:
    """One document of the sample, or a part of a very long one.

    Attributes:
        text: Its text.
        source: The input that it came from.
        domain: The name of its domain; None where the inputs have none.
        n_tokens: Tokens under the tokenizer in use.
        n_copies: How many documents of the workload are this text, byte for byte.
    """

    text: str
    source: str
    domain: str | None
    n_tokens: int
    n_copies: int = 1


@dataclass(frozen=True, slots=True)
class DeepSample:
    """An even, repeatable draw of the documents, in bounded memory.

    Attributes:
        documents: The documents; copies of one text are as many entries.
        n_tokens: Their tokens under the tokenizer in use.
        n_tokens_of_all: Tokens of the whole workload.
        is_whole: Whether the sample is the workload; figures of it are then exact.
    """

    documents: tuple[SampleDocument, ...]
    n_tokens: int
    n_tokens_of_all: int
    is_whole: bool

    @property
    def scale(self) -> float:
        """Tokens of the workload over tokens of the sample; 1.0 for an empty sample."""
        return self.n_tokens_of_all / self.n_tokens if self.n_tokens else 1.0
