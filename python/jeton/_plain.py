"""Values of results as JSON has them."""

from __future__ import annotations

from datetime import date
from decimal import Decimal
from typing import Any

__all__ = ["plain_values"]


def plain_values(value: Any) -> Any:
    """JSON-ready: Decimal becomes its decimal string, a day its ISO form, tuples become lists."""
    if isinstance(value, Decimal):
        return format(value, "f")
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, dict):
        return {key: plain_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [plain_values(item) for item in value]
    return value
