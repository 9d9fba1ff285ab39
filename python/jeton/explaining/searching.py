"""The search for texts on which two tokenizers differ, in the order of what they cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import islice

from jeton._core import Tokenizer
from jeton.edge_texts import edge_texts
from jeton.errors import UnknownTokenIdError
from jeton.explaining.batching import batches
from jeton.explaining.comparing import Pair
from jeton.explaining.result import Source
from jeton.probe import probe_texts
from jeton.progress import OnProgress, Progress

_BATCH_TEXTS = 2048
_BATCH_CHARS = 4_000_000
"""Characters that are compared at once: many short texts, or few long ones."""


@dataclass(frozen=True, slots=True)
class Found:
    """Texts on which the two differ, all from one source; empty where the search found none."""

    source: Source
    pair: Pair
    texts: list[str]
    n_texts: int  # that were compared until then, in all sources


def search(
    ordinary: Pair,
    special: Pair,
    texts: Iterable[str],
    *,
    n_cases: int,
    seed: int,
    on_progress: OnProgress | None = None,
) -> Found:
    """Compare until a batch of texts shows differences.

    Args:
        ordinary: The two tokenizers, special tokens being text.
        special: Texts with special tokens added and allowed; looked at last.
        texts: The caller's own texts, which come first.
        n_cases: How many of ``edge_texts`` to try.
        seed: Their seed.
        on_progress: Called after each batch.
    """
    n_texts = 0
    for source, pair, found_texts, total in _sources(
        ordinary, special, texts, n_cases=n_cases, seed=seed
    ):
        done = 0
        for batch in batches(found_texts, max_texts=_BATCH_TEXTS, max_chars=_BATCH_CHARS):
            places = pair.differing(batch)
            done += len(batch)
            n_texts += len(batch)
            if on_progress is not None:
                on_progress(Progress("search", done, total, "texts", detail=source))
            if places:
                return Found(source, pair, [batch[place] for place in places], n_texts)
    return Found("special_tokens", special, [], n_texts)


def _sources(
    ordinary: Pair, special: Pair, texts: Iterable[str], *, n_cases: int, seed: int
) -> Iterator[tuple[Source, Pair, Iterable[str], int | None]]:
    a, b = ordinary.a, ordinary.b
    yield "texts", ordinary, texts, None
    probe = probe_texts()
    yield "probe", ordinary, probe, len(probe)
    cases = islice(edge_texts(seed=seed, tokenizers=(a, b)), n_cases)
    yield "edge_texts", ordinary, cases, n_cases
    tokens = _token_texts(a, b)
    yield "vocabulary", ordinary, tokens, len(tokens)
    with_special = [*_special_texts(a, b), *probe]
    yield "special_tokens", special, with_special, len(with_special)


def _token_texts(a: Tokenizer, b: Tokenizer) -> list[str]:
    """Each token of either vocabulary that is text by itself, short ones first."""
    found: set[str] = set()
    for tokenizer in (a, b):
        for token_id in range(tokenizer.vocab_size):
            try:
                found.add(tokenizer.id_to_bytes(token_id).decode("utf-8"))
            except (UnknownTokenIdError, UnicodeDecodeError):  # a hole; a part of a character
                continue
    return sorted(found, key=lambda text: (len(text), text))


def _special_texts(a: Tokenizer, b: Tokenizer) -> list[str]:
    """Nothing at all, which shows what is put around a text, and added tokens in several places."""
    contents = sorted({token.content for t in (a, b) for token in t.added_tokens})
    texts = ["", "a"]
    for content in contents:
        texts += [content, f"a{content}a", f" {content} ", f"a {content} a", content + content]
    return texts
