"""Training, step by step: the pairs that were counted, and the one that was learned."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, field
from itertools import islice
from typing import Any

from jeton._core import Tokenizer
from jeton._shown import NotebookResult, flat_rows
from jeton.corpus import open_documents
from jeton.corpus.inputs import domain_of_file
from jeton.errors import EmptyCorpusError, UsageError
from jeton.tracing.steps import readable
from jeton.tracing.trainers import TRACED_ALGORITHMS, LearnedStep, Training, TwinRound, twin_of
from jeton.training import CountedCorpus, TrainSettings, count_pretokens, train_from_counts
from jeton.training.languages import count_languages

__all__ = ["TRACED_ALGORITHMS", "LearnedMerge", "TrainRound", "TrainTrace", "trace_train"]

MAX_BYTES = 200_000
"""Bytes of text that are traced unless another number is given."""
MOST_BYTES = 2_000_000
MOST_STEPS = 5000


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
        language: The language that it was made for (parity), else empty. ``score`` is the count in
            that language.
        costs: Tokens for a character before it, by language (parity); else empty.
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
    language: str = ""
    costs: tuple[tuple[str, float], ...] = ()


@dataclass(frozen=True, slots=True)
class TrainRound:
    """A round of training in which pieces are weighed as a whole.

    Attributes:
        kind: ``"candidates"``, ``"em"``, ``"prune"``, ``"trim"``, ``"count"``, ``"choose"`` or
            ``"refit"``.
        n_pieces: Pieces after it; of byte-level algorithms those besides the bytes.
        log_likelihood: Natural logarithm of the text's likelihood; None: not computed.
        best: The best pieces of two characters and more (of ``"count"``: all), with their log
            probabilities, and else their uses or counts.
        removed: Pieces that went, with the loss, the uses or the count that decided.
        n_removed: All of them, those that are not listed too.
        n_tokens: Tokens of the text; None: not counted.
    """

    kind: str
    n_pieces: int
    log_likelihood: float | None
    best: tuple[tuple[str, float], ...]
    removed: tuple[tuple[str, float], ...]
    n_removed: int
    n_tokens: int | None = None


@dataclass(frozen=True, slots=True)
class TrainTrace(NotebookResult):
    """A vocabulary on its way.

    Attributes:
        algorithm: The algorithm.
        vocab_size: Tokens that were asked for.
        n_documents: Documents that were read.
        n_bytes: Bytes of text that were traced.
        n_bytes_cut: Bytes at the end of the last document that were left out.
        is_cut: True if there was more text than is traced.
        n_words: Distinct pretokens.
        n_tokens_before: Tokens of the text before the first merge; 0 where there are none.
        first: Tokens before the first merge: special tokens, bytes or characters.
        merges: The merges; empty for Unigram, words and characters.
        rounds: Rounds in which pieces are weighed as a whole: of Unigram, of words and characters,
            and what ``trimmed-bpe`` and ``min-token-unigram`` take out of their merges.
        matches_engine: True if ``jeton.train`` learns the same on this text.
    """

    _page = "jeton.report.trace_page:trace_html"
    _line = ("algorithm", "n_bytes", "merges", "rounds")

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
    rounds: tuple[TrainRound, ...] = field(repr=False)
    matches_engine: bool

    def to_dict(self) -> dict[str, Any]:
        """As plain JSON values."""
        return {"schema_version": "jeton.trace-train/1", **asdict(self)}

    def _rows(self) -> list[dict[str, Any]]:
        return flat_rows(self.merges or self.rounds)


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
        inputs: As ``jeton.train`` takes them: paths, or an iterator of texts. For ``parity-bpe``
            paths, one for each language, or a mapping from languages to iterators of texts.
        algorithm: One of ``TRACED_ALGORITHMS``.
        vocab_size: Tokens wanted, special tokens and bytes or characters included.
        steps: Merges that are traced; None: all. Rounds are all traced.
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
    if algorithm not in TRACED_ALGORITHMS:
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
    corpus = _counted(read, wanted)
    n_words = len(corpus.counts.items())
    if not n_words:
        raise EmptyCorpusError("there is no text to learn from")
    engine = train_from_counts(corpus, settings=wanted)
    twin = twin_of(corpus, wanted, n_shown + 1)
    n_tokens = twin.n_tokens
    learned: list[LearnedMerge] = []
    for one in islice(twin.merges, steps):
        n_tokens -= one.step.n_saved
        learned.append(_merge(one, n_tokens))
    rounds = list(twin.rounds)
    return TrainTrace(
        algorithm=algorithm,
        vocab_size=vocab_size,
        n_documents=len(read.texts),
        n_bytes=read.n_bytes,
        n_bytes_cut=read.n_bytes_cut,
        is_cut=read.is_cut,
        n_words=n_words,
        n_tokens_before=twin.n_tokens,
        first=tuple(twin.first),
        merges=tuple(learned),
        rounds=tuple(_round(found, n_shown) for found in rounds),
        matches_engine=_matches(engine, twin, [m.made for m in learned], rounds),
    )


@dataclass(frozen=True, slots=True)
class _Read:
    """Texts with their languages, which are files or keys."""

    texts: list[tuple[str, str]]
    n_bytes: int
    n_bytes_cut: int
    is_cut: bool


def _read(inputs: Any, max_bytes: int, field: str) -> _Read:
    """Texts up to a number of bytes; the last one is cut."""
    texts: list[tuple[str, str]] = []
    left = max_bytes
    for language, text in _texts(inputs, field):
        data = text.encode()
        if len(data) > left:
            kept = data[:left].decode("utf-8", "ignore")
            texts += [(language, kept)] if kept else []
            n_kept = len(kept.encode())
            return _Read(texts, max_bytes - left + n_kept, len(data) - n_kept, is_cut=True)
        texts.append((language, text))
        left -= len(data)
    return _Read(texts, max_bytes - left, 0, is_cut=False)


def _texts(inputs: Any, field: str) -> Iterator[tuple[str, str]]:
    if isinstance(inputs, Mapping):
        for language, part in inputs.items():
            yield from ((language, text) for _, text in _texts(part, field))
        return
    for file, batch in open_documents(inputs, field=field):
        language = domain_of_file(file, "file")
        yield from ((language, text) for text in batch)


def _counted(read: _Read, settings: TrainSettings) -> CountedCorpus:
    if settings.method.languages(settings) is None:
        return count_pretokens(iter([text for _, text in read.texts]), settings=settings)
    by_language: dict[str, list[str]] = {}
    for language, text in read.texts:
        by_language.setdefault(language, []).append(text)
    named = {name: iter(texts) for name, texts in by_language.items()}
    return count_languages(named, settings=settings)


def _merge(learned: LearnedStep, n_tokens: int) -> LearnedMerge:
    step = learned.step
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
        stage=learned.stage,
        language=learned.language,
        costs=tuple((learned.costs or {}).items()),
    )


def _round(found: TwinRound, n_shown: int) -> TrainRound:
    listed = [
        (text, float(score))
        for text, score in found.pieces.items()
        if len(text) > 1 or found.kind == "count"
    ]
    listed.sort(key=lambda item: (-item[1], item[0]))
    return TrainRound(
        kind=found.kind,
        n_pieces=len(found.pieces),
        log_likelihood=found.log_likelihood,
        best=tuple(listed[:n_shown]),
        removed=found.removed[:n_shown],
        n_removed=len(found.removed),
        n_tokens=found.n_tokens,
    )


def _matches(engine: Tokenizer, twin: Training, made: list[str], rounds: list[TwinRound]) -> bool:
    """True if the engine learned the same: the rounds' last pieces, else the traced merges."""
    ids = range(twin.n_before, engine.vocab_size)
    if twin.is_on_bytes:
        learned = [readable(engine.id_to_bytes(id)) for id in ids]
    else:
        learned = [engine.id_to_token(id) or "" for id in ids]
    if not rounds:
        return made == learned[: len(made)]
    last = [*rounds[-1].pieces]
    return last == learned if twin.is_ordered else set(last) == set(learned)
