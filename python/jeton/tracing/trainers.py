"""The twins of all trainers behind one door, ready to be followed step by step."""

from __future__ import annotations

import base64
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from jeton._core import from_tiktoken
from jeton._reference import (
    fewest,
    frequent,
    parity,
    superwords,
    trimmed,
    unigram_training,
    wordpiece,
)
from jeton._reference.bpe import alphabet as byte_order
from jeton._reference.characters import first_ids, joined, spelled_words
from jeton._reference.learning import LearnStep, SymbolCorpus, fewest_characters, learn, lowest_ids
from jeton.tracing.steps import readable
from jeton.training import CountedCorpus, TrainSettings

_NEVER_LEARNED = frozenset("\u2585\0 ")
_SPACE = "\u2581"
_MOST_WORD_CHARS = 16_384
_MOST_CANDIDATE_BYTES = 256
_SINGLES = [bytes([byte]) for byte in byte_order()]


@dataclass(frozen=True, slots=True)
class LearnedStep:
    """A merge with its circumstances.

    Attributes:
        step: The merge.
        stage: 2 for merges across words.
        language: The language that it was made for.
        costs: Tokens for a unit of content before it, by language.
    """

    step: LearnStep[Any]
    stage: int = 1
    language: str = ""
    costs: Mapping[str, float] | None = None


@dataclass(frozen=True, slots=True)
class TwinRound:
    """A round in which pieces are weighed as a whole.

    Attributes:
        kind: The round in a word.
        pieces: Pieces after it, each with its score: log probability, uses or count.
        removed: Pieces that went, with the figure that decided.
        log_likelihood: Natural logarithm of the text's likelihood; None: not computed.
        n_tokens: Tokens of the text; None: not counted.
    """

    kind: str
    pieces: Mapping[str, float]
    removed: tuple[tuple[str, float], ...]
    log_likelihood: float | None = None
    n_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class Training:
    """A twin ready to learn.

    Attributes:
        first: Tokens before the first merge.
        n_tokens: Tokens of the text then; 0 where no merges are learned.
        merges: Merges as they are learned.
        rounds: Rounds; the last one has what was learned.
        n_before: Ids of the trained tokenizer before what was learned.
        is_on_bytes: True if tokens are bytes.
        is_ordered: False if the rounds say which pieces there are, and not in which order.
    """

    first: list[str]
    n_tokens: int = 0
    merges: Iterable[LearnedStep] = ()
    rounds: Iterable[TwinRound] = ()
    n_before: int = 0
    is_on_bytes: bool = False
    is_ordered: bool = True


Twin = Callable[[Mapping[bytes, int], TrainSettings, int], Training]


def twin_of(corpus: CountedCorpus, settings: TrainSettings, n_shown: int) -> Training:
    """The twin of an algorithm on a counted text.

    Args:
        corpus: The text.
        settings: The algorithm and its settings.
        n_shown: Pairs of each step's ranking.
    """
    counts = dict(sorted(corpus.counts.items()))
    if settings.algorithm == "parity-bpe":
        return _parity(corpus, counts, settings, n_shown)
    return _TWINS[settings.algorithm](counts, settings, n_shown)


def _ties(settings: TrainSettings) -> Any:
    return lowest_ids if settings.tie_rule == "hf" else _BYTE_TIES[settings.tie_rule]


def _byte_level(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> Training:
    steps = _byte_steps(counts, settings, n_shown, _n_merges(settings), settings.max_token_bytes)
    return _on_bytes(counts, settings, map(LearnedStep, steps))


def _n_merges(settings: TrainSettings) -> int:
    return max(0, settings.vocab_size - len(_SINGLES) - len(settings.special_tokens))


def _byte_steps(
    counts: Mapping[bytes, int],
    settings: TrainSettings,
    n_shown: int,
    n_merges: int,
    longest: int | None,
) -> Iterator[LearnStep[bytes]]:
    corpus = SymbolCorpus.of(((bytes([byte]) for byte in word), n) for word, n in counts.items())
    return learn(
        corpus,
        ids={single: place for place, single in enumerate(_SINGLES)},
        make=bytes.__add__,
        n_merges=n_merges,
        min_count=settings.min_frequency,
        ties=_ties(settings),
        allow=lambda made: longest is None or len(made) <= longest,
        n_shown=n_shown,
    )


def _on_bytes(
    counts: Mapping[bytes, int],
    settings: TrainSettings,
    merges: Iterator[LearnedStep],
    rounds: Iterable[TwinRound] = (),
) -> Training:
    """A training that begins with the bytes."""
    first = [*settings.special_tokens, *map(readable, _SINGLES)]
    n_tokens = sum(len(word) * count for word, count in counts.items())
    return Training(first, n_tokens, merges, rounds, n_before=len(first), is_on_bytes=True)


_BYTE_TIES: dict[str, Any] = {
    "bytes": lambda _ids: lambda pair: pair,
    "sentencepiece": lambda _ids: lambda pair: (_n_chars(pair[0] + pair[1]), pair[0] + pair[1]),
}


def _n_chars(text: bytes) -> int:
    return sum(byte >> 6 != 2 for byte in text)


def _superwords(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> Training:
    options = settings.read_options()
    singles = "\n".join(f"{_base64(byte)} {byte}" for byte in range(256)).encode()
    splitter = from_tiktoken(singles, pattern=settings.pattern)
    n_first = 256 + len(settings.special_tokens)
    steps = superwords.train(
        counts,
        words_of=lambda phrase: [word.encode() for word in splitter.pretokenize(phrase.decode())],
        n_word_merges=options.size_at_transition(settings) - n_first,
        n_merges=settings.vocab_size - n_first,
        max_words=options.max_words,
        min_frequency=settings.min_frequency,
        n_shown=n_shown,
    )
    return _on_bytes(counts, settings, (LearnedStep(step, stage) for stage, step in steps))


def _parity(
    corpus: CountedCorpus, counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int
) -> Training:
    longest = settings.max_token_bytes
    steps = parity.train(
        {language.name: dict(language.counts.items()) for language in corpus.languages},
        n_units={
            language.name: max(
                1, sum(len(word.decode()) * n for word, n in language.counts.items())
            )
            for language in corpus.languages
        },
        n_merges=_n_merges(settings),
        min_frequency=settings.min_frequency,
        ties=_ties(settings),
        allow=lambda made: longest is None or len(made) <= longest,
        n_shown=n_shown,
    )
    merges = (LearnedStep(one.step, language=one.language, costs=one.costs) for one in steps)
    return _on_bytes(counts, settings, merges)


def _trimmed(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> Training:
    n_wanted = len(_SINGLES) + _n_merges(settings)
    n_pool = trimmed.pool_size(n_wanted) - len(_SINGLES)
    steps = [*_byte_steps(counts, settings, n_shown, n_pool, settings.max_token_bytes)]
    tokens = [*_SINGLES, *(step.made for step in steps)]
    place = {token: number for number, token in enumerate(tokens)}
    merges = [(place[left], place[right]) for left, right in (step.pair for step in steps)]
    options = settings.read_options()
    found = list(
        trimmed.trim(tokens, merges, counts, n_wanted=n_wanted, least_use=options.least_use)
    )
    rounds = [
        TwinRound(
            "choose" if one is found[-1] else "trim",
            {readable(tokens[p]): one.uses[p] for p in sorted(one.kept.places) if p >= 256},
            tuple((readable(tokens[p]), float(uses)) for p, uses in one.removed),
            n_tokens=sum(one.uses),
        )
        for one in found
    ]
    return _on_bytes(counts, settings, map(LearnedStep, steps), rounds)


def _fewest(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> Training:
    options = settings.read_options()
    n_merges = _n_merges(settings)
    n_candidates = n_merges * round(options.seed_factor * 1000) // 1000
    longest = settings.max_token_bytes or _MOST_CANDIDATE_BYTES
    steps = [*_byte_steps(counts, settings, n_shown, n_candidates, longest)]
    found = list(
        fewest.prune(
            [*_SINGLES, *(step.made for step in steps)],
            counts,
            n_wanted=len(_SINGLES) + n_merges,
            shrinking_factor=options.shrinking_factor,
        )
    )
    rounds = [
        TwinRound(
            "choose" if one is found[-1] else "prune",
            {readable(token): one.uses[token] for token in [*one.costs][len(_SINGLES) :]},
            tuple((readable(token), float(loss)) for token, loss in one.removed),
            n_tokens=one.n_tokens,
        )
        for one in found
    ]
    return _on_bytes(counts, settings, map(LearnedStep, steps), rounds)


def _base64(byte: int) -> str:
    return base64.b64encode(bytes([byte])).decode()


def _characters(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> Training:
    words = {word.decode(): count for word, count in counts.items()}
    alphabet = {character for word in words for character in word}
    spelled = spelled_words(words, known=alphabet)
    ids = first_ids(words, alphabet=alphabet, special_tokens=settings.special_tokens)
    first, corpus = list(ids), SymbolCorpus.of(spelled)
    n_tokens = corpus.n_symbols
    steps = learn(
        corpus,
        ids=ids,
        make=partial(joined, prefix=""),
        n_merges=max(0, settings.vocab_size - len(ids)),
        min_count=settings.min_frequency,
        n_shown=n_shown,
    )
    return Training(first, n_tokens, map(LearnedStep, steps), n_before=len(first))


def _wordpiece(
    counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int, *, likelihood: bool
) -> Training:
    words = {word.decode(): count for word, count in counts.items()}
    ids, steps = wordpiece.train(
        words,
        vocab_size=settings.vocab_size,
        special_tokens=settings.special_tokens,
        likelihood=likelihood,
        min_frequency=settings.min_frequency,
        n_shown=n_shown,
    )
    first = list(ids)
    n_tokens = sum(len(word) * count for word, count in words.items())
    return Training(first, n_tokens, map(LearnedStep, steps), n_before=len(first))


def _covered(counts: Mapping[bytes, int], coverage: float) -> dict[str, int]:
    """The most frequent characters that cover a share of the text, as SentencePiece chooses."""
    ranked = frequent.characters(_decoded(counts))
    learnable = [(char, count) for char, count in ranked if char not in _NEVER_LEARNED]
    return dict(frequent.covering(learnable, coverage))


def _decoded(counts: Mapping[bytes, int]) -> dict[str, int]:
    return {word.decode(): count for word, count in counts.items()}


def _may_be_piece(text: str) -> bool:
    """A space may stand at the beginning of a piece only."""
    return _SPACE not in text[1:] and not set(text) & _NEVER_LEARNED


def _of_alphabet(counts: Mapping[bytes, int], alphabet: Mapping[str, int]) -> dict[str, int]:
    """Words cut at characters outside the alphabet."""
    words: Counter[str] = Counter()
    for word, count in counts.items():
        for symbols, _ in spelled_words({word.decode(): count}, known=alphabet):
            words["".join(symbols)] += count
    return dict(words)


def _symbols_of(settings: TrainSettings) -> list[str]:
    """Symbols that SentencePiece puts before what it learns."""
    return [*dict.fromkeys(["<unk>", "<s>", "</s>", *settings.special_tokens])]


def _unigram(counts: Mapping[bytes, int], settings: TrainSettings, _n_shown: int) -> Training:
    options = settings.read_options()
    alphabet = _covered(counts, options.character_coverage)
    symbols = _symbols_of(settings)
    rounds = unigram_training.train(
        _of_alphabet(counts, alphabet),
        n_pieces=settings.vocab_size - len(symbols),
        alphabet=alphabet,
        shrinking_factor=options.shrinking_factor,
        n_sub_iterations=options.num_sub_iterations,
        max_chars=options.max_sentencepiece_length,
        min_frequency=settings.min_frequency,
        allow=_may_be_piece,
    )
    told = (
        TwinRound(one.kind, one.scores, tuple(one.removed), one.log_likelihood) for one in rounds
    )
    first = [*symbols, *alphabet]
    return Training(first, rounds=told, n_before=len(symbols), is_ordered=False)


def _spm_bpe(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> Training:
    options = settings.read_options()
    alphabet = _covered(counts, options.character_coverage)
    symbols = _symbols_of(settings)
    ids = {character: place for place, character in enumerate(alphabet)}
    corpus = SymbolCorpus.of((list(word), n) for word, n in _of_alphabet(counts, alphabet).items())
    steps = learn(
        corpus,
        ids=ids,
        make=str.__add__,
        n_merges=max(0, settings.vocab_size - len(symbols) - len(ids)),
        min_count=settings.min_frequency,
        ties=fewest_characters,
        allow=lambda made: len(made) <= options.max_sentencepiece_length and _may_be_piece(made),
        n_shown=n_shown,
    )
    first = [*symbols, *alphabet]
    return Training(first, corpus.n_symbols, map(LearnedStep, steps), n_before=len(symbols))


def _most_frequent(
    ranked: list[tuple[str, int]], first: list[str], vocab_size: int, least: int = 1
) -> Training:
    """A vocabulary of the most frequent words or characters, as many as there is room for."""
    open_ = [(text, count) for text, count in ranked if count >= least and text not in first]
    n = vocab_size - len(first)
    left_out = [item for item in ranked if item[0] not in dict(open_[:n])]
    round_ = TwinRound("count", dict(open_[:n]), tuple(left_out))
    return Training(first, rounds=[round_], n_before=len(first))


def _words(counts: Mapping[bytes, int], settings: TrainSettings, _n_shown: int) -> Training:
    ranked = [item for item in frequent.words(_decoded(counts)) if len(item[0]) <= _MOST_WORD_CHARS]
    return _most_frequent(ranked, _unknown_first(settings), settings.vocab_size, _least(settings))


def _single_characters(
    counts: Mapping[bytes, int], settings: TrainSettings, _n_shown: int
) -> Training:
    ranked = frequent.characters(_decoded(counts))
    return _most_frequent(ranked, _unknown_first(settings), settings.vocab_size, _least(settings))


def _least(settings: TrainSettings) -> int:
    return max(1, settings.min_frequency)


def _unknown_first(settings: TrainSettings) -> list[str]:
    """Special tokens, with the unknown token before them unless it is one of them."""
    unknown = settings.read_options().unk_token
    return [
        *dict.fromkeys(
            [*([] if unknown in settings.special_tokens else [unknown]), *settings.special_tokens]
        )
    ]


def _spm_words(counts: Mapping[bytes, int], settings: TrainSettings, _n_shown: int) -> Training:
    alphabet = _covered(counts, settings.read_options().character_coverage)
    ranked = [item for item in frequent.words(_decoded(counts)) if set(item[0]) <= alphabet.keys()]
    return _most_frequent(ranked, _symbols_of(settings), settings.vocab_size, _least(settings))


def _spm_characters(
    counts: Mapping[bytes, int], settings: TrainSettings, _n_shown: int
) -> Training:
    alphabet = _covered(counts, settings.read_options().character_coverage)
    return _most_frequent([*alphabet.items()], _symbols_of(settings), settings.vocab_size)


_TWINS: dict[str, Twin] = {
    "bpe": _byte_level,
    "superbpe": _superwords,
    "trimmed-bpe": _trimmed,
    "min-token-unigram": _fewest,
    "char-bpe": _characters,
    "wordpiece": partial(_wordpiece, likelihood=False),
    "wordpiece-likelihood": partial(_wordpiece, likelihood=True),
    "unigram": _unigram,
    "sentencepiece-bpe": _spm_bpe,
    "sentencepiece-word": _spm_words,
    "sentencepiece-char": _spm_characters,
    "word": _words,
    "char": _single_characters,
}

TRACED_ALGORITHMS = (*_TWINS, "parity-bpe")
"""Algorithms whose training can be traced: all that ``train`` knows."""
