"""Training a Unigram model: too many pieces at first, then expectation, maximization and pruning.

1. Candidates: all characters, and every string that occurs at least twice and before different
   things, with probabilities in proportion to frequency times length.
2. Expectation: how often each piece is used when every word is cut in all ways, each as likely as
   it is.
3. Maximization: pieces used less than half a time go, but characters of the alphabet stay (as if
   used half a time). The others get ``digamma(count) - digamma(sum)``, which favours few pieces.
4. Pruning: the pieces whose loss would cost the text least likelihood go, a quarter at a time, down
   to 1.1 times the vocabulary. Characters stay.
5. A last pruning leaves the vocabulary; then the probabilities are made the likeliest ones.

Cost: each round reads every piece at every place of every distinct word.

Sources: Kudo (2018), arXiv:1804.10959; Liang and Klein, "Structured Bayesian Nonparametric Models
with Variational Inference" (2007) for the digamma; ``sentencepiece`` 0.2.3 for the constants.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass

from jeton._reference.unigram import UNKNOWN_PENALTY, best_path, lattice

SPARE = 1.1
MIN_USE = 0.5

Scores = dict[str, float]


@dataclass(frozen=True, slots=True)
class Round:
    """One step of training.

    Attributes:
        kind: ``"candidates"``, ``"em"``, ``"prune"``, ``"choose"`` or ``"refit"``.
        scores: Log probability of every piece after it.
        log_likelihood: Log likelihood of the text before it, all cuts together; None: not computed.
        removed: Pieces that went, with the loss (pruning) or expected count (EM) that decided.
    """

    kind: str
    scores: Scores
    log_likelihood: float | None = None
    removed: tuple[tuple[str, float], ...] = ()


def candidates(
    words: Mapping[str, int],
    *,
    max_chars: int = 16,
    min_frequency: int = 2,
    allow: Callable[[str], bool] = lambda _piece: True,
) -> dict[str, int]:
    """Strings of two characters and more that are worth a piece, with frequency times length.

    A string before which nothing different ever follows is worth nothing beside the longer one.

    Example:
        >>> candidates({"low": 2, "lower": 1})
        {'low': 9, 'ow': 6}
    """
    count: Counter[str] = Counter()
    after: dict[str, set[str]] = {}
    for word, weight in words.items():
        for start in range(len(word)):
            for end in range(start + 2, min(len(word), start + max_chars) + 1):
                text = word[start:end]
                count[text] += weight
                # The end of a word is another thing each time.
                after.setdefault(text, set()).add(
                    word[end : end + 1] or f"end of {word} at {start}"
                )
    return {
        text: n * len(text)
        for text, n in count.items()
        if n >= max(min_frequency, 2) and allow(text) and _is_node(text, after[text], max_chars)
    }


def _is_node(text: str, after: set[str], max_chars: int) -> bool:
    ends = any(len(what) > 1 for what in after)
    return ends or len(after) > 1 or len(text) == max_chars


def _pieces(scores: Mapping[str, float]) -> dict[str, tuple[int, float]]:
    return {text: (place, score) for place, (text, score) in enumerate(scores.items())}


def _unknown(scores: Mapping[str, float]) -> float:
    return min(0.0, *scores.values()) - UNKNOWN_PENALTY


def expect(words: Mapping[str, int], scores: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """Return the uses of each piece, weighed over all cuts, and the text's log likelihood.

    Example:
        "ab" is as likely as "a" and "b" together, so each way is used half of the time:

        >>> half = 0.5
        >>> counts, _ = expect(
        ...     {"ab": 2}, {"a": math.log(half), "b": math.log(half), "ab": math.log(0.25)}
        ... )
        >>> {text: round(count, 6) for text, count in counts.items()}
        {'a': 1.0, 'b': 1.0, 'ab': 1.0}
    """
    counts = dict.fromkeys(scores, 0.0)
    pieces, unknown = _pieces(scores), _unknown(scores)
    log_likelihood = 0.0
    for word, weight in words.items():
        arcs = lattice(word, pieces, unknown_score=unknown)
        n = len(word)
        # Relative to the best way, so that no probability vanishes.
        _, best = best_path(arcs, n)
        top = [way.score if way is not None else 0.0 for way in best]
        before = [1.0] + [0.0] * n
        for arc in arcs:
            before[arc.end] += before[arc.start] * math.exp(
                top[arc.start] + arc.score - top[arc.end]
            )
        behind = [0.0] * n + [1.0]
        for arc in reversed(arcs):
            share = math.exp(top[arc.start] + arc.score - top[arc.end]) * behind[arc.end]
            behind[arc.start] += share
            if arc.id >= 0:
                counts[word[arc.start : arc.end]] += weight * before[arc.start] * share / before[n]
        log_likelihood += weight * (math.log(before[n]) + top[n])
    return counts, log_likelihood


def digamma(x: float) -> float:
    """The derivative of the logarithm of the gamma function, for positive numbers.

    Example:
        >>> round(digamma(1.0), 6)  # minus Euler's constant
        -0.577216
    """
    result = 0.0
    while x < 6:
        result -= 1 / x
        x += 1
    square = 1 / (x * x)
    tail = 1 / 252 - square * (1 / 240 - square / 132)
    return result + math.log(x) - 0.5 / x - square * (1 / 12 - square * (1 / 120 - square * tail))


def losses(words: Mapping[str, int], scores: Mapping[str, float]) -> dict[str, float]:
    """The likelihood that the text would lose without each piece, if its uses were cut otherwise.

    Infinite: the piece cannot be cut into others. Minus infinite: it is never used.

    Example:
        >>> found = losses({"ab": 2, "a": 1}, {"a": -1.0, "b": -2.0, "ab": -1.5})
        >>> found["b"], found["a"], found["ab"] > 0
        (-inf, inf, True)
    """
    pieces, unknown = _pieces(scores), _unknown(scores)
    uses: Counter[str] = Counter()
    for word, weight in words.items():
        path, _ = best_path(lattice(word, pieces, unknown_score=unknown), len(word))
        for arc in path:
            if arc.id >= 0:
                uses[word[arc.start : arc.end]] += weight
    total = sum(uses.values())
    found: dict[str, float] = {}
    for text, score in scores.items():
        count = uses[text]
        others, other_score = _otherwise(text, pieces, unknown)
        if count == 0 or (others and other_score > score):
            found[text] = -math.inf
        elif not others:
            found[text] = math.inf
        else:
            log_total = math.log(total + count * (len(others) - 1))
            log_others = sum(math.log(uses[other] + count) - log_total for other in others)
            found[text] = count / total * (math.log(count) - math.log(total) - log_others)
    return found


def _otherwise(
    text: str, pieces: Mapping[str, tuple[int, float]], unknown: float
) -> tuple[list[str], float]:
    """The best way to cut a piece into others; none if there is no way."""
    arcs = [a for a in lattice(text, pieces, unknown_score=unknown) if a.end - a.start < len(text)]
    if not arcs:
        return [], -math.inf
    path, best = best_path(arcs, len(text))
    whole = best[-1]
    if whole is None or any(arc.id < 0 for arc in path):
        return [], -math.inf
    return [text[arc.start : arc.end] for arc in path], whole.score


def train(
    words: Mapping[str, int],
    *,
    n_pieces: int,
    alphabet: Mapping[str, int],
    shrinking_factor: float = 0.75,
    n_sub_iterations: int = 2,
    max_chars: int = 16,
    min_frequency: int = 2,
    allow: Callable[[str], bool] = lambda _piece: True,
) -> Iterator[Round]:
    """Learn pieces; the last round has the vocabulary, in no order.

    Args:
        words: How often each word occurs; they have characters of the alphabet only.
        n_pieces: Pieces wanted, characters included.
        alphabet: The characters that stay, with how often they occur, most frequent first.
        shrinking_factor: Share of the pieces that a pruning keeps.
        n_sub_iterations: Rounds of EM before each pruning.
        max_chars: Longest piece.
        min_frequency: Strings that occur less often are no candidates.
        allow: False: a string must not be a piece.

    Example:
        >>> words = {"low": 5, "lower": 2, "newest": 6, "widest": 3}
        >>> letters = Counter("".join(word * n for word, n in words.items()))
        >>> *_, last = train(words, n_pieces=12, alphabet=letters)
        >>> sorted(text for text in last.scores if len(text) > 1)
        ['newest', 'widest']
    """
    found = candidates(words, max_chars=max_chars, min_frequency=min_frequency, allow=allow)
    order = sorted(found, key=lambda t: (-found[t], -len(t.encode()), t.encode()))
    first = {c: max(n, 1) for c, n in alphabet.items()} | {text: found[text] for text in order}
    log_total = math.log(sum(first.values()))
    scores = {text: math.log(worth) - log_total for text, worth in first.items()}
    yield Round("candidates", scores)
    n_spare = int(n_pieces * SPARE)
    while True:
        for _ in range(max(n_sub_iterations, 1)):
            counts, likelihood = expect(words, scores)
            counts |= {c: max(counts[c], MIN_USE) for c in alphabet}
            kept = {text: count for text, count in counts.items() if count >= MIN_USE}
            log_sum = digamma(sum(kept.values()))
            gone = tuple((text, counts[text]) for text in scores if text not in kept)
            scores = {text: digamma(count) - log_sum for text, count in kept.items()}
            yield Round("em", scores, likelihood, gone)
        n_before = len(scores)
        scores, gone = _prune(
            words, scores, alphabet, max(n_spare, int(n_before * shrinking_factor))
        )
        yield Round("prune", scores, None, gone)
        if len(scores) <= n_spare or len(scores) == n_before:
            break
    scores, gone = _prune(words, scores, alphabet, n_pieces)
    yield Round("choose", scores, None, gone)
    for _ in range(max(n_sub_iterations, 1)):
        counts, likelihood = expect(words, scores)
        scores = _refit(counts)
        yield Round("refit", scores, likelihood)


def _refit(counts: Mapping[str, float]) -> Scores:
    """The likeliest probabilities of a vocabulary that stands."""
    used = {text: max(count, MIN_USE) for text, count in counts.items()}
    log_sum = math.log(sum(used.values()))
    return {text: math.log(count) - log_sum for text, count in used.items()}


def _prune(
    words: Mapping[str, int], scores: Scores, alphabet: Mapping[str, int], target: int
) -> tuple[Scores, tuple[tuple[str, float], ...]]:
    """Keep the characters, and beside them the pieces with the greatest loss; unused ones go."""
    lost = losses(words, scores)
    # Sorting is stable: of two pieces with one loss, the earlier comes first.
    ranked = sorted((t for t in scores if t not in alphabet), key=lambda text: -lost[text])
    best = ranked[: max(0, target - len(alphabet))]
    stay = {text for text in best if lost[text] > -math.inf} | alphabet.keys()
    gone = tuple((text, lost[text]) for text in reversed(ranked) if text not in stay)
    return {text: score for text, score in scores.items() if text in stay}, gone
