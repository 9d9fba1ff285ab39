"""Could a prompt cache serve what requests share, and what keeps it from doing so?"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from jeton.auditing.analyses.cache_groups import CacheGroup, Planned, cache_groups, planned
from jeton.auditing.analyses.cache_plan import CachePlan, hit_rate, plan_of_blocks
from jeton.auditing.analyses.prefixes import common_prefix_chars, mask_values
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import ANSWERS, FLAG, PROMPT, SAME, analysis, finding_of
from jeton.auditing.replaying.remedies import replayed_cache
from jeton.findings import Basis, Finding
from jeton.workload.counting.prefix_sketch import BLOCK_BYTES

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

_N_SHOWN = 8
_MAX_SHOWN_CHARS = 80
_HOUR_S = 3_600
_DAY_S = 86_400


@dataclass(frozen=True, slots=True)
class _Cached:
    """Effect of a cache on the requests of one group.

    Attributes:
        planned: The plan.
        n_tokens: Tokens of the group's sampled documents.
        read_share: Share of them that is read from the cache, beside what is read now.
        write_share: Share of them that is written at a surcharge.
        saved_share: Saving, as a share of them.
        where: The counted part, in words.
    """

    planned: Planned
    n_tokens: int
    read_share: float
    write_share: float
    saved_share: float
    where: str


def _of_group(evidence: Evidence, group: CacheGroup, *, masked: bool = False) -> _Cached:
    documents = [evidence.sample.documents[index] for index in group.documents]
    texts = [document.text for document in documents]
    copies = [document.n_copies for document in documents]
    n_tokens = sum(document.n_copies * document.n_tokens for document in documents)
    compared = [mask_values(text) for text in texts] if masked else texts
    found = planned(evidence, group, compared, texts, copies)
    plan = found.plan
    parts = [plan.n_read_tokens, plan.n_write_tokens, plan.n_saved_tokens]
    where = f"{plan.n_read_tokens:,.0f} of {n_tokens:,} sampled tokens"
    shares = [part / n_tokens if n_tokens else 0.0 for part in parts]
    # A sample of documents does not see what two documents share that it does not both hold.
    whole = None if masked else _of_the_workload(evidence, found)
    n_all = max(1, evidence.current.n_tokens)
    if whole is not None and whole.n_read_tokens / n_all > shares[0]:
        parts = [whole.n_read_tokens, whole.n_write_tokens, whole.n_saved_tokens]
        shares = [min(1.0, part / n_all) for part in parts]
        where = (
            f"about {whole.n_read_tokens:,.0f} of {n_all:,} tokens (beginnings of all documents in "
            f"blocks of {BLOCK_BYTES:,} bytes)"
        )
    return _Cached(found, n_tokens, shares[0], shares[1], shares[2], where)


def _of_the_workload(evidence: Evidence, found: Planned) -> CachePlan | None:
    """Reads and savings from the beginnings of all documents; None where the sample is all."""
    blocks, n_bytes = evidence.prefixes, evidence.corpus.n_bytes
    one_group = len(found.group.documents) == len(evidence.sample.documents)
    if evidence.sample.is_whole or blocks is None or not n_bytes or not one_group:
        return None
    requests, per_day = evidence.requests, evidence.traffic.requests_per_day
    return plan_of_blocks(
        blocks.depths,
        blocks.counts,
        weight=blocks.weight,
        n_documents=blocks.n_documents,
        tokens_per_block=BLOCK_BYTES * evidence.current.n_tokens / n_bytes,
        rule=found.rule,
        hits=hit_rate(
            found.rule.ttl_seconds,
            time_s=requests.time_s if requests is not None else None,
            requests_per_day=float(per_day) if per_day is not None else None,
        ),
        read_factor=found.group.read_factor,
    )


def _is_examined(evidence: Evidence) -> bool:
    """True if each request was judged by itself, which tells more than shared beginnings."""
    return evidence.cache is not None and evidence.cache.judges_most


@analysis(
    "prompt-prefix-cacheable",
    "Cache the opening text that requests share",
    FLAG,
    SAME,
    replay=lambda finding, evidence: replayed_cache(evidence),
    stage=3,
)
def prompt_prefix_cacheable(evidence: Evidence) -> Iterator[Finding]:
    """Requests begin alike, and a prompt cache would serve it for less."""
    sample, pipeline = evidence.sample, evidence.pipeline
    if not sample.n_tokens or _is_examined(evidence):
        return
    is_on = pipeline is not None and bool(pipeline.cache)
    groups = []
    for group in cache_groups(evidence):
        if group.reported_share is None and is_on:
            continue
        found = _of_group(evidence, group)
        missed = found.read_share - (group.reported_share or 0.0)
        if missed > 0 and found.saved_share > 0:
            groups.append((found, missed))
    n_sampled = sum(d.n_copies * d.n_tokens for d in sample.documents)
    n_missed = sum(missed * found.n_tokens for found, missed in groups)
    if not groups or n_missed < MIN_CACHED_SHARE * n_sampled:
        return
    n_read = round(n_missed / n_sampled * sample.n_tokens_of_all)
    groups.sort(key=lambda entry: -entry[1] * entry[0].n_tokens)
    largest, _ = groups[0]
    reported = _all_reported(evidence)
    already = f" (beside the {percent(reported)} already read from a cache)" if reported else ""
    points = sorted(
        (
            (found.planned, point)
            for found, _ in groups
            for point in found.planned.plan.break_points
        ),
        key=lambda entry: (-entry[1].n_tokens * entry[1].n_documents, entry[1].prefix),
    )
    listed = all(found.planned.group.is_read_price_listed for found, _ in groups)
    # As good as so many tokens less; what the cache serves already is in the bill already.
    saved = sum(f.saved_share * m / f.read_share * f.n_tokens for f, m in groups)
    n_saved = round(saved / n_sampled * sample.n_tokens_of_all)
    yield finding_of(
        title=f"{percent(n_missed / n_sampled)} of your input is the same opening text, sent again "
        f"with other requests{already}. A prompt cache makes it cheaper",
        value=n_read,
        basis=Basis.ESTIMATED,
        formula="; ".join(_said(evidence, found) for found, _ in groups),
        source="; ".join(dict.fromkeys(f.planned.rule.source for f, _ in groups)),
        cause=_cause(largest),
        remedy="; ".join(_how_to_cache(found) for found, _ in groups[:2]),
        saving_usd_per_year=evidence.traffic.usd_per_year(n_saved) if listed else None,
        saving_formula=evidence.traffic.formula(n_saved) if listed else "",
        evidence={
            "break_points": [
                {
                    "n_tokens": point.n_tokens,
                    "n_documents_in_sample": point.n_documents,
                    "hit_rate": round(point.hit_rate, 4),
                    "ends_with": _end_of(evidence, found, point.prefix),
                }
                for found, point in points[:_N_SHOWN]
            ],
            "rule": largest.planned.rule.name,
            "rule_source": largest.planned.rule.source,
            "lifetime": largest.planned.rule.lifetime,
            "lifetime_seconds": largest.planned.rule.ttl_seconds,
            "median_gap_seconds": largest.planned.median_gap_seconds,
            "share": n_missed / n_sampled,
            "reported_cached_share": reported,
        },
    )


def _all_reported(evidence: Evidence) -> float | None:
    requests = evidence.requests
    if requests is None:
        return None
    known = (requests.input_tokens > 0) & (requests.cache_read_tokens >= 0)
    total = int(requests.input_tokens[known].sum())
    return int(requests.cache_read_tokens[known].sum()) / total if total else None


def _said(evidence: Evidence, found: _Cached) -> str:
    rule, group = found.planned.rule, found.planned.group
    words = (
        f"{found.where} are read from a cache of {rule.name}: shared beginnings from "
        f"{rule.min_tokens:,} tokens on in steps of {rule.step_tokens:,}, times the share "
        f"that finds them within {rule.ttl_seconds:,.0f} seconds; {_arrivals(evidence)}; read at "
        f"{group.read_factor:.3g} of the input price"
    )
    if rule.write_factor > 1:
        words += f", written at {rule.write_factor:.3g} of it"
    if group.reported_share:
        words += f"; less the {percent(group.reported_share)} read already"
    return f"{group.model}: {words}" if group.model else words


def _arrivals(evidence: Evidence) -> str:
    requests = evidence.requests
    if requests is not None and (requests.time_s == requests.time_s).sum() >= 2:
        return "by the times of the requests"
    if evidence.traffic.requests_per_day is not None:
        return f"{evidence.traffic.requests_per_day:,} requests a day at random times"
    return "every request but the first finds them (no times and no requests a day were given)"


def _cause(found: _Cached) -> str:
    plan = found.planned.plan
    if not plan.break_points:
        return (
            "Every turn sends the whole conversation again. The shared text is a different one for "
            "each conversation."
        )
    first = max(
        plan.break_points,
        key=lambda point: (point.n_tokens * point.n_documents, -point.prefix),
    )
    words = (
        f"Instructions, examples, tools or the conversation so far are sent with every request. "
        f"The largest shared opening has {first.n_tokens:,} tokens, in {first.n_documents:,} of "
        "the sampled requests."
    )
    gap = found.planned.median_gap_seconds
    if gap is not None:
        words += f" Half of them come within {_time(gap)} of the one before."
    return words


def _time(seconds: float) -> str:
    if seconds < 2 * 60:
        return f"{seconds:,.0f} seconds"
    if seconds < 2 * _HOUR_S:
        return f"{seconds / 60:,.0f} minutes"
    return (
        f"{seconds / _HOUR_S:,.1f} hours"
        if seconds < 2 * _DAY_S
        else f"{seconds / _DAY_S:,.0f} days"
    )


def _how_to_cache(found: _Cached) -> str:
    rule, plan = found.planned.rule, found.planned.plan
    name = found.planned.group.model
    prefix = f"{name}: " if name else ""
    if rule.is_automatic:
        name = f"{rule.name[0].upper()}{rule.name[1:]}"
        return prefix + (
            f"{name} caches shared openings by itself. Keep them identical, put everything "
            "that changes after them, and send similar requests close together. The cached tokens "
            "in the returned usage show whether it works."
        )
    hour = rule.lifetime == "1h"
    mark = 'a cache mark (cache_control with ttl "1h")' if hour else "a cache mark (cache_control)"
    if not plan.break_points:
        return prefix + (
            f"Put {mark} at the end of each request, so that the next turn of the conversation "
            f"reads it. A request may have {rule.max_break_points} marks."
        )
    points = sorted(plan.break_points, key=lambda p: (-p.n_tokens * p.n_documents, p.prefix))
    words = prefix + (
        f"Put {mark} after the shared opening ({points[0].n_tokens:,} tokens). "
        + (
            "The exact place is listed below."
            if len(points) == 1
            else f"The {len(points)} best places are listed below; a request may have "
            f"{rule.max_break_points}."
        )
    )
    if hour:
        words += (
            f" An hour, not 5 minutes: {percent(points[0].hit_rate)} of the requests come within "
            "an hour of the one before."
        )
    return words


def _end_of(evidence: Evidence, found: Planned, prefix: int) -> str:
    own = found.prefixes[prefix]
    place = found.group.documents[own.documents[0]]
    text = evidence.sample.documents[place].text
    return " ".join(text[max(0, own.n_chars - _MAX_SHOWN_CHARS) : own.n_chars].split())


@analysis(
    "prompt-prefix-volatile",
    "Move what changes to the end and cache the rest",
    PROMPT,
    ANSWERS,
    replay=lambda finding, evidence: replayed_cache(evidence, masked=True),
    stage=2,
)
def prompt_prefix_volatile(evidence: Evidence) -> Iterator[Finding]:
    """A date, number or identifier near the beginning keeps requests from sharing a prefix."""
    sample = evidence.sample
    n_sampled = sum(d.n_copies * d.n_tokens for d in sample.documents)
    if not n_sampled or _is_examined(evidence):
        return
    groups = []
    for group in cache_groups(evidence):
        as_masked = _of_group(evidence, group, masked=True)
        if as_masked.planned.plan.n_read_tokens < MIN_VOLATILE_SHARE * n_sampled:
            continue
        as_is = _of_group(evidence, group)
        n_more = as_masked.planned.plan.n_read_tokens - as_is.planned.plan.n_read_tokens
        if n_more >= MIN_VOLATILE_SHARE * n_sampled:
            groups.append((n_more, as_masked, as_is))
    if not groups:
        return
    n_more, as_masked, as_is = max(groups, key=lambda entry: entry[0])
    example, position, changing = _volatile_place(evidence, as_masked.planned)
    if changing > MAX_CHANGING_SHARE:
        return
    plans = as_masked.planned.plan, as_is.planned.plan
    share = n_more / n_sampled
    n_tokens = round(share * sample.n_tokens_of_all)
    saved = max(0.0, plans[0].n_saved_tokens - plans[1].n_saved_tokens)
    n_saved = round(saved / n_sampled * sample.n_tokens_of_all)
    is_priced = as_masked.planned.group.is_read_price_listed
    yield finding_of(
        title=f"A value that changes near the beginning keeps {percent(share)} of your input out "
        "of "
        f"the prompt cache (for example at character {position:,})",
        value=n_tokens,
        basis=Basis.ESTIMATED,
        formula=f"tokens read from a cache with digits and identifiers taken for equal "
        f"({plans[0].n_read_tokens:,.0f} of {n_sampled:,} sampled ones) - as "
        f"they are ({plans[1].n_read_tokens:,.0f})",
        source=as_masked.planned.rule.source,
        cause="A date, a counter or an identifier comes before text that is the same in other "
        "requests. A prompt cache ends at the first difference.",
        remedy="Move what changes to the end of the prompt, and round times to the hour or day.",
        saving_usd_per_year=evidence.traffic.usd_per_year(n_saved) if is_priced else None,
        saving_formula=evidence.traffic.formula(n_saved) if is_priced else "",
        evidence={
            "share": share,
            "example": example,
            "char": position,
        },
    )


def _volatile_place(evidence: Evidence, found: Planned) -> tuple[str, int, float]:
    """The first difference inside the largest prefix that masking makes.

    Returns what stands around it, its place, and the share of the prefix that differs.
    """
    points = found.plan.break_points
    point = max(points, key=lambda p: (p.n_tokens * p.n_documents, -p.prefix))
    own = [found.group.documents[index] for index in found.prefixes[point.prefix].documents]
    raw = [evidence.sample.documents[index].text for index in own]
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
