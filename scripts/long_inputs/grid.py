"""Which tokenizer meets which text at which sizes.

All of it at 16 MB takes many hours, and most published vocabularies of a kind share every line of
code. So one of each kind meets every text at every size, the others the texts of ``CORE``; a
component (whose model is the same little one each time) meets those at the smaller sizes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from scripts.long_inputs.subjects import SUBJECTS, Subject
from scripts.long_inputs.texts import TEXTS, Text

__all__ = ["CORE", "LEADERS", "planned"]

LEADERS = frozenset(
    {
        "cl100k_base.tiktoken",
        "gpt2.json",
        "llama2.json",
        "clip_base.json",
        "bert_base_uncased.json",
        "t5-small.json",
        "albert_30k-clean.model",
        "llama2.model",
        "rwkv_vocab_v20230424.txt",
    }
)
"""One published tokenizer of each kind (of the character BPE two: with pretokens and without)."""

CORE = frozenset(
    {
        "only a",
        "only spaces",
        "only newlines",
        "only U+4E2D",
        "only emoji",
        "only U+0301",
        "alternating a, space",
        "alternating a, newline",
        "alternating a, accent",
        "alternating emoji, ZWJ",
        "random letters",
        "random digits",
        "random bytes as Latin-1",
        "random bytes, replaced",
        "random Chinese",
        "random Thai",
        "look-alikes <|endo",
        "look-alikes [MAS",
        "look-alikes <|endoftext|>",
        "look-alikes </s><s>",
    }
)
"""One character, two in turn, noise, writing without spaces, what looks like a special token."""

_PARTS = frozenset({"normalizer", "pre-tokenizer", "decoder", "added tokens"})


def planned(
    subject: Subject, sizes_bytes: Sequence[int], *, full: bool = False
) -> Iterator[tuple[Text, Sequence[int]]]:
    """Yield every text that a tokenizer meets, with the sizes.

    Args:
        subject: One of ``SUBJECTS``.
        sizes_bytes: The sizes asked for, rising.
        full: Every text at every size.
    """
    whole = full or subject.name in LEADERS
    sizes = sizes_bytes[:2] if subject.kind in _PARTS and not full else sizes_bytes
    for text in TEXTS:
        if whole or text.name in CORE:
            yield text, sizes


def _check() -> None:
    unknown = (LEADERS - {s.name for s in SUBJECTS}) | (CORE - {t.name for t in TEXTS})
    if unknown:
        raise ValueError(f"no such tokenizer or text: {', '.join(sorted(unknown))}")


_check()
