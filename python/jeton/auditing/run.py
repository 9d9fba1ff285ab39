"""`audit`: from inputs and tokenizers to a report; `Audit`: the same in steps, for shards."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any, Literal

from jeton.auditing.measures.measuring import Facts
from jeton.auditing.measures.traffic import TraceSource, load_trace
from jeton.auditing.measures.training import TrainingOptions, checked_training
from jeton.auditing.money.bills import BillSource, load_bill
from jeton.auditing.options.asked import (
    check_number,
    check_quota,
    distinct_terms,
    prices_of,
    pricing_of,
    tokenizers_of,
)
from jeton.auditing.options.logs import LogOptions, open_logs
from jeton.auditing.options.pipeline import Pipeline
from jeton.auditing.options.selection import is_given, select
from jeton.auditing.reporting import Asked, report_of
from jeton.auditing.result import AuditReport
from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model
from jeton.catalog.model_map import ModelMap
from jeton.corpus import DocumentStream, open_documents
from jeton.corpus.sampling import Sampling
from jeton.economics.billing.closed import stand_in
from jeton.economics.billing.quotas import Quota
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.tradeoff import Limits
from jeton.errors import UsageError
from jeton.progress import OnProgress
from jeton.registry import TokenizerLike, load, several
from jeton.workload.counting.counts import Counts, Setup
from jeton.workload.counting.intervals import SEED
from jeton.workload.counting.observing import Observer
from jeton.workload.counting.scan import scan
from jeton.workload.inputs.log_pricing import LogPricing
from jeton.workload.inputs.portions import DocumentPortions, Domains, Portions, RequestPortions
from jeton.workload.inputs.requests import RequestCollector
from jeton.workload.sampling.deep_sample import DEEP_SAMPLE_BYTES
from jeton.workload.sampling.passages import SAMPLE_CHARS
from jeton.workload.sampling.sampled import draw

__all__ = ["Audit", "audit"]


class Audit:
    """An audit in steps: shards are counted one by one, merged in any order, and reported once.

        audit = Audit(tokenizers=["cl100k_base"], price_model="gpt-4o", requests_per_day=50_000)
        counts = audit.count("monday/").merge(audit.count("tuesday/"))
        report = audit.report(counts)

    All names are looked up when it is made, before anything is read. The arguments are those of
    `audit`, and so are the errors.
    """

    def __init__(
        self,
        *,
        tokenizers: Iterable[TokenizerLike] | TokenizerLike | None = None,
        current: TokenizerLike | None = None,
        model: str | None = None,
        gpu: str | None = None,
        price_model: str | Sequence[str] | None = None,
        requests_per_day: float | None = None,
        output_tokens_per_request: float | None = None,
        memory: MemoryPlan | None = None,
        peak_to_mean: float | None = None,
        terms: Iterable[str] | os.PathLike[str] | None = None,
        field: str = "text",
        documents: Literal["file", "line"] = "file",
        strict: bool = False,
        on_bad_record: Literal["stop", "skip"] = "stop",
        logs: LogOptions | bool = False,
        domains: Domains = "auto",
        domain_field: str = "",
        bill: BillSource | None = None,
        model_map: ModelMap | Mapping[str, str] | str | os.PathLike[str] | None = None,
        strict_prices: bool = False,
        period: str = "",
        pipeline: Pipeline | None = None,
        run_commands: bool = False,
        limits: Limits | None = None,
        quality: bool = True,
        closed_model: str | None = None,
        quota: Quota | None = None,
        growth_per_month: float | None = None,
        trace: TraceSource | None = None,
        training: TrainingOptions | None = None,
        sample_chars: int = SAMPLE_CHARS,
        sampling: Sampling | None = None,
        sample_bytes: int = DEEP_SAMPLE_BYTES,
        seed: int = SEED,
        num_threads: int | None = None,
        observers: Sequence[Observer] = (),
    ) -> None:
        check_number("requests_per_day", requests_per_day, above_zero=True)
        check_number("output_tokens_per_request", output_tokens_per_request, above_zero=False)
        if peak_to_mean is not None and not 1 <= peak_to_mean < 1e6:
            raise UsageError(f"peak_to_mean is {peak_to_mean}; expected at least 1")
        for name, value in (
            ("sample_chars", sample_chars),
            ("sample_bytes", sample_bytes),
        ):
            if value < 1:
                raise UsageError(f"{name} is {value}; expected at least 1")
        if domain_field and domains not in ("auto", "none"):
            raise UsageError(
                f"domain_field is {domain_field!r} and domains is {domains!r}; expected one of them"
            )
        self._logs = LogOptions() if logs is True else logs or None
        if bill is not None and self._logs is None:
            raise UsageError(
                "a bill was given, but the inputs are not request logs\n"
                "hint: say so with logs (--logs), so that their usage is read"
            )
        if sampling is not None and (self._logs is not None or domain_field):
            raise UsageError(
                "only documents can be sampled, and their domains are not kept\n"
                "hint: audit logs, or by domain, without sampling"
            )
        if closed_model is not None:
            stand_in(closed_model)
        check_quota(
            quota, growth_per_month, is_timed=self._logs is not None or bool(requests_per_day)
        )
        for name in tokenizers_of(pipeline):
            # The check loads them again: what matters here is that a typo fails before the inputs.
            load(name)
        self._sampling = sampling
        self._bill = None if bill is None else load_bill(bill)
        self._pricing = pricing_of(model_map, strict=strict_prices, period=period)
        if self._logs is None and (model_map or strict_prices or period):
            raise UsageError(
                "model_map, strict_prices and period are about request logs\n"
                "hint: say so with logs (--logs)"
            )
        self._facts = Facts(
            model=find_model(model) if model is not None else None,
            gpu=find_gpu(gpu) if gpu is not None else None,
            prices=prices_of(price_model),
            requests_per_day=requests_per_day,
            output_tokens_per_request=output_tokens_per_request,
            plan=memory,
            peak_to_mean=peak_to_mean,
        )
        self._tokenizers, self._current = several(tokenizers), current
        self._terms = tuple(distinct_terms(terms))
        self._sample_chars, self._sample_bytes = sample_chars, sample_bytes
        self._setup: Setup | None = None
        self._field = field
        self._documents: Literal["file", "line"] = documents
        self._strict = strict
        self._on_bad_record: Literal["stop", "skip"] = on_bad_record
        self._domains: Domains = domains
        self._domain_field = domain_field
        self._observers = tuple(observers)
        self._num_threads = num_threads
        setup = self._begin() if self._is_known_which else None
        # A trace and a training run need the model, which says which tokenizer is its own.
        chosen = () if setup is None else setup.chosen
        vocab_sizes = [item.tokenizer.vocab_size for item in chosen]
        self._asked = Asked(
            pipeline=pipeline,
            run_commands=run_commands,
            limits=limits,
            quality=quality,
            closed_model=closed_model,
            quota=quota,
            growth_per_month=growth_per_month,
            seed=seed,
            num_threads=num_threads,
            trace=None
            if trace is None
            else load_trace(
                trace,
                model=self._facts.model,
                gpu=self._facts.gpu,
                vocab_sizes=vocab_sizes,
                seed=seed,
                plan=memory,
            ),
            training=None
            if training is None
            else checked_training(
                training,
                model=self._facts.model,
                gpu=self._facts.gpu,
                vocab_sizes=vocab_sizes,
            ),
        )

    @property
    def _is_known_which(self) -> bool:
        """True if the tokenizers are known before the inputs are read."""
        facts = self._facts
        given = is_given(self._tokenizers, self._current)
        return given or self._logs is None or facts.model is not None or bool(facts.prices)

    def _begin(self, logged_models: Sequence[str] = ()) -> Setup:
        """Choose the tokenizers, once."""
        if self._setup is not None:
            return self._setup
        facts, logs = self._facts, self._logs
        selection = select(
            self._tokenizers,
            current=self._current,
            model=facts.model,
            prices=facts.prices,
            logged_models=logged_models,
            is_log=logs is not None,
        )
        self._facts = replace(facts, selection=selection)
        self._setup = Setup(
            chosen=selection.chosen,
            current=selection.current,
            for_money=selection.for_money,
            terms=self._terms,
            sample_chars=self._sample_chars,
            deep_sample_bytes=self._sample_bytes,
            has_overhead=logs is not None,
            has_control_tokens=logs is not None and logs.template is not None,
        )
        for observer in self._observers:
            observer.begin(selection.chosen, current=selection.current)
        return self._setup

    def count(self, inputs: Any, *, on_progress: OnProgress | None = None) -> Counts:
        """Read inputs once and count everything. Counts of shards are put together by ``merge``."""
        portions: Portions
        collector, drawn = None, None
        if self._logs is not None:
            requests, collector = self._open_logs(inputs, self._logs, on_progress)
            setup = self._setup or self._begin(requests.logged_models())
            portions = requests
        elif self._sampling is not None:
            setup = self._begin()
            portions, drawn = draw(
                self._open_documents(inputs, on_progress),
                self._sampling,
                setup.chosen,
                current=setup.current,
                num_threads=self._num_threads,
            )
        else:
            setup = self._begin()
            portions = DocumentPortions(
                self._open_documents(inputs, on_progress),
                domains=self._domains,
                by_field=bool(self._domain_field),
            )
        counts = scan(portions, setup, observers=self._observers, num_threads=self._num_threads)
        counts.requests, counts.sampled = collector, drawn
        return counts

    def report(self, counts: Counts) -> AuditReport:
        """The report on what was counted."""
        return report_of(counts, self._facts, self._asked, bill=self._bill)

    def _open_documents(self, inputs: Any, on_progress: OnProgress | None) -> DocumentStream:
        return open_documents(
            inputs,
            field=self._field,
            documents=self._documents,
            strict=self._strict,
            on_bad_record=self._on_bad_record,
            domain_field=self._domain_field,
            # Only who compares documents with those of another day wants to know them again.
            with_places=bool(self._observers),
            on_progress=on_progress,
            read_ahead=self._num_threads != 1,
        )

    def _open_logs(
        self, inputs: Any, options: LogOptions, on_progress: OnProgress | None
    ) -> tuple[RequestPortions, RequestCollector]:
        requests = open_logs(
            inputs,
            options,
            domain_field=self._domain_field,
            domains_by=self._domains if self._domains in ("file", "folder") else None,
            strict=self._strict,
            on_progress=on_progress,
        )
        collector = RequestCollector(
            pricing=LogPricing(replace(self._pricing, price=self._facts.price))
        )
        return RequestPortions(requests, collector), collector


def audit(
    inputs: Any,
    *,
    tokenizers: Iterable[TokenizerLike] | TokenizerLike | None = None,
    current: TokenizerLike | None = None,
    model: str | None = None,
    gpu: str | None = None,
    price_model: str | Sequence[str] | None = None,
    requests_per_day: float | None = None,
    output_tokens_per_request: float | None = None,
    memory: MemoryPlan | None = None,
    peak_to_mean: float | None = None,
    terms: Iterable[str] | os.PathLike[str] | None = None,
    field: str = "text",
    documents: Literal["file", "line"] = "file",
    strict: bool = False,
    on_bad_record: Literal["stop", "skip"] = "stop",
    logs: LogOptions | bool = False,
    domains: Domains = "auto",
    domain_field: str = "",
    bill: BillSource | None = None,
    model_map: ModelMap | Mapping[str, str] | str | os.PathLike[str] | None = None,
    strict_prices: bool = False,
    period: str = "",
    pipeline: Pipeline | None = None,
    run_commands: bool = False,
    limits: Limits | None = None,
    quality: bool = True,
    closed_model: str | None = None,
    quota: Quota | None = None,
    growth_per_month: float | None = None,
    trace: TraceSource | None = None,
    training: TrainingOptions | None = None,
    sample_chars: int = SAMPLE_CHARS,
    sampling: Sampling | None = None,
    sample_bytes: int = DEEP_SAMPLE_BYTES,
    seed: int = SEED,
    num_threads: int | None = None,
    observers: Sequence[Observer] = (),
    on_progress: OnProgress | None = None,
) -> AuditReport:
    """Measure what tokenization costs a workload under each tokenizer, and say what to change.

    One request is one document. All names are looked up before anything is read; the inputs are
    streamed once, in bounded memory.

    Args:
        inputs: A path, or a list of paths (files, folders, globs, ``"-"``); or texts: a generator
            or other iterable of str or bytes, a `TextBatch`, an Arrow string array. A *list* of
            str names files; hand texts over as ``iter(texts)``. With ``logs``: logs, or records.
        tokenizers: Names, paths or `Tokenizer` objects, each once; the name of a model means its
            tokenizer. By default that of the planned model, the priced one, or the one that the
            logs name.
        current: The tokenizer in use, which findings are about; by default the first.
        model: A model, for memory and compute: a name of the catalog, a published name, or a path
            to a folder with a ``config.json`` or to such a file.
        gpu: A GPU of the catalog, for what fits.
        price_model: ``MODEL``, ``PROVIDER:MODEL`` or ``usd:INPUT[/OUTPUT]`` (USD per million
            tokens); of several, the first makes the bill, and all are compared by price per
            document. Logged requests are priced by their own models.
        requests_per_day: Traffic; with a price it gives money. By default that of the logs.
        output_tokens_per_request: Mean tokens generated per request. By default that of the logs,
            and 0 without logs.
        memory: How the model is held on the GPU: formats of weights and cache, GPUs of a group,
            what the engine keeps. By default as published, on the engine's defaults.
        peak_to_mean: The busiest hour's traffic over the mean, for which GPUs are rented. By
            default that of the logs, and 1 without logs.
        terms: Terms of the domain, or the path of a file with one a line.
        field: Field of the text in JSONL and Parquet.
        documents: Whether a plain text file is one document or one a line.
        strict: Bytes that are not UTF-8 are an error instead of being replaced and counted.
        on_bad_record: A record that cannot be used: ``"stop"``, or ``"skip"`` and count it. Records
            of logs are always skipped and counted.
        logs: The inputs are request logs: True, or how to read them.
        domains: What is reported apart: each input file, each folder, nothing; by default files or
            folders where there are 2 to 20 of them.
        domain_field: Field that names the domain of a document or request.
        bill: A provider's bill for the logs: a file, or its total in USD.
        model_map: Names of one's own for models in logs: a map to names of the price list, or the
            path of a file with one.
        strict_prices: A logged model without a price is an error, instead of a named rest.
        period: Time that the logs cover (``month``, ``30d``, ``2026-10-01..2026-10-31``); by
            default the calendar days of their requests.
        pipeline: What the pipeline around the tokenizer does.
        run_commands: Whether the pipeline's preprocessing command may be run, on the sample.
        limits: The most memory, money, time and bits per byte that a candidate may take.
        quality: Whether the quality of the tokenizers is measured (bits per byte, stability,
            unreachable tokens ...): seconds for each, on the sample.
        closed_model: The closed model whose provider counts the tokens; by default that of the
            price. Its count is calibrated from the usage in logs, else estimated.
        quota: Limits of the API, which the traffic is held against.
        growth_per_month: Growth of the traffic, as a share (0.1: 10% a month).
        trace: Times and lengths of real requests, replayed on the model and GPU under each
            tokenizer: a file, a `Trace`, or `TraceOptions`.
        training: A training run of the model on the GPU, priced under each tokenizer.
        sample_chars: Length of the passages of the coloured view.
        sampling: Count only a part of the documents, so many or as many as an error needs; all are
            read. By default all are counted.
        sample_bytes: Bytes of text on which the expensive analyses run; with less text than
            that, all of it.
        seed: Seed of the intervals.
        num_threads: Threads of the core; None: all. The report does not depend on it.
        observers: What else looks at the texts as they pass by.
        on_progress: Called now and then while files are read.

    Raises:
        CatalogError: A tokenizer, model, GPU or price is not known.
        UsageError: A number is out of range, options contradict one another, or a tokenizer was
            given twice.
        EmptyCorpusError: The inputs hold no text.
        CorpusError: A record cannot be read.
        OSError: A file cannot be read.
    """
    steps = Audit(
        tokenizers=tokenizers,
        current=current,
        model=model,
        gpu=gpu,
        price_model=price_model,
        requests_per_day=requests_per_day,
        output_tokens_per_request=output_tokens_per_request,
        memory=memory,
        peak_to_mean=peak_to_mean,
        terms=terms,
        field=field,
        documents=documents,
        strict=strict,
        on_bad_record=on_bad_record,
        logs=logs,
        domains=domains,
        domain_field=domain_field,
        bill=bill,
        model_map=model_map,
        strict_prices=strict_prices,
        period=period,
        pipeline=pipeline,
        run_commands=run_commands,
        limits=limits,
        quality=quality,
        closed_model=closed_model,
        quota=quota,
        growth_per_month=growth_per_month,
        trace=trace,
        training=training,
        sample_chars=sample_chars,
        sampling=sampling,
        sample_bytes=sample_bytes,
        seed=seed,
        num_threads=num_threads,
        observers=observers,
    )
    return steps.report(steps.count(inputs, on_progress=on_progress))
