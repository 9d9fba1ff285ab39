"""Cost of the pipeline's settings around the tokenizer; silent where they are not known."""

from __future__ import annotations

import math
from collections.abc import Iterator
from decimal import Decimal

import numpy as np

from jeton.auditing.analyses.lengths import (
    batch_padding,
    chunk_overlap,
    packed_positions,
    packing_remedy,
)
from jeton.auditing.evidence import DAYS_PER_YEAR, Evidence, percent
from jeton.auditing.registry import ANSWERS, CHUNKING, LINES, NONE, analysis, finding_of
from jeton.economics.serving.compute import prefill_flops
from jeton.economics.serving.latency import PREFILL_FLOPS_SHARE
from jeton.findings import Basis, Finding, Severity
from jeton.metrics import padding_waste as waste_of_padding

MIN_PADDING_SHARE = 0.2
"""Share of positions that are padding from which a pipeline that pads is told. Our choice: sorting
by length or packing is some work, and leaves a few percent itself."""

MIN_OVERLAP_SHARE = 0.1
"""Share of encoded tokens that overlap repeats. Our choice: usual settings of 10% to 20% are above,
a sentence of overlap is below."""

MIN_IDLE_SHARE = 0.5
"""Share of reserved context that is not used. Our choice, as for padding to one length: from half
on, the larger part is for nothing."""

MIN_RESERVED_RATIO = 4.0
"""Limit of output tokens over the p99 of what was generated. Our choice: a limit of twice the p99
is prudent, four times is forgotten."""

MIN_CAPPED_SHARE = 0.01
"""Share of answers that end at the limit. Our choice: one in a hundred is more than bad luck."""

MIN_REQUESTS = 100
"""Requests with usage from which p99 is not the longest answer itself."""


@analysis("padding-static", "Pad by less", LINES, NONE)
def padding_static(evidence: Evidence) -> Iterator[Finding]:
    """Every sequence is padded to one length."""
    pipeline, lengths = evidence.pipeline, evidence.current.lengths
    if pipeline is None or pipeline.padding != "static" or not pipeline.max_length:
        return
    waste = waste_of_padding(lengths, padded_to_tokens=pipeline.max_length)
    if waste.padding_share < MIN_PADDING_SHARE:
        return
    n_positions = lengths.n_documents * pipeline.max_length
    packed = packed_positions(lengths, capacity=pipeline.max_length)
    usd_per_year, formula = _money_of_positions(
        evidence, n_positions - packed.n_positions, "saved by packing"
    )
    yield finding_of(
        title=f"{percent(waste.padding_share)} of the work is padding: every sequence is filled up "
        f"to {pipeline.max_length:,} tokens, and the average has {lengths.mean:,.0f}",
        where=evidence.current.name,
        value=waste.n_padding_tokens,
        unit="positions on the audited text",
        formula=f"{lengths.n_documents:,} sequences x {pipeline.max_length:,} positions - "
        f"{n_positions - waste.n_padding_tokens:,} tokens",
        cause="Every sequence gets the same length, however short it is.",
        remedy=packing_remedy(packed, evidence.current.name, overflow="truncate")
        + " An engine with variable lengths needs no padding.",
        saving_usd_per_year=usd_per_year,
        saving_formula=formula,
        evidence={
            "padding_share": waste.padding_share,
            "padding_share_packed": packed.padding_share,
            "padding_share_buckets": packed.bucket_padding_share,
            "bucket_edges": list(packed.edges),
            "mean_tokens": lengths.mean,
            "n_truncated_documents": waste.n_truncated_documents,
        },
    )


def _money_of_positions(
    evidence: Evidence, n_positions: int, what: str
) -> tuple[Decimal | None, str]:
    """USD a year of positions, and how: the time they take on a GPU of one's own.

    An API bills the tokens of a text and no padding: where the bill is one of an API, or model, GPU
    or traffic are not known, there is no money to save.
    """
    model, gpu, per_day = evidence.model, evidence.gpu, evidence.traffic.requests_per_day
    if evidence.traffic.price is not None or model is None or gpu is None or per_day is None:
        return None, ""
    flops = prefill_flops(model, 2).linear - prefill_flops(model, 1).linear
    seconds = Decimal(flops) / (
        Decimal(gpu.bf16_dense_flops_per_s) * Decimal(str(PREFILL_FLOPS_SHARE))
    )
    per_hour = gpu.price_low.usd_per_hour
    n_documents = evidence.traffic.n_documents
    usd = n_positions * seconds * per_hour / 3600 * per_day * DAYS_PER_YEAR / n_documents
    usd = usd.quantize(Decimal("0.01"))
    return usd, (
        f"{n_positions:,} positions {what} / {n_documents:,} documents x {per_day:,} requests a "
        f"day x {DAYS_PER_YEAR} days x {flops:,} FLOP / ({gpu.bf16_dense_flops_per_s:.4g} FLOP/s x "
        f"{PREFILL_FLOPS_SHARE:g}) x {per_hour} USD / 3,600 s = {usd:,} USD a year on {gpu.name}; "
        "an API bills no padding"
    )


@analysis("padding-longest", "Sort by length before batching", LINES, NONE)
def padding_longest(evidence: Evidence) -> Iterator[Finding]:
    """Batches are padded to their longest sequence, in the order in which documents come."""
    pipeline, lengths = evidence.pipeline, evidence.current.lengths
    if pipeline is None or pipeline.padding != "longest" or not pipeline.batch_size:
        return
    padding = batch_padding(lengths, batch_size=pipeline.batch_size)
    if padding.padding_share < MIN_PADDING_SHARE:
        return
    n_saved = max(0, round(padding.n_positions) - padding.n_positions_sorted)
    usd_per_year, formula = _money_of_positions(evidence, n_saved, "saved by sorting")
    packed = packed_positions(lengths, capacity=lengths.max)
    yield finding_of(
        title=f"{percent(padding.padding_share)} of the work in batches of "
        f"{pipeline.batch_size:,} is padding; sorted by length it would be "
        f"{percent(1 - padding.n_tokens / padding.n_positions_sorted)}",
        where=evidence.current.name,
        value=n_saved,
        unit="positions on the audited text",
        basis=Basis.ESTIMATED,
        formula=f"expected longest of {pipeline.batch_size:,} documents drawn at random x "
        f"{lengths.n_documents:,} documents = {padding.n_positions:,.0f} positions, "
        f"against {padding.n_positions_sorted:,} if sorted by length; {padding.n_tokens:,} "
        "tokens",
        cause=f"One long document makes a whole batch long: the average is {lengths.mean:,.0f} "
        f"tokens, the longest 1% have {lengths.quantile(0.99):,} or more.",
        remedy="Sort by length before batching (within a window if order matters). "
        + packing_remedy(packed, evidence.current.name),
        saving_usd_per_year=usd_per_year,
        saving_formula=formula,
        evidence={
            "padding_share": padding.padding_share,
            "padding_share_sorted": 1 - padding.n_tokens / padding.n_positions_sorted,
            "padding_share_packed": packed.padding_share,
            "padding_share_buckets": packed.bucket_padding_share,
            "bucket_edges": list(packed.edges),
            "batch_size": pipeline.batch_size,
        },
    )


@analysis("truncation-loss")
def truncation_loss(evidence: Evidence) -> Iterator[Finding]:
    """Text beyond a fixed length is cut off. Threshold: one document."""
    pipeline, lengths = evidence.pipeline, evidence.current.lengths
    if pipeline is None or not pipeline.max_length or pipeline.truncation == "none":
        return
    n_documents, n_tokens = lengths.above(pipeline.max_length)
    if not n_documents:
        return
    side = {"left": "beginnings", "right": "ends"}.get(pipeline.truncation or "right", "ends")
    share = n_tokens / lengths.total
    yield finding_of(
        severity=Severity.ERROR,
        title=f"{n_documents:,} of {lengths.n_documents:,} documents "
        f"({percent(n_documents / lengths.n_documents)}) lose their {side}: {n_tokens:,} "
        f"tokens, {percent(share)} of the text, are cut off at {pipeline.max_length:,}",
        where=evidence.current.name,
        value=n_tokens,
        formula=f"sum of (tokens - {pipeline.max_length:,}) over documents longer than "
        f"{pipeline.max_length:,}",
        cause=f"max_length is {pipeline.max_length:,}; the longest document has {lengths.max:,} "
        f"tokens, and 1% have {lengths.quantile(0.99):,} or more. Nothing warns you when text "
        "is cut off.",
        remedy="Split long documents, raise max_length if the model's context allows it, or choose "
        "what to drop yourself.",
        evidence={
            "n_documents": n_documents,
            "n_tokens_cut": n_tokens,
            "share_of_tokens": share,
            "p99": lengths.quantile(0.99),
        },
    )


@analysis("chunk-overlap", "Overlap pieces less", CHUNKING, ANSWERS)
def chunk_overlap_waste(evidence: Evidence) -> Iterator[Finding]:
    """Pieces overlap, and what they share is encoded twice."""
    pipeline, lengths = evidence.pipeline, evidence.current.lengths
    if pipeline is None or not pipeline.chunk_tokens or not pipeline.overlap_tokens:
        return
    chunk, overlap = pipeline.chunk_tokens, pipeline.overlap_tokens
    if overlap >= chunk:
        return
    found = chunk_overlap(lengths, chunk_tokens=chunk, overlap_tokens=overlap)
    share = found.n_repeated_tokens / max(1, lengths.total + found.n_repeated_tokens)
    if share < MIN_OVERLAP_SHARE:
        return
    yield finding_of(
        title=f"Overlap between pieces sends {found.n_repeated_tokens:,} tokens twice, "
        f"{percent(share)} of all ({overlap:,} tokens in pieces of {chunk:,})",
        where=evidence.current.name,
        value=found.n_repeated_tokens,
        formula=f"sum over documents of (pieces - 1) x {overlap:,}, pieces = 1 + ceil((tokens - "
        f"{chunk:,}) / ({chunk:,} - {overlap:,})): {found.n_chunks:,} pieces",
        cause="Each piece repeats the end of the one before it.",
        remedy="Split at sentences or headings and lower the overlap. Measure retrieval before and "
        "after: overlap of more than a sentence rarely finds more.",
        **evidence.traffic.saving(found.n_repeated_tokens),
        evidence={
            "n_chunks": found.n_chunks,
            # No remedy of the bill: it is that of the documents, not of their pieces.
            "share": share,
        },
    )


@analysis("context-unused")
def context_unused(evidence: Evidence) -> Iterator[Finding]:
    """More context is reserved for each request than it uses."""
    pipeline, lengths = evidence.pipeline, evidence.current.lengths
    if pipeline is None or not pipeline.reserved_tokens:
        return
    reserved = pipeline.reserved_tokens
    output = evidence.output_tokens_per_request
    used = sum(
        min(length + output, reserved) * count
        for length, count in zip(lengths.lengths.tolist(), lengths.documents.tolist(), strict=True)
    )
    n_reserved = reserved * lengths.n_documents
    idle = 1 - used / n_reserved if n_reserved else 0.0
    if idle < MIN_IDLE_SHARE:
        return
    kv = evidence.current.report.economics.kv_bytes_per_token
    memory = ""
    facts: dict[str, object] = {"idle_share": idle, "p99": lengths.quantile(0.99)}
    if kv is not None:
        idle_bytes = float(kv.value) * (n_reserved - used) / lengths.n_documents
        facts["idle_kv_bytes_per_request"] = idle_bytes
        memory = f"; {idle_bytes / 1e6:,.0f} MB of memory per request are idle"
    needed = lengths.quantile(0.99) + math.ceil(output)
    yield finding_of(
        title=f"{percent(idle)} of the reserved context is never used: {reserved:,} tokens per "
        f"request, {used / lengths.n_documents:,.0f} used on average{memory}",
        where=evidence.current.name,
        value=idle,
        unit="share of reserved tokens",
        basis=Basis.EXACT if not output else Basis.ESTIMATED,
        formula=f"1 - sum of min(tokens + {output:,.0f} of output, {reserved:,}) / "
        f"({lengths.n_documents:,} requests x {reserved:,})",
        cause="The reservation follows the longest request or the model's context, not the text.",
        remedy=f"Reserve {needed:,} tokens (99% of the requests, with their output) and send "
        "longer "
        "requests elsewhere, or use an engine that pages its memory.",
        evidence=facts,
    )


@analysis("output-reserved")
def output_reserved(evidence: Evidence) -> Iterator[Finding]:
    """The limit of output tokens is far above what is generated."""
    pipeline, requests = evidence.pipeline, evidence.requests
    if pipeline is None or not pipeline.max_output_tokens or requests is None:
        return
    known = requests.output_tokens[requests.output_tokens >= 0]
    if len(known) < MIN_REQUESTS:
        return
    p99 = int(np.quantile(known, 0.99, method="inverted_cdf"))
    ratio = pipeline.max_output_tokens / max(1, p99)
    if ratio < MIN_RESERVED_RATIO:
        return
    yield finding_of(
        severity=Severity.INFO,
        title=f"Requests allow {pipeline.max_output_tokens:,} output tokens, but 99% of the "
        "answers "
        f"have {p99:,} or fewer",
        where="the requests",
        value=ratio,
        unit="limit / p99",
        formula=f"{pipeline.max_output_tokens:,} / {p99:,} over {len(known):,} requests",
        cause="The limit was set once, for the worst case.",
        remedy=f"Lower the limit to about {2 * p99:,}. Some providers count it against your quota, "
        "engines reserve memory for it, and it stops an answer that never ends.",
        evidence={"p99": p99, "max_output_tokens": pipeline.max_output_tokens},
    )


@analysis("answers-cut")
def answers_cut(evidence: Evidence) -> Iterator[Finding]:
    """Answers end at the limit of output tokens: they were cut, and paid for."""
    pipeline, requests = evidence.pipeline, evidence.requests
    if pipeline is None or not pipeline.max_output_tokens or requests is None:
        return
    known = requests.output_tokens[requests.output_tokens >= 0]
    n_cut = int((known >= pipeline.max_output_tokens).sum())
    if not n_cut or n_cut < MIN_CAPPED_SHARE * len(known):
        return
    yield finding_of(
        severity=Severity.ERROR,
        title=f"{n_cut:,} of {len(known):,} answers ({percent(n_cut / len(known))}) were cut off "
        "at "
        f"the limit of {pipeline.max_output_tokens:,} tokens",
        where="the requests",
        value=n_cut,
        unit="requests",
        formula=f"requests with at least {pipeline.max_output_tokens:,} output tokens",
        cause="The answer did not fit and was cut off in the middle.",
        remedy="Raise the limit, or ask for shorter answers. An answer that is cut off is paid "
        "for, "
        "and often asked for again.",
        evidence={"n_requests_with_usage": len(known)},
    )
