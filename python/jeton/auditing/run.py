"""`audit`: from inputs and tokenizers to a report; `Audit`: the same in steps, for shards."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

from jeton.auditing.log_counting import LogJob, LogReading
from jeton.auditing.measures.measuring import Facts
from jeton.auditing.measures.traffic import load_trace
from jeton.auditing.measures.training import checked_training
from jeton.auditing.money.bills import load_bill
from jeton.auditing.options.audit_options import (
    AuditOptions,
    distinct_terms,
    prices_of,
    pricing_of,
    tokenizers_of,
)
from jeton.auditing.options.keywords import keywords_of
from jeton.auditing.options.logs import LogOptions
from jeton.auditing.options.selection import is_given, select
from jeton.auditing.reporting import report_of
from jeton.auditing.result import AuditReport
from jeton.catalog import gpu as find_gpu
from jeton.catalog import model as find_model
from jeton.corpus import DocumentStream, open_documents
from jeton.economics.billing.closed import stand_in
from jeton.errors import UsageError
from jeton.progress import OnProgress
from jeton.registry import load, several
from jeton.workload.choice import Chosen
from jeton.workload.counting.counts import Counts, Setup
from jeton.workload.counting.scan import scan
from jeton.workload.inputs.portions import DocumentPortions, Portions
from jeton.workload.sampling.sampled import draw


class Audit:
    """An audit in steps: shards are counted one by one, merged in any order, and reported once.

        audit = Audit(tokenizers=["cl100k_base"], price_model="gpt-4o", requests_per_day=50_000)
        counts = audit.count("monday/").merge(audit.count("tuesday/"))
        report = audit.report(counts)

    All names are looked up when it is made, before anything is read. The arguments are those of
    `audit`, and so are the errors.
    """

    @keywords_of(AuditOptions)
    def __init__(self, options: AuditOptions) -> None:
        self._prepare(options)

    @classmethod
    def of(cls, options: AuditOptions) -> Audit:
        """Return an audit with options that are already one value."""
        made = cls.__new__(cls)
        made._prepare(options)
        return made

    def _prepare(self, options: AuditOptions) -> None:
        self._options = options
        if options.closed_model is not None:
            stand_in(options.closed_model)
        for name in tokenizers_of(options.pipeline):
            # The check loads them again: what matters here is that a typo fails before the inputs.
            load(name)
        self._bill = None if options.bill is None else load_bill(options.bill)
        self._pricing = pricing_of(
            options.model_map, strict=options.strict_prices, period=options.period
        )
        self._facts = Facts(
            model=find_model(options.model) if options.model is not None else None,
            gpu=find_gpu(options.gpu) if options.gpu is not None else None,
            prices=prices_of(options.price_model),
            requests_per_day=options.requests_per_day,
            output_tokens_per_request=options.output_tokens_per_request,
            plan=options.memory,
            peak_to_mean=options.peak_to_mean,
        )
        self._logs = options.log_options
        self._tokenizers = several(options.tokenizers)
        self._terms = tuple(distinct_terms(options.terms))
        self._observers = tuple(options.observers)
        self._setup: Setup | None = None
        setup = self._begin() if self._is_known_which else None
        self._check_with(() if setup is None else setup.chosen)

    def _check_with(self, chosen: Sequence[Chosen]) -> None:
        """Check a trace and a training run, which need the model and its tokenizer."""
        options, facts = self._options, self._facts
        vocab_sizes = [item.tokenizer.vocab_size for item in chosen]
        self._trace = self._training = None
        if options.trace is not None:
            self._trace = load_trace(
                options.trace,
                model=facts.model,
                gpu=facts.gpu,
                vocab_sizes=vocab_sizes,
                seed=options.seed,
                plan=options.memory,
            )
        if options.training is not None:
            self._training = checked_training(
                options.training, model=facts.model, gpu=facts.gpu, vocab_sizes=vocab_sizes
            )

    @property
    def _is_known_which(self) -> bool:
        """True if the tokenizers are known before the inputs are read."""
        facts = self._facts
        given = is_given(self._tokenizers, self._options.current)
        return given or self._logs is None or facts.model is not None or bool(facts.prices)

    def _begin(self, logged_models: Sequence[str] = ()) -> Setup:
        """Choose the tokenizers, once."""
        if self._setup is not None:
            return self._setup
        facts, logs = self._facts, self._logs
        selection = select(
            self._tokenizers,
            current=self._options.current,
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
            sample_chars=self._options.sample_chars,
            deep_sample_bytes=self._options.sample_bytes,
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
            _, requests, collector = self._reading(self._logs).open(inputs, on_progress=on_progress)
            setup = self._setup or self._begin(requests.logged_models())
            portions = requests
        elif self._options.sampling is not None:
            setup = self._begin()
            portions, drawn = draw(
                self._open_documents(inputs, on_progress),
                self._options.sampling,
                setup.chosen,
                current=setup.current,
                num_threads=self._options.num_threads,
            )
        else:
            setup = self._begin()
            portions = DocumentPortions(
                self._open_documents(inputs, on_progress),
                domains=self._options.domains,
                by_field=bool(self._options.domain_field),
            )
        counts = scan(
            portions, setup, observers=self._observers, num_threads=self._options.num_threads
        )
        counts.requests, counts.sampled = collector, drawn
        return counts

    def report(self, counts: Counts) -> AuditReport:
        """The report on what was counted."""
        return report_of(
            counts,
            self._facts,
            self._options,
            bill=self._bill,
            trace=self._trace,
            training=self._training,
        )

    def _open_documents(self, inputs: Any, on_progress: OnProgress | None) -> DocumentStream:
        return open_documents(
            inputs,
            field=self._options.field,
            documents=self._options.documents,
            strict=self._options.strict,
            on_bad_record=self._options.on_bad_record,
            domain_field=self._options.domain_field,
            # Only who compares documents with those of another day wants to know them again.
            with_places=bool(self._observers),
            on_progress=on_progress,
            read_ahead=self._options.num_threads != 1,
        )

    def _reading(self, logs: LogOptions) -> LogReading:
        by = self._options.domains
        return LogReading(
            logs=logs,
            domain_field=self._options.domain_field,
            domains_by=by if by in ("file", "folder") else None,
            strict=self._options.strict,
            pricing=replace(self._pricing, price=self._facts.price),
        )

    def log_job(self, inputs: Any) -> LogJob:
        """Logs as parts that other processes count (``jeton.cluster.count_logs_on_ray``).

        Args:
            inputs: Files that all of them can read.

        Raises:
            UsageError: The inputs are no logs in files, or observers look at all texts.
        """
        if self._logs is None:
            raise UsageError("only request logs are counted in parts\nhint: audit logs (--logs)")
        if self._observers:
            raise UsageError(
                "budgets and baselines look at all texts in one place, which a cluster does not\n"
                "hint: leave them out, or count on this machine"
            )
        reading = self._reading(self._logs)
        stream, portions, _ = reading.open(inputs, num_processes=0)
        try:
            if any(file.n_bytes is None for file in stream.files):
                raise UsageError(
                    "a cluster cannot read standard input or Python objects\n"
                    "hint: write the logs to files that all nodes share"
                )
            setup = self._setup or self._begin(portions.logged_models())
        finally:
            stream.close()
        return LogJob.of(reading, setup, stream)


@keywords_of(AuditOptions)
def audit(inputs: Any, options: AuditOptions) -> AuditReport:
    """Measure what tokenization costs a workload under each tokenizer, and say what to change.

    One request is one document. All names are looked up before anything is read; the inputs are
    streamed once, in bounded memory.

    Args:
        inputs: A path, or a list of paths (files, folders, globs, ``"-"``); or texts: a generator
            or other iterable of str or bytes, a `TextBatch`, an Arrow string array. A *list* of
            str names files; hand texts over as ``iter(texts)``. With ``logs``: logs, or records.
        options: The fields of `AuditOptions`, each a keyword.

    Raises:
        CatalogError: A tokenizer, model, GPU or price is not known.
        UsageError: A number is out of range, options contradict one another, or a tokenizer was
            given twice.
        EmptyCorpusError: The inputs hold no text.
        CorpusError: A record cannot be read.
        OSError: A file cannot be read.
    """
    steps = Audit.of(options)
    return steps.report(steps.count(inputs, on_progress=options.on_progress))
