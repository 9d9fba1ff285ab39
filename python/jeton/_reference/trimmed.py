"""BPE without scaffolding: tokens that only lead to others are taken out.

Plain BPE keeps every token on the way to a longer one, whether text becomes it or not. Here a
larger vocabulary is learned first, the *pool*. Tokens that the text hardly uses go, and later
merges take their places. A pretoken that is a token is never cut, so that a token whose parts went
lives on as a whole word.

Cost: the whole text is encoded anew in each round, every word from its bytes.

Source: Scaffold-BPE (arXiv:2404.17808) and PickyBPE (arXiv:2409.04599) take such tokens out, with
encoders of their own. The rules here leave a plain list of merges.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise

MARGIN = 64
"""Last tokens of a pool by which the worth of a place is judged."""
_MOST_ROUNDS, _MOST_POOLS = 8, 8
_N_BYTES = 256

Pair = tuple[int, int]


@dataclass(frozen=True, slots=True)
class Kept:
    """Tokens of a pool that stay.

    Attributes:
        places: Their places in the pool.
        pairs: By place the pair that makes a token; a token without one is a whole word only.
    """

    places: frozenset[int]
    pairs: Mapping[int, Pair]


@dataclass(frozen=True, slots=True)
class TrimRound:
    """One round of taking out.

    Attributes:
        kept: Tokens that stay after it.
        removed: Places that went, with how often the text used them.
        uses: By place, how often the text uses each token after it.
    """

    kept: Kept
    removed: tuple[tuple[int, int], ...]
    uses: tuple[int, ...]


def pool_size(n_wanted: int) -> int:
    """Return the size of the pool for a vocabulary: one more token for every four merges.

    Example:
        >>> pool_size(256 + 40)
        306
    """
    return n_wanted + (n_wanted - _N_BYTES) // 4


def _merged(symbols: list[int], pairs: Mapping[int, Pair]) -> list[int]:
    """Join pairs, the one that was learned first before all others."""
    made = {pair: place for place, pair in pairs.items()}
    while True:
        found = [(made[pair], at) for at, pair in enumerate(pairwise(symbols)) if pair in made]
        if not found:
            return symbols
        place, at = min(found)
        symbols = [*symbols[:at], place, *symbols[at + 2 :]]


class _Pool:
    """The tokens of the pool, and the text."""

    def __init__(
        self, tokens: Sequence[bytes], merges: Sequence[Pair], words: Mapping[bytes, int]
    ) -> None:
        self.tokens, self.words = tokens, words
        self.pairs = {_N_BYTES + number: pair for number, pair in enumerate(merges)}
        self.place = {token: place for place, token in enumerate(tokens)}

    def first(self, n: int) -> Kept:
        return Kept(frozenset(range(n)), {p: pair for p, pair in self.pairs.items() if p < n})

    def uses(self, kept: Kept) -> tuple[list[int], list[int]]:
        """Uses of each token, and those in words of more than one."""
        uses, within = [0] * len(self.tokens), [0] * len(self.tokens)
        whole = {self.tokens[place]: place for place in kept.places}
        for word, count in self.words.items():
            place = whole.get(word)
            letters = [self.place[bytes([byte])] for byte in word]
            found = [place] if place is not None else _merged(letters, kept.pairs)
            for each in found:
                uses[each] += count
                within[each] += count if len(found) > 1 else 0
        return uses, within

    def without(self, gone: set[int]) -> Kept:
        """The rest, and the merges that still make its tokens."""
        pairs: dict[int, Pair] = {}
        for place in self.pairs:
            if place not in gone:
                letters = [self.place[bytes([byte])] for byte in self.tokens[place]]
                symbols = _merged(letters, pairs)
                if len(symbols) == 2:
                    pairs[place] = (symbols[0], symbols[1])
        return Kept(frozenset(range(len(self.tokens))) - gone, pairs)

    def made(self, uses: Sequence[int]) -> list[int]:
        """Count the times that merging makes each token, also if a later merge swallows it."""
        made = list(uses)
        for place in sorted(self.pairs, reverse=True):
            for part in self.pairs[place]:
                made[part] += made[place]
        return made

    def parts(self, place: int) -> set[int]:
        """A token and all that it is made of."""
        found = {place}
        for part in self.pairs.get(place, ()):
            found |= self.parts(part)
        return found


def trim(
    tokens: Sequence[bytes],
    merges: Sequence[Pair],
    words: Mapping[bytes, int],
    *,
    n_wanted: int,
    least_use: float = 0.5,
) -> Iterator[TrimRound]:
    """Take scaffolding out of larger and larger pools; the last round has the vocabulary.

    Args:
        tokens: The 256 bytes, then what was learned.
        merges: The pair of each learned token, as places.
        words: How often each pretoken occurs.
        n_wanted: Tokens wanted.
        least_use: A token goes if it is used less often than this share of what the last tokens
            are made.

    Example:
        ``ab`` and ``cd`` only lead to ``abcd``, and go:

        >>> tokens = [bytes([byte]) for byte in range(256)]
        >>> tokens += [b"ab", b"cd", b"abcd", b"ij", b"kl"]
        >>> merges = [(97, 98), (99, 100), (256, 257), (105, 106), (107, 108)]
        >>> words = {b"abcd": 1000, b"ij": 90, b"kl": 89}
        >>> *_, last = trim(tokens, merges, words, n_wanted=259)
        >>> [tokens[place] for place in sorted(last.kept.places)[256:]]
        [b'abcd', b'ij', b'kl']
    """
    pool = _Pool(tokens, merges, words)
    n_plain = min(n_wanted, len(tokens))
    plain = pool.first(n_plain)
    n_plain_tokens = sum(pool.uses(plain)[0])
    size, best = n_plain, plain
    for _ in range(_MOST_POOLS):
        best = pool.first(size)
        for found in _rounds(pool, size, least_use):
            yield found
            best = found.kept
        if len(best.places) >= n_plain or size >= len(tokens):
            break
        size = min(size + n_plain - len(best.places), len(tokens))
    late = sorted(best.places)[n_plain:]
    rest = {place: pair for place, pair in best.pairs.items() if place not in late}
    best = Kept(best.places - set(late), rest)
    if sum(pool.uses(best)[0]) > n_plain_tokens:
        best = plain
    yield TrimRound(best, (), tuple(pool.uses(best)[0]))


def _rounds(pool: _Pool, size: int, share: float) -> Iterator[TrimRound]:
    uses, within = pool.uses(pool.first(size))
    made = pool.made(uses)
    learned = range(_N_BYTES, size)
    last = [made[place] for place in learned[-MARGIN:]]
    worth = sum(last) // max(len(last), 1)
    least_use = worth * round(share * 1000) // 1000
    protected: set[int] = set()
    gone = set(range(size, len(pool.tokens)))
    now = uses
    for _ in range(_MOST_ROUNDS):
        going = {
            place
            for place in learned
            if made[place] >= least_use and place not in gone | protected and now[place] < least_use
        }
        if not going:
            return
        gone |= going
        # A token that is worth more than scaffolding keeps its parts.
        while True:
            kept = pool.without(gone)
            stranded = [
                place
                for place in kept.places
                if place >= _N_BYTES and place not in kept.pairs and within[place] >= least_use
            ]
            if not stranded:
                break
            for place in stranded:
                protected |= pool.parts(place)
            gone -= protected
        removed = tuple((place, now[place]) for place in sorted(going & gone))
        now, _ = pool.uses(kept)
        yield TrimRound(kept, removed, tuple(now))
