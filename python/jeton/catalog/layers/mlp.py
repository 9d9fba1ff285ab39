"""MLPs, which follow a layer's mixer: a dense MLP, or a mixture of experts."""

from __future__ import annotations

from dataclasses import dataclass

from jeton.catalog.layers.base import Mlp, Part

_GATED = ("gate_proj", "up_proj", "down_proj")
_PLAIN = ("up_proj", "down_proj")


@dataclass(frozen=True, slots=True)
class DenseMlp(Mlp):
    """Matrices up and down, with a gate or without.

    Attributes:
        width: Inner width, elements.
        is_gated: Three matrices (SwiGLU, GeGLU) instead of two.
        has_bias: True if they have a bias.
        name: Module within the layer.
    """

    width: int
    is_gated: bool = True
    has_bias: bool = False
    name: str = "mlp"

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return the matrices, and their biases."""
        found = matrices(self.name, "mlp", d, self.width, is_gated=self.is_gated)
        if self.has_bias:
            n = (1 + self.is_gated) * self.width + d
            found += (Part(f"{self.name}.bias", "norms", n, split="whole", is_plain=True),)
        return found

    def activation_width(self, d: int) -> tuple[int, int]:
        """Gate, up and their product, shared by the group."""
        return (2 + self.is_gated) * self.width, 0


@dataclass(frozen=True, slots=True)
class Mixture(Mlp):
    """A router and the experts that it chooses from.

    Attributes:
        n_routed: Experts the router chooses from.
        n_active: Routed experts that work on one token.
        width: Inner width of a routed expert.
        n_shared: Experts that work on every token.
        shared_width: Inner width of all shared experts together.
        is_gated: Three matrices in an expert instead of two.
        has_bias: True if experts have a bias.
        router_bias: True if the router has a bias for each expert.
        shared_gate: True if a gate weighs the shared experts' sum.
        latent_size: Width that routed experts read and write; 0: the residual stream's.
        dense_width: Inner width of a dense MLP beside the experts; 0: none.
        extra_norms: Elements of further vectors of the router.
        name: Module within the layer.
    """

    n_routed: int
    n_active: int
    width: int
    n_shared: int = 0
    shared_width: int = 0
    is_gated: bool = True
    has_bias: bool = False
    router_bias: bool = False
    shared_gate: bool = False
    latent_size: int = 0
    dense_width: int = 0
    extra_norms: int = 0
    name: str = "mlp"

    def parts(self, d: int) -> tuple[Part, ...]:
        """Return router, experts, and what works beside them."""
        inner = self.latent_size or d
        name = self.name
        found = matrices(
            f"{name}.experts.0",
            "experts",
            inner,
            self.width,
            is_gated=self.is_gated,
            count=self.n_routed,
            active=self.n_active,
        )
        found += (Part(f"{name}.gate", "gate", self.n_routed, d, split="whole", is_plain=True),)
        if self.shared_width:
            shared = f"{name}.shared_expert" + ("" if self.shared_gate else "s")
            found += matrices(shared, "mlp", d, self.shared_width, is_gated=self.is_gated)
        if self.shared_gate:
            gate = f"{name}.shared_expert_gate"
            found += (Part(gate, "gate", 1, d, split="whole", is_plain=True),)
        if self.latent_size:
            found += (
                Part(f"{name}.fc1_latent_proj", "mlp", inner, d, split="whole"),
                Part(f"{name}.fc2_latent_proj", "mlp", d, inner, split="whole"),
            )
        if self.dense_width:
            found += matrices(name, "mlp", d, self.dense_width, is_gated=self.is_gated)
        if self.has_bias:
            n = (1 + self.is_gated) * self.width + inner
            found += (
                Part(
                    f"{name}.experts.bias",
                    "norms",
                    n,
                    count=self.n_routed,
                    active=self.n_active,
                    is_plain=True,
                ),
            )
        vectors = self.n_routed * self.router_bias + self.extra_norms
        if vectors:
            found += (Part(f"{name}.gate.bias", "norms", vectors, split="whole", is_plain=True),)
        return found

    def activation_width(self, d: int) -> tuple[int, int]:
        """Inner widths of the experts at work; their outputs, which each GPU holds."""
        n = 2 + self.is_gated
        split = n * (self.n_active * self.width + self.shared_width + self.dense_width)
        return split, self.n_active * (self.latent_size or d)


def matrices(
    name: str,
    role: str,
    d: int,
    width: int,
    *,
    is_gated: bool,
    count: int = 1,
    active: int | None = None,
) -> tuple[Part, ...]:
    """Return the matrices of one MLP, or of several alike."""
    return tuple(
        Part(
            f"{name}.{one}",
            role,  # type: ignore[arg-type]
            d if one == "down_proj" else width,
            width if one == "down_proj" else d,
            count=count,
            active=active,
            is_value=one == "down_proj",
        )
        for one in (_GATED if is_gated else _PLAIN)
    )
