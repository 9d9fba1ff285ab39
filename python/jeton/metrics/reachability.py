"""Which ids of a vocabulary plain text can never produce.

An id that the tokenizer itself never produces gets no training, whatever the corpus (S. Land and
M. Bartolo, "Fishing for Magikarp", EMNLP 2024, arXiv:2405.05417). The check needs no model: the
text of each token is encoded again, alone and after other text, and the id must come back. The
categories are those of that paper's code.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import IntEnum

import numpy as np
from numpy.typing import NDArray

from jeton._core import TextBatch, Tokenizer
from jeton.registry import TokenizerLike, resolve
from jeton.registry.resolving import PerTokenizer


class Category(IntEnum):
    """Fate of an id whose text was encoded again."""

    NO_TOKEN = 0
    """The id has no token: a hole in the numbering."""
    OK = 1
    """It came back."""
    SPECIAL = 2
    """A special, added or unknown token, which text does not produce through the model."""
    UNDECODABLE = 3
    """Its bytes are not UTF-8: a part of a character, which no text alone is."""
    UNREACHABLE_SINGLE = 4
    """Its text always becomes another single id (a byte of last resort that is a token too,
    say)."""
    UNREACHABLE_MULTI = 5
    """Its text always becomes several other ids."""


_CONTEXTS = ("", "«", " ", "\n", "a ", "1")
"""Put before the text of a token, one after another: some tokens are never at the start of a text
(SentencePiece adds a space there), some only after something other than a letter."""

_LETTERS = "aeiostnx"
"""Before tokens that continue a word (WordPiece), and behind those that do not end one (CLIP): the
letter must be a token of its own there."""


@dataclass(frozen=True, slots=True, eq=False)
class Reachability:
    """The category of every id.

    Attributes:
        categories: uint8 (vocab_size,), values of `Category`.
        n_ok: Ids that plain text produces.
        n_special: Special, added and unknown tokens.
        n_undecodable: Parts of characters.
        n_unreachable_single: Ids whose text becomes another id.
        n_unreachable_multi: Ids whose text becomes several others.
        n_holes: Ids without a token.
    """

    categories: NDArray[np.uint8]
    n_ok: int
    n_special: int
    n_undecodable: int
    n_unreachable_single: int
    n_unreachable_multi: int
    n_holes: int

    @property
    def n_unreachable(self) -> int:
        """Ids of whole characters that no text produces."""
        return self.n_unreachable_single + self.n_unreachable_multi

    def ids(self, category: Category) -> NDArray[np.int64]:
        """The ids of a category, ascending."""
        return np.flatnonzero(self.categories == category)


_known = PerTokenizer[Reachability]()


def reachability(tokenizer: TokenizerLike, *, num_threads: int | None = None) -> Reachability:
    """Encode the text of every token again; a tokenizer's result is kept as long as it lives.

    Cost: the vocabulary is encoded once, and a few more times for the ids that do not come back.
    """
    found = resolve(tokenizer)
    return _known.get(found, lambda: _reachability(found, num_threads))


def _reachability(tokenizer: Tokenizer, num_threads: int | None) -> Reachability:
    categories = np.full(tokenizer.vocab_size, Category.NO_TOKEN, dtype=np.uint8)
    special = {token.id for token in tokenizer.added_tokens}
    if tokenizer.unknown_id is not None:
        special.add(tokenizer.unknown_id)
    missing = _texts(tokenizer, special, categories)
    for before in _CONTEXTS:
        missing = _still_missing(tokenizer, missing, (before, ""), categories, num_threads)
    for letter in _LETTERS:
        for context in ((letter, ""), ("", letter), (letter, letter)):
            missing = _still_missing(tokenizer, missing, context, categories, num_threads)
    for id_, text in missing.items():
        if any(_produces(tokenizer, letter + text.removeprefix(" "), id_) for letter in _LETTERS):
            categories[id_] = Category.OK
        elif tokenizer.bytes_to_id(tokenizer.id_to_bytes(id_)) not in (None, id_):
            # Text with a space before it takes two ids, one of which is the other of these bytes.
            categories[id_] = Category.UNREACHABLE_SINGLE
    counts = np.bincount(categories, minlength=len(Category))
    # Callers share it.
    categories.flags.writeable = False
    return Reachability(
        categories=categories,
        n_ok=int(counts[Category.OK]),
        n_special=int(counts[Category.SPECIAL]),
        n_undecodable=int(counts[Category.UNDECODABLE]),
        n_unreachable_single=int(counts[Category.UNREACHABLE_SINGLE]),
        n_unreachable_multi=int(counts[Category.UNREACHABLE_MULTI]),
        n_holes=int(counts[Category.NO_TOKEN]),
    )


def _texts(
    tokenizer: Tokenizer, special: set[int], categories: NDArray[np.uint8]
) -> dict[int, str]:
    """The texts that tokens stand for inside a text; the categories of the others are written."""
    texts: dict[int, str] = {}
    undecodable: list[int] = []
    bytes_of = tokenizer.id_to_bytes
    for id_ in range(tokenizer.vocab_size):
        try:
            text = bytes_of(id_).decode()
        except UnicodeDecodeError:
            undecodable.append(id_)
        except LookupError:
            continue  # a hole
        else:
            if text:
                texts[id_] = text
            else:
                undecodable.append(id_)
    categories[undecodable] = Category.UNDECODABLE
    for id_ in special.intersection(range(len(categories))):
        texts.pop(id_, None)
        categories[id_] = Category.SPECIAL
    return texts


def _still_missing(
    tokenizer: Tokenizer,
    texts: dict[int, str],
    context: tuple[str, str],
    categories: NDArray[np.uint8],
    num_threads: int | None,
) -> dict[int, str]:
    """The ids that do not come back inside this context; the categories are written."""
    if not texts:
        return texts
    before, behind = context
    if any(context):
        batch = TextBatch.from_texts([before + text + behind for text in texts.values()])
    else:
        batch = TextBatch.from_texts(list(texts.values()))
    encoded = tokenizer.encode_batch(batch, num_threads=num_threads)
    wanted = np.fromiter(texts, dtype=np.int64, count=len(texts))
    n_ids = np.diff(encoded.offsets)
    rows = np.repeat(np.arange(len(wanted)), n_ids)
    came_back = np.zeros(len(wanted), dtype=np.bool_)
    came_back[rows[encoded.ids == wanted[rows]]] = True
    categories[wanted[came_back]] = Category.OK
    if not any(context):
        categories[wanted[~came_back & (n_ids <= 1)]] = Category.UNREACHABLE_SINGLE
        categories[wanted[~came_back & (n_ids > 1)]] = Category.UNREACHABLE_MULTI
    return {id_: texts[id_] for id_ in wanted[~came_back].tolist()}


def _produces(tokenizer: Tokenizer, text: str, id_: int) -> bool:
    return id_ in tokenizer.encode(text)
