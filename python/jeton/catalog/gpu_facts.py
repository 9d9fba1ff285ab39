"""Datasheet facts of GPUs, with two list prices that bound what an hour costs.

``gpus.json`` says where each number comes from. Memory is what the driver reports: a card of
"80 GB" has 81,559 or 81,920 MiB, one of "24 GB" 23,028 to 24,576. Rates are without structured
sparsity: datasheets print twice that.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from decimal import Decimal
from functools import cache
from typing import Any

from jeton._nearest import fold, nearest
from jeton.catalog._files import index_by_name, read_catalog_file
from jeton.errors import UnknownGpuError, UsageError


@dataclass(frozen=True, slots=True)
class HourlyPrice:
    """A list price for one GPU and one hour, on demand and without commitment."""

    usd_per_hour: Decimal
    provider: str
    source: str
    date: date


@dataclass(frozen=True, slots=True)
class GpuFacts:
    """Datasheet of a GPU.

    Attributes:
        name: Name in this catalog.
        aliases: Other names it answers to.
        vendor: The maker.
        datasheet_gb: Memory as the datasheet prints it, GB.
        memory_bytes: Memory as the driver reports it, bytes.
        memory_source: Where that was read.
        memory_basis: ``card``: a driver's output was read; ``datasheet``: it was not.
        memory_bandwidth_bytes_per_s: Memory bandwidth, bytes per second.
        bf16_dense_flops_per_s: 16-bit matrix rate without sparsity, FLOP per second.
        supports_bf16: False where that rate is fp16 because the chip has no bf16.
        tdp_watts: Thermal design power, watts.
        low_price: A low list price; None: none is known.
        high_price: A high list price.
        note: An easy mistake about it.
        source: Where the facts were read.
        date: Day on which they were checked.
    """

    name: str
    aliases: tuple[str, ...]
    vendor: str
    datasheet_gb: int
    memory_bytes: int
    memory_source: str
    memory_basis: str
    memory_bandwidth_bytes_per_s: int
    bf16_dense_flops_per_s: int
    supports_bf16: bool
    tdp_watts: int
    low_price: HourlyPrice | None
    high_price: HourlyPrice | None
    note: str
    source: str
    date: date

    @property
    def price_low(self) -> HourlyPrice:
        """A low list price.

        Raises:
            UsageError: None is known.
        """
        return _known_price(self.name, self.low_price)

    @property
    def price_high(self) -> HourlyPrice:
        """A high list price; as `price_low`."""
        return _known_price(self.name, self.high_price)

    @property
    def cited_source(self) -> str:
        """Source and date in one string, for a figure."""
        return f"{self.source} (checked {self.date.isoformat()})"


def gpu(name: str) -> GpuFacts:
    """Return the facts of a GPU by name or alias; case does not matter.

    Raises:
        UnknownGpuError: If the catalog has no such GPU; carries the nearest names.
    """
    index = _index()
    found = index.get(fold(name))
    if found is None:
        close = nearest(name, index)
        raise UnknownGpuError(name, nearest=tuple(dict.fromkeys(index[key].name for key in close)))
    return found


@cache
def gpus() -> tuple[GpuFacts, ...]:
    """Return all GPUs of the catalog, in the file's order."""
    return tuple(_gpu(entry) for entry in read_catalog_file("gpus.json")["gpus"])


@cache
def _index() -> dict[str, GpuFacts]:
    return index_by_name(gpus())


def _gpu(entry: dict[str, Any]) -> GpuFacts:
    given = {**entry}
    low, high = given.pop("price_low"), given.pop("price_high")
    return GpuFacts(
        **{
            **given,
            "aliases": tuple(entry["aliases"]),
            "low_price": _hourly_price(low),
            "high_price": _hourly_price(high),
            "date": date.fromisoformat(entry["date"]),
        }
    )


def _known_price(name: str, price: HourlyPrice | None) -> HourlyPrice:
    if price is None:
        raise UsageError(
            f"no list price of {name} is known here\n"
            "hint: give what you pay for one and an hour (--usd-per-hour)"
        )
    return price


def _hourly_price(entry: dict[str, str] | None) -> HourlyPrice | None:
    if entry is None:
        return None
    return HourlyPrice(
        usd_per_hour=Decimal(entry["usd_per_hour"]),
        provider=entry["provider"],
        source=entry["source"],
        date=date.fromisoformat(entry["date"]),
    )
