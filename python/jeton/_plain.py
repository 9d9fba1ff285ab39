"""Values of results as JSON has them, and numbers of things in words."""

from __future__ import annotations

import json
import math
from datetime import date
from decimal import Decimal
from typing import Any


def less(now: Decimal, then: Decimal) -> str:
    """Say by what share a sum is less than another: "88% less".

    Example:
        >>> less(Decimal("0.380"), Decimal("0.046"))
        '88% less'
    """
    share = float(1 - then / now) if now else 0.0
    return f"{abs(share):.0%} {'less' if share >= 0 else 'more'}"


def counted(n: int, noun: str) -> str:
    """Write a number with its noun: ``1 document``, ``2,000 documents``."""
    return f"{n:,} {noun}" if n == 1 else f"{n:,} {noun}s"


def picked(value: object, names: str) -> dict[str, Any]:
    """Return attributes by name, for JSON.

    Example:
        >>> picked(date(2026, 10, 31), "year month")
        {'year': 2026, 'month': 10}
    """
    return {name: getattr(value, name) for name in names.split()}


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


def finite_values(value: Any) -> Any:
    """Numbers that JSON has not (NaN and the infinities) as None; all else as it is."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: finite_values(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [finite_values(item) for item in value]
    return value


def strict_json(value: Any, *, indent: int | None = None, ascii_only: bool = False) -> str:
    """Write JSON that every reader takes (RFC 8259): what is no finite number is null."""
    plain = finite_values(value)
    return json.dumps(plain, ensure_ascii=ascii_only, allow_nan=False, indent=indent)
