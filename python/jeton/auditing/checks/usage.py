"""Usage as providers report it: its consequences for the bill, and words that say nothing."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal

import numpy as np
from numpy.typing import NDArray

from jeton.auditing.evidence import DAYS_PER_YEAR, Evidence, percent
from jeton.auditing.money.decomposition import BilledBreakdown
from jeton.auditing.registry import ANSWERS, FLAG, PROMPT, analysis, finding_of
from jeton.economics.billed import INPUT_PARTS
from jeton.findings import Basis, Finding, Severity

MIN_ECHO_CHARS = 80
"""A line of the prompt of this length comes back word for word only if it is repeated on purpose
or by habit: shorter ones are names, headings and quotations."""

_OPENING = re.compile(
    r"\A\s*(?:sure|certainly|of course|absolutely|great question|great(?=[!,])|happy to help|"
    r"as an ai(?: language)? model|i(?:'|\u2019)d be happy to|here(?:'|\u2019)?s|here is|here are|"
    r"thank you for|i understand (?:that )?you)\b[^\n.!?:]{0,200}[.!?:]\s*",
    re.IGNORECASE,
)
_CLOSING = re.compile(
    r"(?<!\s)\s*+(?:i hope (?:this|that) helps|let me know if|feel free to|please let me know|"
    r"if you have any (?:other |further |more )?questions|is there anything else)"
    r"[^\n]{0,200}\s*\Z",
    re.IGNORECASE,
)
_MAX_FRAMES = 3
_TAIL_CHARS = 600


@dataclass(frozen=True, slots=True)
class OutputLengthFigures:
    """Output tokens of requests.

    Attributes:
        n_requests: Requests whose output is known.
        n_tokens: Their output tokens.
        p50, p95: Nearest-rank quantiles.
        n_tokens_beyond: Tokens beyond ``limit`` in requests that are longer.
        limit: Where long answers begin: a multiple of the median.
    """

    n_requests: int
    n_tokens: int
    p50: int
    p95: int
    limit: int
    n_tokens_beyond: int


def output_lengths(
    output_tokens: NDArray[np.int64], *, times_median: int
) -> OutputLengthFigures | None:
    """Summarize outputs; None where none is known (negative: not known)."""
    known = np.sort(output_tokens[output_tokens >= 0])
    if not len(known) or not known.sum():
        return None
    p50 = int(np.quantile(known, 0.5, method="inverted_cdf"))
    p95 = int(np.quantile(known, 0.95, method="inverted_cdf"))
    limit = times_median * max(1, p50)
    beyond = int((known[known > limit] - limit).sum())
    return OutputLengthFigures(len(known), int(known.sum()), p50, p95, limit, beyond)


def without_politeness(response: str) -> tuple[str, int]:
    """Drop openings and closings that say nothing (a `rewriting.Rewrite`); English only."""
    new = response
    for _ in range(_MAX_FRAMES):
        shorter = _OPENING.sub("", new, count=1)
        tail = max(0, len(shorter) - _TAIL_CHARS)
        shorter = shorter[:tail] + _CLOSING.sub("", shorter[tail:], count=1)
        if shorter == new or not shorter.strip():
            break
        new = shorter
    return new, 4 * (len(response) - len(new))


def without_echo(response: str, prompt: str) -> tuple[str, int]:
    """Drop the long lines of an answer that stand in its prompt word for word."""
    if len(response) < MIN_ECHO_CHARS:
        return response, 0
    lines = {line.strip() for line in prompt.split("\n")}
    kept = [
        line
        for line in response.split("\n")
        if len(line.strip()) < MIN_ECHO_CHARS or line.strip() not in lines
    ]
    new = "\n".join(kept)
    return new, 4 * (len(response) - len(new))


MIN_OVERHEAD = 0.1
"""Reported input over the counted text, less 1. Our choice: a chat template is 4 to 8 tokens a
message, below 10% of all but the shortest requests."""

MIN_SHOWN_SHARE = 0.95
"""Share of the requests with usage that must show their text for the rest of it to be a finding."""

LONG_TIMES_MEDIAN = 4
"""Answers longer than this many medians are long. Our choice: lengths of answers to like questions
are about log-normal, and with the usual spread (sigma 0.8) 4% are beyond."""

MIN_LONG_SHARE = 0.2
"""Share of output tokens beyond that limit. Our choice: in a log-normal distribution with sigma 0.8
it is 5%; a fifth of the output is worth a look at who writes so much."""

MIN_ECHO_SHARE = 0.02
"""Share of output tokens that say nothing. Our choice: output costs several times what input does,
so 2% of it is told where 1% of input would be too little for a change of the prompt."""

MIN_REASONING_SHARE = 0.5
"""Share of output tokens that are reasoning. Our choice: the larger part of the output bill."""

MIN_STEP_SHARE = 0.01
"""Share of the input bill that goes with the higher step. Our choice: 1% of a bill is what an owner
asks about."""

_CENT = Decimal("0.01")
_N_SHOWN = 3


def _output_usd_per_year(
    evidence: Evidence, n_tokens: int, n_requests: int
) -> tuple[Decimal | None, str]:
    """USD a year of so many output tokens on so many requests, and how it was computed."""
    price, per_day = evidence.traffic.price, evidence.traffic.requests_per_day
    if price is None or per_day is None or price.usd_per_mtok_output is None or not n_requests:
        return None, ""
    rate = price.usd_per_mtok_output
    usd = Decimal(n_tokens) * per_day * DAYS_PER_YEAR * rate / (n_requests * 1_000_000)
    usd = usd.quantize(_CENT)
    return usd, (
        f"{n_tokens:,} output tokens / {n_requests:,} requests x {per_day:,} requests a day x "
        f"{DAYS_PER_YEAR} days x {rate} USD / 1,000,000 tokens = {usd:,} USD a year; price: "
        f"{price.name}, {price.price_date.isoformat()}, base tier"
    )


def _n_explained(found: BilledBreakdown) -> float:
    """Return the unlogged tokens that a model may bill for the text, if it counts differently."""
    place, total = INPUT_PARTS.index("unlogged"), 0.0
    for model, own in found.table.by_model.items():
        count = found.counts[model]
        n_more = int(own.tokens[place].sum())
        n_text = max(1, int(own.tokens.sum()) - n_more)
        if not count.is_exact:
            total += min(n_more, n_text * max(0.0, count.high / count.slope - 1))
    return total


@analysis("input-overhead")
def input_overhead(evidence: Evidence) -> Iterator[Finding]:
    """The provider bills clearly more input than the log shows."""
    requests, billed = evidence.requests, evidence.decomposition.table
    if requests is None or not billed.input_tokens or not len(requests.has_text):
        return
    # A record of usage alone shows nothing, which is no finding about a request.
    shown = requests.has_text & (requests.input_tokens > 0)
    if not shown.any() or shown.sum() < MIN_SHOWN_SHARE * (requests.input_tokens > 0).sum():
        return
    n_more, n_text = billed.part("unlogged"), billed.input_tokens - billed.part("unlogged")
    overhead = n_more / n_text if n_text else 0.0
    if overhead < MIN_OVERHEAD:
        return
    name, n = evidence.current.name, billed.n_requests
    is_explained = n_more - _n_explained(evidence.decomposition) < MIN_OVERHEAD * n_text
    per_year = None if is_explained else evidence.traffic.share_of_year(billed.usd("unlogged"))
    what = "is not in the log"
    cause = (
        "Tools, system prompts, templates, pictures or reasoning kept between turns are sent but "
        f"not logged; or the model does not count with {name}."
    )
    remedy = (
        "Log requests exactly as they are sent, and send only the tools that a request can need."
    )
    if is_explained:
        what = f"may be text that {name} counts as fewer tokens than the provider"
        cause = f"The model has another tokenizer than {name}; its range explains the difference."
        remedy = "Leave -t out: then a model's own tokenizer counts where it is published."
    yield finding_of(
        severity=Severity.INFO if is_explained else Severity.WARNING,
        title=f"{percent(n_more / billed.input_tokens)} of the billed input {what}: "
        f"{billed.input_tokens / n:,.0f} tokens a request are billed, the logged text has "
        f"{n_text / n:,.0f}",
        where="the requests",
        value=n_more,
        unit="input tokens that the log does not show",
        basis=Basis.EXACT
        if all(count.is_exact for count in evidence.decomposition.counts.values())
        else Basis.CALIBRATED,
        formula=f"{billed.input_tokens:,} billed input tokens - {n_text:,} tokens of the logged "
        "text as the provider counts them",
        cause=cause,
        remedy=remedy,
        evidence={
            "billed_tokens_per_request": billed.input_tokens / n,
            "logged_tokens_per_request": n_text / n,
            "usd_per_year_at_stake": "" if per_year is None else str(per_year.quantize(_CENT)),
        },
    )


@analysis("output-long", "Limit the length of answers", PROMPT, ANSWERS)
def output_long(evidence: Evidence) -> Iterator[Finding]:
    """A few answers are far longer than the usual one and make much of the output."""
    requests = evidence.requests
    if requests is None:
        return
    found = output_lengths(requests.output_tokens, times_median=LONG_TIMES_MEDIAN)
    if found is None or found.n_tokens_beyond < MIN_LONG_SHARE * found.n_tokens:
        return
    share = found.n_tokens_beyond / found.n_tokens
    saving, formula = _output_usd_per_year(evidence, found.n_tokens_beyond, found.n_requests)
    yield finding_of(
        title=f"A few very long answers make {percent(share)} of the output: what goes beyond "
        f"{found.limit:,} tokens, {LONG_TIMES_MEDIAN} times the usual answer ({found.p50:,})",
        where="the requests",
        value=found.n_tokens_beyond,
        unit="output tokens of the requests with usage",
        formula=f"sum of (output - {found.limit:,}) over answers longer than {found.limit:,} = "
        f"{LONG_TIMES_MEDIAN} x p50; {found.n_tokens:,} output tokens of "
        f"{found.n_requests:,} requests, p95 {found.p95:,}",
        cause="Nothing in the prompt limits the length, or a few requests ask for something "
        "different from the others.",
        remedy="Say in the prompt how long an answer should be, and ask for exactly what you use "
        "(a "
        f"field, a list). Set max_output_tokens near {found.limit:,}. Look at the longest "
        "answers first.",
        saving_usd_per_year=saving,
        saving_formula=formula,
        evidence={
            "p50": found.p50,
            "p95": found.p95,
            "share": share,
        },
    )


@analysis("output-echo", "Ask for the answer alone", PROMPT, ANSWERS)
def output_echo(evidence: Evidence) -> Iterator[Finding]:
    """Answers repeat their prompt, or open and close with phrases."""
    answered = [d for d in evidence.sample.documents if d.response]
    if not answered:
        return
    tokenizer = evidence.current.tokenizer
    responses = [d.response or "" for d in answered]
    shorter = []
    for document, response in zip(answered, responses, strict=True):
        without, _ = without_echo(response, document.text)
        shorter.append(without_politeness(without)[0])
    n_before = int(tokenizer.count_batch(responses).sum())
    n_saved = n_before - int(tokenizer.count_batch(shorter).sum())
    if not n_before or n_saved < MIN_ECHO_SHARE * n_before:
        return
    share = n_saved / n_before
    changed = [a for a, b in zip(responses, shorter, strict=True) if a != b]
    n_of_all = round(n_saved / len(answered) * evidence.corpus.n_documents)
    saving, formula = _output_usd_per_year(evidence, n_of_all, evidence.corpus.n_documents)
    yield finding_of(
        title=f"{percent(share)} of the output only repeats the prompt or is polite phrases",
        where="the answers",
        value=n_saved,
        unit="output tokens of the sampled answers",
        basis=Basis.EXACT if evidence.sample.is_whole else Basis.ESTIMATED,
        formula=f"{n_before:,} tokens of {len(answered):,} answers under {tokenizer.name} - those "
        "without lines of 80 and more characters that stand in the prompt, and without "
        "English phrases at the beginning and end",
        cause="Models are trained to be polite and to restate the question.",
        remedy="Ask for the answer alone, for the changes instead of the whole text, or for a "
        "fixed "
        "structure (JSON).",
        saving_usd_per_year=saving,
        saving_formula=formula,
        evidence={
            "n_answers_concerned": len(changed),
            "share": share,
            "examples": [" ".join(text[:80].split()) for text in changed[:_N_SHOWN]],
        },
    )


@analysis("reasoning-share", "Reason less where it is easy", FLAG, ANSWERS)
def reasoning_share(evidence: Evidence) -> Iterator[Finding]:
    """Most of the output is reasoning that nobody reads."""
    requests = evidence.requests
    if requests is None:
        return
    known = (requests.reasoning_tokens >= 0) & (requests.output_tokens > 0)
    n_output = int(requests.output_tokens[known].sum())
    n_reasoning = int(requests.reasoning_tokens[known].sum())
    if not n_output or n_reasoning < MIN_REASONING_SHARE * n_output:
        return
    share = n_reasoning / n_output
    # Reasoning of the easy half: requests whose answer is short all the same.
    answers = (requests.output_tokens - requests.reasoning_tokens)[known]
    reasoning = requests.reasoning_tokens[known]
    easy = answers <= np.median(answers)
    n_easy = int(reasoning[easy].sum())
    saving, formula = _output_usd_per_year(evidence, n_easy, int(known.sum()))
    yield finding_of(
        severity=Severity.INFO,
        title=f"{percent(share)} of the output is reasoning that nobody reads; "
        f"{percent(n_easy / n_output)} is reasoning for the shorter half of the answers",
        where="the requests",
        value=n_reasoning,
        unit="output tokens of the requests with usage",
        formula=f"{n_reasoning:,} reasoning tokens of {n_output:,} output tokens",
        cause="Reasoning is on for every request, or has the same budget for all.",
        remedy="Lower the reasoning effort, or turn it off, for requests that do not need it. "
        "Begin "
        "with those that have short answers, and compare the results.",
        saving_usd_per_year=saving,
        saving_formula=formula + ("; if the shorter half needed none" if formula else ""),
        evidence={"share": share, "n_tokens_of_shorter_half": n_easy},
    )


@analysis("price-step", "Keep prompts below the price step", PROMPT, ANSWERS)
def price_step(evidence: Evidence) -> Iterator[Finding]:
    """Prompts beyond a step of the price list pay the higher rate for all of their tokens."""
    price, lengths = evidence.traffic.price, evidence.current.lengths
    if price is None or len(price.tiers) < 2 or evidence.traffic.requests_per_day is None:
        return
    base = price.tiers[0]
    extra = total = Decimal(0)
    n_above = 0
    for length, count in zip(lengths.lengths.tolist(), lengths.documents.tolist(), strict=True):
        tier = price.tier_for(length)
        total += tier.usd_per_mtok_input * length * count
        if tier is not base:
            n_above += count
            extra += (tier.usd_per_mtok_input - base.usd_per_mtok_input) * length * count
    if not n_above or extra < Decimal(str(MIN_STEP_SHARE)) * total:
        return
    step = price.tiers[1].above_input_tokens
    per_request = extra / 1_000_000 / lengths.n_documents
    saving = (per_request * evidence.traffic.requests_per_day * DAYS_PER_YEAR).quantize(_CENT)
    share = float(extra / total)
    yield finding_of(
        title=f"{n_above:,} requests have more than {step:,} tokens and pay the higher price for "
        f"all of their tokens: {percent(share)} of the input bill",
        where=price.name,
        value=n_above,
        unit="requests of the audited text",
        formula=f"requests above {step:,} tokens, at {price.tiers[1].usd_per_mtok_input} instead "
        f"of {base.usd_per_mtok_input} USD per million input tokens",
        source=price.source,
        cause="The provider charges more per token for long prompts, and for all of their tokens.",
        remedy=f"Keep prompts below {step:,} tokens (fewer retrieved pieces, a summary of the "
        "conversation), or split the request in two.",
        saving_usd_per_year=saving,
        saving_formula=f"sum of tokens x (higher - base rate) over {n_above:,} requests = "
        f"{extra / 1_000_000:,.4f} USD / {lengths.n_documents:,} documents x "
        f"{evidence.traffic.requests_per_day:,} requests a day x {DAYS_PER_YEAR} days = "
        f"{saving:,} USD a year; price: {price.name}, {price.price_date.isoformat()}",
        evidence={
            "n_requests_above": n_above,
            "share": share,
        },
    )
