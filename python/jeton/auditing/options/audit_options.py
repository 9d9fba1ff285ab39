"""Options of an audit: one value for each keyword of `jeton.audit`, checked when it is made."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from jeton.auditing.measures.traffic import TraceSource
from jeton.auditing.measures.training import TrainingOptions
from jeton.auditing.money.bills import BillSource, has_limit
from jeton.auditing.options.logs import LogOptions
from jeton.auditing.options.pipeline import Pipeline
from jeton.catalog import ApiPrice
from jeton.catalog import price as find_price
from jeton.catalog.model_map import ModelMap, read_model_map
from jeton.corpus import read_terms
from jeton.corpus.sampling import Sampling
from jeton.economics.billing.quotas import Quota, quota_from_rate
from jeton.economics.ledger import parse_period
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.tradeoff import Limits
from jeton.errors import UsageError
from jeton.progress import OnProgress
from jeton.registry import TokenizerLike
from jeton.workload.counting.intervals import SEED
from jeton.workload.counting.scan import Observer
from jeton.workload.inputs.log_pricing import PricingOptions
from jeton.workload.inputs.portions import Domains
from jeton.workload.sampling.deep_sample import DEEP_SAMPLE_BYTES
from jeton.workload.sampling.passages import SAMPLE_CHARS


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditOptions:
    """Options of an audit.

    Attributes:
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
        documents: ``file`` or ``line``: a plain text file is one document, or one a line.
        strict: Bytes that are not UTF-8 are an error instead of being replaced and counted.
        on_bad_record: A record that cannot be used: ``"stop"``, or ``"skip"`` and count it. Records
            of logs are always skipped and counted.
        logs: The inputs are request logs: True, or how to read them.
        domains: Domains that are reported apart: each input file, each folder, nothing. By default
            files or folders where there are 2 to 20 of them.
        domain_field: Field that names the domain of a document or request.
        bill: A provider's bill for the logs: a file, or its total in USD.
        model_map: Names of one's own for models in logs: a map to names of the price list, or the
            path of a file with one.
        strict_prices: A logged model without a price is an error, instead of a named rest.
        period: Time that the logs cover (``month``, ``30d``, ``2026-10-01..2026-10-31``); by
            default the calendar days of their requests.
        pipeline: Settings of the pipeline around the tokenizer.
        run_commands: True if the pipeline's preprocessing command may be run, on the sample.
        limits: The most memory, money, time and bits per byte that a candidate may take.
        quality: True if the quality of the tokenizers is measured (bits per byte, stability,
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
        observers: Other observers of the texts as they pass by.
        on_progress: Called now and then while files are read.

    Raises:
        UsageError: A number is out of range, or options contradict one another.
    """

    tokenizers: Iterable[TokenizerLike] | TokenizerLike | None = None
    current: TokenizerLike | None = None
    model: str | None = None
    gpu: str | None = None
    price_model: str | Sequence[str] | None = None
    requests_per_day: float | None = None
    output_tokens_per_request: float | None = None
    memory: MemoryPlan | None = None
    peak_to_mean: float | None = None
    terms: Iterable[str] | os.PathLike[str] | None = None
    field: str = "text"
    documents: Literal["file", "line"] = "file"
    strict: bool = False
    on_bad_record: Literal["stop", "skip"] = "stop"
    logs: LogOptions | bool = False
    domains: Domains = "auto"
    domain_field: str = ""
    bill: BillSource | None = None
    model_map: ModelMap | Mapping[str, str] | str | os.PathLike[str] | None = None
    strict_prices: bool = False
    period: str = ""
    pipeline: Pipeline | None = None
    run_commands: bool = False
    limits: Limits | None = None
    quality: bool = True
    closed_model: str | None = None
    quota: Quota | None = None
    growth_per_month: float | None = None
    trace: TraceSource | None = None
    training: TrainingOptions | None = None
    sample_chars: int = SAMPLE_CHARS
    sampling: Sampling | None = None
    sample_bytes: int = DEEP_SAMPLE_BYTES
    seed: int = SEED
    num_threads: int | None = None
    observers: Sequence[Observer] = ()
    on_progress: OnProgress | None = None

    def __post_init__(self) -> None:
        check_number("requests_per_day", self.requests_per_day, above_zero=True)
        check_number("output_tokens_per_request", self.output_tokens_per_request, above_zero=False)
        if self.peak_to_mean is not None and not 1 <= self.peak_to_mean < 1e6:
            raise UsageError(f"peak_to_mean is {self.peak_to_mean}; expected at least 1")
        for name in ("sample_chars", "sample_bytes"):
            if getattr(self, name) < 1:
                raise UsageError(f"{name} is {getattr(self, name)}; expected at least 1")
        if self.domain_field and self.domains not in ("auto", "none"):
            raise UsageError(
                f"domain_field is {self.domain_field!r} and domains is {self.domains!r}; "
                "expected one of them"
            )
        is_log = self.log_options is not None
        if self.bill is not None and not is_log:
            raise UsageError(
                "a bill was given, but the inputs are not request logs\n"
                "hint: say so with logs (--logs), so that their usage is read"
            )
        if self.sampling is not None and (is_log or self.domain_field):
            raise UsageError(
                "only documents can be sampled, and their domains are not kept\n"
                "hint: audit logs, or by domain, without sampling"
            )
        check_quota(
            self.quota, self.growth_per_month, is_timed=is_log or bool(self.requests_per_day)
        )
        if not is_log and (self.model_map or self.strict_prices or self.period):
            raise UsageError(
                "model_map, strict_prices and period are about request logs\n"
                "hint: say so with logs (--logs)"
            )

    @property
    def log_options(self) -> LogOptions | None:
        """Return how logs are read; None where the inputs are documents."""
        return LogOptions() if self.logs is True else self.logs or None


def check_number(name: str, value: float | None, *, above_zero: bool) -> None:
    """Refuse a number that is below 0, not finite or, if it must be above 0, 0."""
    if value is None:
        return
    if not math.isfinite(value) or value < 0 or (above_zero and value == 0):
        expected = "a number above 0" if above_zero else "0 or more"
        raise UsageError(f"{name} is {value}; expected {expected}")


def check_quota(quota: Quota | None, growth_per_month: float | None, *, is_timed: bool) -> None:
    """Refuse limits that cannot be judged, before anything is read."""
    if quota is None:
        if growth_per_month is not None:
            raise UsageError(
                "growth_per_month was given without a quota that it could use up\n"
                "hint: say the limits too (--quota-tokens-per-minute)"
            )
        return
    if not has_limit(quota):
        raise UsageError("the quota has no limit; expected at least one")
    if not is_timed:
        raise UsageError(
            "a quota was given, but nothing says how many requests come in a time\n"
            "hint: say requests_per_day (--requests-per-day), or audit logs with times"
        )
    # Judges the numbers by themselves; the traffic is not known yet.
    quota_from_rate(quota, requests_per_day=0, tokens_mean=0, growth_per_month=growth_per_month)


def prices_of(price_model: str | Sequence[str] | None) -> tuple[ApiPrice, ...]:
    """The prices that were asked for, each once.

    Raises:
        UnknownPriceError: A name is not known.
        UsageError: A ``usd:`` price is no number above zero.
    """
    names = [price_model] if isinstance(price_model, str) else list(price_model or ())
    prices = {price.name: price for price in map(find_price, names)}
    return tuple(prices.values())


def pricing_of(
    model_map: ModelMap | Mapping[str, str] | str | os.PathLike[str] | None,
    *,
    strict: bool,
    period: str,
) -> PricingOptions:
    """Rules for the prices of logged requests.

    Raises:
        RecordError: The file is no map of names.
        UnknownPriceError: A name is mapped to one that the list does not have.
        UsageError: The period cannot be read.
        OSError: The file cannot be read.
    """
    if isinstance(model_map, str | os.PathLike):
        model_map = read_model_map(Path(model_map))
    elif not isinstance(model_map, ModelMap):
        model_map = ModelMap(dict(model_map or {}))
    if period:
        parse_period(period)
    return PricingOptions(model_map=model_map, strict=strict, period=period)


def tokenizers_of(pipeline: Pipeline | None) -> tuple[str, ...]:
    """Names of the tokenizers that a pipeline says it uses."""
    names = () if pipeline is None else (pipeline.train_tokenizer, pipeline.serve_tokenizer)
    return tuple(name for name in names if name)


def distinct_terms(terms: Iterable[str] | os.PathLike[str] | None) -> list[str]:
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
