"""The ledger: every request priced once, by its own provider, model, tariff and time.

Rows of usage go in (`LedgerBuilder`), money by model, day, domain and dimension comes out
(`Ledger`). Everything that shows dollars reads it.
"""

from __future__ import annotations

from jeton.catalog.model_map import ModelMap, read_model_map
from jeton.economics.ledger.builder import LedgerBuilder
from jeton.economics.ledger.lengths import UsdOfEach, ledger_of_lengths, usd_of_each
from jeton.economics.ledger.period import Period, parse_period, period_of
from jeton.economics.ledger.result import Ledger
from jeton.economics.ledger.rows import UsageColumns, UsageRows, usage_rows
from jeton.economics.ledger.stated import StatedCost
from jeton.economics.ledger.uses import (
    DimensionUse,
    DomainUse,
    LedgerIssue,
    ModelUse,
    NotPriced,
    TimeUse,
)

__all__ = [
    "DimensionUse",
    "DomainUse",
    "Ledger",
    "LedgerBuilder",
    "LedgerIssue",
    "ModelMap",
    "ModelUse",
    "NotPriced",
    "Period",
    "StatedCost",
    "TimeUse",
    "UsageColumns",
    "UsageRows",
    "UsdOfEach",
    "ledger_of_lengths",
    "parse_period",
    "period_of",
    "read_model_map",
    "usage_rows",
    "usd_of_each",
]
