"""The optional parts of an audit report to draw: domains, logs, waterfall, trade-off, bill.

Types are taken from the fields of `AuditReport`, wherever they live; only the fields that a type
has are filled in.
"""

from __future__ import annotations

import dataclasses
import typing
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

import numpy as np

from jeton.auditing.result import AuditReport, TokenizerReport
from jeton.catalog import gpu, price
from jeton.catalog import model as catalog_model
from jeton.corpus.traces import Trace
from jeton.economics import Quota, bill_by_group, quota_from_log
from jeton.economics.billing.groups import GroupUse
from jeton.economics.traffic import (
    DomainShare,
    Server,
    TokenizerRatio,
    TrafficReport,
    compare_traffic,
)
from jeton.findings import Basis, Figure

MONTHS = 12
MICRO = Decimal("0.000001")


def kind_of(owner: type, field: str) -> Any:
    """The dataclass that a field holds, alone, optional, or as the items of a tuple."""
    hints: list[Any] = [typing.get_type_hints(owner)[field]]
    while hints:
        hint = hints.pop(0)
        if dataclasses.is_dataclass(hint):
            return hint
        hints += [a for a in typing.get_args(hint) if a not in (type(None), ...)]
    raise TypeError(f"{owner.__name__}.{field} holds no dataclass")


def fill(type_: Any, /, **values: Any) -> Any:
    """Make a value of the fields that the type has; those not given are nothing."""
    fields = {field.name: field for field in dataclasses.fields(type_)}
    hints = typing.get_type_hints(type_)
    required = {
        name: nothing(hints[name])
        for name, field in fields.items()
        if field.default is dataclasses.MISSING and field.default_factory is dataclasses.MISSING
    }
    given = {key: value for key, value in values.items() if key in fields}
    return type_(**(required | given))


def nothing(hint: Any) -> Any:
    """The emptiest value of a plain type."""
    if type(None) in typing.get_args(hint):
        return None
    origin = typing.get_origin(hint) or hint
    return origin() if origin in (int, float, str, bool, tuple, dict, Decimal) else None


def waterfall(
    *,
    requests_per_month: Decimal,
    bytes_per_request: Decimal,
    tokens_per_byte: Decimal,
    remedies: tuple[tuple[str, str, str, str], ...],
) -> Any:
    """Each remedy (id, name, part, factor) acts on what the former left."""
    kind = kind_of(AuditReport, "waterfall")
    values = {
        "requests_per_month": (requests_per_month, "requests per month"),
        "bytes_per_request": (bytes_per_request, "bytes per request"),
        "tokens_per_byte": (tokens_per_byte, "tokens per byte"),
        "usd_per_mtok_input": (Decimal("2.50"), "USD per million prompt tokens"),
        "output_tokens_per_request": (Decimal(300), "tokens per request"),
        "usd_per_mtok_output": (Decimal("10.00"), "USD per million generated tokens"),
    }
    factors = tuple(
        fill(
            kind_of(kind, "factors"),
            name=name,
            value=Figure(value, unit, Basis.EXACT, f"given: {value:f}", "given"),
        )
        for name, (value, unit) in values.items()
    )
    parts = {
        "input": requests_per_month * bytes_per_request * tokens_per_byte * Decimal("2.50") / 10**6,
        "output": requests_per_month * 300 * Decimal("10.00") / 10**6,
    }
    naive = before = sum(parts.values(), Decimal(0)).quantize(MICRO)
    first_output = parts["output"].quantize(MICRO)
    steps = []
    for id_, name, part, factor in remedies:
        parts[part] *= Decimal(factor)
        after = sum(parts.values(), Decimal(0)).quantize(MICRO)
        steps.append(
            fill(
                kind_of(kind, "steps"),
                id=id_,
                name=name,
                usd_per_month=after,
                delta_usd_per_month=after - before,
                formula=f"{part} tokens x {factor}: ${before:,.2f} -> ${after:,.2f} per month",
                basis=Basis.ESTIMATED,
                applies_to=part,
                token_factor=Decimal(factor),
                cost_factor=Decimal(1),
                request_factor=Decimal(1),
                input_factor=Decimal(factor) if part == "input" else Decimal(1),
                output_factor=Decimal(factor) if part == "output" else Decimal(1),
                running_usd_per_month=Decimal(0),
            )
        )
        before = after
    return fill(
        kind,
        factors=factors,
        steps=tuple(steps),
        naive_usd_per_month=naive,
        engineered_usd_per_month=before,
        input_usd_per_month=naive - first_output,
        output_usd_per_month=first_output,
        usd_once=Decimal(4_000),
    )


REMEDIES = (
    ("tokenizer-foreign", "Tokenizer that fits the text", "input", "0.736054"),
    ("prompt-prefix", "Prompt cache at two break points", "input", "0.81"),
    ("whitespace-runs", "Collapse repeated white space", "input", "0.981"),
    ("output-longer", "Limit the length of answers", "output", "0.88"),
)


def tradeoff(names: tuple[str, ...]) -> Any:
    kind = kind_of(AuditReport, "tradeoff")
    point = kind_of(kind, "points")
    limits = kind_of(kind, "limits")
    numbers = (
        (36.2e9, "13453.50", 0.41, 1.021),
        (33.9e9, "12891.02", 0.38, 1.034),
        (30.1e9, "12310.99", 0.32, 1.060),
        (38.8e9, "14170.33", 0.47, 1.055),
        (35.0e9, "13222.18", 0.40, 1.018),
        (35.3e9, "13288.51", 0.40, 1.044),
    )
    on_front = (True, True, True, False, True, False)
    points = tuple(
        fill(
            point,
            name=name,
            memory_bytes=int(memory),
            usd_per_month=Decimal(usd),
            seconds_per_request=seconds,
            bits_per_byte=bits,
            is_on_front=on_front[index],
            violates=("usd_per_month",) if Decimal(usd) > 14_000 else (),
        )
        for index, (name, (memory, usd, seconds, bits)) in enumerate(
            zip(names, numbers, strict=False)
        )
    )
    return fill(
        kind,
        points=points,
        limits=fill(
            limits,
            usd_per_month=Decimal(14_000),
            max_usd_per_month=Decimal(14_000),
        ),
        best=names[min(2, len(names) - 1)],
        reason="$12,310.99 per month is the least among those that keep $14,000 per month",
        objectives=("usd_per_month", "seconds_per_request", "memory_bytes", "bits_per_byte"),
    )


def maturity() -> Any:
    return fill(
        kind_of(AuditReport, "maturity"),
        level="dynamic",
        evidence=(
            "padding is to the longest of a batch, not to a fixed length",
            "batches are filled by tokens",
            "no cache of prompt prefixes, though 31% of the input tokens repeat",
        ),
        next_step="predict lengths before requests are admitted, and cache the two prefixes",
    )


def bill(hostile: str | None) -> Any:
    kind = kind_of(AuditReport, "bill")
    line = kind_of(kind, "lines")
    cause = "reasoning tokens that the log does not hold: 18,555,000 output tokens would do"
    causes: tuple[Any, ...] = (cause,)
    if typing.get_type_hints(kind)["causes"] != tuple[str, ...]:
        causes = tuple(
            fill(kind_of(kind, "causes"), id=id_, title=title, usd=Decimal(usd), basis=basis)
            for id_, title, usd, basis in (
                ("not-in-records", cause, "185.55", Basis.ESTIMATED),
                ("unknown", "no cause was found", "1.80", Basis.EXACT),
            )
        )
    rows = (
        ("gpt-4o-2024-08-06", "input", 1_731_400_112, "2.50", "4328.50", "4331.12"),
        ("gpt-4o-2024-08-06", "cache_read", 90_311_002, "1.25", "112.89", "112.89"),
        (hostile or "gpt-4o-2024-08-06", "output", 912_499_871, "10.00", "9125.00", "9310.55"),
        ("text-embedding-3-small", "input", 41_000_551, "0.02", "0.82", None),
    )
    return fill(
        kind,
        lines=tuple(
            fill(
                line,
                model=model,
                what=what,
                n_tokens=n_tokens,
                usd_per_mtok=Decimal(price),
                usd_computed=Decimal(computed),
                usd_billed=None if billed is None else Decimal(billed),
                difference=None if billed is None else Decimal(billed) - Decimal(computed),
            )
            for model, what, n_tokens, price, computed, billed in rows
        ),
        usd_billed=Decimal("13754.56"),
        usd_explained=Decimal("13567.21"),
        usd_unexplained=Decimal("187.35"),
        usd_difference=Decimal("187.35"),
        causes=causes,
        source="usage export of 2026-11-01",
        issues=("2 rows have no model",),
    )


def requests(hostile: str | None) -> Any:
    kind = kind_of(AuditReport, "requests")
    issue = kind_of(kind, "issues")
    of_model = kind_of(kind, "by_model")
    issues = (
        fill(
            issue,
            kind="missing_usage",
            n=1_204,
            examples=("calls.jsonl, line 17", "calls.jsonl, line 90"),
        ),
        fill(issue, kind="time_backwards", n=3, examples=(hostile or "calls.jsonl, line 4411",)),
    )
    return fill(
        kind,
        n_requests=3_041_666,
        n_with_usage=3_040_462,
        n_with_response=2_998_101,
        first_time="2026-10-01T00:00:03Z",
        last_time="2026-10-31T23:59:58Z",
        requests_per_day=98_118.3,
        output_tokens_mean=300.0,
        cached_share=0.0496,
        models=("gpt-4o-2024-08-06", hostile or "text-embedding-3-small"),
        n_with_text=3_041_666,
        n_with_time=3_041_666,
        peak_requests_per_hour=9_311,
        by_model=tuple(
            fill(
                of_model,
                name=name,
                n_requests=n_requests,
                n_with_usage=n_requests - 602,
                input_tokens=n_requests * 569,
                cache_read_tokens=n_requests * 28,
                output_tokens=n_requests * 300,
            )
            for name, n_requests in (("gpt-4o-2024-08-06", 3_000_666), (hostile or "", 41_000))
        ),
        shapes={"openai": 3_041_000, "plain": 666},
        chat_format="each message by the published overhead of its provider",
        issues=issues,
    )


def what_if(
    *, tokens: float, traffic: bool, price: bool, model: bool, gpu: bool, saved: float
) -> Any:
    kind = kind_of(AuditReport, "what_if")
    offered = kind_of(kind, "gpus")
    gpus = (
        ("A100-SXM-80GB", 85_899_345_920, 312e12, 2.039e12, 1.49),
        ("H100-SXM", 85_899_345_920, 989e12, 3.35e12, 2.49),
        ("H200-SXM", 151_397_597_184, 989e12, 4.8e12, 3.29),
        ("L4", 25_769_803_776, 121e12, 0.3e12, None),
    )
    return fill(
        kind,
        requests_per_month=100_000 * 365 / 12 if traffic else None,
        input_tokens_per_request=tokens,
        output_tokens_per_request=300.0,
        cached_input_share=0.0,
        usd_per_mtok_input=Decimal("2.50") if price else None,
        usd_per_mtok_cache_read=Decimal("1.25") if price else None,
        usd_per_mtok_output=Decimal("10.00") if price else None,
        tokens_saved_share=saved,
        weights_bytes=16_060_522_496 if model else None,
        kv_bytes_per_token=131_072 if model else None,
        prefill_flops_per_token=15_009_849_344 if model else None,
        prefill_flops_share=0.5,
        decode_bandwidth_share=0.6,
        gpu="H200-SXM" if gpu else None,
        gpus=tuple(
            fill(
                offered,
                name=name,
                memory_bytes=memory,
                n_gpus=1,
                kv_bytes=int(memory * 0.9) - 16_060_522_496,
                kv_copies=1.0,
                bf16_dense_flops_per_s=flops,
                memory_bandwidth_bytes_per_s=bandwidth,
                usd_per_hour=usd,
            )
            for name, memory, flops, bandwidth, usd in gpus
        )
        if model
        else (),
    )


def quality(index: int) -> Any:
    kind = kind_of(TokenizerReport, "quality")
    return fill(
        kind,
        renyi_efficiency_2_5_full=0.4123 + 0.011 * index,
        renyi_efficiency_3_0_observed=0.4571 + 0.009 * index,
        gini=0.871 - 0.012 * index,
        words_kept_share=0.612 + 0.031 * index,
        continued_word_share=0.388 - 0.031 * index,
        bits_per_byte=Figure(
            1.021 + 0.007 * index,
            "bits per byte",
            Basis.ESTIMATED,
            "3-gram with Kneser-Ney smoothing over tokens, held-out tenth of the documents",
        ),
        bits_per_byte_interval=fill(
            kind_of(TokenizerReport, "bytes_per_token_interval"),
            low=1.0 + 0.007 * index,
            high=1.043 + 0.007 * index,
            confidence=0.95,
            method="bca",
        ),
        word_splitter="letters",
        n_unreachable=13 + index,
        n_undertrained=1_204 - 80 * index,
        stability={"nfd": 0.913, "leading_space": 0.97, "lower_case": 0.741 + 0.01 * index},
    )


def interval(kind: Any, value: float, spread: float) -> Any:
    return fill(
        kind,
        low=value * (1 - spread),
        high=value * (1 + spread),
        confidence=0.95,
        method="percentile",
        n_resamples=1_000,
        seed=0,
    )


def domains(reports: tuple[Any, ...], n_documents: int, n_bytes: int, hostile: str | None) -> Any:
    kind = kind_of(AuditReport, "domains")
    shares = (
        ("clinical notes", 0.52, 1.0),
        (hostile or "guidelines", 0.31, 0.86),
        ("lab reports", 0.17, 1.31),
    )
    return tuple(
        fill(
            kind,
            name=name,
            n_documents=round(n_documents * share),
            n_bytes=round(n_bytes * share),
            n_chars=round(n_bytes * share * 0.98),
            tokenizers=tuple(
                fill(
                    kind_of(kind, "tokenizers"),
                    tokenizer=report.name,
                    n_tokens=round(report.n_tokens * share * density),
                    tokens_per_document=report.tokens_per_document,
                    bytes_per_token=report.bytes_per_token / density,
                )
                for report in reports
            ),
        )
        for name, share, density in shares
    )


def sampling(n_documents: int, n_bytes: int, n_tokens: int) -> Any:
    return fill(
        kind_of(AuditReport, "sampling"),
        is_whole=True,
        n_documents_counted=n_documents,
        n_bytes_counted=n_bytes,
        n_documents_of_all=n_documents,
        n_bytes_of_all=n_bytes,
        deep_n_documents=2_000,
        deep_n_bytes=n_bytes // 6,
        deep_n_tokens=n_tokens // 6,
        deep_is_whole=False,
        seed=0,
        tokens_of_all=(
            fill(
                kind_of(kind_of(AuditReport, "sampling"), "tokens_of_all"),
                tokenizer="cl100k_base",
                n_tokens=Figure(n_tokens * 7, "tokens", Basis.ESTIMATED, "ratio by bytes"),
                low=n_tokens * 6.9,
                high=n_tokens * 7.1,
                confidence=0.95,
            ),
        ),
    )


def provider_count(n_tokens: int, n_documents: int, *, month: bool, hostile: str | None) -> Any:
    """Calibrated from logs: 1.21 tokens and a frame of 8 for each request."""
    kind = kind_of(AuditReport, "provider_count")
    counted = n_tokens * 1.21 + n_documents * 8
    source = "usage records of 12,800 requests; split-conformal interval, arXiv:1604.04173"
    monthly = Decimal("51234.56")
    return fill(
        kind,
        model=hostile or "anthropic:claude-sonnet-4-5",
        tokenizer="cl100k_base",
        n_requests=n_documents,
        n_counted_tokens=n_tokens,
        n_tokens=Figure(
            counted,
            "tokens",
            Basis.CALIBRATED,
            f"{n_tokens:,} x 1.21 + {n_documents:,} requests x 8",
            source,
        ),
        n_tokens_low=counted * 0.99,
        n_tokens_high=counted * 1.012,
        confidence=0.9,
        tokens_per_request=Figure(
            counted / n_documents,
            "tokens per request",
            Basis.CALIBRATED,
            f"{counted:,.0f} tokens / {n_documents:,} requests",
            source,
        ),
        request_error_share=0.073,
        n_calibration_requests=12_800,
        usd_per_month=Figure(
            monthly, "USD per month", Basis.CALIBRATED, "0.0168 USD per request x 100,000 x 365/12"
        )
        if month
        else None,
        usd_per_month_low=monthly * Decimal("0.99") if month else None,
        usd_per_month_high=monthly * Decimal("1.012") if month else None,
    )


def uncounted_provider(hostile: str | None) -> Any:
    return fill(
        kind_of(AuditReport, "provider_count"),
        model=hostile or "gemini-2.5-pro",
        tokenizer="gemma3",
        n_requests=3,
        n_counted_tokens=40,
        missing=f"{hostile or 'gemini-2.5-pro'} is counted with gemma3, which is not at hand",
    )


def traffic(names: Sequence[str], hostile: str | None = None) -> TrafficReport:
    """A minute of traffic, replayed under every tokenizer and policy."""
    rng = np.random.default_rng(3)
    n = 40
    trace = Trace.of(
        np.append(np.cumsum(rng.exponential(1.5, n)), np.nan),
        np.append(rng.integers(200, 6000, n), 5),
        np.append(rng.integers(1, 300, n), 5),
        path=hostile or "conversations.csv",
    )
    return compare_traffic(
        trace,
        Server(catalog_model("llama-3-8b"), gpu("a10g")),
        tokenizers=[TokenizerRatio(name, 1 - 0.05 * i) for i, name in enumerate(names)],
        domains=[DomainShare(hostile or "notes", 3), DomainShare("code", 1)],
    )


def quota() -> Any:
    """Above the limit on tokens, not above that on requests."""
    return quota_from_log(
        Quota(tokens_per_minute=2_000, requests_per_minute=900),
        time_s=np.array([1_760_000_000.0 + 3 * i for i in range(60)]),
        tokens=np.full(60, 120),
    )


def domain_bills(domains: tuple[Any, ...]) -> Any:
    uses = [
        GroupUse(
            d.name,
            d.n_documents,
            d.n_bytes,
            d.n_chars,
            d.tokenizers[0].n_tokens,
            usd=price("usd:2.50/10").usd_for(d.tokenizers[0].n_tokens),
        )
        for d in domains
    ]
    return bill_by_group(uses)


def pipeline() -> Any:
    return fill(
        kind_of(AuditReport, "pipeline"),
        max_length=4_096,
        padding="longest",
        batch_size=32,
        truncation="right",
        preprocessing=("strip_html",),
        cache=False,
        reserved_tokens=8_192,
    )
