"""Recommended training for a corpus: each choice is tried on it, and made by measurement.

Every trial changes one setting of a starting point, trains on a sample of the corpus and counts the
tokens of the same held-out documents, so that differences are paired by document. A setting other
than the default is chosen only where it saves at least `LEAST_SAVING` of the tokens and its 95%
interval is below none: the default is what most tools read.
"""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from itertools import groupby
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from jeton._core import Surveyor, TextBatch
from jeton._plain import counted
from jeton.catalog import GpuFacts
from jeton.corpus import DomainsBy, NearDuplicateSettings, open_documents
from jeton.corpus.holdout import HELD_OUT, TRAINED, HoldOut, HoldOutSplit
from jeton.errors import JetonWarning, TrainingError, UsageError
from jeton.metrics.bootstrap import Interval, bootstrap_sums
from jeton.planning.sweep import DEFAULT_VOCAB_SIZES, sweep
from jeton.planning.sweep_results import (
    OWN_VOCABULARY_SAVING,
    Decision,
    DomainTrial,
    ModelLike,
    Recommendation,
    Sweep,
    Trial,
)
from jeton.progress import OnProgress, tell_step
from jeton.training import DEFAULT_PATTERN, TrainSettings, train
from jeton.training.algorithms import find_algorithm

PATTERNS_TRIED = (DEFAULT_PATTERN, "gpt2", "o200k_base", "qwen")
"""Families of published patterns: numbers in threes, whole, in threes with case apart, by
digits."""

ALGORITHMS_TRIED = ("bpe", "unigram", "superbpe")
"""Algorithms that common tools read: tokens within words by merging and by likelihood, and tokens
of several words."""

LEAST_SAVING = 0.005
"""Share of the tokens below which a setting is not worth leaving the default. Ours: half a percent
of a bill is less than a week of the price changes that a year brings."""

TRIAL_VOCAB_SIZE = 16_000
"""Ids of the trials; as many as the sample can fill."""

COMMON_VOCAB_SIZE = 32_000
"""Ids of many open models: taken where no cost is known."""

MIN_DOMAIN_SHARE = 0.02
"""Share of the text from which a domain is looked at by itself."""


def recommend(
    inputs: Any,
    *,
    model: ModelLike | Sequence[ModelLike] = (),
    gpu: str | GpuFacts | None = None,
    output_tokens_per_request: float = 0.0,
    vocab_sizes: Sequence[int] = DEFAULT_VOCAB_SIZES,
    patterns: Sequence[str] = PATTERNS_TRIED,
    algorithms: Sequence[str] = ALGORITHMS_TRIED,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    domains: DomainsBy | None = None,
    domain_field: str = "",
    hold_out_by: Literal["document", "source"] = "document",
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    seed: int = 0,
    num_threads: int | None = None,
    on_progress: OnProgress | None = None,
) -> Recommendation:
    """Try what could be chosen on a sample of the corpus, and say what to train.

    Args:
        inputs: The corpus, as `jeton.train` takes it.
        model: Models of the catalog that would have the vocabulary, one or several; the first
            decides the size.
        gpu: The GPU that they run on; None: `DEFAULT_GPU`.
        output_tokens_per_request: Tokens generated after each document.
        vocab_sizes: Sizes to compare.
        patterns: Split patterns to try; the first is the default.
        algorithms: Algorithms to try; the first is the default.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        domains: ``"file"`` or ``"folder"``: files or folders are domains (languages, say) that may
            want their own vocabulary.
        domain_field: JSONL and Parquet: the field that names the domain.
        hold_out_by: Measure on documents of the same sources as those of training, or on sources of
            their own.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: A record that does not parse or has no text: ``"stop"`` or ``"skip"``.
        seed: Seed of the intervals.
        num_threads: Threads; None: all there are. Does not change the result.
        on_progress: Called as `jeton.train` calls it, for each trial; the words of each trial come
            as stage ``"step"``.

    Raises:
        EmptyCorpusError: There is no text.
        UsageError: Too few documents to hold one out, or an argument that cannot be meant.
        UnknownModelError, UnknownGpuError: The catalog does not have it.
    """
    if not patterns or not algorithms:
        raise UsageError("there is nothing to try; expected at least one pattern and algorithm")
    sample = read_sample(
        inputs,
        {
            "field": field,
            "documents": documents,
            "strict": strict,
            "on_bad_record": on_bad_record,
        },
        domains_by=domains,
        domain_field=domain_field,
        hold_out_by=hold_out_by,
        num_threads=num_threads,
    )
    if not sample.held or not sample.train:
        raise UsageError(
            f"the corpus has {len(sample.train) + len(sample.held)} documents, too few or too much "
            f"alike to keep {'whole sources' if hold_out_by == 'source' else 'some'} apart for "
            "measuring\n"
            "hint: make each line a document (documents='line', --documents line)"
        )
    if domain_field and not sample.names:
        raise UsageError(
            f"no document has the field {domain_field!r} of domain_field\n"
            "hint: name a field that the records have (--domain-field)"
        )
    run = _Runner(sample, num_threads, on_progress, seed)
    base = TrainSettings(
        algorithm=algorithms[0], pattern=patterns[0], vocab_size=TRIAL_VOCAB_SIZE, seed=seed
    )
    pattern = run.choose(
        "split pattern", [(p, replace(base, pattern=p)) for p in dict.fromkeys(patterns)]
    )
    base = replace(base, pattern=pattern.choice)
    normalization = _normalization(run, base)
    if normalization.choice == "nfc":
        base = replace(base, normalizer="nfc")
    algorithm = run.choose(
        "algorithm",
        [(name, TrainSettings(**_for_algorithm(base, name))) for name in dict.fromkeys(algorithms)],
    )
    if "normalization_rule_name" in _option_names(algorithm.choice):
        algorithm = replace(
            algorithm,
            reason=f"{algorithm.reason}; text does not come back as it was: runs of spaces become "
            "one, and rare characters unknown (byte_fallback=true keeps these)",
        )
    by_domain = _domain_trials(run, base)
    run.on_step("vocabulary sizes")
    sizes = sweep(
        iter(sample.train),
        vocab_sizes=vocab_sizes,
        heldout=iter(sample.held),
        model=model,
        gpu=gpu,
        output_tokens_per_request=output_tokens_per_request,
        settings=base,
        seed=seed,
        num_threads=num_threads,
        on_progress=on_progress,
    )
    size = _size(sizes)
    chosen = TrainSettings(
        **{
            **_for_algorithm(base, algorithm.choice),
            "vocab_size": int(size.choice.replace(",", "")),
        }
    )
    return Recommendation(
        settings=chosen,
        decisions=(pattern, normalization, algorithm, _sharing(by_domain), size),
        domains=by_domain,
        sweep=sizes,
        n_documents=len(sample.train) + len(sample.held),
        n_bytes=sample.n_bytes,
    )


def _for_algorithm(base: TrainSettings, algorithm: str) -> dict[str, Any]:
    """The settings of a trial of an algorithm: what it does not take is left to it."""
    kept = {"algorithm": algorithm, "vocab_size": base.vocab_size, "seed": base.seed}
    if "pattern" in find_algorithm(algorithm).takes:
        kept |= {"pattern": base.pattern}
    if base.normalizer is not None:
        kept |= {"normalizer": base.normalizer}
    return kept


def _option_names(algorithm: str) -> set[str]:
    """Names of an algorithm's own options."""
    return {option.name for option in fields(find_algorithm(algorithm).options)}


class _Runner:
    """Trains trials on the sample and compares them on the held-out documents."""

    def __init__(
        self,
        sample: Sample,
        num_threads: int | None,
        on_progress: OnProgress | None,
        seed: int,
    ) -> None:
        self.sample = sample
        self._num_threads = num_threads
        self._on_progress = on_progress
        self._seed = seed
        self._counted: dict[str, NDArray[np.int64]] = {}

    def tokens(
        self, settings: TrainSettings, texts: Sequence[str], held: Sequence[str]
    ) -> NDArray[np.int64]:
        """Tokens of each held-out document with a tokenizer trained on texts, int64 (n,)."""
        import warnings

        from jeton.errors import JetonWarning

        options = {key: value for key, value in settings.to_dict().items() if value is not None}
        options.update(options.pop("options", {}))
        with warnings.catch_warnings():
            # A sample may be too small for the size of the trials: all of them are then smaller.
            warnings.simplefilter("ignore", JetonWarning)
            tokenizer = train(
                iter(texts),
                **options,
                num_threads=self._num_threads,
                on_progress=self._on_progress,
            )
        counts: NDArray[np.int64] = tokenizer.count_batch(list(held), num_threads=self._num_threads)
        return counts

    def all_tokens(self, settings: TrainSettings) -> NDArray[np.int64]:
        """Tokens of each held-out document, trained on the whole sample."""
        key = repr(settings.to_dict())
        if key not in self._counted:
            self._counted[key] = self.tokens(settings, self.sample.train, self.sample.held)
        return self._counted[key]

    def on_step(self, words: str) -> None:
        """Tell the next trial."""
        tell_step(self._on_progress, words)

    def choose(self, question: str, tried: Sequence[tuple[str, TrainSettings]]) -> Decision:
        """Try all; the first is the default."""
        self.on_step(f"{question}: {tried[0][0]}")
        base = self.all_tokens(tried[0][1])
        total = int(base.sum())
        trials = [Trial(tried[0][0], total, 0.0, None)]
        for value, settings in tried[1:]:
            self.on_step(f"{question}: {value}")
            try:
                counts = self.all_tokens(settings)
            except (TrainingError, UsageError) as error:
                trials.append(Trial(value, 0, 0.0, None, failed=str(error).split("\n")[0]))
                continue
            trials.append(
                Trial(
                    value,
                    int(counts.sum()),
                    float(counts.sum() / total - 1) if total else 0.0,
                    self._interval(counts, base),
                )
            )
        return _decide(question, trials)

    def _interval(self, counts: NDArray[np.int64], base: NDArray[np.int64]) -> Interval | None:
        columns = np.stack([counts, base], axis=1)
        return bootstrap_sums(columns, lambda sums: sums[:, 0] / sums[:, 1] - 1, seed=self._seed)


def _decide(question: str, trials: Sequence[Trial]) -> Decision:
    default, others = trials[0], trials[1:]
    clear = [
        trial
        for trial in others
        if not trial.failed
        and trial.change <= -LEAST_SAVING
        and trial.interval is not None
        and trial.interval.high < 0
    ]
    if clear:
        best = min(clear, key=lambda trial: trial.n_tokens)
        assert best.interval is not None
        reason = (
            f"{best.value} needs {-best.change:.1%} fewer tokens than {default.value} "
            f"(95%: {-best.interval.high:.1%} to {-best.interval.low:.1%})"
        )
        return Decision(question, best.value, reason, tuple(trials))
    near = min(
        (trial for trial in others if not trial.failed),
        key=lambda trial: trial.n_tokens,
        default=None,
    )
    reason = (
        f"nothing else was tried than {default.value}"
        if near is None
        else f"of the others {near.value} needs least, {_measured(near)}; a change from the "
        f"default takes at least {LEAST_SAVING:.1%} fewer tokens, and a whole interval of fewer"
    )
    return Decision(question, default.value, reason, tuple(trials))


def _measured(trial: Trial) -> str:
    words = f"{abs(trial.change):.1%} {'fewer' if trial.change < 0 else 'more'} tokens"
    if trial.interval is None:
        return f"{words}, measured on one document, which has no interval"
    return f"{words} (95%: {trial.interval.low:+.1%} to {trial.interval.high:+.1%})"


def _normalization(run: _Runner, base: TrainSettings) -> Decision:
    from unicodedata import is_normalized

    texts = (*run.sample.train, *run.sample.held)
    changed = sum(not is_normalized("NFC", text) for text in texts)
    question = "normalization"
    if not changed:
        return Decision(question, "none", "every document is in NFC already: it would do nothing")
    found = run.choose(question, [("none", base), ("nfc", replace(base, normalizer="nfc"))])
    share = changed / len(texts)
    note = f"NFC changes {share:.1%} of the documents, which then do not decode to their own bytes"
    return replace(found, reason=f"{found.reason}; {note}")


def _domain_trials(run: _Runner, base: TrainSettings) -> tuple[DomainTrial, ...]:
    sample = run.sample
    held = np.asarray(sample.held_domains)
    sizes = np.asarray([len(text.encode()) for text in sample.held])
    large = [
        number
        for number in range(len(sample.names))
        if sizes[held == number].sum() >= MIN_DOMAIN_SHARE * sizes.sum()
        and number in set(sample.train_domains)
    ]
    if len(large) < 2:
        return ()
    shared = run.all_tokens(base)
    found = []
    for number in large:
        name = sample.names[number]
        run.on_step(f"a vocabulary of its own: {name}")
        texts = [
            text
            for text, domain in zip(sample.train, sample.train_domains, strict=True)
            if domain == number
        ]
        places = np.flatnonzero(held == number)
        own = run.tokens(base, texts, [sample.held[place] for place in places])
        found.append(
            DomainTrial(name, int(sizes[places].sum()), int(shared[places].sum()), int(own.sum()))
        )
    return tuple(found)


def _sharing(domains: Sequence[DomainTrial]) -> Decision:
    question = "one vocabulary or several"
    if not domains:
        return Decision(
            question,
            "one",
            "domains were not compared: name them with domains or domain_field (--domains, "
            f"--domain-field), at least two with {MIN_DOMAIN_SHARE:.0%} of the text",
        )
    most = max(domains, key=lambda domain: domain.saving)
    words = (
        f"a vocabulary of its own would save {most.domain} {most.saving:.1%} of its tokens, more "
        f"than any other of {len(domains)} domains"
    )
    if most.saving <= 0:
        reason = f"a vocabulary of its own would save none of {len(domains)} domains any tokens"
        return Decision(question, "one", reason)
    if most.saving >= OWN_VOCABULARY_SAVING:
        apart = [d.domain for d in domains if d.saving >= OWN_VOCABULARY_SAVING]
        return Decision(
            question,
            "several",
            f"{words}: {', '.join(apart)} should have their own where they have their own model, "
            "or more ids and weight in a shared one",
        )
    return Decision(question, "one", f"{words}: not worth a model of its own")


def _size(found: Sweep) -> Decision:
    question = "vocabulary size"
    if found.models:
        first = found.models[0]
        return Decision(question, f"{first.best:,}", "; ".join(first.reasons))
    middle = min(found.points, key=lambda point: abs(point.vocab_size - COMMON_VOCAB_SIZE))
    largest = max(point.vocab_size for point in found.points)
    why = (
        f"this is the largest size tried that the sample fills, below the {COMMON_VOCAB_SIZE:,} of "
        "many models: more text allows more"
        if middle.vocab_size == largest < COMMON_VOCAB_SIZE
        else f"this is the size tried nearest to {COMMON_VOCAB_SIZE:,}, that of many models"
    )
    return Decision(
        question,
        f"{middle.vocab_size:,}",
        f"no model was named, so no cost is known and none was minimised: {why}; name a model "
        "(model=..., --model)",
    )


MAX_SAMPLE_BYTES = 32_000_000
"""Text that trials train on: choices between settings show long before that."""

HELD_OUT_SHARE = 0.1
"""Share of the documents, or of the sources."""

_SEED = 1
"""Not 0: a sample is taken by the digests themselves, so what is held out is drawn from them."""


@dataclass(slots=True)
class Sample:
    """Documents to train trials on and documents to count, with their domains."""

    train: list[str]
    held: list[str]
    train_domains: list[int]
    held_domains: list[int]
    names: list[str]

    @property
    def n_bytes(self) -> int:
        """Bytes of all of them, UTF-8."""
        return sum(len(text.encode()) for text in (*self.train, *self.held))


def read_sample(
    inputs: Any,
    reading: dict[str, Any],
    *,
    domains_by: DomainsBy | None,
    domain_field: str,
    hold_out_by: Literal["document", "source"] = "document",
    num_threads: int | None = None,
) -> Sample:
    """An even sample: documents are taken by their digests once there is more than enough.

    Args:
        inputs: The corpus, as ``open_documents`` takes it.
        reading: Options of ``open_documents``.
        domains_by: Files or folders are domains.
        domain_field: The field that names the domain.
        hold_out_by: Documents of all sources are held out, or whole sources. Nearly alike documents
            are never on both sides; a document that resembles both is on neither.
        num_threads: Threads; None: all there are. Does not change the result.

    Raises:
        EmptyCorpusError: There is no text.
    """
    surveyor = Surveyor((), block_bytes=1024, max_blocks=1)
    stream = open_documents(inputs, domains_by=domains_by, domain_field=domain_field, **reading)
    kept: list[tuple[str, int, int, str]] = []
    by_source = hold_out_by == "source"
    n_bytes, ceiling = 0, 2**64
    for file, batch in stream:
        domains = stream.batch_domains
        digests = surveyor.survey(batch).digests[0].tolist()
        for place, (digest, text) in enumerate(zip(digests, batch, strict=True)):
            if digest < ceiling:
                domain = -1 if domains is None else int(domains[place])
                kept.append((file.path if by_source else "", digest, domain, text))
                n_bytes += len(text.encode())
        while n_bytes > 2 * MAX_SAMPLE_BYTES:
            # The sample that a smaller share of all digests would have kept: no order, no chance in
            # it.
            ceiling //= 2
            kept = [item for item in kept if item[1] < ceiling]
            n_bytes = sum(len(text.encode()) for *_, text in kept)
    stream.require_text()
    if stream.n_null_documents or stream.n_bad_records:
        first = f", the first: {stream.first_bad_record}" if stream.n_bad_records else ""
        warnings.warn(
            f"left out: {counted(stream.n_null_documents, 'record')} whose text is null, "
            f"{counted(stream.n_bad_records, 'record')} that cannot be used{first}",
            JetonWarning,
            stacklevel=3,
        )
    sample = Sample([], [], [], [], list(stream.domains))
    split = HoldOutSplit(
        HoldOut(share=HELD_OUT_SHARE, by=hold_out_by, near=NearDuplicateSettings(), seed=_SEED)
    )
    # Which of near-duplicates is the first must not depend on the order of the inputs.
    kept.sort()
    for source, documents in groupby(kept, key=lambda item: item[0]):
        of_source = list(documents)
        texts = TextBatch.from_texts([text for _, _, _, text in of_source])
        sides = split.sides(texts, source=source, num_threads=num_threads)
        for side, (_, _, domain, text) in zip(sides.tolist(), of_source, strict=True):
            if side == HELD_OUT:
                sample.held.append(text)
                sample.held_domains.append(domain)
            elif side == TRAINED:
                sample.train.append(text)
                sample.train_domains.append(domain)
    return sample
