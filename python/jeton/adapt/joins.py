"""New tokens of BPE as joins of two ids each, in the order in which an encoder makes them."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from jeton.errors import AdaptError

_NO_RANK = 1 << 62


@dataclass(frozen=True, slots=True)
class Join:
    """One new token.

    Attributes:
        id: Its id.
        left: The id on the left of its merge.
        right: The id on the right of its merge.
        text: Its bytes as the model writes them.
        parts: The old ids that it is made of.
        origin: ``term`` (asked for), ``step`` (on the way to one) or ``learned``.
    """

    id: int
    left: int
    right: int
    text: bytes
    parts: tuple[int, ...]
    origin: str


class Joins:
    """New tokens so far; an encoder makes them after everything that the old tokenizer does.

    Args:
        first_id: The first new id; the others follow.
        tokens: Written bytes of each old id, None where it has none.
        any_pair: True for models without a list of merges: any two tokens merge whose text is one.

    Attributes:
        joins: The new tokens.
        known: The id of each written token, old or new.
        merges: Pairs of ids to put behind the old merges, with the id that each makes: one for each
            new token, and those that reach an old token in a second way.
    """

    def __init__(self, first_id: int, tokens: Sequence[bytes | None], *, any_pair: bool) -> None:
        self.joins: list[Join] = []
        self.merges: list[tuple[int, int, int]] = []
        self._first = first_id
        self._tokens = tokens
        self._any_pair = any_pair
        self._ranks: dict[tuple[int, int], int] = {}
        self.known: dict[bytes, int] = {token: id for id, token in enumerate(tokens) if token}

    def __len__(self) -> int:
        return len(self.joins)

    def apply(self, ids: Iterable[int]) -> list[int]:
        """Returns what the joins so far make of the ids of a pretoken: the earliest one first."""
        row = list(ids)
        while len(row) > 1:
            ranks = [self._rank(pair) for pair in itertools.pairwise(row)]
            rank = min(ranks)
            if rank == _NO_RANK:
                break
            at = ranks.index(rank)
            row[at : at + 2] = [self.merges[rank][2]]
        return row

    def add(self, left: int, right: int, origin: str) -> int:
        """Adds the token of a pair, or reaches the token that has its text; returns its id."""
        text = self.text(left) + self.text(right)
        known = self.known.get(text)
        if known is not None and self._any_pair:
            raise AdaptError(
                f"the token {text!r:.60} cannot be made: two tokens that give it merge already"
            )
        id = self._first + len(self.joins) if known is None else known
        self._ranks[left, right] = len(self.merges)
        self.merges.append((left, right, id))
        if known is None:
            self.known[text] = id
            parts = self.parts(left) + self.parts(right)
            self.joins.append(Join(id, left, right, text, parts, origin))
        return id

    def force(self, ids: Sequence[int]) -> int:
        """Makes one token of a pretoken, with the steps that it takes; returns how many are new."""
        row = self.apply(ids)
        before = len(self.joins)
        while len(row) > 1:
            at = self._first_new_pair(row)
            self.add(row[at], row[at + 1], "term" if len(row) == 2 else "step")
            # The pair may stand elsewhere in the row, too, and then merges there.
            row = self.apply(row)
        return len(self.joins) - before

    def text(self, id: int) -> bytes:
        """Returns the written bytes of an id, old or new."""
        if id >= self._first:
            return self.joins[id - self._first].text
        return self._tokens[id] or b""

    def parts(self, id: int) -> tuple[int, ...]:
        """Returns the old ids of an id, old or new."""
        return (id,) if id < self._first else self.joins[id - self._first].parts

    def origins(self) -> Mapping[str, int]:
        """Returns how many new tokens are of each origin."""
        found = {"term": 0, "step": 0, "learned": 0}
        for join in self.joins:
            found[join.origin] += 1
        return found

    def _rank(self, pair: tuple[int, int]) -> int:
        return self._ranks.get(pair, _NO_RANK)

    def _first_new_pair(self, row: list[int]) -> int:
        """Returns the first pair whose text is no token yet; the first of all if each is."""
        for at, (left, right) in enumerate(itertools.pairwise(row)):
            if self.text(left) + self.text(right) not in self.known:
                return at
        return 0
