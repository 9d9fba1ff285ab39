"""Bytes of a model's weights, part by part, each in the format that it is written in.

Exactly from the tensors of a folder or a GGUF file; else from the shape and every rule of the
configuration's quantization; else from a name, which is then called a guess.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import lru_cache
from typing import Literal

from jeton.catalog.layers import Part, Role
from jeton.catalog.model_facts import UNKNOWN_WEIGHTS, ModelFacts
from jeton.catalog.weight_formats import (
    NumberFormat,
    WeightFormat,
    number_format,
    uniform_weights,
    weight_format,
)
from jeton.economics.serving.parameters import table_rows
from jeton.errors import UsageError

Bytes = int | float | Fraction
"""Bytes of an element: 2, 0.5, or an exact fraction (`jeton.catalog.NumberFormat`)."""

Basis = Literal["tensors", "configuration", "name", "given"]


@dataclass(frozen=True, slots=True)
class WeightPart:
    """Tensors of one part of a model in one format.

    Attributes:
        role: The part.
        written: Name of the format.
        n_parameters: Parameters; 0 where only bytes are known.
        n_bytes: Bytes, scales included.
        even_bytes: Bytes that GPUs of a group share evenly.
        head_bytes: Bytes that they share by key-value heads, and copy where heads are too few.
        whole_bytes: Bytes that each GPU holds whole.
    """

    role: Role
    written: str
    n_parameters: int
    n_bytes: int
    even_bytes: int
    head_bytes: int
    whole_bytes: int


@dataclass(frozen=True, slots=True)
class WeightBytes:
    """Weights in bytes.

    Attributes:
        parts: Bytes by part and format; layers that predict further tokens are among them.
        tied: True if the output head is the input table.
        basis: Source of the bytes: tensors, a configuration, a name alone (a guess), or as given.
        source: Where that was read.
    """

    parts: tuple[WeightPart, ...]
    tied: bool
    basis: Basis
    source: str

    def of(self, *roles: Role) -> int:
        """Return the bytes of some parts."""
        return sum(part.n_bytes for part in self.parts if part.role in roles)

    @property
    def total(self) -> int:
        """Bytes that an engine loads: all but layers that predict further tokens."""
        return sum(part.n_bytes for part in self.parts if part.role != "mtp")

    @property
    def input_embedding(self) -> int:
        """Bytes of the input table, and of per-layer tables."""
        return self.of("embedding")

    @property
    def output_head(self) -> int:
        """Bytes of the output head; 0 where it is the input table."""
        return self.of("head")

    @property
    def rest(self) -> int:
        """Bytes that do not depend on the vocabulary."""
        return self.total - self.input_embedding - self.output_head

    @property
    def experts(self) -> int:
        """Bytes of routed experts, among the rest."""
        return self.of("experts")

    def on_each_of(
        self,
        n_gpus: int,
        kv_copies: Fraction = Fraction(1),
        *,
        stages: int = 1,
        expert_gpus: int = 0,
        with_drafts: bool = False,
    ) -> int:
        """Return the bytes on each GPU of a tensor-parallel group, on the fullest stage.

        Formula: ``even / N + heads x copies / N + whole``; stages share the layers, and the first
        or last one has a table besides. ``expert_gpus`` share the experts, where these stay whole.

        Source: vLLM, ``ColumnParallelLinear``, ``QKVParallelLinear`` and ``ReplicatedLinear``.
        """
        if n_gpus == stages == 1 and expert_gpus < 2 and not with_drafts:
            return self.total
        loaded = [part for part in self.parts if with_drafts or part.role != "mtp"]
        tables = [part for part in loaded if part.role in ("embedding", "head", "vision")]
        layers = [part for part in loaded if part not in tables]

        def of(parts: list[WeightPart]) -> Fraction:
            total = Fraction(0)
            for part in parts:
                among = expert_gpus if part.role == "experts" and expert_gpus else n_gpus
                total += Fraction(part.even_bytes, among) + part.whole_bytes
                total += part.head_bytes * kv_copies / n_gpus
            return total

        shared = of(tables)
        if stages > 1:
            ends = [part for part in tables if part.role != "head"]
            shared = max(of(ends), of([part for part in tables if part.role == "head"]))
        return whole_bytes(of(layers) / stages + shared)

    def in_words(self) -> str:
        """Return the formats in words, each named once."""
        named: dict[str, list[str]] = {}
        for part in sorted(self.parts, key=lambda one: -one.n_bytes):
            if part.role in ("mtp", "norms"):
                continue
            roles = named.setdefault(part.written, [])
            if part.role not in roles:
                roles.append(part.role)
        words = (
            next(iter(named), "")
            if len(named) < 2
            else "; ".join(f"{', '.join(roles)} in {name}" for name, roles in named.items())
        )
        return f"{words} (a guess from the name)" if self.basis == "name" else words


def weight_bytes(
    model: ModelFacts,
    *,
    vocab_size: int | None = None,
    weights: str | WeightFormat = "published",
    dtype_bytes: Bytes | None = None,
    total_bytes: int | None = None,
) -> WeightBytes:
    """Return the bytes of the weights, with the model's vocabulary or with another one.

    Formula: parameters of each tensor times the bytes of its format, scales included; the
    vocabulary costs ``V d`` parameters tied, ``2 V d`` untied. All experts count: they all must lie
    in memory. As published, tensors that were read themselves decide.

    Source: `jeton.catalog.layers`; formats: `jeton.catalog.weight_formats`; rules of quantization:
    `jeton.catalog.config_weights`.

    Args:
        model: The model.
        vocab_size: Another vocabulary than the model's own.
        weights: ``"published"``, or a format: ``bf16``, ``fp8``, ``int4``, ``mxfp4``, ``nf4``,
            ``q4_k_m`` ... (`jeton.catalog.weight_formats`).
        dtype_bytes: Bytes of an element of all parts instead; below 1 for less than a byte.
        total_bytes: Sum of all parts, where it is known otherwise; parts keep their shares of it.

    Raises:
        UsageError: If ``vocab_size`` is below 1 or ``dtype_bytes`` not above 0.
        UnknownNumberFormatError: If the format is not known.
    """
    if dtype_bytes is not None:
        weights = uniform_weights(element_bytes(dtype_bytes) * 8)
    if weights == "published" and model.weights == UNKNOWN_WEIGHTS:
        raise UsageError(
            f"{model.weights_source} holds several quantizations, and its name says none\n"
            "hint: give the .gguf file, or its format: --weights q4_k_m, q8_0 ..."
        )
    found = _weight_bytes(model, table_rows(model, vocab_size), weights)
    if total_bytes is None:
        return found
    share = Fraction(total_bytes, found.total or 1)
    parts = tuple(
        replace(
            part,
            n_bytes=int(part.n_bytes * share),
            even_bytes=int(part.even_bytes * share),
            head_bytes=int(part.head_bytes * share),
            whole_bytes=int(part.whole_bytes * share),
        )
        for part in found.parts
    )
    return WeightBytes(parts, found.tied, "given", "as given")


@lru_cache(maxsize=512)
def _weight_bytes(model: ModelFacts, rows: int, weights: str | WeightFormat) -> WeightBytes:
    has_experts = model.experts is not None
    basis: Basis = "given"
    source = ""
    if isinstance(weights, WeightFormat):
        how = _by_role(weights)
        source = weights.source
    elif weights != "published":
        found = weight_format(weights, has_experts=has_experts)
        how, source = _by_role(found), found.source
    elif model.quantization is not None:
        rules = model.quantization
        how, basis = rules.format_of, "configuration"
        source = model.weights_source
    else:
        found = weight_format(model.weights, has_experts=has_experts)
        how = _by_role(found, is_guess=model.weights_are_guessed)
        basis = "name" if model.weights_are_guessed else "configuration"
        source = model.weights_source
    parts = _sum(model, rows, how)
    if weights == "published" and model.tensors is not None:
        parts = _as_tensors_say(model, rows, parts)
        basis, source = "tensors", model.tensors.source
    return WeightBytes(parts, model.tied_embeddings, basis, source)


_How = Callable[[Part, int | None], NumberFormat]


def _by_role(formats: WeightFormat, *, is_guess: bool = False) -> _How:
    # Quantized checkpoints keep towers in 16 bits; one format for everything is theirs too.
    tower = formats.rest if formats.is_uniform else number_format("bf16")
    # Published NVFP4 files leave attention in 16 bits (nvidia/Gemma-4-31B-IT-NVFP4: 31.18 GiB).
    mixer = tower if is_guess and formats.name == "nvfp4" else formats.linear

    def format_of(part: Part, layer: int | None) -> NumberFormat:
        if part.role == "vision":
            return tower
        if part.role == "embedding":
            return formats.tables
        if part.role == "head":
            return formats.head
        if part.is_plain or part.role in ("norms", "gate"):
            return formats.rest
        if formats.larger is not None and part.is_value and layer is not None and layer % 2:
            return formats.larger
        if part.role == "attention":
            return mixer
        return formats.experts if part.role == "experts" else formats.linear

    return format_of


def _sum(model: ModelFacts, rows: int, format_of: _How) -> tuple[WeightPart, ...]:
    """Add up all tensors by part and format."""
    d, width = model.hidden_size, model.table_width
    found: dict[tuple[Role, str], list[Fraction | int]] = {}

    def add(part: Part, layer: int | None) -> None:
        written = format_of(part, layer)
        size = part.n_parameters * written.bytes
        key = part.role, written.name
        sums = found.setdefault(key, [0, Fraction(0), Fraction(0), Fraction(0)])
        sums[0] += part.n_parameters
        sums[("even", "heads", "whole").index(part.split) + 1] += size

    # A tied table has the format of the head.
    table = Part("lm_head" if model.tied_embeddings else "embed_tokens", "embedding", rows, width)
    if model.tied_embeddings:
        as_head = format_of(Part("lm_head", "head", rows, width), None)
        found[("embedding", as_head.name)] = [
            rows * width,
            rows * width * as_head.bytes,
            Fraction(0),
            Fraction(0),
        ]
    else:
        add(table, None)
        add(Part("lm_head", "head", rows, width), None)
    if model.position_table_tokens:
        add(Part("positions", "norms", model.position_table_tokens, d, split="whole"), None)
    for place, layer in enumerate(model.layers):
        for part in layer.parts(d):
            add(part, place)
    if model.final_norm:
        add(Part("norm", "norms", model.final_norm, split="whole", is_plain=True), None)
    for part in model.extra_parts:
        add(part, None)
    return tuple(
        WeightPart(
            role,
            name,
            int(sums[0]),
            whole_bytes(Fraction(sums[1] + sums[2] + sums[3])),
            whole_bytes(Fraction(sums[1])),
            whole_bytes(Fraction(sums[2])),
            whole_bytes(Fraction(sums[3])),
        )
        for (role, name), sums in found.items()
    )


def _as_tensors_say(
    model: ModelFacts, rows: int, counted: tuple[WeightPart, ...]
) -> tuple[WeightPart, ...]:
    """Replace bytes by those of the tensors; how GPUs share them stays as counted."""
    tensors = model.tensors
    if tensors is None:
        return counted
    whole = sum(part.n_bytes for part in counted) or 1
    found = []
    for role, written, size in tensors.parts:
        alike = [p for p in counted if p.role == role] if written != "unknown" else list(counted)
        known = sum(p.n_bytes for p in alike)
        heads = sum(p.head_bytes for p in alike)
        kept = sum(p.whole_bytes for p in alike)
        if not known:
            known, heads, kept = whole, 0, 0
        head_bytes, whole_part = size * heads // known, size * kept // known
        if role in ("embedding", "head") and rows != model.vocab_size:
            size = size * rows // model.vocab_size
        found.append(
            WeightPart(
                role, written, 0, size, size - head_bytes - whole_part, head_bytes, whole_part
            )
        )
    return tuple(found)


def element_bytes(dtype_bytes: Bytes) -> Fraction:
    """Return the bytes of an element as a fraction.

    Raises:
        UsageError: It is not above 0.
    """
    try:
        size = Fraction(dtype_bytes)
    except (ValueError, OverflowError, TypeError):
        size = Fraction(0)
    if size <= 0:
        raise UsageError(f"dtype_bytes is {dtype_bytes}; expected bytes per element above 0")
    return size


def whole_bytes(value: Fraction | int) -> int:
    """Return whole bytes, the last one begun counted."""
    return -(-value.numerator // value.denominator)
