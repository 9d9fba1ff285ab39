"""The cost that the log states itself, against the price of the list."""

from __future__ import annotations

from collections.abc import Iterator
from decimal import Decimal

from jeton.auditing.evidence import Evidence
from jeton.economics.ledger import Ledger
from jeton.findings import Basis, Figure, Finding, Severity

_N_SHOWN = 3


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
    yield Finding(
        id="stated-cost-differs",
        severity=Severity.WARNING,
        title=(
            f"The log states ${stated:,.6g} for requests that cost ${ours:,.6g} at list prices: "
            f"${abs(difference):,.6g} {word}"
        ),
        where=names + (f" and {len(rows) - _N_SHOWN} more" if len(rows) > _N_SHOWN else ""),
        figure=Figure(
            value=float(difference),
            unit="USD that the log states beside the list price, in the time of the log",
            basis=Basis.EXACT,
            formula=f"{stated:,} USD stated - {ours:,} USD at list prices",
        ),
        cause=(
            "A discount, a plan that includes the use, a gateway's own prices, or counts that the "
            "log leaves out."
        ),
        remedy=(
            "Compare one request of the first model with the provider's invoice. Where the invoice "
            "is right, give its price (--model-map); where the log is, look for counts it lacks."
        ),
        saving_usd_per_year=None,
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
