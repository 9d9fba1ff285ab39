"""Inputs become weighted pretokens: the one pass over the text that every trainer starts from.

Cost: O(bytes) on all threads; memory of the distinct pretokens (about 45 MB for 1 GB of English)
and two batches, or ``max_memory``: what has no room is sorted, written to disk and added up at the
end. The counts do not depend on memory, threads, batches or, unless duplicates are left out, on the
order of documents.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, Literal, TypeAlias

import numpy as np

from jeton._core import PretokenCounts, TextBatch, Tokenizer, counts_for
from jeton.corpus import InputFile, open_documents
from jeton.corpus.care import CareTally, CorpusCare, CorpusCarer
from jeton.corpus.places import RecordPlaces
from jeton.corpus.weights import balanced_weights
from jeton.errors import CorpusError, EmptyCorpusError, TrainingError, UsageError
from jeton.pretokenizing.indentation import texts_between_levels
from jeton.progress import OnProgress, Progress
from jeton.registry import TokenizerLike, resolve
from jeton.training.checkpoints import (
    CHECKPOINT_SECONDS,
    Checkpoint,
    Interrupts,
    identity_of,
    sha256_of,
)
from jeton.training.counted import (
    CountedCorpus,
    LanguageCounts,
    TrainingSource,
    explained_full_disk,
    limit_memory,
)
from jeton.training.languages import LanguageCounter, count_development
from jeton.training.settings import TrainSettings

OnHeldOut: TypeAlias = Callable[[InputFile, TextBatch, RecordPlaces | None], None]


def counts_like(base: Tokenizer) -> PretokenCounts:
    """Return empty counts that cut text as a tokenizer does.

    Raises:
        TrainingError: Its algorithm is none that can be continued.
    """
    try:
        return counts_for(base)
    except TrainingError as error:
        if "can be continued" not in str(error):
            raise
        on_characters = base.algorithm == "bpe"
        what = "BPE on characters" if on_characters else base.algorithm
        raise TrainingError(
            f"only BPE on bytes can be continued, and {base.name or 'the tokenizer'} is {what}\n"
            "hint: train a new one (without --base); whole tokens can be added in Python: "
            "tokenizer.with_added_tokens([...])"
        ) from None


def count_pretokens(
    inputs: Any,
    *,
    settings: TrainSettings | None = None,
    base: TokenizerLike | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    num_threads: int | None = None,
    max_memory: int | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
    care: CorpusCare | None = None,
    on_held_out: OnHeldOut | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    resume: bool = False,
    keep_checkpoint: bool = False,
    digests: bool = False,
    on_progress: OnProgress | None = None,
) -> CountedCorpus:
    """Read inputs and count their pretokens.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts, as ``open_documents`` has
            it: a list of ``str`` is paths, so pass ``iter(texts)`` for texts.
        settings: Only the settings that decide how text is cut matter here.
        base: Cut text as this tokenizer does, to continue it; settings do not matter then.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        on_bad_record: A record that does not parse or has no text: ``"stop"`` or ``"skip"``.
        num_threads: Threads that count; None: all there are.
        max_memory: Bytes of memory for the counts, at least 16 MiB; None: as many as it takes.
        temp_dir: Where counts go that have no room; None: the system's place for temporary files.
        care: Weights, duplicates, quality, what is held out.
        on_held_out: Called with the documents that are kept apart, as they come: the file, the
            texts, and the lines and ids of their records (None where they are no records).
        checkpoint: A file that is written now and then, and at Ctrl-C, from which ``resume`` goes
            on. It is removed when counting is done.
        checkpoint_seconds: Time between two of them.
        resume: Go on from ``checkpoint`` if it is there.
        keep_checkpoint: When counting is done, leave a checkpoint of all of it, from which
            ``resume`` reads no text again; for what comes after counting.
        digests: Take the SHA-256 of each file too (``TrainingSource.sha256``), which reads it once
            more.
        on_progress: Called after each batch, with stage ``"count"``.

    Raises:
        EmptyCorpusError: There is no text.
        PatternError: The split pattern cannot be compiled.
        KeyboardInterrupt: After writing the checkpoint, where one was asked for.
        CorpusError: A file has changed while it was read; or what else ``open_documents`` raises.
        OSError: The disk is full ...
        UsageError: Arguments that cannot be meant.
    """
    settings = settings or TrainSettings()
    settings.check()
    care = care or CorpusCare()
    if resume and checkpoint is None:
        raise UsageError("resume needs the checkpoint to go on from")
    if base is None:
        counts = settings.method.new_counts(settings)
        spoken = settings.method.languages(settings)
    else:
        counts = counts_like(resolve(base, argument="base"))
        spoken = None
    reading: dict[str, Any] = {
        "field": field,
        "documents": documents,
        "strict": strict,
        "on_bad_record": on_bad_record,
    }
    indents = settings.indents and base is None
    limit_memory(counts, max_memory, temp_dir, shares=1 if spoken is None else 4)
    by_language = LanguageCounter.of(settings, spoken, max_memory=max_memory, temp_dir=temp_dir)
    balanced = None
    if care.temperature is not None:
        balanced = _balanced(inputs, care.temperature, reading)

    def on_read(progress: Progress) -> None:
        if on_progress is not None:
            on_progress(replace(progress, stage="count"))

    stream = open_documents(
        inputs,
        **reading,
        on_progress=on_read,
        read_ahead=True,
        with_places=on_held_out is not None,
        **({} if spoken is None else spoken.reading),
    )
    carer = CorpusCarer(care, stream.files, balanced=balanced)
    identities = {file.path: identity_of(file) for file in stream.files}
    saved: Checkpoint | None = None
    n_done = 0
    done: dict[str, Any] | None = None
    sources: dict[str, TrainingSource] = {}
    if checkpoint is not None:
        options = {
            **reading,
            "cutting": counts.cutting,
            "care": care.to_dict(),
            **({"indents": True} if indents else {}),
            **({"languages": asdict(spoken)} if spoken is not None else {}),
        }
        saved = Checkpoint(
            os.fspath(checkpoint), options, list(identities.values()), checkpoint_seconds
        )
        saved.start()
        new_part = None if by_language is None else by_language.counts_of
        state = saved.read(counts, new_part) if resume else None
        if state is not None:
            n_done = state["n_documents"]
            sources = {source["name"]: TrainingSource(**source) for source in state["sources"]}
            if by_language is not None:
                for name, totals in state["languages"].items():
                    by_language.add_totals(name, *totals)
            done = state.get("done")

    def save(checkpoint: Checkpoint, n_documents: int, **more: Any) -> None:
        state = {
            "n_documents": n_documents,
            "sources": [asdict(source) for source in sources.values()],
            **({"languages": by_language.totals} if by_language is not None else {}),
            **more,
        }
        checkpoint.write(counts, state, None if by_language is None else by_language.parts)

    interrupts = Interrupts()
    n_seen = 0
    current: InputFile | None = None
    # A caller that asks for the held-out text has it read once more.
    is_done = done is not None and on_held_out is None
    with explained_full_disk(temp_dir), interrupts.noted(wanted=saved is not None and not is_done):
        for file, batch in () if is_done else stream:
            if current is not None and file.path != current.path:
                _check_unchanged(current, identities)
            current = file
            # Documents that a stopped run has counted are read again only where a later step needs
            # it.
            n_again = min(max(n_done - n_seen, 0), len(batch))
            n_seen += len(batch)
            cared = carer.care(file, batch, num_threads=num_threads)
            weights = cared.weights
            weights[:n_again] = 0
            held_out = cared.held_out.copy()
            if on_held_out is not None and held_out.any():
                apart = np.flatnonzero(held_out).tolist()
                texts = TextBatch.from_texts([batch[index] for index in apart])
                places = stream.batch_places
                on_held_out(file, texts, None if places is None else places.take(apart))
            if n_again < len(batch):
                if by_language is not None:
                    by_language.add(
                        batch,
                        numbers=stream.batch_domains,
                        names=stream.domains,
                        weights=weights,
                        num_threads=num_threads,
                    )
                elif indents:
                    add_between_levels(counts, batch, weights, num_threads)
                else:
                    counts.add(batch, weights=weights, num_threads=num_threads)
                before = sources.get(
                    file.path,
                    TrainingSource(file.path, 0, 0, weight=str(carer.weights.get(file.path, 1))),
                )
                sources[file.path] = _more(before, batch, weights, n_again)
            if saved is not None and (interrupts.number is not None or saved.is_due()):
                if n_seen > n_done:
                    save(saved, n_seen)
                if interrupts.number is not None:
                    raise KeyboardInterrupt
        if current is not None:
            _check_unchanged(current, identities)
    if is_done and done is not None:
        left_out = CareTally(**done["left_out"])
        n_documents, n_cut_documents = n_done, done["n_cut_documents"]
        n_null, n_bad, first_bad = done["unusable"]
    else:
        stream.require_text()
        left_out = carer.tally()
        n_documents, n_cut_documents = n_seen, stream.n_cut_documents
        n_null, n_bad = stream.n_null_documents, stream.n_bad_records
        first_bad = stream.first_bad_record
        if saved is not None and keep_checkpoint:
            all_done = {
                "left_out": asdict(left_out),
                "n_cut_documents": n_cut_documents,
                "unusable": [n_null, n_bad, first_bad],
            }
            save(saved, n_seen, done=all_done)
    languages: tuple[LanguageCounts, ...] = ()
    if spoken is not None and by_language is not None:
        with explained_full_disk(temp_dir):
            development = count_development(
                settings,
                spoken,
                reading=reading,
                num_threads=num_threads,
                max_memory=None if max_memory is None else max_memory // 4,
                temp_dir=temp_dir,
            )
            languages = by_language.added_to(counts, development)
    if not counts.n_pretokens:
        raise EmptyCorpusError(left_out.why_nothing_is_left(n_documents))
    if saved is not None and not keep_checkpoint:
        saved.remove()
    if digests:
        known = {file.path: file for file in stream.files}
        sources = {
            name: replace(source, sha256=sha256_of(known[name]) if name in known else "")
            for name, source in sources.items()
        }
    return CountedCorpus(
        counts=counts,
        sources=tuple(sources.values()),
        skipped=stream.skipped,
        unit=carer.unit,
        left_out=left_out,
        n_cut_documents=n_cut_documents,
        languages=languages,
        indents=indents,
        n_null_documents=n_null,
        n_bad_records=n_bad,
        first_bad_record=first_bad,
        pattern=settings.pattern if base is None and "pattern" in settings.method.takes else "",
        reading=reading,
        care=care.to_dict(),
    )


def add_between_levels(
    counts: PretokenCounts, batch: TextBatch, weights: Any, num_threads: int | None
) -> None:
    """Count documents without the indentation that tokens stand for.

    Args:
        counts: The counts, to which they are added.
        batch: The documents.
        weights: uint64 (n_documents,): how often each counts.
        num_threads: Threads; None: all there are.
    """
    rows = [
        texts_between_levels(text) if weight else []
        for text, weight in zip(batch, weights, strict=True)
    ]
    texts = [text for row in rows for text in row]
    counts.add(
        TextBatch.from_texts(texts),
        weights=np.repeat(weights, [len(row) for row in rows]),
        num_threads=num_threads,
    )


def _more(before: TrainingSource, batch: TextBatch, weights: Any, n_again: int) -> TrainingSource:
    counted = weights > 0
    sizes = np.diff(batch.offsets)
    n_counted = int(counted.sum())
    return replace(
        before,
        n_documents=before.n_documents + n_counted,
        n_bytes=before.n_bytes + int(sizes[counted].sum()),
        n_replaced_documents=before.n_replaced_documents + batch.n_replaced_documents,
        n_left_out_documents=before.n_left_out_documents + len(batch) - n_again - n_counted,
    )


def _balanced(inputs: Any, temperature: float, reading: Mapping[str, Any]) -> dict[str, Fraction]:
    """Weights by path for a temperature: the inputs are read once for their sizes."""
    stream = open_documents(inputs, **{**reading, "strict": False}, read_ahead=True)
    for file in stream.files:
        if file.n_bytes is None:
            raise UsageError(
                f"{file.path!r} can be read only once, and balance needs sizes first\n"
                "hint: write it to a file, or give weights"
            )
    sizes = {file.path: 0 for file in stream.files}
    for file, batch in stream:
        sizes[file.path] += batch.n_bytes
    return balanced_weights(sizes, temperature=temperature)


def _check_unchanged(file: InputFile, identities: dict[str, Any]) -> None:
    if identity_of(file) != identities[file.path]:
        raise CorpusError(
            f"{file.path} has changed while it was read\n"
            "hint: copy it, or wait until nobody writes to it"
        )
