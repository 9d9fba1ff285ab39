"""Could a prompt cache serve what requests share, and what keeps it from doing so?"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from jeton.auditing.analyses.cache_plan import (
    CachePlan,
    HitRate,
    hit_rate,
    plan_cache,
    plan_of_blocks,
)
from jeton.auditing.analyses.cache_rules import RULES, CacheRule, rule_for
from jeton.auditing.analyses.prefixes import (
    SharedPrefix,
    common_prefix_chars,
    mask_values,
    shared_prefixes,
)
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.prefix_sketch import BLOCK_BYTES
from jeton.findings import Basis, Figure, Finding, Severity

__all__ = [
    "MIN_CACHED_SHARE",
    "MIN_VOLATILE_SHARE",
    "cache_writes_unread",
    "cached_chars",
    "prompt_prefix_cacheable",
    "prompt_prefix_volatile",
]

MIN_CACHED_SHARE = 0.05
"""Share of the input tokens that a cache would serve. Our choice: with a discount of 50% to 90%
that is 2.5% to 4.5% of the input bill, for a change of a few lines."""

MIN_VOLATILE_SHARE = 0.05
"""Share of the input tokens that become cacheable once values that change are out of the way. Our
choice: the same as above."""

MAX_CHANGING_SHARE = 0.01
"""Share of the characters of a beginning that may differ between two requests. Our choice: a date
and an identifier in 1,024 tokens are below; in logs and tables values change everywhere, and there
is nothing to move."""

ASSUMED_READ_FACTOR = 0.5
"""Price of a cached token over an uncached one where the price list has none, to choose break
points only, never for money: the smallest discount that was ever usual (OpenAI, October 2024)."""

_MIN_BYTES_PER_TOKEN = 1
_MAX_CHAR_BYTES = 4
_N_SHOWN = 8
_MAX_SHOWN_CHARS = 80


@dataclass(frozen=True, slots=True)
class _Found:
    rule: CacheRule
    prefixes: tuple[SharedPrefix, ...]
    plan: CachePlan
    read_factor: float
    is_read_price_listed: bool


def _rule(evidence: Evidence) -> CacheRule:
    price = evidence.traffic.price
    rule = rule_for(price.provider, price.model) if price is not None else RULES["other"]
    if price is not None and price.usd_per_mtok_cache_write and price.usd_per_mtok_input:
        factor = price.usd_per_mtok_cache_write / price.usd_per_mtok_input
        rule = replace(rule, write_factor=float(factor))
    pipeline = evidence.pipeline
    if pipeline is not None and pipeline.cache_ttl_seconds is not None:
        rule = replace(rule, ttl_seconds=pipeline.cache_ttl_seconds)
    return rule


def _read_factor(evidence: Evidence) -> tuple[float, bool]:
    price = evidence.traffic.price
    if price is None or price.usd_per_mtok_cached_input is None or not price.usd_per_mtok_input:
        return ASSUMED_READ_FACTOR, False
    return float(price.usd_per_mtok_cached_input / price.usd_per_mtok_input), True


def _hits(evidence: Evidence, rule: CacheRule, *, scale: float) -> HitRate:
    requests, per_day = evidence.requests, evidence.traffic.requests_per_day
    return hit_rate(
        rule.ttl_seconds,
        time_s=requests.time_s if requests is not None else None,
        requests_per_day=float(per_day) if per_day is not None else None,
        scale=scale,
    )


def _find(
    evidence: Evidence,
    compared: Sequence[str],
    originals: Sequence[str],
    copies: Sequence[int] | None = None,
) -> _Found:
    rule = _rule(evidence)
    # A prefix of so few characters cannot have the tokens that a cache asks for.
    min_chars = max(1, rule.min_tokens * _MIN_BYTES_PER_TOKEN // _MAX_CHAR_BYTES)
    prefixes = shared_prefixes(
        compared,
        evidence.current.tokenizer,
        min_chars=min_chars,
        originals=originals,
        copies=copies,
    )
    hits = _hits(evidence, rule, scale=evidence.sample.scale)
    read_factor, is_listed = _read_factor(evidence)
    plan = plan_cache(
        prefixes,
        n_documents=len(compared) if copies is None else sum(copies),
        rule=rule,
        hits=hits,
        read_factor=read_factor,
    )
    return _Found(rule, prefixes, plan, read_factor, is_listed)


def _sampled(evidence: Evidence) -> tuple[list[str], list[int], int]:
    """The sampled texts, how many documents each stands for, and the tokens of all of those."""
    documents = evidence.sample.documents
    return (
        [document.text for document in documents],
        [document.n_copies for document in documents],
        sum(document.n_copies * document.n_tokens for document in documents),
    )


def cached_chars(evidence: Evidence, texts: Sequence[str]) -> list[int]:
    """Code points at the beginning of each text that a prompt cache can serve."""
    found = _find(evidence, texts, texts)
    chars = [0] * len(texts)
    for point in found.plan.break_points:
        prefix = found.prefixes[point.prefix]
        for document in prefix.documents:
            chars[document] = max(chars[document], prefix.n_chars)
    return chars


def _reported_cached_share(evidence: Evidence) -> float | None:
    """Share of the reported input that was read from a cache; None where nothing was reported."""
    requests = evidence.requests
    if requests is None:
        return None
    known = (requests.input_tokens > 0) & (requests.cache_read_tokens >= 0)
    total = int(requests.input_tokens[known].sum())
    return int(requests.cache_read_tokens[known].sum()) / total if total else None


def _of_the_workload(evidence: Evidence, found: _Found) -> CachePlan | None:
    """Reads and savings from the beginnings of all documents; None where the sample is all."""
    blocks, n_bytes = evidence.prefixes, evidence.corpus.n_bytes
    if evidence.sample.is_whole or blocks is None or not n_bytes:
        return None
    return plan_of_blocks(
        blocks.depths,
        blocks.counts,
        weight=blocks.weight,
        n_documents=blocks.n_documents,
        tokens_per_block=BLOCK_BYTES * evidence.current.n_tokens / n_bytes,
        rule=found.rule,
        hits=_hits(evidence, found.rule, scale=1.0),
        read_factor=found.read_factor,
    )


def prompt_prefix_cacheable(evidence: Evidence) -> Iterator[Finding]:
    """Requests begin alike, and a prompt cache would serve it for less."""
    sample, pipeline = evidence.sample, evidence.pipeline
    reported = _reported_cached_share(evidence)
    if not sample.n_tokens or (reported is None and pipeline is not None and pipeline.cache):
        return
    texts, copies, n_sampled = _sampled(evidence)
    found = _find(evidence, texts, texts, copies)
    read_share = found.plan.n_read_tokens / n_sampled
    write_share = found.plan.n_write_tokens / n_sampled
    saved_share = found.plan.n_saved_tokens / n_sampled
    where = f"{found.plan.n_read_tokens:,.0f} of {n_sampled:,} sampled tokens"
    # A sample of documents does not see what two documents share that it does not both hold.
    whole = _of_the_workload(evidence, found)
    n_all = max(1, evidence.current.n_tokens)
    if whole is not None and whole.n_read_tokens / n_all > read_share:
        read_share = min(1.0, whole.n_read_tokens / n_all)
        write_share, saved_share = whole.n_write_tokens / n_all, whole.n_saved_tokens / n_all
        where = (
            f"about {whole.n_read_tokens:,.0f} of {n_all:,} tokens (beginnings of all documents in "
            f"blocks of {BLOCK_BYTES:,} bytes)"
        )
    missed = read_share - (reported or 0.0)
    if missed < MIN_CACHED_SHARE:
        return
    # What the cache serves already is in the bill already.
    saved_share *= missed / read_share
    n_read = round(missed * sample.n_tokens_of_all)
    n_saved = round(saved_share * sample.n_tokens_of_all)
    rule = found.rule
    points = sorted(
        found.plan.break_points,
        key=lambda point: (-point.n_tokens * point.n_documents, point.prefix),
    )
    already = f" (beside the {percent(reported)} already read from a cache)" if reported else ""
    yield Finding(
        id="prompt-prefix-cacheable",
        severity=Severity.WARNING,
        title=(
            f"{percent(missed)} of your input is the same opening text, sent again with other "
            f"requests{already}. A prompt cache makes it cheaper"
        ),
        where="the text",
        figure=Figure(
            value=n_read,
            unit="tokens on the audited text",
            basis=Basis.ESTIMATED,
            formula=(
                f"{where} are read from a cache of {rule.name}: shared beginnings from "
                f"{rule.min_tokens:,} tokens on in steps of {rule.step_tokens:,}, times the share "
                f"that finds them within {rule.ttl_seconds:,.0f} seconds; {_arrivals(evidence)}"
                + (f"; less the {percent(reported)} read already" if reported else "")
            ),
            source=rule.source,
        ),
        cause=_cause(found),
        remedy=_how_to_cache(rule, len(points)),
        saving_usd_per_year=(
            evidence.traffic.usd_per_year(n_saved) if found.is_read_price_listed else None
        ),
        saving_formula=(
            f"{n_read:,} tokens read at {found.read_factor:.3g} of the input price, "
            f"{write_share * sample.n_tokens_of_all:,.0f} written "
            f"at {rule.write_factor:.3g} of it: as good as {n_saved:,} tokens less; "
            + evidence.traffic.formula(n_saved)
            if found.is_read_price_listed and evidence.traffic.is_priced
            else ""
        ),
        saving_basis=Basis.ESTIMATED,
        evidence={
            "break_points": [
                {
                    "n_tokens": point.n_tokens,
                    "n_documents_in_sample": point.n_documents,
                    "hit_rate": round(point.hit_rate, 4),
                    "ends_with": _end_of(found.prefixes[point.prefix], texts),
                }
                for point in points[:_N_SHOWN]
            ],
            "rule": rule.name,
            "rule_source": rule.source,
            "share": missed,
            "reported_cached_share": reported,
            "remedy": {
                "token_factor": _left_at_full_rate(
                    saved_share, found.read_factor, already=reported or 0.0
                ),
                "applies_to": "cached",
            },
        },
    )


def _left_at_full_rate(saved_share: float, read_factor: float, *, already: float) -> float:
    """What is left at the full rate of the tokens that are at it now.

    Writes are set off against reads: so many reads without any surcharge save as much.
    """
    at_full_rate = 1 - already
    if read_factor >= 1 or at_full_rate <= 0:
        return 1.0
    return max(0.0, 1 - saved_share / (1 - read_factor) / at_full_rate)


def _arrivals(evidence: Evidence) -> str:
    requests = evidence.requests
    if requests is not None and (requests.time_s == requests.time_s).sum() >= 2:
        return "by the times of the requests"
    if evidence.traffic.requests_per_day is not None:
        return f"{evidence.traffic.requests_per_day:,} requests a day at random times"
    return "every request but the first finds them (no times and no requests a day were given)"


def _cause(found: _Found) -> str:
    if not found.plan.break_points:
        return (
            "Every turn sends the whole conversation again. The shared text is a different one for "
            "each conversation."
        )
    first = max(
        found.plan.break_points,
        key=lambda point: (point.n_tokens * point.n_documents, -point.prefix),
    )
    return (
        f"Instructions, examples, tools or the conversation so far are sent with every request. "
        f"The largest shared opening has {first.n_tokens:,} tokens, in {first.n_documents:,} of "
        "the sampled requests."
    )


def _how_to_cache(rule: CacheRule, n_points: int) -> str:
    if rule.is_automatic:
        return (
            f"{rule.name} caches shared openings by itself. Keep them identical, put everything "
            "that changes after them, and send similar requests close together. The cached tokens "
            "in the returned usage show whether it works."
        )
    if not n_points:
        return (
            "Put a cache mark (cache_control) at the end of each request, so that the next turn of "
            f"the conversation reads it. A request may have {rule.max_break_points} marks."
        )
    return (
        f"Put a cache mark (cache_control) after the shared opening; a request may have "
        f"{rule.max_break_points}. The {n_points} best places are listed below, with their length "
        "and last words."
        if n_points > 1
        else "Put a cache mark (cache_control) after the shared opening. The exact place is listed "
        "below."
    )


def _end_of(prefix: SharedPrefix, texts: Sequence[str]) -> str:
    end = texts[prefix.documents[0]][max(0, prefix.n_chars - _MAX_SHOWN_CHARS) : prefix.n_chars]
    return " ".join(end.split())


def prompt_prefix_volatile(evidence: Evidence) -> Iterator[Finding]:
    """A date, number or identifier near the beginning keeps requests from sharing a prefix."""
    sample = evidence.sample
    if not sample.n_tokens:
        return
    texts, copies, n_sampled = _sampled(evidence)
    masked = [mask_values(text) for text in texts]
    as_masked = _find(evidence, masked, texts, copies)
    if as_masked.plan.n_read_tokens < MIN_VOLATILE_SHARE * n_sampled:
        return
    as_is = _find(evidence, texts, texts, copies)
    n_more = as_masked.plan.n_read_tokens - as_is.plan.n_read_tokens
    if n_more < MIN_VOLATILE_SHARE * n_sampled:
        return
    example, position, changing = _volatile_place(as_masked, texts)
    if changing > MAX_CHANGING_SHARE:
        return
    share = n_more / n_sampled
    n_tokens = round(share * sample.n_tokens_of_all)
    saved_share = max(0.0, (as_masked.plan.n_saved_tokens - as_is.plan.n_saved_tokens) / n_sampled)
    n_saved = round(saved_share * sample.n_tokens_of_all)
    is_priced = as_masked.is_read_price_listed
    yield Finding(
        id="prompt-prefix-volatile",
        severity=Severity.WARNING,
        title=(
            f"A value that changes near the beginning keeps {percent(share)} of your input out of "
            f"the prompt cache (for example at character {position:,})"
        ),
        where="the text",
        figure=Figure(
            value=n_tokens,
            unit="tokens on the audited text",
            basis=Basis.ESTIMATED,
            formula=(
                f"tokens read from a cache with digits and identifiers taken for equal "
                f"({as_masked.plan.n_read_tokens:,.0f} of {n_sampled:,} sampled ones) - as "
                f"they are ({as_is.plan.n_read_tokens:,.0f})"
            ),
            source=as_masked.rule.source,
        ),
        cause=(
            "A date, a counter or an identifier comes before text that is the same in other "
            "requests. A prompt cache ends at the first difference."
        ),
        remedy="Move what changes to the end of the prompt, and round times to the hour or day.",
        saving_usd_per_year=evidence.traffic.usd_per_year(n_saved) if is_priced else None,
        saving_formula=evidence.traffic.formula(n_saved) if is_priced else "",
        saving_basis=Basis.ESTIMATED,
        evidence={
            "share": share,
            "example": example,
            "char": position,
            "remedy": {
                "token_factor": _left_at_full_rate(
                    saved_share,
                    as_masked.read_factor,
                    already=as_is.plan.n_read_tokens / n_sampled,
                ),
                "applies_to": "cached",
            },
        },
    )


def _volatile_place(found: _Found, texts: Sequence[str]) -> tuple[str, int, float]:
    """The first difference inside the largest prefix that masking makes.

    Returns what stands around it, its place, and the share of the prefix that differs.
    """
    point = max(found.plan.break_points, key=lambda p: (p.n_tokens * p.n_documents, -p.prefix))
    raw = [texts[document] for document in found.prefixes[point.prefix].documents]
    first, last = min(raw), max(raw)
    n_chars = found.prefixes[point.prefix].n_chars
    position = common_prefix_chars(first, last)
    n_different = sum(a != b for a, b in zip(first[:n_chars], last[:n_chars], strict=True))
    start = max(0, position - _MAX_SHOWN_CHARS // 2)
    return (
        " ".join(raw[0][start : position + _MAX_SHOWN_CHARS // 2].split()),
        position,
        n_different / n_chars,
    )


def cache_writes_unread(evidence: Evidence) -> Iterator[Finding]:
    """The cache is written at a surcharge more than reading from it gives back."""
    requests, price = evidence.requests, evidence.traffic.price
    if requests is None or price is None:
        return
    rule = _rule(evidence)
    read_factor, is_listed = _read_factor(evidence)
    known = (requests.cache_write_tokens >= 0) & (requests.cache_read_tokens >= 0)
    n_written = int(requests.cache_write_tokens[known].sum())
    n_read = int(requests.cache_read_tokens[known].sum())
    lost = n_written * (rule.write_factor - 1) - n_read * (1 - read_factor)
    if not is_listed or lost <= 0 or not n_written:
        return
    n_lost = round(lost * evidence.corpus.n_documents / max(1, int(known.sum())))
    yield Finding(
        id="cache-writes-unread",
        severity=Severity.WARNING,
        title=(
            f"The prompt cache costs more than it saves: {n_written:,} tokens were written to it "
            f"and only {n_read:,} read from it"
        ),
        where="the requests",
        figure=Figure(
            value=n_lost,
            unit="input tokens on the audited text",
            basis=Basis.EXACT,
            formula=(
                f"({n_written:,} written x {rule.write_factor - 1:.3g} surcharge - {n_read:,} read "
                f"x {1 - read_factor:.3g} discount) for {int(known.sum()):,} requests with usage, "
                f"on {evidence.corpus.n_documents:,} documents"
            ),
            source=rule.source,
        ),
        cause=(
            "Cache marks come after text that changes with every request, or the next request "
            f"comes later than {rule.ttl_seconds:,.0f} seconds."
        ),
        remedy=(
            "Put cache marks only after text that requests share, and none on requests that are "
            "rare."
        ),
        saving_usd_per_year=evidence.traffic.usd_per_year(n_lost),
        saving_formula=evidence.traffic.formula(n_lost),
        saving_basis=Basis.ESTIMATED,
        evidence={"n_written": n_written, "n_read": n_read},
    )
