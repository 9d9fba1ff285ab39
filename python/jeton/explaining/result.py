"""The difference between two tokenizers: found on a text, and stated."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton._core import TokenBatch, Tokenizer
from jeton._shown import NotebookResult
from jeton.errors import EncodeError, InvalidTextError, UnknownTokenIdError

SCHEMA_VERSION = "jeton.explain/1"

By = Literal["ids", "bytes"]
"""Things that are compared: the ids, or the byte strings of the tokens, for vocabularies that
number them differently."""

Source = Literal["texts", "probe", "edge_texts", "vocabulary", "special_tokens"]
"""Where a text came from: the caller, the probe, ``edge_texts``, the tokens of the vocabularies, or
texts for special tokens, which are allowed and added there."""

Verdict = Literal["same_fingerprint", "no_difference_found", "different"]

Direction = Literal["b_into_a", "a_into_b"]
"""Direction of an exchange: B's component into A (so that A should cut as B does), or A's into B.
"""


@dataclass(frozen=True, slots=True)
class Cut:
    """Text cut by one tokenizer.

    Attributes:
        ids: The ids, (n_tokens,).
        tokens: Bytes of each token.
        special: True for each that is a special or added token.
        error: Why there are none, where the text cannot be encoded.
    """

    ids: tuple[int, ...]
    tokens: tuple[bytes, ...]
    special: tuple[bool, ...]
    error: str | None = None


@dataclass(frozen=True, slots=True)
class PartDifference:
    """A place of the canonical form where two tokenizers are written differently.

    Attributes:
        path: Its place, as in ``pretokenizer[0].pattern``.
        a: A's part there, in short.
        b: B's part there, in short.
    """

    path: str
    a: str
    b: str


@dataclass(frozen=True, slots=True)
class Exchange:
    """One component of a tokenizer replaced by the other's, and what became of the text.

    Attributes:
        paths: Paths that were replaced.
        direction: The direction of the replacement.
        outcome: ``equal``: the text is now cut as the lender cuts it. ``different``: it is not.
            ``invalid``: such a tokenizer cannot be built.
    """

    paths: tuple[str, ...]
    direction: Direction
    outcome: Literal["equal", "different", "invalid"]


@dataclass(frozen=True, slots=True)
class Difference:
    """A text on which the two differ, and why.

    Attributes:
        text: The text.
        is_minimal: True if it was shown that without any one character there is no difference.
        source: Where the text was found, before it was made smaller.
        special_tokens: True if special tokens were added and allowed; otherwise they are text.
        a: A's result for it.
        b: B's result for it.
        component: The component that causes the difference: a top-level key of the canonical form
            (``normalizer``, ``added_tokens``, ``pretokenizer``, ``template``, ``model``, ...).
            Several, joined by " + ", where only all of them together do.
        paths: Where exactly, as far as it could be narrowed down.
        stage: The first stage whose result differs, going through both tokenizers step by step.
        is_proven: True if exchanging the component, and nothing else, made the difference go away;
            otherwise ``component`` is the ``stage``.
        cause: One sentence: what happens.
        proof: One sentence: what was exchanged, and what came of it.
        trials: Every exchange that was tried.
    """

    text: str
    is_minimal: bool
    source: Source
    special_tokens: bool
    a: Cut
    b: Cut
    component: str
    paths: tuple[str, ...]
    stage: str
    is_proven: bool
    cause: str
    proof: str
    trials: tuple[Exchange, ...]


@dataclass(frozen=True, slots=True)
class Explanation(NotebookResult):
    """Explanation of the difference of two tokenizers.

    Attributes:
        verdict: ``same_fingerprint``: they are written alike, so that there can be none.
            ``no_difference_found``: none in ``n_texts`` texts, which proves nothing about others.
            ``different``: there is one.
        by: The compared results.
        n_texts: Texts on which they were compared; 0 where the fingerprint settles it.
        n_cases: How many texts of ``edge_texts`` were asked for.
        seed: The seed of those.
        names: The names of A and B.
        fingerprints: Their fingerprints.
        probe_digests: Their probe digests.
        parts: Where their canonical forms differ.
        difference: The difference, where there is one.
    """

    _table = "parts"
    _line = ("names", "n_texts", "parts")

    verdict: Verdict
    by: By
    n_texts: int
    n_cases: int
    seed: int
    names: tuple[str | None, str | None]
    fingerprints: tuple[str, str]
    probe_digests: tuple[str, str]
    parts: tuple[PartDifference, ...]
    difference: Difference | None

    @property
    def is_same_on_probe(self) -> bool:
        """True if both give the same ids to every text of the probe."""
        return self.probe_digests[0] == self.probe_digests[1]

    def to_dict(self) -> dict[str, Any]:
        """All of it for JSON; token bytes in hexadecimal."""
        value = {"schema_version": SCHEMA_VERSION, **asdict(self)}
        difference = value["difference"]
        if difference is not None:
            for side in ("a", "b"):
                difference[side]["tokens"] = [token.hex() for token in difference[side]["tokens"]]
        return value


def cut(tokenizer: Tokenizer, text: str, *, special: bool) -> Cut:
    """Cut a text with a tokenizer; ``special``: special tokens are added and allowed.

    Raises:
        InvalidTextError: The given text is no text, which is the caller's fault alone.
    """
    try:
        ids = tokenizer.encode(
            text, add_special_tokens=special, allow_special="all" if special else None
        )
    except InvalidTextError:
        raise
    except EncodeError as error:
        return Cut(ids=(), tokens=(), special=(), error=str(error).split("\n", 1)[0])
    added = {token.id for token in tokenizer.added_tokens}
    return Cut(
        ids=tuple(ids),
        tokens=tuple(tokenizer.id_to_bytes(token_id) for token_id in ids),
        special=tuple(token_id in added for token_id in ids),
    )


def same_cut(a: Cut, b: Cut, *, by: By) -> bool:
    """True if two cuts are alike. Two failures are: neither gives ids."""
    if a.error is not None or b.error is not None:
        return (a.error is None) == (b.error is None)
    return a.ids == b.ids if by == "ids" else a.tokens == b.tokens


class Pair:
    """Two tokenizers and what it means that they differ."""

    def __init__(self, a: Tokenizer, b: Tokenizer, *, by: By, special: bool) -> None:
        self.a = a
        self.b = b
        self.by: By = by
        self.special = special
        self._numbers = _common_numbers(a, b) if by == "bytes" else None

    def differing(self, texts: Sequence[str]) -> list[int]:
        """Places of the texts that the two treat differently, ascending."""
        try:
            a, b = self._encode(self.a, texts), self._encode(self.b, texts)
        except EncodeError:
            # Some text has no ids; only one by one does it show which.
            return [index for index, text in enumerate(texts) if self._differs(text)]
        a_ids, b_ids = np.asarray(a.ids), np.asarray(b.ids)
        if self._numbers is not None:
            a_ids, b_ids = self._numbers[0][a_ids], self._numbers[1][b_ids]
        a_ends, b_ends = np.asarray(a.offsets), np.asarray(b.offsets)
        if np.array_equal(a_ends, b_ends) and np.array_equal(a_ids, b_ids):
            return []
        return [
            index
            for index in range(len(texts))
            if not np.array_equal(
                a_ids[a_ends[index] : a_ends[index + 1]], b_ids[b_ends[index] : b_ends[index + 1]]
            )
        ]

    def _encode(self, tokenizer: Tokenizer, texts: Sequence[str]) -> TokenBatch:
        return tokenizer.encode_batch(
            texts,
            add_special_tokens=self.special,
            allow_special="all" if self.special else None,
        )

    def _differs(self, text: str) -> bool:
        a = cut(self.a, text, special=self.special)
        b = cut(self.b, text, special=self.special)
        return not same_cut(a, b, by=self.by)


def _common_numbers(a: Tokenizer, b: Tokenizer) -> tuple[NDArray[Any], NDArray[Any]]:
    """Number token bytes, the same bytes alike in both: id -> number, uint32 (vocab_size,)."""
    numbers: dict[bytes, int] = {}
    found = []
    for tokenizer in (a, b):
        table = np.zeros(tokenizer.vocab_size, dtype=np.uint32)
        for token_id in range(tokenizer.vocab_size):
            try:
                token = tokenizer.id_to_bytes(token_id)
            except UnknownTokenIdError:  # a hole, which no text is encoded to
                continue
            table[token_id] = numbers.setdefault(token, len(numbers))
        found.append(table)
    return found[0], found[1]
