"""Findings about prompt caches and agents: one for each verdict that costs something."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from functools import partial

from jeton.auditing.caching.agents import AgentUse
from jeton.auditing.caching.result import CacheReport, VerdictGroup
from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import ANSWERS, FLAG, LINES, PROMPT, SAME, analysis, finding_of
from jeton.auditing.replaying.mended_caches import finding_of_verdict, mended_rows
from jeton.auditing.replaying.remedies import Replayable
from jeton.economics.ledger import Ledger
from jeton.findings import Basis, Finding, Severity

MIN_SHARE = Decimal("0.005")
"""Least share of the bill: what costs less is the price of a cache that works."""

_CENT = Decimal("0.01")


@dataclass(frozen=True, slots=True)
class _Fault:
    """Words of a finding about caches or agents; remedy: name, effort and risk."""

    title: str
    cause: str
    remedy: tuple[str, str, str] | tuple[()] = ()
    stage: int = 1


_SENT_AGAIN = "Each turn of an agent sends the whole conversation again."
_SAME_REQUESTS = "The requests are the same, or come one by one where no one waits for them."

_VERDICTS = {
    "changed": _Fault(
        "{block} changes from request to request ({change}), so that the prompt cache "
        "ends there: {tokens} tokens were paid again",
        "A cache ends at the first difference. {difference}",
        ("Keep the cached prefix byte for byte the same", LINES, SAME),
    ),
    "expired": _Fault(
        "The prompt cache ended before the next request came: {tokens} tokens were paid again",
        "A prefix lives for a time after its last use; these requests came later.",
        ("Keep the cache for an hour", FLAG, SAME),
    ),
    "switched": _Fault(
        "The {change} changes between requests that share a beginning, which is lost: {tokens} "
        "tokens were paid again",
        "A cache belongs to one model. Claude's belongs to equal parameters too, and OpenAI's to "
        "one prompt_cache_key.",
        ("Keep one model for a session", LINES, ANSWERS),
    ),
    "below-minimum": _Fault(
        "The text that requests share is shorter than the model's cache takes: {tokens}"
        " tokens were paid in full",
        "A shorter prefix is not cached, and the mark is ignored without an error.",
        ("Lengthen the cached prefix to the minimum", PROMPT, SAME),
    ),
    "no-mark": _Fault(
        "No cache mark covers the prefix that is sent again: {tokens} tokens were paid in full",
        "The provider caches only up to a mark.",
        ("Mark the prefix that is sent again", LINES, SAME),
    ),
    "mark-late": _Fault(
        "The cache mark stands behind text that changes: {tokens} tokens were paid again",
        "An entry ends where a mark stands; one behind changing text fits no other request.",
        ("Mark the shared beginning, not the changing end", LINES, SAME),
    ),
    "look-back": _Fault(
        "More than 20 blocks stand between two cache marks: {tokens} tokens were paid again",
        "The provider looks for an entry at most 20 blocks before a mark.",
        ("Set marks at most 20 blocks apart", LINES, SAME),
    ),
    "concurrent": _Fault(
        "Requests were sent at once, before the first had written the cache: {tokens} "
        "tokens were paid again",
        "An entry can be read from the first token of its writer's answer on.",
        ("Send the first request, then the others", LINES, SAME),
    ),
    "write-unread": _Fault(
        "{tokens} tokens were written to the prompt cache and not read again",
        "A write costs more than sending the text; only reads earn that.",
        ("Cache only prefixes that are read again", FLAG, SAME),
    ),
    "hour-unearned": _Fault(
        "{tokens} tokens were written for an hour, and every read came within 5 minutes",
        "A write for an hour costs 2 times the input, one for 5 minutes 1.25 times.",
        ("Write for 5 minutes, not an hour", FLAG, SAME),
    ),
    "provider": _Fault(
        "The beginning was equal and alive, and the provider's cache missed it: "
        "{tokens} tokens were paid again",
        "Caches are kept as far as there is room; routing may go to another server.",
    ),
}
_AGENTS = {
    "results-carried": _Fault(
        "Results of {name} are sent again with every turn: {tokens} tokens in {requests} requests",
        _SENT_AGAIN,
        ("Keep summaries of large results", LINES, ANSWERS),
    ),
    "pictures-carried": _Fault(
        "Pictures are sent again with every turn: {tokens} tokens in {requests} requests",
        _SENT_AGAIN,
        ("Send each picture once", LINES, ANSWERS),
    ),
    "tools-unused": _Fault(
        "Tools are declared that are never called: {tokens} tokens in {requests} requests",
        _SENT_AGAIN,
        ("Declare only tools that are called", LINES, ANSWERS),
    ),
    "retries": _Fault(
        "{requests} requests repeat the one before within a minute: {tokens} input tokens",
        _SAME_REQUESTS,
        ("Wait longer before a request is sent again", LINES, SAME),
        stage=-1,
    ),
    "loops": _Fault(
        "{requests} calls of {name} repeat earlier ones of their session", _SAME_REQUESTS
    ),
    "batchable": _Fault(
        "{requests} requests look like a batch: no session, one turn, an even pace", _SAME_REQUESTS
    ),
}


def findings_of_caches(report: CacheReport | None, ledger: Ledger | None) -> Iterator[Finding]:
    """Yield the findings about caches and agents of a log.

    Args:
        report: The examination; None: there is none.
        ledger: The bill.
    """
    if report is None or ledger is None or not ledger.usd:
        return
    by_verdict: dict[str, list[VerdictGroup]] = {}
    for group in report.faults:
        by_verdict.setdefault(group.behind or group.verdict, []).append(group)
    for verdict, groups in by_verdict.items():
        if sum(group.usd for group in groups) >= MIN_SHARE * ledger.usd:
            yield _of_verdict(verdict, groups, report)
    by_kind: dict[str, list[AgentUse]] = {}
    for use in report.agents:
        by_kind.setdefault(use.kind, []).append(use)
    year = ledger.per_year()
    for kind, uses in by_kind.items():
        if sum(use.usd for use in uses) >= MIN_SHARE * ledger.usd:
            yield _of_agents(kind, uses, None if year is None else year / ledger.usd)


def _of_verdict(verdict: str, groups: list[VerdictGroup], report: CacheReport) -> Finding:
    seen = [group for group in groups if not group.behind]
    first = seen[0]
    n_tokens = sum(group.n_tokens for group in seen)
    years = [group.usd_per_year for group in groups if group.usd_per_year is not None]
    difference = ""
    if first.before:
        difference = f"Before: {first.before!r}; after: {first.after!r}."
    facts = {
        "block": first.block or "The beginning",
        "change": first.change or "its text",
        "tokens": f"{n_tokens:,}",
    }
    # No edit of the requests brings back what the provider lost.
    is_ours = bool(_VERDICTS[verdict].remedy)
    saving = sum(years, Decimal(0)).quantize(_CENT) if years else None
    n_requests = sum(group.n_requests for group in groups)
    evidence: dict[str, object] = {
        "verdict": verdict,
        "n_requests": n_requests,
        "blocks": [
            {"block": g.block, "change": g.change, "before": g.before, "after": g.after}
            for g in groups
        ],
    }
    if not is_ours and saving is not None:
        evidence["usd_per_year_at_stake"] = str(saving)
    error = float(report.predicted_error.get("mean_share_of_input", 0.0))
    return finding_of(
        id=finding_of_verdict(verdict),
        title=_VERDICTS[verdict].title.format(**facts),
        where="the requests",
        value=n_tokens,
        unit="input tokens of the log",
        basis=Basis.ESTIMATED,
        formula=f"{n_requests:,} requests; cost as logged less that of a "
        "replay with this fault mended, reads and writes priced again; the replay is off "
        f"by {percent(error)} of the input",
        cause=_VERDICTS[verdict].cause.format(difference=difference).strip(),
        remedy="; ".join(dict.fromkeys(group.remedy for group in groups if group.remedy)),
        saving_usd_per_year=saving if is_ours else None,
        saving_formula="cost as logged less that of the replay, in a year"
        if is_ours and years
        else "",
        evidence=evidence,
    )


def _of_agents(kind: str, uses: list[AgentUse], year: Decimal | None) -> Finding:
    usd = sum((use.usd for use in uses), Decimal(0))
    names = ", ".join(dict.fromkeys(use.name for use in uses if use.name))
    facts = {
        "name": names or "tools",
        "tokens": f"{sum(use.n_tokens for use in uses):,}",
        "requests": f"{sum(use.n_requests for use in uses):,}",
    }
    is_choice = kind in ("batchable", "loops")
    saving = None if year is None else (usd * year).quantize(_CENT)
    evidence: dict[str, object] = {"tools": names, "usd": f"{usd:.6f}"}
    if is_choice and saving is not None:
        evidence["usd_per_year_at_stake"] = str(saving)
    return finding_of(
        id=f"agent-{kind}",
        severity=Severity.INFO if is_choice else Severity.WARNING,
        title=_AGENTS[kind].title.format(**facts),
        where="the requests",
        value=sum(use.n_tokens for use in uses),
        unit="input tokens of the log",
        basis=Basis.ESTIMATED,
        formula="tokens of these blocks or requests, each time they were sent",
        cause=_AGENTS[kind].cause,
        remedy=uses[0].remedy,
        saving_usd_per_year=None if is_choice else saving,
        saving_formula="" if is_choice else "cost of the log less that without them, in a year",
        evidence=evidence,
    )


def _only(id: str, evidence: Evidence) -> Iterator[Finding]:  # noqa: A002
    for finding in findings_of_caches(evidence.cache, evidence.ledger):
        if finding.id == id:
            yield finding


def _mended(finding: Finding, evidence: Evidence) -> Replayable | None:
    if evidence.cache is None or evidence.requests is None:
        return None
    return mended_rows(evidence.cache, evidence.requests, finding.id)


for _id, _fault, _stage in (
    *((finding_of_verdict(verdict), fault, 4) for verdict, fault in _VERDICTS.items()),
    *((f"agent-{kind}", fault, fault.stage) for kind, fault in _AGENTS.items()),
):
    analysis(_id, *_fault.remedy, replay=_mended, stage=_stage)(partial(_only, _id))
