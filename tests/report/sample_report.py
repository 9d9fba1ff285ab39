"""Audit reports to draw: real arithmetic on real sentences, cut by rules that stand in for BPE.

The cutters are not tokenizers; they give pieces, ids and shared characters of the same shape as the
core does, so that the report layer can be tested without vocabularies.
"""

from __future__ import annotations

import math
import re
import zlib
from collections.abc import Iterable
from dataclasses import replace
from decimal import Decimal

from jeton.auditing.result import (
    SCHEMA_VERSION,
    AuditReport,
    EconomicsSummary,
    Histogram,
    LengthSummary,
    TermCut,
    TermReport,
    TokenizerReport,
    Workload,
)
from jeton.economics import naive_engineered
from jeton.findings import Basis, Figure, Finding, Severity, rank
from jeton.workload.counting.sources import CorpusSummary, Source
from jeton.workload.sampling.passages import SampleCut, SampleText
from tests.report import sample_parts as parts_of

NAMES = ("cl100k_base", "o200k_base", "jeton-medical-32k-v1", "gpt2", "llama3", "qwen")
_PIECE_CHARS = (5, 6, 8, 4, 5, 3)
_PROBE = 2.1

SENTENCES = (
    "Patients received 400 mg of hydroxychloroquine twice daily; acetaminophen was permitted.\n"
    "\tFollow-up echocardiography (n = 1,284) showed no cardiomyopathy after 12 weeks.",
    "def audit(texts: list[str]) -> Report:\n    return Report(sum(len(t) for t in texts))\n",
    "Die Patientenverfügung wurde geprüft – 患者は毎日投与された。 مرحبا بالعالم 👩‍⚕️ e\u0301clat",
)

HOSTILE = (
    "</script><script>window.hacked = 1</script> \"quotes' & <img src=x onerror=hacked=1> "
    "\u202eright to left\u202c nul:\x00 escape:\x1b[31m \u0301lone mark \u200bzero\u2028line "
    "{{ 7 * 7 }} $x^2$ JT0000X"
)

TERMS = (
    "hydroxychloroquine",
    "acetaminophen",
    "echocardiography",
    "cardiomyopathy",
    "Patientenverfügung",
    "immunohistochemistry",
    "electroencephalogram",
    "methotrexate",
)


def cut(text: str, size: int) -> list[tuple[int, int]]:
    """Half-open code-point ranges; a character of more than two bytes is shared by its bytes."""
    ranges: list[tuple[int, int]] = []
    for match in re.finditer(rf" ?[A-Za-zÀ-ÿ]{{1,{size}}}|\d{{1,3}}|\s+|.", text, re.DOTALL):
        start, end = match.span()
        n_bytes = len(match.group().encode("utf-8", "surrogatepass"))
        shared = n_bytes if end - start == 1 and n_bytes > 2 else 1
        ranges += [(start, end)] * shared
    return ranges


def sample(text: str, names: Iterable[str], source: str = "notes.jsonl:12") -> SampleText:
    cuts = []
    for name in names:
        ranges = cut(text, _PIECE_CHARS[_index(name)])
        cuts.append(
            SampleCut(
                name,
                tuple(
                    zlib.crc32(text[s:e].encode("utf-8", "surrogatepass")) % 100_000
                    for s, e in ranges
                ),
                tuple(start for start, _ in ranges),
                tuple(end for _, end in ranges),
            )
        )
    return SampleText(source, text, tuple(cuts))


def _index(name: str) -> int:
    return NAMES.index(name) if name in NAMES else zlib.crc32(name.encode()) % len(NAMES)


def _histogram(mean: float) -> Histogram:
    """Powers of the square root of two, as the audit bins lengths that spread widely."""
    edges = sorted({int(8 * 2 ** (i / 2)) for i in range(20)})
    middle = len(edges) // 2 + (mean > 650) - (mean < 400)
    counts = tuple(max(0, 900 - 23 * (i - middle) ** 2 - 7 * i) for i in range(len(edges) - 1))
    return Histogram(tuple(float(edge) for edge in edges), counts)


def economics(
    n_tokens: int, n_documents: int, *, model: bool, gpu: bool, price: bool, traffic: bool
) -> EconomicsSummary:
    mean = n_tokens / n_documents
    p95 = mean * _PROBE
    values: dict[str, Figure] = {}
    if model:
        kv, weights, free = 131_072, 16_060_522_496, 151_397_597_184 * 0.9 - 16_060_522_496
        source = "config.json of the model, 2024-04-18"
        values |= {
            "kv_bytes_per_token": Figure(
                kv,
                "bytes per token",
                Basis.EXACT,
                "2 x 32 layers x 8 KV heads x 128 x 2 bytes",
                source,
            ),
            "kv_bytes_per_request_mean": Figure(
                kv * (mean + 300),
                "bytes per request",
                Basis.EXACT,
                f"({mean:,.1f} + 300 output) tokens x {kv:,} bytes",
            ),
            "kv_bytes_per_request_p95": Figure(
                kv * (p95 + 300),
                "bytes per request",
                Basis.EXACT,
                f"({p95:,.0f} + 300 output) tokens x {kv:,} bytes",
            ),
            "weights_bytes": Figure(
                weights, "bytes", Basis.EXACT, "8,030,261,248 x 2 bytes", source
            ),
            "embedding_bytes": Figure(
                2_101_346_304, "bytes", Basis.EXACT, "2 x 128,256 x 4,096 x 2"
            ),
            "prefill_linear_flops_per_request": Figure(
                15.0e9 * mean, "FLOPs", Basis.EXACT, f"2 x 7.5e9 x {mean:,.1f}"
            ),
            "prefill_attention_flops_per_request": Figure(
                262_144 * mean**2, "FLOPs", Basis.EXACT, "2 x 32 x 4,096 x n^2"
            ),
        }
        if gpu:
            values |= {
                "n_gpus": Figure(
                    1, "H200-SXM, for which all that fits is counted", Basis.EXACT, "one"
                ),
                "concurrent_requests_mean": Figure(
                    int(free // (kv * (mean + 300))),
                    "requests",
                    Basis.ESTIMATED,
                    "free memory / KV, 90% usable",
                ),
                "concurrent_requests_p95": Figure(
                    int(free // (kv * (p95 + 300))),
                    "requests",
                    Basis.ESTIMATED,
                    "free memory / KV, 90% usable",
                ),
                "concurrent_requests_safe": Figure(
                    int(0.4 * (free // (kv * (mean + 300)))),
                    "requests",
                    Basis.ESTIMATED,
                    "fits but for 1% of draws",
                ),
                "own_gpu_seconds_per_request": Figure(
                    0.0193 + 300 * 0.021, "seconds", Basis.ESTIMATED, "prefill + 300 x 0.021 s"
                ),
                "own_gpu_usd_per_request": Figure(
                    Decimal("0.0312") * Decimal("3.29") / 3600,
                    "USD per request at full load",
                    Basis.ESTIMATED,
                    "0.0312 s x 1 GPU x $3.29 / 3600",
                ),
                "own_gpu_usd_per_month": Figure(
                    Decimal("3.29") * 730 * math.ceil(100_000 / 86_400 * 0.0312),
                    "USD per month",
                    Basis.ESTIMATED,
                    "1 group x 1 GPU x $3.29 x 730 hours",
                ),
                "prefill_seconds_per_request": Figure(
                    15.0e9 * mean / (989e12 * 0.5) + 0.002,
                    "seconds",
                    Basis.ESTIMATED,
                    "mean of max(FLOPs / (989e12 x 0.5), bytes / bandwidth)",
                ),
            }
    if price:
        request = (
            Decimal(str(round(mean, 3))) * Decimal("2.50") + 300 * Decimal("10.00")
        ) / 1_000_000
        values["usd_per_request"] = Figure(
            request,
            "USD per request",
            Basis.EXACT,
            f"{mean:,.3f} x 2.50 / 1,000,000 + 300 x 10.00 / 1,000,000",
            "genai-prices, 2026-10-02",
        )
        if traffic:
            for key, unit, days in (
                ("usd_per_day", "USD per day", 1),
                ("usd_per_month", "USD per month", Decimal(365) / 12),
                ("usd_per_year", "USD per year", 365),
            ):
                values[key] = Figure(
                    request * 100_000 * days,
                    unit,
                    Basis.EXACT,
                    f"100,000 requests x {days:.5g} days",
                )
    return EconomicsSummary(**values)


def tokenizer(
    name: str,
    n_tokens: int,
    *,
    n_bytes: int,
    n_documents: int,
    is_current: bool,
    money: EconomicsSummary,
) -> TokenizerReport:
    mean = n_tokens / n_documents
    return TokenizerReport(
        name=name,
        fingerprint=f"{zlib.crc32(name.encode('utf-8', 'replace')):08x}" * 8,
        algorithm="byte-level BPE",
        vocab_size=100_277 + 20_000 * _index(name),
        is_current=is_current,
        n_tokens=n_tokens,
        tokens_per_document=LengthSummary(
            mean,
            round(mean * 0.8),
            round(mean * _PROBE),
            round(mean * 3.4),
            round(mean * 9),
            _histogram(mean),
        ),
        bytes_per_token=n_bytes / n_tokens,
        chars_per_token=n_bytes / n_tokens * 0.98,
        tokens_per_word=n_tokens / 3_201_887,
        vocab_used=41_882 + 700 * _index(name),
        vocab_used_share=0.4177 - 0.03 * _index(name),
        single_byte_token_share=0.0123 / (1 + _index(name)),
        partial_character_token_share=0.00042 * (1 + _index(name)),
        whitespace_token_share=0.051,
        n_round_trip_failures=0,
        unreturned_by_cause={},
        n_normalized_documents=17 if name == "qwen" else 0,
        economics=money,
    )


def make_report(
    *,
    n_tokenizers: int = 5,
    model: bool = True,
    gpu: bool = True,
    price: bool = True,
    traffic: bool = True,
    terms: bool = True,
    samples: bool = True,
    hostile: bool = False,
    names: tuple[str, ...] = NAMES,
    more: bool = True,
) -> AuditReport:
    """A realistic report; ``hostile`` puts `HOSTILE` wherever other people's text may stand.

    Without ``more`` it has only what every audit has.
    """
    names = names[:n_tokenizers]
    if hostile:
        names = (names[0], *(f"{name} {HOSTILE}" for name in names[1:]))
    n_documents, n_bytes = 12_843, 21_774_032
    totals = (7_310_522, 6_602_114, 5_380_941, 8_214_006, 7_019_332, 7_102_944)[: len(names)]
    parts = {"model": model, "gpu": gpu, "price": price, "traffic": traffic}
    reports = tuple(
        tokenizer(
            name,
            total,
            n_bytes=n_bytes,
            n_documents=n_documents,
            is_current=index == 0,
            money=economics(total, n_documents, **parts),
        )
        for index, (name, total) in enumerate(zip(names, totals, strict=True))
    )
    priced = price and traffic
    if more:
        kind = parts_of.kind_of(TokenizerReport, "bytes_per_token_interval")
        reports = tuple(
            replace(
                report,
                quality=parts_of.quality(index),
                tokens_per_document_interval=parts_of.interval(
                    kind, report.tokens_per_document.mean, 0.017
                ),
                bytes_per_token_interval=parts_of.interval(kind, report.bytes_per_token, 0.008),
            )
            for index, report in enumerate(reports)
        )
    mean = Decimal(totals[0]) / n_documents
    other = HOSTILE if hostile else None
    waterfall = (
        parts_of.waterfall(
            requests_per_month=Decimal(100_000) * 365 / 12,
            bytes_per_request=Decimal(n_bytes) / n_documents,
            tokens_per_byte=Decimal(totals[0]) / n_bytes,
            remedies=parts_of.REMEDIES
            if not hostile
            else (("hostile", HOSTILE, "input", "0.9"), *parts_of.REMEDIES),
        )
        if priced
        else None
    )
    domains = parts_of.domains(reports, n_documents, n_bytes, other)
    extra = {
        "domains": domains,
        "domain_bills": parts_of.domain_bills(domains) if price else (),
        "comparison": naive_engineered(waterfall) if waterfall else None,
        "provider_count": parts_of.provider_count(
            totals[0], n_documents, month=traffic, hostile=other
        )
        if price
        else parts_of.uncounted_provider(other),
        "quota": parts_of.quota(),
        "traffic": parts_of.traffic(names, other) if model and gpu else None,
        "requests": parts_of.requests(other),
        "waterfall": waterfall,
        "tradeoff": parts_of.tradeoff(names) if model and priced and len(names) > 1 else None,
        "maturity": parts_of.maturity(),
        "bill": parts_of.bill(other) if priced else None,
        "pipeline": parts_of.pipeline(),
        "what_if": parts_of.what_if(
            tokens=float(mean),
            traffic=traffic,
            price=price,
            model=model,
            gpu=gpu,
            saved=1 - min(totals) / totals[0],
        ),
        "sampling": parts_of.sampling(n_documents, n_bytes, totals[0]),
    }
    return AuditReport(
        schema_version=SCHEMA_VERSION,
        jeton_version="0.1.0",
        corpus=CorpusSummary(
            sources=(
                Source("corpora/notes.jsonl", 9_001, 15_000_101),
                Source(
                    f"corpora/{HOSTILE}" if hostile else "corpora/guidelines/*.txt.zst",
                    3_842,
                    6_773_931,
                ),
            ),
            n_documents=n_documents,
            n_bytes=n_bytes,
            n_chars=21_302_117,
            n_words=3_201_887,
            word_splitter="whitespace",
            n_replaced_documents=3,
            n_replacements=11,
            n_repeated_whitespace_bytes=412_220,
            n_cut_documents=0,
        ),
        workload=Workload(
            requests_per_day=100_000.0 if traffic else None,
            output_tokens_per_request=300.0,
            model="Llama-3.1-8B" if model else None,
            model_source="config.json of the model, 2024-07-23" if model else "",
            gpu="H200-SXM" if gpu else None,
            gpu_source="data sheet of the maker, 2024-11" if gpu else "",
            price_model="gpt-4o" if price else None,
            price_provider="openai" if price else "",
            price_date="2026-10-02" if price else "",
            usd_per_mtok_input=Decimal("2.50") if price else None,
            usd_per_mtok_output=Decimal("10.00") if price else None,
        ),
        tokenizers=reports,
        terms=tuple(_terms(names, priced=priced, hostile=hostile)) if terms else (),
        n_terms_given=40 if terms else 0,
        samples=_samples(names, hostile=hostile) if samples else (),
        findings=tuple(_findings(reports, n_documents, priced=priced, hostile=hostile)),
        **(extra if more else {}),
    )


def _terms(names: tuple[str, ...], *, priced: bool, hostile: bool) -> Iterable[TermReport]:
    for position, term in enumerate((*TERMS, HOSTILE) if hostile else TERMS):
        cuts = []
        for name in names:
            text = f" {term}"
            ranges = cut(text, _PIECE_CHARS[_index(name)])
            cuts.append(TermCut(name, len(ranges), tuple(text[s:e] for s, e in ranges)))
        n_occurrences = 2_104 // (position + 1)
        cost = Decimal(n_occurrences * (cuts[0].n_tokens - 1)) * Decimal("7.1049").quantize(
            Decimal("0.01")
        )
        yield TermReport(term, n_occurrences, tuple(cuts), cost if priced else None)


def _samples(names: tuple[str, ...], *, hostile: bool) -> tuple[SampleText, ...]:
    texts = (*SENTENCES, HOSTILE) if hostile else SENTENCES
    return tuple(
        sample(text, names, f"corpora/notes.jsonl, document {index * 311 + 4}")
        for index, text in enumerate(texts)
    )


def _findings(
    reports: tuple[TokenizerReport, ...], n_documents: int, *, priced: bool, hostile: bool
) -> list[Finding]:
    current, best = reports[0], min(reports, key=lambda report: report.n_tokens)
    found = [
        Finding(
            "whitespace-runs",
            Severity.WARNING,
            "1.9% of the bytes are repeated white space, and 138,900 tokens encode it",
            current.name,
            Figure(138_900, "tokens on the audited text", Basis.EXACT, "7,310,522 - 7,171,622"),
            "columns aligned with spaces, and blank lines in rows",
            "collapse runs of spaces before encoding; tables lose their alignment",
            Decimal("986.88") if priced else None,
            "138,900 tokens / 12,843 documents x 100,000 x 365 x 2.50 USD / 1,000,000",
            Basis.ESTIMATED,
            {"n_removable_tokens": 138_900, "largest_documents": ["a.txt", "b.txt"]},
        ),
        Finding(
            "not-utf8",
            Severity.INFO,
            f"3 of {n_documents:,} documents are not UTF-8: 11 places were replaced by U+FFFD",
            HOSTILE if hostile else "the text",
            Figure(11, "replacements", Basis.EXACT, "U+FFFD written in place of invalid bytes"),
            HOSTILE if hostile else "the files are in another encoding, or cut inside a character",
            "find the encoding and convert before tokenizing",
            evidence={HOSTILE: {HOSTILE: [HOSTILE], "<|im_end|>": 12_345}, "list": [{"a": HOSTILE}]}
            if hostile
            else {"is_complete": True, "share": 0.1234, "best": None},
        ),
    ]
    if best is not current:
        now, then = current.economics.usd_per_year, best.economics.usd_per_year
        saving = None if now is None or then is None else Decimal(now.value) - Decimal(then.value)
        found.append(
            Finding(
                "tokenizer-foreign",
                Severity.WARNING,
                f"{current.name} needs {current.n_tokens - best.n_tokens:,} tokens more than "
                f"{best.name} for this text: "
                f"{1 - best.n_tokens / current.n_tokens:.0%} of its tokens would go",
                current.name,
                Figure(
                    current.n_tokens - best.n_tokens,
                    "tokens on the audited text",
                    Basis.EXACT,
                    f"{current.n_tokens:,} - {best.n_tokens:,}",
                ),
                "the vocabulary was made from other text: one token of it holds "
                f"{current.bytes_per_token:.2f} bytes of yours, one of {best.name} "
                f"{best.bytes_per_token:.2f}",
                "for a model of your own, replace or extend the tokenizer and train the new "
                "embeddings; behind an API, compare models by price per document instead of "
                "price per token",
                saving,
                "difference of the two yearly bills" if priced else "",
                Basis.ESTIMATED,
                {"tokenizers": [{"name": r.name, "n_tokens": r.n_tokens} for r in reports]},
            )
        )
    else:
        found.append(
            Finding(
                "compression-good",
                Severity.GOOD,
                f"{current.name} fits this text",
                current.name,
                Figure(current.bytes_per_token, "bytes per token", Basis.EXACT, "bytes / tokens"),
                "its vocabulary was made from such text",
                "keep it",
            )
        )
    found += [
        Finding(
            id_,
            severity,
            title,
            current.name,
            Figure(value, unit, Basis.EXACT, f"counted: {value:,}"),
            cause,
            remedy,
            Decimal(usd) if priced and usd else None,
            f"{value:,} {unit} x 365 x 2.50 USD / 1,000,000" if priced and usd else "",
        )
        for id_, severity, title, value, unit, cause, remedy, usd in _MORE_FINDINGS
    ]
    return rank(found)


_MORE_FINDINGS = (
    (
        "prompt-prefix",
        Severity.WARNING,
        "31% of the input tokens are two prompt prefixes that a cache would serve",
        2_266_261,
        "tokens on the audited text",
        "the instructions stand before every request and are encoded and paid anew each time",
        "set cache break points after 1,204 and 3,392 tokens",
        "11214.02",
    ),
    (
        "output-longer",
        Severity.WARNING,
        "a fifth of the answers are longer than what is used of them",
        60,
        "tokens of output a request",
        "the instructions set no limit",
        "ask for the answer alone and set max_tokens to 264",
        "13140.00",
    ),
    (
        "boilerplate",
        Severity.WARNING,
        "4.1% of the text is a footer that stands below 3,842 documents",
        299_731,
        "tokens on the audited text",
        "documents are stored with their page furniture",
        "cut the footer before encoding",
        "2129.53",
    ),
    (
        "context-unused",
        Severity.INFO,
        "requests reserve 8,192 tokens of context and use 1,195 at p95",
        6_997,
        "tokens of a request",
        "the limit was set to what the model allows",
        "reserve 2,048 tokens",
        None,
    ),
    (
        "unicode-decomposed",
        Severity.INFO,
        "0.3% of the tokens encode accents apart from their letters",
        21_931,
        "tokens on the audited text",
        "the files are in Unicode form NFD",
        "normalize to NFC before encoding",
        "155.82",
    ),
)
