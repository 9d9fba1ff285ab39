"""Formats of a model's weights, part by part.

No quantized checkpoint is one format throughout: norms, biases and routers stay in 16 bits, mostly
the tables too, and some quantize the experts alone.
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
    """Encoding of one element of a tensor.

    Attributes:
        name: Name in this catalog.
        aliases: Other names it answers to.
        element_bits: Bits of the element alone.
        block_bits: Bits of scales, minima and zero points that a block shares.
        block_elements: Elements of a block; 0: too many share the scale for it to count.
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
    """Return a format of the given bits without scales."""
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


@dataclass(frozen=True, slots=True)
class WeightFormat:
    """Formats of the parts of a model.

    Attributes:
        name: Name that it is asked for by.
        tables: The input table, and learned positions.
        head: The output head; where it is tied to the input table, both have this format.
        linear: Matrices of attention, dense MLPs, shared experts and recurrent layers.
        experts: Matrices of routed experts.
        rest: Norms, biases, sinks and routers.
        larger: Format of half of the value and down projections (llama.cpp's ``_M`` mixes); None:
            as `linear`.
        source: Where the mix was read.
    """

    name: str
    tables: NumberFormat
    head: NumberFormat
    linear: NumberFormat
    experts: NumberFormat
    rest: NumberFormat
    larger: NumberFormat | None = None
    source: str = ""

    @property
    def is_quantized(self) -> bool:
        """True where a matrix has fewer than 16 bits an element."""
        return min(self.linear.element_bits, self.experts.element_bits) < 16

    @property
    def is_uniform(self) -> bool:
        """True where all parts have one format."""
        others = (self.tables, self.head, self.experts, self.rest, self.larger or self.linear)
        return all(one == self.linear for one in others)

    def summary(self, *, has_experts: bool = True) -> str:
        """Return the formats in words, each named once."""
        parts = {
            "layers": self.linear.name,
            "experts": self.experts.name,
            "tables": self.tables.name,
            "head": self.head.name,
        }
        if not has_experts:
            del parts["experts"]
        if len(set(parts.values())) == 1:
            return self.linear.name
        named: dict[str, list[str]] = {}
        for part, name in parts.items():
            named.setdefault(name, []).append(part)
        return "; ".join(f"{', '.join(found)} in {name}" for name, found in named.items())


_WHOLE = ("fp32", "bf16", "fp16")
_GGUF = ("q8_0", "q6_k", "q5_k", "q4_k", "q4_0", "q3_k", "q2_k")
_MIXES = {"q4_k_m": ("q4_k", "q6_k"), "q5_k_m": ("q5_k", "q6_k")}
_ENGINES = "compressed-tensors, AutoAWQ, GPTQModel and bitsandbytes: linear layers of the blocks"
_LLAMA_CPP = "llama.cpp, src/llama-quant.cpp, llama_tensor_get_type (read 2026-11-27)"


def weight_format(name: str, *, has_experts: bool = True) -> WeightFormat:
    """Return the formats of a checkpoint that is called by this name.

    Args:
        name: ``bf16``, ``fp8``, ``int4`` (``awq``, ``gptq``), ``mxfp4``, ``nf4``, ``q4_k_m`` ...
        has_experts: True if the model has routed experts: ``mxfp4`` then leaves all else in bf16,
            as published; without experts it is the layers' matrices.

    Raises:
        UnknownNumberFormatError: If there is no such format; carries the nearest names.
    """
    folded = fold(name)
    mix = {fold(known): known for known in _MIXES}.get(folded)
    if mix is not None:
        small, large = (number_format(part) for part in _MIXES[mix])
        return WeightFormat(
            mix, small, large, small, small, number_format("fp32"), large, _LLAMA_CPP
        )
    try:
        found = number_format(name)
    except UnknownNumberFormatError as error:
        near = nearest(name, weight_format_names()) or error.nearest
        raise UnknownNumberFormatError(name, nearest=near) from error
    wide = number_format("bf16")
    if found.name in _WHOLE:
        return uniform_weights(found)
    if found.name in _GGUF:
        # llama.cpp keeps the output head at 6 bits or more, and norms in fp32.
        head = found if found.bits > number_format("q6_k").bits else number_format("q6_k")
        return WeightFormat(
            found.name, found, head, found, found, number_format("fp32"), source=_LLAMA_CPP
        )
    linear = wide if found.name == "mxfp4" and has_experts else found
    return WeightFormat(found.name, wide, wide, linear, found, wide, source=_ENGINES)


def uniform_weights(one: NumberFormat | Fraction) -> WeightFormat:
    """Return all parts in one format, given as such or as bits an element."""
    found = plain_format(one) if isinstance(one, Fraction) else one
    return WeightFormat(found.name, found, found, found, found, found, source=found.source)


@cache
def weight_format_names() -> tuple[str, ...]:
    """Names that `weight_format` knows, without aliases."""
    return tuple(dict.fromkeys((*(one.name for one in number_formats()), *_MIXES)))
