"""Prices of requests: logs and usage exports become a ledger."""

from __future__ import annotations

from jeton.pricing.ledgers import ledger, ledger_of_stream
from jeton.pricing.usage_files import read_usage

__all__ = ["ledger", "ledger_of_stream", "read_usage"]
