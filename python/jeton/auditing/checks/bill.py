"""Does the provider's bill agree with the log?"""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.evidence import Evidence, percent
from jeton.economics.billing.bill import BillReport
from jeton.findings import Basis, Figure, Finding, Severity

MIN_BILL_SHARE = Decimal("0.01")
"""Least difference, as a share of the bill, for a finding. Our choice: taxes, rounding and the
edges of a month make less."""

_N_SHOWN = 3


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
    yield Finding(
        id="bill-unexplained",
        severity=Severity.WARNING,
        title=(
            f"The bill of ${bill.usd_billed:,.2f} is ${abs(difference):,.2f} {more} than the "
            f"${bill.usd_explained:,.2f} that the log explains ({percent(share)} of the bill)"
        ),
        where="the bill",
        figure=Figure(
            value=difference,
            unit="USD in the period of the bill",
            basis=Basis.EXACT,
            formula=(
                f"{bill.usd_billed:,.2f} USD billed - {bill.usd_explained:,.2f} USD of the log's "
                f"{bill.n_requests:,} requests at list prices"
            ),
            source=bill.price_source,
        ),
        cause=causes or "Nothing in the log explains it.",
        remedy=(
            "Find the requests that are billed and not logged first: a saving on a part of the "
            "bill says little about all of it. The table of the bill has every cause."
        ),
        evidence={
            "usd_difference": str(difference),
            "causes": [{"id": cause.id, "usd": str(cause.usd)} for cause in bill.causes],
        },
    )
