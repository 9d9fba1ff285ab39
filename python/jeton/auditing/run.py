"""`audit`: from inputs and tokenizers to a report."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Literal

from jeton.auditing.choice import TokenizerLike, choose_tokenizers
from jeton.auditing.counts import Setup
from jeton.auditing.deep_sample import DEEP_SAMPLE_BYTES
from jeton.auditing.intervals import SEED
from jeton.auditing.measuring import Facts
from jeton.auditing.observing import Observer
from jeton.auditing.pipeline import Pipeline
from jeton.auditing.reading import DocumentPortions, Domains
from jeton.auditing.reporting import report_of
from jeton.auditing.result import AuditReport
from jeton.auditing.sampling import SAMPLE_CHARS
from jeton.auditing.scan import scan
from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model
from jeton.catalog import price as find_price
from jeton.corpus import Progress, open_documents, read_terms
from jeton.errors import UsageError

__all__ = ["audit"]


def audit(
    inputs: Any,
    *,
    tokenizers: Iterable[TokenizerLike] | TokenizerLike,
    current: TokenizerLike | None = None,
    model: str | None = None,
    gpu: str | None = None,
    price_model: str | None = None,
    requests_per_day: float | None = None,
    output_tokens_per_request: float = 0.0,
    terms: Iterable[str] | os.PathLike[str] | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    num_threads: int | None = None,
    sample_chars: int = SAMPLE_CHARS,
    domains: Domains = "auto",
    pipeline: Pipeline | None = None,
    deep_sample_bytes: int = DEEP_SAMPLE_BYTES,
    seed: int = SEED,
    on_progress: Callable[[Progress], None] | None = None,
    observers: Sequence[Observer] = (),
) -> AuditReport:
    """Measure what tokenization costs a workload under each tokenizer, and say what to change.

    One request is one document. All names are looked up before anything is read; the inputs are
    streamed once, in bounded memory.

    Args:
        inputs: A path, or a list of paths (files, folders, globs, ``"-"``); or texts: a generator
            or other iterable of str or bytes, a `TextBatch`, an Arrow string array. A *list* of
            str names files; hand texts over as ``iter(texts)``.
        tokenizers: Names, paths or `Tokenizer` objects, each once.
        current: The tokenizer in use, which findings are about; by default the first.
        model: A model of the catalog, for memory and compute.
        gpu: A GPU of the catalog, for what fits.
        price_model: ``MODEL``, ``PROVIDER:MODEL`` or ``usd:INPUT[/OUTPUT]`` (USD per million
            tokens).
        requests_per_day: Traffic; with a price it gives money.
        output_tokens_per_request: Mean tokens generated per request.
        terms: Terms of the domain, or the path of a file with one a line.
        field: Field of the text in JSONL and Parquet.
        documents: Whether a plain text file is one document or one a line.
        strict: Bytes that are not UTF-8 are an error instead of being replaced and counted.
        num_threads: Threads of the core; None: all. The report does not depend on it.
        sample_chars: Length of the passages of the coloured view.
        domains: What is reported apart: each input file, each folder, nothing; by default files or
            folders where there are 2 to 20 of them.
        pipeline: What the pipeline around the tokenizer does.
        deep_sample_bytes: Bytes of text on which the expensive analyses run; with less text than
            that, all of it.
        seed: Seed of the intervals.
        on_progress: Called now and then while files are read.
        observers: Look at the texts as they pass by (`jeton.auditing.gate`).

    Raises:
        CatalogError: A tokenizer, model, GPU or price is not known.
        UsageError: A number is out of range, or a tokenizer was given twice.
        EmptyCorpusError: The inputs hold no text.
        CorpusError: A record cannot be read.
        OSError: A file cannot be read.
    """
    _check_number("requests_per_day", requests_per_day, above_zero=True)
    _check_number("output_tokens_per_request", output_tokens_per_request, above_zero=False)
    if sample_chars < 1:
        raise UsageError(f"sample_chars is {sample_chars}; expected at least 1")
    facts = Facts(
        model=find_model(model) if model is not None else None,
        gpu=find_gpu(gpu) if gpu is not None else None,
        price=find_price(price_model) if price_model is not None else None,
        requests_per_day=requests_per_day,
        output_tokens_per_request=output_tokens_per_request,
    )
    chosen, current_index = choose_tokenizers(tokenizers, current=current)
    for observer in observers:
        observer.begin(chosen, current=current_index)
    setup = Setup(
        chosen=tuple(chosen),
        current=current_index,
        terms=tuple(_read_terms(terms)),
        sample_chars=sample_chars,
        deep_sample_bytes=deep_sample_bytes,
    )
    stream = open_documents(
        inputs, field=field, documents=documents, strict=strict, on_progress=on_progress
    )
    portions = DocumentPortions(stream, domains=domains)
    counts = scan(portions, setup, num_threads=num_threads, observers=observers)
    return report_of(counts, facts, pipeline=pipeline, seed=seed, num_threads=num_threads)


def _check_number(name: str, value: float | None, *, above_zero: bool) -> None:
    if value is None:
        return
    if not math.isfinite(value) or value < 0 or (above_zero and value == 0):
        expected = "a number above 0" if above_zero else "0 or more"
        raise UsageError(f"{name} is {value}; expected {expected}")


def _read_terms(terms: Iterable[str] | os.PathLike[str] | None) -> list[str]:
    """Terms without blanks and repetitions (case ignored, as they are counted), in their order."""
    if terms is None:
        return []
    if isinstance(terms, str):
        raise UsageError(
            "terms is one str; expected an iterable of terms, or the path of a file\n"
            "hint: pathlib.Path(...) names a file"
        )
    given = read_terms(terms) if isinstance(terms, os.PathLike) else list(terms)
    unique: dict[str, str] = {}
    for term in given:
        stripped = term.strip()
        if stripped:
            unique.setdefault(stripped.casefold(), stripped)
    return list(unique.values())
