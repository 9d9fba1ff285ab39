"""Formats of numbers, as exact bits for an element with its part of the scales.

Below a byte an element has no bytes of its own: four-bit weights carry scales for each block, so
that 32 elements of ``mxfp4`` are 136 bits. Bits are therefore fractions, and a tensor's bytes are
exact.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date
from fractions import Fraction
from functools import cache
from typing import Any

from jeton._nearest import fold, nearest
from jeton.catalog._files import index_by_name, read_catalog_file
from jeton.errors import UnknownNumberFormatError


@dataclass(frozen=True, slots=True)
class NumberFormat:
    """How one element of a tensor is written.

    Attributes:
        name: Name in this catalog.
        aliases: Other names it answers to.
        element_bits: Bits of the element alone.
        block_bits: Bits of scales, minima and zero points that a block shares.
        block_elements: Elements of a block; 0: so many share them that they do not count.
        source: Where this was read.
        date: Day on which it was checked.
    """

    name: str
    aliases: tuple[str, ...]
    element_bits: Fraction
    block_bits: int
    block_elements: int
    source: str
    date: date

    @property
    def bits(self) -> Fraction:
        """Bits of an element with its part of the scales."""
        if not self.block_elements:
            return self.element_bits
        return self.element_bits + Fraction(self.block_bits, self.block_elements)

    @property
    def bytes(self) -> Fraction:
        """Bytes of an element with its part of the scales."""
        return self.bits / 8


def number_format(name: str) -> NumberFormat:
    """Return a format by name or alias; case does not matter.

    Raises:
        UnknownNumberFormatError: If there is no such format; carries the nearest names.
    """
    index = _index()
    found = index.get(fold(name))
    if found is None:
        close = nearest(name, index)
        raise UnknownNumberFormatError(
            name, nearest=tuple(dict.fromkeys(index[key].name for key in close))
        )
    return found


@cache
def number_formats() -> tuple[NumberFormat, ...]:
    """Return all formats, in the file's order."""
    return tuple(_format(entry) for entry in read_catalog_file("number_formats.json")["formats"])


def plain_format(bits: Fraction) -> NumberFormat:
    """Return a format of so many bits without scales, for a size that was given as a number."""
    return NumberFormat(
        name=f"{float(bits / 8):g} bytes",
        aliases=(),
        element_bits=bits,
        block_bits=0,
        block_elements=0,
        source="given",
        date=date(2026, 11, 27),
    )


@cache
def _index() -> dict[str, NumberFormat]:
    return index_by_name(number_formats())


def _format(entry: dict[str, Any]) -> NumberFormat:
    return NumberFormat(
        **{
            **entry,
            "aliases": tuple(entry["aliases"]),
            "element_bits": Fraction(entry["element_bits"]),
            "date": date.fromisoformat(entry["date"]),
        }
    )
