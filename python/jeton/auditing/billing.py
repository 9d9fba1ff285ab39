"""A real bill against what the logs say was used."""

from __future__ import annotations

import os
from decimal import Decimal, InvalidOperation
from pathlib import Path

from jeton.auditing.requests import RequestCollector
from jeton.economics import Bill, BillReport, reconcile
from jeton.economics.bill_files import read_bill
from jeton.economics.bill_items import BillItem
from jeton.errors import UsageError

__all__ = ["BillSource", "load_bill", "reconciled"]

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
    try:
        total = Decimal(str(source))
    except InvalidOperation:
        return read_bill(Path(str(source)))
    if not total.is_finite() or total < 0:
        raise UsageError(f"the bill's total is {source}; expected an amount in USD of at least 0")
    return Bill((BillItem(usd=total),), source="total given")


def reconciled(bill: Bill, collector: RequestCollector) -> BillReport:
    """The bill, explained by the usage in the logs.

    Raises:
        UsageError: No request of the logs has a usage that can be priced.
        UnknownPriceError: A model of the logs has no price.
    """
    if not collector.usage:
        raise UsageError(
            "a bill was given, but no request of the logs says what the provider counted\n"
            "hint: log the usage that responses carry, with the model's name"
        )
    return reconcile(collector.usage, bill=bill, n_unusable=collector.n_unusable)
