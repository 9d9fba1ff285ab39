"""Options of ``jeton audit`` for the limits that a tokenizer has to keep."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import TYPE_CHECKING, Any

import click

from jeton.cli.finite import FiniteRange
from jeton.cli.option_groups import OptionGroup

if TYPE_CHECKING:
    from jeton.economics.tradeoff import Limits

_BYTES_PER_GB = 10**9


@dataclass(slots=True)
class LimitSettings:
    """The options as they were given."""

    limit_memory_gb: float | None = None
    limit_usd_per_month: str | None = None
    limit_seconds: float | None = None
    limit_bits_per_byte: float | None = None

    def arguments(self) -> dict[str, Any]:
        """Keyword arguments of `jeton.audit`."""
        return {"limits": self._limits()}

    def _limits(self) -> Limits | None:
        values = (
            self.limit_memory_gb,
            self.limit_usd_per_month,
            self.limit_seconds,
            self.limit_bits_per_byte,
        )
        if all(value is None for value in values):
            return None
        from jeton.economics.tradeoff import Limits

        memory = self.limit_memory_gb
        return Limits(
            memory_bytes=None if memory is None else memory * _BYTES_PER_GB,
            usd_per_month=_usd(self.limit_usd_per_month),
            seconds_per_request=self.limit_seconds,
            bits_per_byte=self.limit_bits_per_byte,
        )


def _usd(text: str | None) -> Decimal | None:
    if text is None:
        return None
    try:
        amount = Decimal(text)
    except InvalidOperation:
        amount = Decimal("NaN")
    if not amount.is_finite() or amount < 0:
        raise click.BadParameter(
            f"{text!r} is no amount of dollars", param_hint="--limit-usd-per-month"
        )
    return amount


LIMITS = OptionGroup(
    title="Limits for the choice of a tokenizer",
    name="limits",
    settings=LimitSettings,
    options=(
        click.option(
            "--limit-memory-gb",
            type=FiniteRange(min=0),
            metavar="GB",
            help="Most memory for the weights and one long request, 10^9 bytes.",
        ),
        click.option("--limit-usd-per-month", metavar="USD", help="Highest cost of a month."),
        click.option(
            "--limit-seconds",
            type=FiniteRange(min=0),
            metavar="S",
            help="Longest time to read a prompt, seconds.",
        ),
        click.option(
            "--limit-bits-per-byte",
            type=FiniteRange(min=0),
            metavar="B",
            help="Most bits per byte (a measure of quality; less is better).",
        ),
    ),
)
