"""Parity-aware BPE: each merge goes to the language that pays most.

Plain BPE serves the language with the most text. Here each step first asks which language needs
most tokens for a unit of content. The best pair of its text is merged in all languages. The result
is a plain list of merges.

Cost: as ``learning``: every step reads the whole corpus.

Source: Foroutan et al., "Parity-Aware Byte-Pair Encoding" (2025), arXiv:2508.04796.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from fractions import Fraction

from jeton._reference.bpe import alphabet
from jeton._reference.learning import LearnStep, SymbolCorpus, Ties, lowest_ids, rank


@dataclass(frozen=True, slots=True)
class ParityStep:
    """One merge, and the language that it was made for.

    Attributes:
        step: The merge. Its score is the count in that language, its count that of all text.
        language: The language.
        costs: Tokens for a unit of content before the step, by language.
    """

    step: LearnStep[bytes]
    language: str
    costs: Mapping[str, float]


def train(
    languages: Mapping[str, Mapping[bytes, int]],
    *,
    n_units: Mapping[str, int],
    n_merges: int,
    min_frequency: int = 1,
    ties: Ties[bytes] = lowest_ids,
    allow: Callable[[bytes], bool] = lambda _made: True,
    n_shown: int = 1,
) -> Iterator[ParityStep]:
    """Learn merges in the interest of the language that is worst off.

    Args:
        languages: How often each pretoken occurs, by language; of equals the first is served.
        n_units: Units of content of each language: characters, say.
        n_merges: Merges, at most.
        min_frequency: Pairs that occur less often in the language are not merged.
        ties: The order of pairs with equal counts.
        allow: False: this token must not be made.
        n_shown: Pairs of the ranking in each step.

    Example:
        The small language is served first, though the large one has a hundred times the text:

        >>> texts = {"large": {b"abab": 100}, "small": {b"xyxyxyxy": 1}}
        >>> steps = train(texts, n_units={"large": 100, "small": 1}, n_merges=3)
        >>> [(one.language, one.step.made) for one in steps]
        [('small', b'xy'), ('large', b'ab'), ('small', b'xyxy')]
    """
    ids = {bytes([byte]): place for place, byte in enumerate(alphabet())}
    corpora = {
        name: SymbolCorpus.of(((bytes([byte]) for byte in word), n) for word, n in words.items())
        for name, words in languages.items()
    }
    done: set[str] = set()
    for _ in range(n_merges):
        costs = {name: Fraction(c.n_symbols, n_units[name]) for name, c in corpora.items()}
        open_languages = [name for name in costs if name not in done]
        for language in sorted(open_languages, key=lambda name: -costs[name]):
            found = rank(
                corpora[language],
                ids=ids,
                make=bytes.__add__,
                min_count=min_frequency,
                ties=ties,
                allow=allow,
                n_shown=n_shown,
            )
            if found.ranking:
                break
            done.add(language)
        else:
            return
        pair, worth, _ = found.ranking[0]
        made = pair[0] + pair[1]
        ids[made] = len(ids)
        count = sum(corpus.pairs()[pair] for corpus in corpora.values())
        step = LearnStep(
            pair=pair,
            made=made,
            score=worth,
            count=count,
            n_saved=sum(corpus.join(pair, made) for corpus in corpora.values()),
            ranking=found.ranking,
            n_pairs=found.n_pairs,
        )
        yield ParityStep(step, language, {name: float(cost) for name, cost in costs.items()})
