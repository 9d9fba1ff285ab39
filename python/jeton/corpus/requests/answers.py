"""Answers that were counted, by their ids: is this one of them again?

An answer is compared with those of the last ``MAX_ANSWERS`` requests. So its memory is bounded, and
a part of a log needs nothing of the parts before it but the answers that both have (``seams``).
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Iterator
from typing import Final, NamedTuple

MAX_ANSWERS: Final = 1_000_000
"""Requests back to the earliest answer that is compared; some 150 bytes each, twice as many."""

MAX_CHAIN: Final = 8
"""Different requests of one id that are compared: more of them is a constant in the id's place."""


class AnswerIdentity(NamedTuple):
    """Hashes of an id, of its scope, of what the request is, and of its record; and its output."""

    key: int
    scope: int
    is_strict: bool
    digest: int
    output: int
    record: int


class KnownAnswer(NamedTuple):
    """An answer that was counted.

    Attributes:
        scope: Hash of its scope; 0: none.
        digest: Hash of what the request is.
        output: Its output tokens, as far as its stream was read.
        input: Its input tokens.
        record: Hash of the first record that told of it; 0: none.
        ticket: Number of its row.
    """

    scope: int
    digest: int
    output: int
    input: int
    record: int
    ticket: int


class AnswerIndex:
    """Finds the answer that a request repeats."""

    def __init__(self) -> None:
        self._index: dict[int, int] = {}
        self._tickets = array("q")
        self._digests = array("q")
        self._scopes = array("q")
        self._outputs = array("q")
        self._inputs = array("q")
        self._records = array("q")
        self._next = array("q")
        self._seeded: set[int] = set()

    def find(self, identity: AnswerIdentity, now: int) -> tuple[int, int]:
        """The place of the same answer, else -1; and the last place of its id, else -1.

        Args:
            identity: The request.
            now: Number that its row would have.
        """
        key, scope, is_strict, digest, output, record = identity
        slot = self._index.get(key, -1)
        if slot < 0:
            return -1, -1
        oldest = now - MAX_ANSWERS
        last = -1
        n = 0
        while slot >= 0:
            if self._tickets[slot] >= oldest:
                other = self._scopes[slot]
                is_same = self._digests[slot] == digest
                if scope and other:
                    is_copy = self._outputs[slot] == output or (record == self._records[slot] != 0)
                    if scope == other or (is_same and is_copy and not is_strict):
                        return self._original(key, slot), slot
                elif is_same:
                    return self._original(key, slot), slot
                n += 1
                last = slot
            slot = self._next[slot]
            if n >= MAX_CHAIN:
                break
        return -1, last

    def follow(self, slot: int, identity: AnswerIdentity) -> None:
        """Know an answer under a second scope, where the record is a copy of its first one.

        The records behind that copy have the second scope, and more output. The last scope of an
        answer is given up for it, where its id has enough of them.
        """
        key, scope, _, digest, _, record = identity
        if record == 0 or record != self._records[slot]:
            return
        places = list(self._chain(key))
        own = [place for place in places if self._tickets[place] == self._tickets[slot]]
        if any(self._scopes[place] == scope for place in own):
            return
        if len(places) < MAX_CHAIN:
            self._append(key, (scope, digest, -1, -1, record, self._tickets[slot]), places[-1])
        elif own[-1] != slot:
            self._scopes[own[-1]] = scope

    def enter(self, identity: AnswerIdentity, given: int, ticket: int, last: int) -> None:
        """Keep a new answer.

        Args:
            identity: The request.
            given: Its input tokens.
            ticket: Number of its row.
            last: The last place of its id, as ``find`` told it.
        """
        if len(self._tickets) >= 2 * MAX_ANSWERS:
            last = self._drop_old(ticket - MAX_ANSWERS, last)
        key, scope, _, digest, output, record = identity
        self._append(key, (scope, digest, output, given, record, ticket), last)

    def improve(self, slot: int, output: int, given: int) -> int | None:
        """Keep larger counts of an answer; the number of its row, or None if they are no larger."""
        if (output, given) <= (self._outputs[slot], self._inputs[slot]):
            return None
        self._outputs[slot], self._inputs[slot] = output, given
        return self._tickets[slot]

    def forget(self, key: int, ticket: int) -> None:
        """Drop the answer of a row."""
        kept = [self._answer(slot) for slot in self._chain(key) if self._tickets[slot] != ticket]
        self._index.pop(key, None)
        last = -1
        for answer in kept:
            last = self._append(key, answer, last)

    # Answers of other parts of the log

    def keys(self) -> list[int]:
        """Ids of which something is known here, or was known before."""
        return [*self._index, *(key for key in self._seeded if key not in self._index)]

    def known(self, key: int) -> tuple[KnownAnswer, ...]:
        """The answers of an id, in the order of their rows."""
        return tuple(self._answer(slot) for slot in self._chain(key))

    def seed(self, key: int, answers: Iterable[KnownAnswer]) -> None:
        """Know answers of rows before these."""
        self._seeded.add(key)
        last = -1
        for answer in answers:
            last = self._append(key, answer, last)

    def _chain(self, key: int) -> Iterator[int]:
        """The places of an id, in the order of their rows."""
        slot = self._index.get(key, -1)
        while slot >= 0:
            yield slot
            slot = self._next[slot]

    def _original(self, key: int, slot: int) -> int:
        """The first place of an answer, which has its counts."""
        ticket = self._tickets[slot]
        return next(place for place in self._chain(key) if self._tickets[place] == ticket)

    def _answer(self, slot: int) -> KnownAnswer:
        return KnownAnswer(
            self._scopes[slot],
            self._digests[slot],
            self._outputs[slot],
            self._inputs[slot],
            self._records[slot],
            self._tickets[slot],
        )

    def _append(self, key: int, answer: tuple[int, int, int, int, int, int], last: int) -> int:
        """Keep the values of a `KnownAnswer`; returns its place."""
        slot = len(self._tickets)
        scope, digest, output, given, record, ticket = answer
        self._tickets.append(ticket)
        self._digests.append(digest)
        self._scopes.append(scope)
        self._outputs.append(output)
        self._inputs.append(given)
        self._records.append(record)
        self._next.append(-1)
        if last >= 0:
            self._next[last] = slot
        else:
            self._index[key] = slot
        return slot

    def _drop_old(self, oldest: int, last: int) -> int:
        """Forget answers of rows before ``oldest``; the place of ``last`` from now on."""
        old = AnswerIndex.__new__(AnswerIndex)
        old.__dict__.update(self.__dict__)
        moved = -1
        self.__init__()  # type: ignore[misc]
        self._seeded = old._seeded
        for key in old._index:
            before = -1
            for slot in old._chain(key):
                if old._tickets[slot] >= oldest:
                    before = self._append(key, old._answer(slot), before)
                    if slot == last:
                        moved = before
        return moved
