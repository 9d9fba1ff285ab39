"""The vocabulary with which text needs fewest tokens.

A word is cut into as few tokens as possible. A token is worth the tokens that its words would need
without it. From many candidates the ones that are missed least go, round by round.

Among several shortest ways the least sum of *rarity* decides: log2 of all uses over the token's
uses, from the cutting before. Among equals the way with the longest last token is taken.

Cost: every round cuts every word by all candidates.

Source: PathPiece (arXiv:2402.18376), MinGram (arXiv:2606.27019).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

TOKEN_COST = 1 << 33
"""Cost of a token besides its rarity: more than all rarities of a word together."""
_MOST_RARITY = (1 << 13) - 1
_STEPS = 8
_LAST_ROUNDS = 2

Place = tuple[int, int]
"""Start and end of a token in a word."""


@dataclass(frozen=True, slots=True)
class FewestRound:
    """One round of taking out.

    Attributes:
        costs: The tokens that stay, with their costs.
        uses: How often the text uses each of them.
        removed: Tokens that went, with their loss: tokens that the text needs more without.
        n_tokens: Tokens of the text before they went.
    """

    costs: Mapping[bytes, int]
    uses: Mapping[bytes, int]
    removed: tuple[tuple[bytes, int], ...]
    n_tokens: int


def _log2_steps(n: int) -> int:
    """256 times the logarithm, rounded down; in whole numbers, the same on every machine."""
    if n == 0:
        return 0
    whole = n.bit_length() - 1
    mantissa, steps = n << (63 - whole), whole
    for _ in range(_STEPS):
        mantissa = (mantissa * mantissa) >> 63
        steps <<= 1
        if mantissa >> 64:
            steps |= 1
            mantissa >>= 1
    return steps


def rarity(uses: int, total: int) -> int:
    """256 steps for each halving; a token that was never used counts as used half a time.

    Example:
        >>> rarity(1, 1024), rarity(0, 1024), rarity(1024, 1024)
        (2560, 2816, 0)
    """
    if uses == 0:
        return min(_log2_steps(total) + (1 << _STEPS), _MOST_RARITY)
    return min(max(0, _log2_steps(total) - _log2_steps(uses)), _MOST_RARITY)


def cheapest(word: bytes, costs: Mapping[bytes, int]) -> list[Place]:
    """The cheapest way to cut a word.

    Example:
        >>> costs = {bytes([byte]): TOKEN_COST for byte in b"abc"}
        >>> cheapest(b"abc", costs | {b"ab": TOKEN_COST, b"bc": TOKEN_COST})
        [(0, 1), (1, 3)]
    """
    longest = max(map(len, costs))
    best: list[tuple[int, int]] = [(0, 0)]
    for end in range(1, len(word) + 1):
        ways = (
            (best[start][0] + cost, start)
            for start in range(max(0, end - longest), end)
            if (cost := costs.get(word[start:end])) is not None
        )
        best.append(min(ways))
    places, end = [], len(word)
    while end:
        places.append((best[end][1], end))
        end = best[end][1]
    return places[::-1]


def losses(word: bytes, costs: Mapping[bytes, int]) -> list[tuple[bytes, int]]:
    """Return the extra tokens of a word if each of its tokens of several bytes is removed.

    Example:
        >>> costs = {bytes([byte]): TOKEN_COST for byte in b"abc"} | {b"abc": TOKEN_COST}
        >>> losses(b"abc", costs)
        [(b'abc', 2)]
    """
    n, longest = len(word), max(map(len, costs))
    spans = [
        (start, end)
        for start in range(n)
        for end in range(start + 1, min(n, start + longest) + 1)
        if word[start:end] in costs
    ]
    forward, backward = [0, *[n] * n], [*[n] * n, 0]
    for start, end in spans:
        forward[end] = min(forward[end], forward[start] + 1)
    for start, end in reversed(spans):
        backward[start] = min(backward[start], backward[end] + 1)
    path, found = cheapest(word, costs), []
    for start, end in path:
        if end - start > 1:
            inside = [forward[at] + backward[at] for at in range(start + 1, end)]
            around = [
                forward[s] + 1 + backward[e]
                for s, e in spans
                if s <= start and e >= end and (s, e) != (start, end)
            ]
            found.append((word[start:end], min(inside + around) - len(path)))
    return found


def prune(
    candidates: Sequence[bytes],
    words: Mapping[bytes, int],
    *,
    n_wanted: int,
    shrinking_factor: float = 0.9,
) -> Iterator[FewestRound]:
    """Remove tokens until ``n`` are left; the last round holds the vocabulary, by falling uses.

    Args:
        candidates: The 256 bytes, which stay, then tokens in the order in which they were learned.
        words: How often each pretoken occurs.
        n_wanted: Tokens wanted, bytes included.
        shrinking_factor: Share of the tokens that a round keeps at least.

    Example:
        >>> singles = [bytes([byte]) for byte in range(256)]
        >>> *_, last = prune([*singles, b"ab", b"abc"], {b"abc": 9, b"ab": 1}, n_wanted=257)
        >>> list(last.costs)[256:], last.n_tokens
        ([b'abc'], 11)
    """
    costs = dict.fromkeys(candidates, TOKEN_COST)
    n_fixed = 256
    while True:
        uses, lost = _counted(words, costs)
        costs = _by_rarity(uses)
        places = {token: place for place, token in enumerate(costs)}
        may_go = sorted(
            list(costs)[n_fixed:], key=lambda token: (lost[token], uses[token], -places[token])
        )
        most = max(1, len(costs) * (1000 - round(shrinking_factor * 1000)) // 1000)
        n_go = min(max(0, len(costs) - n_wanted), most, len(may_go))
        if n_go == 0:
            break
        removed = tuple((token, lost[token]) for token in may_go[:n_go])
        for token, _ in removed:
            del costs[token]
        yield FewestRound(dict(costs), uses, removed, sum(uses.values()))
    uses, _ = _counted(words, costs)
    for _ in range(_LAST_ROUNDS):
        costs = _by_rarity(uses)
        uses, _ = _counted(words, costs)
    tokens = list(costs)
    order = [*tokens[:n_fixed], *sorted(tokens[n_fixed:], key=lambda token: -uses[token])]
    yield FewestRound({token: costs[token] for token in order}, uses, (), sum(uses.values()))


def _counted(
    words: Mapping[bytes, int], costs: Mapping[bytes, int]
) -> tuple[dict[bytes, int], dict[bytes, int]]:
    """Count the uses of each token, and the tokens that the text would gain without it."""
    uses, lost = dict.fromkeys(costs, 0), dict.fromkeys(costs, 0)
    for word, count in words.items():
        for start, end in cheapest(word, costs):
            uses[word[start:end]] += count
        for token, loss in losses(word, costs):
            lost[token] += loss * count
    return uses, lost


def _by_rarity(uses: Mapping[bytes, int]) -> dict[bytes, int]:
    total = sum(uses.values())
    return {token: TOKEN_COST + rarity(n, total) for token, n in uses.items()}
