"""Does the provider's bill, or the cost that the log states, agree with list prices?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.evidence import Evidence, percent
from jeton.auditing.registry import analysis, finding_of
from jeton.economics.billing.bill import BillReport
from jeton.economics.ledger import Ledger
from jeton.findings import Finding

MIN_BILL_SHARE = Decimal("0.01")
"""Least difference, as a share of the bill, for a finding. Our choice: taxes, rounding and the
edges of a month make less."""

_N_SHOWN = 3


@analysis("bill-unexplained")
def bill_unexplained(evidence: Evidence) -> Iterator[Finding]:
    """The bill and the log differ; the causes say what would explain it."""
    yield from findings_of_bill(evidence.bill)


def findings_of_bill(bill: BillReport | None) -> Iterator[Finding]:
    """Yield the finding of a reconciled bill, with or without text beside it."""
    if bill is None or not bill.usd_billed:
        return
    difference = bill.usd_difference
    if abs(difference) < MIN_BILL_SHARE * abs(bill.usd_billed):
        return
    share = float(abs(difference) / abs(bill.usd_billed))
    more = "more" if difference > 0 else "less"
    known = [cause for cause in bill.causes if cause.id != "unknown"][:_N_SHOWN]
    causes = "; ".join(f"{cause.title} (${cause.usd:,.2f})" for cause in known)
    yield finding_of(
        id="bill-unexplained",
        title=f"The bill of ${bill.usd_billed:,.2f} is ${abs(difference):,.2f} {more} than the "
        f"${bill.usd_explained:,.2f} that the log explains ({percent(share)} of the bill)",
        where="the bill",
        value=difference,
        unit="USD in the period of the bill",
        formula=f"{bill.usd_billed:,.2f} USD billed - {bill.usd_explained:,.2f} USD of the log's "
        f"{bill.n_requests:,} requests at list prices",
        source=bill.price_source,
        cause=causes or "Nothing in the log explains it.",
        remedy="Find the requests that are billed and not logged first: a saving on a part of the "
        "bill says little about all of it. The table of the bill has every cause.",
        evidence={
            "usd_difference": str(difference),
            "causes": [{"id": cause.id, "usd": str(cause.usd)} for cause in bill.causes],
        },
    )


@analysis("stated-cost-differs")
def stated_cost_differs(evidence: Evidence) -> Iterator[Finding]:
    """The log states another cost than its counts have at list prices."""
    yield from findings_of_stated_cost(evidence.traffic.ledger)


def findings_of_stated_cost(ledger: Ledger | None) -> Iterator[Finding]:
    """Yield the finding of a ledger, with or without text beside it."""
    rows = [entry for entry in ledger.stated if entry.differs] if ledger is not None else []
    if not rows:
        return
    stated = sum((entry.stated_usd for entry in rows), Decimal(0))
    ours = sum((entry.usd or Decimal(0) for entry in rows), Decimal(0))
    names = ", ".join(
        f"{entry.logged_as}: {entry.stated_usd:,.6g} stated, {entry.usd:,.6g} at list prices"
        for entry in rows[:_N_SHOWN]
    )
    difference = stated - ours
    word = "more" if difference > 0 else "less"
    yield finding_of(
        id="stated-cost-differs",
        title=f"The log states ${stated:,.6g} for requests that cost ${ours:,.6g} at list prices: "
        f"${abs(difference):,.6g} {word}",
        where=names + (f" and {len(rows) - _N_SHOWN} more" if len(rows) > _N_SHOWN else ""),
        value=float(difference),
        unit="USD that the log states beside the list price, in the time of the log",
        formula=f"{stated:,} USD stated - {ours:,} USD at list prices",
        cause="A discount, a plan that includes the use, a gateway's own prices, or counts that "
        "the "
        "log leaves out.",
        remedy="Compare one request of the first model with the provider's invoice. Where the "
        "invoice "
        "is right, give its price (--model-map); where the log is, look for counts it lacks.",
        evidence={
            "models": [
                {
                    "model": entry.logged_as,
                    "payer": entry.payer,
                    "n_requests": entry.n_requests,
                    "stated_usd": str(entry.stated_usd),
                    "usd": str(entry.usd),
                }
                for entry in rows
            ]
        },
    )
