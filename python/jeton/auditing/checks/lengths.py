"""Distribution of lengths: overflow, padding, a long tail."""

from __future__ import annotations

import math
from collections.abc import Iterator

from jeton.auditing.analyses.lengths import packed_positions, packing_remedy
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import analysis, finding_of
from jeton.findings import Finding, Severity
from jeton.metrics import padding_waste as waste_of_padding

MIN_PADDING_SHARE = 0.5
"""Share of positions that padding to the longest would fill. Our choice: from half on, the larger
part of the work of a padded batch is for nothing."""

MIN_TAIL_RATIO = math.log(100)
"""p99 / mean from which a tail counts as long: 4.6, that of an exponential distribution, whose
p99 is ln(100) means."""

MIN_DOCUMENTS_FOR_TAIL = 100
"""With fewer documents the nearest-rank p99 is the longest document itself."""


@analysis("context-overflow")
def context_overflow(evidence: Evidence) -> Iterator[Finding]:
    """Documents do not fit the model's context beside the output."""
    model, current = evidence.model, evidence.current
    if model is None:
        return
    output = math.ceil(evidence.output_tokens_per_request)
    limit = max(0, model.context_tokens - output)
    n_documents, n_tokens = current.lengths.above(limit)
    if not n_documents:
        return
    share = n_documents / current.lengths.n_documents
    yield finding_of(
        severity=Severity.ERROR,
        title=f"{n_documents:,} of {current.lengths.n_documents:,} requests ({percent(share)}) are "
        f"too long for {model.name} ({model.context_tokens:,} tokens): {n_tokens:,} tokens "
        "would be cut off",
        where=model.name,
        value=n_tokens,
        formula=f"sum of (tokens - {limit:,}) over documents longer than {limit:,} = "
        f"{model.context_tokens:,} of the context - {output:,} of the output",
        source=model.cited_source,
        cause=f"The longest request has {current.lengths.max:,} tokens with {current.name}.",
        remedy="Split these documents, or choose a model with a longer context. Otherwise a "
        "request "
        "is refused, or its end is cut off silently.",
        evidence={
            "n_documents": n_documents,
            "n_tokens_cut": n_tokens,
            "share_of_tokens": n_tokens / current.n_tokens,
        },
    )


@analysis("padding-waste")
def padding_waste(evidence: Evidence) -> Iterator[Finding]:
    """Padding every sequence to one length would be mostly padding."""
    lengths = evidence.current.lengths
    if lengths.max < 1:
        return
    if evidence.pipeline is not None and evidence.pipeline.padding is not None:
        # Padding is known: other checks tell its cost.
        return
    longest = waste_of_padding(lengths, padded_to_tokens=lengths.max)
    if longest.padding_share < MIN_PADDING_SHARE:
        return
    p99_tokens = max(1, lengths.quantile(0.99))
    at_p99 = waste_of_padding(lengths, padded_to_tokens=p99_tokens)
    rows = {"longest": longest, "p99": at_p99}
    packed = packed_positions(lengths, capacity=lengths.max)
    if evidence.model is not None:
        rows["context"] = waste_of_padding(lengths, padded_to_tokens=evidence.model.context_tokens)
    yield finding_of(
        severity=Severity.INFO,
        title=f"If you pad every request to the longest ({lengths.max:,} tokens), "
        f"{percent(longest.padding_share)} of the work is padding",
        where=evidence.current.name,
        value=longest.padding_share,
        unit="share of positions",
        formula=f"1 - {lengths.total:,} tokens / ({lengths.n_documents:,} documents x "
        f"{lengths.max:,} tokens)",
        cause=f"A request has {lengths.mean:,.0f} tokens on average and {lengths.max:,} at most. "
        f"Padding to {p99_tokens:,} (p99) would still be {percent(at_p99.padding_share)} "
        f"padding, and would cut off {percent(at_p99.truncation_share)} of the tokens.",
        remedy="An API, vLLM, TGI and SGLang do not pad: there is nothing to do. In batches of "
        "your "
        "own, sort by length. " + packing_remedy(packed, evidence.current.name),
        evidence={
            **{
                name: {
                    "padded_to_tokens": row.padded_to_tokens,
                    "padding_share": row.padding_share,
                    "n_truncated_documents": row.n_truncated_documents,
                    "truncation_share": row.truncation_share,
                }
                for name, row in rows.items()
            },
            "padding_share_packed": packed.padding_share,
            "padding_share_buckets": packed.bucket_padding_share,
            "bucket_edges": list(packed.edges),
        },
    )


@analysis("tail-length")
def tail_length(evidence: Evidence) -> Iterator[Finding]:
    """A few very long documents decide how much must be reserved."""
    lengths, economics = evidence.current.lengths, evidence.current.report.economics
    if lengths.n_documents < MIN_DOCUMENTS_FOR_TAIL or lengths.mean == 0:
        return
    p95, p99 = lengths.quantile(0.95), lengths.quantile(0.99)
    ratio = p99 / lengths.mean
    if ratio < MIN_TAIL_RATIO:
        return
    at_mean, at_p95 = economics.concurrent_requests_mean, economics.concurrent_requests_p95
    concurrency = ""
    facts: dict[str, object] = {"mean": lengths.mean, "p95": p95, "p99": p99, "max": lengths.max}
    if at_mean is not None and at_p95 is not None:
        concurrency = (
            f"; {at_mean.value:,.0f} {at_mean.unit} of average length fit at once, but only "
            f"{at_p95.value:,.0f} long ones (p95)"
        )
        facts["concurrent_requests_mean"] = at_mean.value
        facts["concurrent_requests_p95"] = at_p95.value
    n_tail_documents, _ = lengths.above(p95)
    yield finding_of(
        title=f"The longest 1% of the requests are at least {ratio:.1f} times as long as the "
        "average "
        f"({p99:,} against {lengths.mean:,.0f} tokens){concurrency}",
        where=evidence.current.name,
        value=ratio,
        unit="p99 / mean",
        formula=f"{p99:,} / {lengths.mean:,.1f} tokens per document",
        cause="A few requests are very long. Capacity for the average runs out of memory; capacity "
        "for the longest is mostly idle.",
        remedy="Plan with the real lengths: use an engine that pages its memory, and give the "
        f"{n_tail_documents:,} requests above {p95:,} tokens their own queue, or split them.",
        evidence=facts,
    )
