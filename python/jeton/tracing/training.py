"""Training, step by step: the pairs that were counted, and the one that was learned."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from itertools import islice
from typing import Any

from jeton._core import Tokenizer, from_tiktoken
from jeton._reference import superwords, unigram_training, wordpiece
from jeton._reference.bpe import alphabet as byte_order
from jeton._reference.learning import LearnStep, SymbolCorpus, fewest_characters, learn, lowest_ids
from jeton._reference.spelling import first_ids, joined, spelled_words
from jeton._reference.unigram_training import Round
from jeton.errors import EmptyCorpusError, UsageError
from jeton.tracing.twin import readable
from jeton.training import TrainSettings, count_pretokens, train_from_counts

__all__ = ["TRACED_ALGORITHMS", "LearnedMerge", "TrainTrace", "UnigramRound", "trace_train"]

MAX_BYTES = 200_000
"""Bytes of text that are traced unless another number is given."""
MOST_BYTES = 2_000_000
MOST_STEPS = 5000
_NEVER_LEARNED = "\u2585\t\0 "
_SPACE = "\u2581"


@dataclass(frozen=True, slots=True)
class LearnedMerge:
    """A merge as training learned it.

    Attributes:
        made: The new token, as it can be seen.
        left: Its left part.
        right: Its right part.
        score: Worth of the pair: its count, or its likelihood.
        count: How often the pair stood in the text.
        n_saved: Tokens that the text has fewer by it; below ``count`` where pairs overlap.
        n_tokens: Tokens of the text after it.
        runners_up: The next best pairs: left, right, score, count.
        n_pairs: Pairs that were compared.
        stage: 2 for merges across words (superwords), else 1.
    """

    made: str
    left: str
    right: str
    score: float
    count: int
    n_saved: int
    n_tokens: int
    runners_up: tuple[tuple[str, str, float, int], ...]
    n_pairs: int
    stage: int = 1


@dataclass(frozen=True, slots=True)
class UnigramRound:
    """A round of Unigram training.

    Attributes:
        kind: ``"candidates"``, ``"em"``, ``"prune"``, ``"choose"`` or ``"refit"``.
        n_pieces: Pieces after it.
        log_likelihood: Natural logarithm of the text's likelihood; None: not computed.
        best: The likeliest pieces of two characters and more, with their log probabilities.
        removed: Pieces that went, with the loss or the expected count that decided.
        n_removed: All of them, those that are not listed too.
    """

    kind: str
    n_pieces: int
    log_likelihood: float | None
    best: tuple[tuple[str, float], ...]
    removed: tuple[tuple[str, float], ...]
    n_removed: int


@dataclass(frozen=True, slots=True)
class TrainTrace:
    """A vocabulary on its way.

    Attributes:
        algorithm: The algorithm.
        vocab_size: Tokens that were asked for.
        n_documents: Documents that were read.
        n_bytes: Bytes of text that were traced.
        n_bytes_cut: Bytes at the end of the last document that were left out.
        is_cut: True if there was more text than is traced.
        n_words: Distinct pretokens.
        n_tokens_before: Tokens of the text before the first merge; 0 for Unigram.
        first: Tokens before the first merge: special tokens, bytes or characters.
        merges: The merges; empty for Unigram.
        rounds: The rounds of Unigram training; empty for others.
        matches_engine: True if ``jeton.train`` learns the same on this text.
    """

    algorithm: str
    vocab_size: int
    n_documents: int
    n_bytes: int
    n_bytes_cut: int
    is_cut: bool
    n_words: int
    n_tokens_before: int
    first: tuple[str, ...] = field(repr=False)
    merges: tuple[LearnedMerge, ...] = field(repr=False)
    rounds: tuple[UnigramRound, ...] = field(repr=False)
    matches_engine: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"schema_version": "jeton.trace-train/1", **asdict(self)}


def trace_train(
    inputs: Any,
    *,
    algorithm: str = "bpe",
    vocab_size: int = 400,
    steps: int | None = None,
    n_shown: int = 5,
    max_bytes: int = MAX_BYTES,
    field: str = "text",
    **settings: Any,
) -> TrainTrace:
    """Follow training on a small text.

    Args:
        inputs: As ``jeton.train`` takes them: paths, or an iterator of texts.
        algorithm: One of ``TRACED_ALGORITHMS``.
        vocab_size: Tokens wanted, special tokens and bytes or characters included.
        steps: Merges that are traced; None: all. Rounds of Unigram training are all traced.
        n_shown: Pairs that each step lists besides the one that was learned, 0 to 50.
        max_bytes: Text that is read, up to 2,000,000 bytes. The rest is left out.
        field: JSONL and Parquet: where the text is.
        settings: Further settings of ``TrainSettings``: ``min_frequency``, ``pattern`` ...

    Raises:
        UsageError: An algorithm without a twin, or a number out of range.
        EmptyCorpusError: There is no text.

    Example:
        >>> trace = trace_train(iter(["low lower lowest"] * 9), vocab_size=260, steps=2)
        >>> [(merge.made, merge.count, merge.n_saved) for merge in trace.merges]
        [('lo', 27, 27), ('low', 27, 27)]
        >>> trace.matches_engine
        True
    """
    if algorithm not in _TWINS:
        known = ", ".join(TRACED_ALGORITHMS)
        raise UsageError(f"algorithm {algorithm!r} cannot be traced; expected one of {known}")
    for name, value, most in (
        ("steps", MOST_STEPS if steps is None else steps, MOST_STEPS),
        ("n_shown", n_shown, 50),
        ("max_bytes", max_bytes, MOST_BYTES),
    ):
        if not 0 <= value <= most:
            raise UsageError(f"{name} is {value}; expected 0 to {most:,}")
    if settings.get("options"):
        raise UsageError("options of one algorithm cannot be traced; leave them out")
    wanted = TrainSettings(algorithm=algorithm, vocab_size=vocab_size, **settings)
    wanted.check()
    read = _read(inputs, max_bytes, field)
    corpus = count_pretokens(iter(read.texts), settings=wanted)
    counts = dict(sorted(corpus.counts.items()))
    if not counts:
        raise EmptyCorpusError("there is no text to learn from")
    engine = train_from_counts(corpus, settings=wanted)
    twin = _TWINS[algorithm](counts, wanted, n_shown + 1)
    n_tokens = twin.n_tokens
    learned: list[LearnedMerge] = []
    for stage, step in islice(twin.merges, steps):
        n_tokens -= step.n_saved
        learned.append(_merge(step, stage, n_tokens))
    rounds = list(twin.rounds)
    return TrainTrace(
        algorithm=algorithm,
        vocab_size=vocab_size,
        n_documents=len(read.texts),
        n_bytes=read.n_bytes,
        n_bytes_cut=read.n_bytes_cut,
        is_cut=read.is_cut,
        n_words=len(counts),
        n_tokens_before=twin.n_tokens,
        first=tuple(twin.first),
        merges=tuple(learned),
        rounds=tuple(_round(found, n_shown) for found in rounds),
        matches_engine=_matches(engine, twin, [m.made for m in learned], rounds, steps),
    )


@dataclass(frozen=True, slots=True)
class _Read:
    texts: list[str]
    n_bytes: int
    n_bytes_cut: int
    is_cut: bool


def _read(inputs: Any, max_bytes: int, field: str) -> _Read:
    """Texts up to a number of bytes; the last one is cut."""
    from jeton.corpus import open_documents

    texts: list[str] = []
    left = max_bytes
    for _, batch in open_documents(inputs, field=field):
        for text in batch:
            data = text.encode()
            if len(data) > left:
                kept = data[:left].decode("utf-8", "ignore")
                texts += [kept] if kept else []
                n_kept = len(kept.encode())
                n_bytes = max_bytes - left + n_kept
                return _Read(texts, n_bytes, len(data) - n_kept, is_cut=True)
            texts.append(text)
            left -= len(data)
    return _Read(texts, max_bytes - left, 0, is_cut=False)


@dataclass(frozen=True, slots=True)
class _Training:
    """A twin ready to learn.

    Attributes:
        first: Tokens before the first merge.
        n_tokens: Tokens of the text then.
        merges: Merges as they are learned, each with its stage.
        rounds: Rounds of Unigram training.
        n_before: Ids of the trained tokenizer before the first merge.
        is_on_bytes: True if tokens are bytes.
    """

    first: list[str]
    n_tokens: int
    merges: Iterator[tuple[int, LearnStep[Any]]]
    rounds: Iterable[Round] = ()
    n_before: int = 0
    is_on_bytes: bool = False


def _byte_level(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> _Training:
    corpus = SymbolCorpus.of(((bytes([byte]) for byte in word), n) for word, n in counts.items())
    ids = {bytes([byte]): place for place, byte in enumerate(byte_order())}
    n_first = len(ids) + len(settings.special_tokens)
    ties: Any = lowest_ids if settings.tie_rule == "hf" else _BYTE_TIES[settings.tie_rule]
    longest = settings.max_token_bytes
    steps = learn(
        corpus,
        ids=ids,
        make=bytes.__add__,
        n_merges=max(0, settings.vocab_size - n_first),
        min_count=settings.min_frequency,
        ties=ties,
        allow=lambda made: longest is None or len(made) <= longest,
        n_shown=n_shown,
    )
    first = [*settings.special_tokens, *(readable(token) for token in ids)]
    return _Training(
        first, corpus.n_symbols, ((1, step) for step in steps), n_before=n_first, is_on_bytes=True
    )


_BYTE_TIES: dict[str, Any] = {
    "bytes": lambda _ids: lambda pair: pair,
    "sentencepiece": lambda _ids: lambda pair: (_n_chars(pair[0] + pair[1]), pair[0] + pair[1]),
}


def _n_chars(text: bytes) -> int:
    return sum(byte >> 6 != 2 for byte in text)


def _superwords(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> _Training:
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
    n_tokens = sum(len(phrase) * count for phrase, count in counts.items())
    first = [*settings.special_tokens, *(readable(bytes([byte])) for byte in byte_order())]
    return _Training(first, n_tokens, steps, n_before=n_first, is_on_bytes=True)


def _base64(byte: int) -> str:
    import base64

    return base64.b64encode(bytes([byte])).decode()


def _characters(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> _Training:
    words = {word.decode(): count for word, count in counts.items()}
    alphabet = {character for word in words for character in word}
    spelled = spelled_words(words, known=alphabet)
    ids = first_ids(words, alphabet=alphabet, special_tokens=settings.special_tokens)
    first, corpus = list(ids), SymbolCorpus.of(spelled)
    steps = learn(
        corpus,
        ids=ids,
        make=partial(joined, prefix=""),
        n_merges=max(0, settings.vocab_size - len(ids)),
        min_count=settings.min_frequency,
        n_shown=n_shown,
    )
    merges = ((1, step) for step in steps)
    return _Training(first, corpus.n_symbols, merges, n_before=len(first))


def _wordpiece(
    counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int, *, likelihood: bool
) -> _Training:
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
    return _Training(first, n_tokens, ((1, step) for step in steps), n_before=len(first))


def _covered(counts: Mapping[bytes, int], coverage: float) -> dict[str, int]:
    """The most frequent characters that cover a share of the text, as SentencePiece chooses."""
    from jeton._reference.unigram import single

    found: Counter[str] = Counter()
    for word, count in counts.items():
        for character in word.decode():
            found[character] += count
    for character in _NEVER_LEARNED.replace("\t", ""):
        found.pop(character, None)
    total, so_far = sum(found.values()), 0
    chosen: dict[str, int] = {}
    for character, count in sorted(found.items(), key=lambda item: (-item[1], item[0])):
        if single(so_far / max(total, 1)) >= single(coverage):
            break
        chosen[character] = count
        so_far += count
    return chosen


def _may_be_piece(text: str) -> bool:
    """A space may stand at the beginning of a piece only."""
    return _SPACE not in text[1:] and not set(text) & set("\u2585\0 ")


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


def _unigram(counts: Mapping[bytes, int], settings: TrainSettings, _n_shown: int) -> _Training:
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
    return _Training([*symbols, *alphabet], 0, iter(()), rounds, len(symbols))


def _spm_bpe(counts: Mapping[bytes, int], settings: TrainSettings, n_shown: int) -> _Training:
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
    merges = ((1, step) for step in steps)
    return _Training([*symbols, *alphabet], corpus.n_symbols, merges, n_before=len(symbols))


_TWINS: dict[str, Callable[[Mapping[bytes, int], TrainSettings, int], _Training]] = {
    "bpe": _byte_level,
    "superbpe": _superwords,
    "char-bpe": _characters,
    "wordpiece": partial(_wordpiece, likelihood=False),
    "wordpiece-likelihood": partial(_wordpiece, likelihood=True),
    "unigram": _unigram,
    "sentencepiece-bpe": _spm_bpe,
}

TRACED_ALGORITHMS = tuple(_TWINS)
"""Algorithms whose training can be traced."""


def _merge(step: LearnStep[Any], stage: int, n_tokens: int) -> LearnedMerge:
    return LearnedMerge(
        made=readable(step.made),
        left=readable(step.pair[0]),
        right=readable(step.pair[1]),
        score=step.score,
        count=step.count,
        n_saved=step.n_saved,
        n_tokens=n_tokens,
        runners_up=tuple(
            (readable(pair[0]), readable(pair[1]), score, count)
            for pair, score, count in step.ranking[1:]
        ),
        n_pairs=step.n_pairs,
        stage=stage,
    )


def _round(found: Round, n_shown: int) -> UnigramRound:
    longer = [(text, score) for text, score in found.scores.items() if len(text) > 1]
    longer.sort(key=lambda item: (-item[1], item[0]))
    return UnigramRound(
        kind=found.kind,
        n_pieces=len(found.scores),
        log_likelihood=found.log_likelihood,
        best=tuple(longer[:n_shown]),
        removed=found.removed[:n_shown],
        n_removed=len(found.removed),
    )


def _matches(
    engine: Tokenizer, twin: _Training, made: list[str], rounds: list[Round], steps: int | None
) -> bool:
    """True if the engine learned the same."""
    ids = range(twin.n_before, engine.vocab_size)
    if twin.is_on_bytes:
        learned = [readable(engine.id_to_bytes(id)) for id in ids]
    else:
        learned = [engine.id_to_token(id) or "" for id in ids]
    if rounds:
        return set(rounds[-1].scores) == set(learned)
    n = len(made) if steps is None or len(made) < steps else steps
    return made == learned[: max(n, len(made))]
