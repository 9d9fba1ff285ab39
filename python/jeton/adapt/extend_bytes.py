"""More tokens for BPE on bytes: ``tokenizer.json`` and files of ranks."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from jeton._core import BpeOptions, Tokenizer, continue_bpe, counts_for
from jeton.adapt.extension import Added, Extension
from jeton.errors import AdaptError, TrainingError

# New tokens of BPE as joins of two ids each, in the order in which an encoder makes them.

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

    def force_terms(
        self, extension: Extension, terms: Iterable[tuple[str, Sequence[int], bool]]
    ) -> None:
        """Makes one token of each term, and notes terms that are one or cannot become one.

        Args:
            extension: The order; it gets the notes.
            terms: Each term with the old ids of its pretoken; True if one id would be its token.

        Raises:
            AdaptError: The terms need more new tokens than there may be.
        """
        for term, ids, is_known_alone in terms:
            row = self.apply(ids)
            if len(row) == 1 and is_known_alone:
                extension.known_terms.append(term)
                continue
            try:
                self.force(row)
            except AdaptError as error:
                extension.left_out_terms[term] = str(error)
        extension.check_budget(len(self))

    def added(self, n_saved: Mapping[int, int]) -> list[Added]:
        """Returns the new tokens, with the tokens of the text that each saved where it is known."""
        return [
            Added(
                join.id,
                join.text,
                join.parts,
                join.origin,
                n_saved.get(join.id),
                pair=(join.left, join.right),
            )
            for join in self.joins
        ]

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


def extend_bytes(extension: Extension) -> list[Added]:
    """Adds terms, then what continued training finds; the merges stand behind the old ones."""
    base, written = extension.base, extension.written
    joins = Joins(base.vocab_size, ordinary_tokens(extension), any_pair=written.merges is None)
    plain = _without_whole_pretokens(extension)
    joins.force_terms(
        extension,
        (
            (
                term,
                plain.encode_pretoken(text.encode()),
                base.bytes_to_id(text.encode()) is not None,
            )
            for term, text in extension.pretokens()
        ),
    )
    saved: dict[int, int] = {}
    for id, left, right, n_saved in _learned(extension, joins):
        if joins.add(left, right, "learned") != id:
            raise AdaptError(f"the token {joins.text(left) + joins.text(right)!r} is made twice")
        saved[id] = n_saved
    _put(extension, joins)
    return joins.added(saved)


def ordinary_tokens(extension: Extension) -> list[bytes | None]:
    """Returns the written bytes of each old id, without those that text never becomes."""
    tokens = extension.written.tokens()
    hidden = {token.id for token in extension.base.added_tokens}
    hidden.update(extension.written.model.get("opaque", ()))
    return [None if id in hidden else token for id, token in enumerate(tokens)]


def _without_whole_pretokens(extension: Extension) -> Tokenizer:
    """Returns the tokenizer as its merges alone make it: a pretoken may be a token without any."""
    model = extension.written.model
    if not model["whole_pretokens"]:
        return extension.base
    model["whole_pretokens"] = False
    plain = extension.written.tokenizer()
    model["whole_pretokens"] = True
    return plain


def _learned(extension: Extension, joins: Joins) -> list[tuple[int, int, int, int]]:
    """Returns id, left, right and tokens saved of what the text teaches."""
    corpus, n_tokens = extension.corpus, extension.n_tokens
    if corpus is None:
        return []
    missing = [bytes([n]) for n in range(256) if extension.base.bytes_to_id(bytes([n])) is None]
    try:
        counts = counts_for(_with(extension, missing))
    except TrainingError as error:
        raise AdaptError(str(error)) from None
    for batch in corpus:
        counts.add(batch, num_threads=extension.num_threads)
    if n_tokens is None or n_tokens <= len(joins):
        return []
    first_byte = extension.base.vocab_size + len(joins)
    first_new = first_byte + len(missing)
    options = BpeOptions(
        vocab_size=extension.base.vocab_size + n_tokens + len(missing),
        min_frequency=extension.min_frequency,
        max_token_bytes=extension.max_token_bytes,
        may_merge=_none_has(missing) if missing else None,
    )
    complete = _with(extension, missing, joins)
    found = continue_bpe(counts, base=complete, options=options).new_tokens
    extension.warn_of_few(len(found) + len(joins))

    def written(id: int) -> int:
        return id - len(missing) if id >= first_new else id

    return [(written(new.id), written(new.left), written(new.right), new.n_saved) for new in found]


def _none_has(missing: Sequence[bytes]) -> Callable[[bytes, bytes], bool]:
    """Returns the rule of which pairs may merge: those without the bytes that have no token."""
    absent = frozenset(byte for token in missing for byte in token)

    def may_merge(left: bytes, right: bytes) -> bool:
        return absent.isdisjoint(left) and absent.isdisjoint(right)

    return may_merge


def _put(extension: Extension, joins: Joins) -> None:
    written = extension.written
    written.put_tokens(extension.base.vocab_size, [join.text for join in joins.joins])
    if written.merges is not None:
        written.merges.extend([left, right] for left, right, _ in joins.merges)


def _with(extension: Extension, missing: Sequence[bytes], joins: Joins | None = None) -> Tokenizer:
    """Returns the tokenizer to learn with: the joins so far, and a token for each byte behind them.

    The learner takes tokenizers with all bytes only. The written form stays as it was.
    """
    n_joins = 0 if joins is None else len(joins)
    if not n_joins and not missing:
        return extension.base
    model = extension.written.model
    before = {key: model[key] for key in ("tokens", "merges")}
    model["tokens"] = list(model["tokens"])
    if model["merges"] is not None:
        model["merges"] = list(model["merges"])
    if joins is not None:
        _put(extension, joins)
    extension.written.put_tokens(extension.base.vocab_size + n_joins, missing)
    tokenizer = extension.written.tokenizer()
    model.update(before)
    return tokenizer
