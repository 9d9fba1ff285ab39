"""A trace replayed on the model and GPU of an audit, under each tokenizer of it."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from typing import TypeAlias

from jeton.auditing.result import TokenizerReport
from jeton.catalog import GpuFacts, ModelFacts
from jeton.corpus.times import TimeUnit
from jeton.corpus.traces import Trace, read_trace
from jeton.economics.serving.memory_plan import MemoryPlan, changed_plan
from jeton.economics.traffic import (
    POLICIES,
    DomainShare,
    EngineSettings,
    Policy,
    PolicyName,
    Server,
    TokenizerRatio,
    TrafficReport,
    check_prefixes,
    compare_traffic,
)
from jeton.errors import UsageError
from jeton.workload.counting.domains import DomainReport


@dataclass(frozen=True, slots=True)
class TraceOptions:
    """How a trace is read and replayed.

    Attributes:
        trace: A file, a ServeGen folder, or a trace that was read before.
        requests_per_second: Rate at which times are drawn where the trace has none.
        seconds: Only so many seconds of it, from its beginning.
        rate_factor: How many times as dense as recorded it is replayed.
        policies: Which policies.
        reserved_tokens: Tokens that the static policy reserves; None: the longest request.
        quantile: Quantile of the output length that the predictive policy reserves.
        settings: The engine's other settings.
        n_gpus: GPUs of the group; None: as the audit's plan has it.
        usd_per_hour: Price of one GPU and hour; None: the catalog's low list price.
        time_unit: Unit of times that are numbers.
        domain_field: Column that names the domain of a request.
        block_tokens: Tokens of a block of ``hash_ids``; None: as the shape of the trace has it.
    """

    trace: str | os.PathLike[str] | Trace
    requests_per_second: float | None = None
    seconds: float | None = None
    rate_factor: float = 1.0
    policies: tuple[PolicyName, ...] = POLICIES
    reserved_tokens: int | None = None
    quantile: float = 0.9
    settings: EngineSettings = field(default_factory=EngineSettings)
    n_gpus: int | None = None
    usd_per_hour: Decimal | None = None
    time_unit: TimeUnit = "auto"
    domain_field: str = ""
    block_tokens: int | None = None


TraceSource: TypeAlias = TraceOptions | Trace | str | os.PathLike[str]


@dataclass(frozen=True, slots=True)
class LoadedTrace:
    """A trace and how it is replayed: everything but the tokenizers."""

    trace: Trace
    options: TraceOptions
    server: Server


def load_trace(
    source: TraceSource,
    *,
    model: ModelFacts | None,
    gpu: GpuFacts | None,
    vocab_sizes: Sequence[int],
    seed: int,
    plan: MemoryPlan | None = None,
) -> LoadedTrace:
    """Read the trace of an audit.

    Raises:
        UsageError: Model or GPU is missing, the weights do not fit, or an option is out of range.
        CorpusError: The trace cannot be read.
        OSError: The file cannot be read.
    """
    if model is None or gpu is None:
        raise UsageError(
            "a trace was given, but not the model and the GPU that it is replayed on\n"
            "hint: give both (--model and --gpu)"
        )
    options = source if isinstance(source, TraceOptions) else TraceOptions(source)
    if options.n_gpus is not None:
        plan = changed_plan(plan, n_gpus=options.n_gpus)
    server = Server(model, gpu, plan=plan or MemoryPlan(), usd_per_hour=options.usd_per_hour)
    server.with_vocabulary(max(vocab_sizes)).check_fits()
    _policies(options)
    trace = options.trace
    if not isinstance(trace, Trace):
        trace = read_trace(
            trace,
            time_unit=options.time_unit,
            domain_field=options.domain_field,
            requests_per_second=options.requests_per_second,
            duration_seconds=options.seconds or 3600.0,
            block_tokens=options.block_tokens,
            seed=seed,
        )
    if options.settings.prefix_cache:
        # Said now rather than when all inputs have been read.
        check_prefixes(trace, model, page_tokens=options.settings.page_tokens)
    return LoadedTrace(trace.part(seconds=options.seconds), options, server)


def traffic_of(
    loaded: LoadedTrace,
    tokenizers: Sequence[TokenizerReport],
    domains: Sequence[DomainReport],
    *,
    seed: int,
) -> TrafficReport:
    """Replay the trace under each policy and tokenizer, the one in use first.

    A tokenizer's ratio is its tokens over those of the tokenizer in use, on the audited text; of a
    domain, on the domain's text.
    """
    current = next(t for t in tokenizers if t.is_current)
    ordered = [current, *(t for t in tokenizers if t is not current)]
    return compare_traffic(
        loaded.trace,
        loaded.server,
        tokenizers=[
            TokenizerRatio(
                tokenizer=t.name,
                ratio=t.n_tokens / current.n_tokens if current.n_tokens else 1.0,
                by_domain=_by_domain(t.name, current.name, domains),
                vocab_size=t.vocab_size,
            )
            for t in ordered
        ],
        domains=[DomainShare(domain.name, domain.n_documents) for domain in domains],
        policies=_policies(loaded.options),
        settings=loaded.options.settings,
        rate_factor=loaded.options.rate_factor,
        seed=seed,
    )


def _policies(options: TraceOptions) -> list[Policy]:
    return [
        Policy(name, reserved_tokens=options.reserved_tokens, quantile=options.quantile)
        for name in options.policies
    ]


def _by_domain(name: str, current: str, domains: Sequence[DomainReport]) -> dict[str, float]:
    ratios = {}
    for domain in domains:
        tokens = {entry.tokenizer: entry.n_tokens for entry in domain.tokenizers}
        if tokens.get(name) and tokens.get(current):
            ratios[domain.name] = tokens[name] / tokens[current]
    return ratios
