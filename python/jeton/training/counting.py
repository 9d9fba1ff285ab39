"""Inputs become weighted pretokens: the one pass over the text that every trainer starts from.

Cost: O(bytes) on all threads; memory of the distinct pretokens (about 45 MB for 1 GB of English)
and two batches, or ``max_memory``: what has no room is sorted, written to disk and added up at the
end. The counts do not depend on memory, threads, batches or, unless duplicates are left out, on the
order of documents.
"""

from __future__ import annotations

import errno
import json
import os
from collections.abc import Callable, Sequence
from dataclasses import asdict, replace
from fractions import Fraction
from typing import Any, Literal

import numpy as np

from jeton import _core
from jeton.corpus import InputFile, open_documents
from jeton.corpus import Progress as ReadProgress
from jeton.corpus.care import CorpusCare, CorpusCarer
from jeton.corpus.weights import balanced_weights, integer_weights, weight_of_file
from jeton.errors import CorpusError, EmptyCorpusError, UsageError
from jeton.pretokenizing.indentation import texts_between_levels
from jeton.pretokenizing.rules import pattern_and_rules
from jeton.training.checkpoints import (
    CHECKPOINT_SECONDS,
    Checkpoint,
    Interrupts,
    identity_of,
)
from jeton.training.counted import CountedCorpus, LanguageCounts, Source
from jeton.training.languages import LanguageCounter, count_development
from jeton.training.settings import TrainProgress, TrainSettings

__all__ = [
    "CountedCorpus",
    "Source",
    "count_pretokens",
    "load_counts",
    "save_counts",
    "settings_of_counts",
]

MIN_MEMORY_BYTES = 16 << 20
"""16 MiB: below that, tables are so small that everything is on disk all the time."""

_COUNTS_KIND = "jeton.counts/1"


def count_pretokens(
    inputs: Any,
    *,
    settings: TrainSettings | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    num_threads: int | None = None,
    max_memory: int | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
    care: CorpusCare | None = None,
    on_held_out: Callable[[InputFile, _core.TextBatch], None] | None = None,
    checkpoint: str | os.PathLike[str] | None = None,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    resume: bool = False,
    on_progress: Callable[[TrainProgress], None] | None = None,
) -> CountedCorpus:
    """Read inputs and count their pretokens.

    Args:
        inputs: Paths, folders, globs, ``"-"``, or an iterable of texts, as ``open_documents`` has
            it: a list of ``str`` is paths, so pass ``iter(texts)`` for texts.
        settings: Of these, only what decides how text is cut matters here.
        field: JSONL and Parquet: where the text is.
        documents: Text files: the whole file is one document, or each line.
        strict: Text that is not valid Unicode is an error instead of being replaced.
        num_threads: Threads that count; None: all there are.
        max_memory: Bytes of memory for the counts, at least 16 MiB; None: as many as it takes.
        temp_dir: Where counts go that have no room; None: the system's place for temporary files.
        care: Weights, duplicates, quality, what is held out.
        on_held_out: Called with the documents that are kept apart, as they come.
        checkpoint: A file that is written now and then, and at Ctrl-C, from which ``resume`` goes
            on. It is removed when counting is done.
        checkpoint_seconds: Time between two of them.
        resume: Go on from ``checkpoint`` if it is there.
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
    counts = settings.method.new_counts(settings)
    spoken = settings.method.languages(settings)
    if spoken is not None and (max_memory is not None or checkpoint is not None):
        raise UsageError(
            f"algorithm {settings.algorithm!r} counts by language, which has no max_memory and no "
            "checkpoint"
        )
    by_language = None if spoken is None else LanguageCounter(settings, spoken)
    limit_memory(counts, max_memory, temp_dir)
    balanced = None
    if care.temperature is not None:
        balanced = _balanced(inputs, care.temperature, field=field, documents=documents)

    def on_read(progress: ReadProgress) -> None:
        if on_progress is not None:
            done, total = progress.bytes_done, progress.bytes_total
            on_progress(TrainProgress("count", done, total, "bytes"))

    stream = open_documents(
        inputs,
        field=field,
        documents=documents,
        strict=strict,
        on_progress=on_read,
        read_ahead=True,
        **({} if spoken is None else spoken.reading),
    )
    carer = CorpusCarer(care, stream.files, balanced=balanced)
    identities = {file.path: identity_of(file) for file in stream.files}
    saved: Checkpoint | None = None
    n_done = 0
    sources: dict[str, Source] = {}
    if checkpoint is not None:
        options = {
            "field": field,
            "documents": documents,
            "strict": strict,
            "cutting": counts.cutting,
            "care": care.to_dict(),
            **({"indents": True} if settings.indents else {}),
        }
        saved = Checkpoint(
            os.fspath(checkpoint), options, list(identities.values()), checkpoint_seconds
        )
        saved.start()
        state = saved.read(counts) if resume else None
        if state is not None:
            n_done = state["n_documents"]
            sources = {source["name"]: Source(**source) for source in state["sources"]}

    interrupts = Interrupts()
    n_seen = 0
    current: InputFile | None = None
    with _explained(temp_dir), interrupts.noted(wanted=saved is not None):
        for file, batch in stream:
            if current is not None and file.path != current.path:
                _check_unchanged(current, identities)
            current = file
            # What a stopped run has counted is looked at again only where what follows needs it.
            n_again = min(max(n_done - n_seen, 0), len(batch))
            n_seen += len(batch)
            if n_again == len(batch) and not care.looks_at_documents:
                continue
            cared = carer.care(file, batch, num_threads=num_threads)
            weights = cared.weights
            weights[:n_again] = 0
            held_out = cared.held_out.copy()
            if on_held_out is not None and held_out.any():
                apart = [batch[int(index)] for index in np.flatnonzero(held_out)]
                on_held_out(file, _core.TextBatch.from_texts(apart))
            if n_again < len(batch):
                if by_language is not None:
                    by_language.add(
                        batch,
                        numbers=stream.batch_domains,
                        names=stream.domains,
                        weights=weights,
                        num_threads=num_threads,
                    )
                elif settings.indents:
                    _add_between_levels(counts, batch, weights, num_threads)
                else:
                    counts.add(batch, weights=weights, num_threads=num_threads)
                before = sources.get(
                    file.path, Source(file.path, 0, 0, weight=str(carer.weights.get(file.path, 1)))
                )
                sources[file.path] = _more(before, batch, weights, n_again)
            if saved is not None and (interrupts.number is not None or saved.is_due()):
                if n_seen > n_done:
                    saved.write(
                        counts,
                        {
                            "n_documents": n_seen,
                            "sources": [asdict(source) for source in sources.values()],
                        },
                    )
                if interrupts.number is not None:
                    raise KeyboardInterrupt
        if current is not None:
            _check_unchanged(current, identities)
    stream.require_text()
    left_out = carer.tally()
    languages: tuple[LanguageCounts, ...] = ()
    if spoken is not None and by_language is not None:
        development = count_development(
            settings,
            spoken,
            field=field,
            documents=documents,
            strict=strict,
            num_threads=num_threads,
        )
        languages = by_language.languages(development)
        for language in languages:
            counts.merge(language.counts)
    if not counts.n_pretokens:
        raise EmptyCorpusError(
            f"all of the {stream.n_documents:,} documents are empty or were left out: "
            f"{left_out.to_dict()}\nhint: look at the weights and the rules of quality"
        )
    if saved is not None:
        saved.remove()
    return CountedCorpus(
        counts=counts,
        sources=tuple(sources.values()),
        skipped=stream.skipped,
        unit=carer.unit,
        left_out=left_out,
        n_cut_documents=stream.n_cut_documents,
        languages=languages,
    )


def save_counts(path: str | os.PathLike[str], corpus: CountedCorpus) -> None:
    """Write counts to a file, whole or not at all: to train later, or to add up with others.

    Raises:
        OSError: The folder is missing, the disk is full ...
    """
    info = {
        "kind": _COUNTS_KIND,
        "jeton_version": _core.__version__,
        "unit": corpus.unit,
        "sources": [asdict(source) for source in corpus.sources],
        "left_out": corpus.left_out.to_dict(),
    }
    corpus.counts.save(os.fspath(path), info=json.dumps(info))


def load_counts(
    paths: str | os.PathLike[str] | Sequence[str | os.PathLike[str]],
    *,
    weights: dict[str, Fraction] | None = None,
    max_memory: int | None = None,
    temp_dir: str | os.PathLike[str] | None = None,
    min_count: int = 1,
) -> CountedCorpus:
    """Load files of counts and add them up.

    Args:
        paths: The files; all must have been cut the same way.
        weights: By name of a file (a path, its name, its folder's, a glob): how much it counts.
        max_memory: Bytes of memory, at least 16 MiB; None: as many as it takes.
        temp_dir: Where counts go that have no room; None: the system's place for temporary files.
        min_count: Leave out pretokens that occur less often, which makes room: no string occurs
            more often in what was left out than that has bytes (``CountedCorpus.left_out`` does
            not count it; the core's ``at_least`` says how much it is).

    Raises:
        FormatError: A file is not one of counts, or is damaged.
        UsageError: Files that were cut in different ways, or a weight that matches none of them.
        EmptyCorpusError: There are no pretokens.
    """
    names = [paths] if isinstance(paths, str | os.PathLike) else list(paths)
    files = [InputFile(os.fspath(path), "memory") for path in names]
    if not files:
        raise UsageError("no file of counts was given")
    for file in files:
        if sum(other.path == file.path for other in files) > 1:
            raise UsageError(f"the file of counts {file.path!r} was given twice")
    described = {file.path: _core.PretokenCounts.describe_file(file.path) for file in files}
    infos = {path: _info(path, json.loads(info)) for path, (_, info) in described.items()}
    matched = {file.path: weight_of_file(file, weights or {}) for file in files}
    for name in weights or {}:
        if not any(name in found for found, _ in matched.values()):
            raise UsageError(f"the weight of {name!r} matches no file of counts")
    # A file whose weights were made whole by a unit counts that many times too much.
    shares = {path: weight / infos[path]["unit"] for path, (_, weight) in matched.items()}
    whole, unit = integer_weights({**shares, "": Fraction(1)})
    counts = _core.PretokenCounts.cut_by(described[files[0].path][0])
    limit_memory(counts, max_memory, temp_dir)
    # The same source may come with several weights.
    sources: dict[tuple[str, str], Source] = {}
    with _explained(temp_dir):
        for file in files:
            if whole[file.path]:
                counts.add_file(file.path, weight=whole[file.path])
            for source in infos[file.path]["sources"]:
                read = Source(**source)
                weight = str(Fraction(read.weight) * matched[file.path][1])
                read = replace(read, weight=weight)
                known = sources.get((read.name, weight))
                sources[read.name, weight] = read if known is None else _sum(known, read)
    if min_count > 1:
        counts, _ = counts.at_least(min_count)
    if not counts.n_pretokens:
        raise EmptyCorpusError("the files of counts hold no pretokens")
    return CountedCorpus(counts=counts, sources=tuple(sources.values()), unit=unit)


def settings_of_counts(counts: _core.PretokenCounts, settings: TrainSettings) -> TrainSettings:
    """Settings that tell of the pattern and normalizer that counts were made with.

    Counts that were cut in a way that settings have no words for (SentencePiece's lines) leave
    them as they are.
    """
    if settings.method.new_counts(settings).cutting == counts.cutting:
        return settings
    cutting = json.loads(counts.cutting)
    found_rules = pattern_and_rules(cutting.get("pretokenizer", []))
    if found_rules is None:
        return settings
    pattern, rules = found_rules
    if "rules" in settings.method.takes:
        settings = replace(settings, rules=rules)
    published = _core.published_patterns()
    # Some have several names: the one that was asked for comes first.
    for name in (settings.pattern, *published):
        if pattern == published.get(name, name):
            pattern = name
            break
    for normalizer in (None, "nfc"):
        found = replace(settings, pattern=pattern, normalizer=normalizer)
        if settings.method.new_counts(found).cutting == counts.cutting:
            return found
    return settings


def limit_memory(
    counts: _core.PretokenCounts,
    max_memory: int | None,
    temp_dir: str | os.PathLike[str] | None,
) -> None:
    """Bound the memory of counts.

    Raises:
        UsageError: Less than 16 MiB.
    """
    if max_memory is None:
        return
    if max_memory < MIN_MEMORY_BYTES:
        raise UsageError(
            f"max_memory is {max_memory:,} bytes; expected at least {MIN_MEMORY_BYTES:,}"
        )
    folder = None if temp_dir is None else os.fspath(temp_dir)
    counts.limit_memory(max_memory, temp_dir=folder)


def _info(path: str, info: Any) -> dict[str, Any]:
    """What a file of counts says of itself, checked."""
    if not isinstance(info, dict) or info.get("kind") != _COUNTS_KIND:
        kind = info.get("kind") if isinstance(info, dict) else None
        raise UsageError(
            f"{path} is no file of finished counts (its kind is {kind!r})\n"
            "hint: a checkpoint is taken up again with resume"
        )
    try:
        unit = int(info["unit"])
        sources = [asdict(Source(**source)) for source in info["sources"]]
        for source in sources:
            Fraction(source["weight"])
    except (KeyError, TypeError, ValueError, ZeroDivisionError) as error:
        raise UsageError(f"{path}: what it says of its sources cannot be read: {error}") from error
    if unit < 1:
        raise UsageError(f"{path}: its unit is {unit}; expected at least 1")
    return {"unit": unit, "sources": sources}


def _add_between_levels(
    counts: _core.PretokenCounts, batch: _core.TextBatch, weights: Any, num_threads: int | None
) -> None:
    """Count documents without the indentation that tokens stand for."""
    rows = [
        texts_between_levels(text) if weight else []
        for text, weight in zip(batch, weights, strict=True)
    ]
    texts = [text for row in rows for text in row]
    counts.add(
        _core.TextBatch.from_texts(texts),
        weights=np.repeat(weights, [len(row) for row in rows]),
        num_threads=num_threads,
    )


def _more(before: Source, batch: _core.TextBatch, weights: Any, n_again: int) -> Source:
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


def _sum(a: Source, b: Source) -> Source:
    return Source(
        name=a.name,
        n_documents=a.n_documents + b.n_documents,
        n_bytes=a.n_bytes + b.n_bytes,
        n_replaced_documents=a.n_replaced_documents + b.n_replaced_documents,
        weight=a.weight,
        n_left_out_documents=a.n_left_out_documents + b.n_left_out_documents,
    )


def _balanced(
    inputs: Any, temperature: float, *, field: str, documents: Literal["file", "line"]
) -> dict[str, Fraction]:
    """Weights by path for a temperature: the inputs are read once for their sizes."""
    stream = open_documents(inputs, field=field, documents=documents, read_ahead=True)
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


class _explained:
    """Says of a full disk what was being written there."""

    def __init__(self, temp_dir: str | os.PathLike[str] | None) -> None:
        self._temp_dir = temp_dir

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if (
            isinstance(error, OSError)
            and error.errno == errno.ENOSPC
            and "temporary files" in str(error.filename)
        ):
            raise OSError(
                errno.ENOSPC,
                "the disk is full of counts that have no room in memory\n"
                "hint: name a folder with more room by temp_dir, or allow more memory by "
                "max_memory",
                error.filename,
            ) from error
