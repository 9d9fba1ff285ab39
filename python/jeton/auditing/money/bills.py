"""A real bill against what the logs say was used."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path

from jeton.corpus import RequestsSummary
from jeton.corpus.bills.files import read_bill
from jeton.corpus.bills.rows import Bill, BillItem, read_amount
from jeton.economics.billing.bill import BillReport, reconcile
from jeton.economics.ledger import Ledger
from jeton.errors import UsageError

BillSource = str | os.PathLike[str] | Decimal | int | float
"""A file of a bill, or its total in USD."""


def load_bill(source: BillSource) -> Bill:
    """Read a bill, or take its total; before anything else is read.

    Raises:
        UsageError: A total is not an amount.
        RecordError: The file is no bill.
        OSError: It cannot be read.
    """
    if isinstance(source, os.PathLike):
        return read_bill(Path(source))
    text = str(source).strip()
    amount = None if Path(text).is_file() else read_amount(text)
    if amount is None:
        return read_bill(Path(text))
    return Bill((BillItem(usd=amount),), source="total given")


def reconciled(bill: Bill, ledger: Ledger | None, summary: RequestsSummary | None) -> BillReport:
    """The bill, explained by the report's ledger.

    Raises:
        UsageError: No request of the logs has a usage that can be priced.
        UnknownPriceError: None has a model with a price.
    """
    if ledger is None or not ledger.n_priced or (summary is not None and not summary.n_with_usage):
        if ledger is not None:
            ledger.require_prices()
        raise UsageError(
            "a bill was given, but no request of the logs says what the provider counted\n"
            "hint: log the usage that responses carry, with the model's name"
        )
    issues = () if summary is None else summary.issues
    return reconcile(ledger, bill=bill, log_issues={issue.kind: issue.n for issue in issues})
