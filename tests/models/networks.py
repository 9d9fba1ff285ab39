"""Forward passes of two kinds of networks in NumPy, after their papers: the judge of real weights.

Slow and short; nothing here is shared with what is tested.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]


def softmax(values: Array) -> Array:
    raised: Array = np.exp(values - values.max(axis=-1, keepdims=True))
    found: Array = raised / raised.sum(axis=-1, keepdims=True)
    return found


@dataclass(frozen=True)
class Llama:
    """A decoder as Llama: RMS norm, rotary positions, grouped heads, gated feed-forward."""

    weights: Mapping[str, Array]
    n_layers: int
    n_heads: int
    n_kv_heads: int
    rope_base: float
    epsilon: float = 1e-5

    def hidden(self, ids: list[int]) -> Array:
        """Returns the last states, (n_tokens, width)."""
        x = self.weights["model.embed_tokens.weight"][ids].astype(np.float32)
        for layer in range(self.n_layers):
            x = x + self._attention(self._norm(x, f"model.layers.{layer}.input_layernorm"), layer)
            x = x + self._forward(
                self._norm(x, f"model.layers.{layer}.post_attention_layernorm"), layer
            )
        return self._norm(x, "model.norm")

    def logits(self, ids: list[int]) -> Array:
        """Returns the logits of each place, (n_tokens, n_rows)."""
        found: Array = (
            self.hidden(ids) @ self.weights["model.embed_tokens.weight"].astype(np.float32).T
        )
        return found

    def _norm(self, x: Array, name: str) -> Array:
        scale = self.weights[f"{name}.weight"].astype(np.float32)
        found: Array = x / np.sqrt((x * x).mean(axis=-1, keepdims=True) + self.epsilon) * scale
        return found

    def _linear(self, x: Array, layer: int, name: str) -> Array:
        found: Array = x @ self.weights[f"model.layers.{layer}.{name}.weight"].astype(np.float32).T
        return found

    def _attention(self, x: Array, layer: int) -> Array:
        n, width = x.shape
        size = width // self.n_heads
        q = self._linear(x, layer, "self_attn.q_proj").reshape(n, self.n_heads, size)
        k = self._linear(x, layer, "self_attn.k_proj").reshape(n, self.n_kv_heads, size)
        v = self._linear(x, layer, "self_attn.v_proj").reshape(n, self.n_kv_heads, size)
        q, k = self._rotated(q), self._rotated(k)
        group = self.n_heads // self.n_kv_heads
        k, v = np.repeat(k, group, axis=1), np.repeat(v, group, axis=1)
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(np.float32(size))
        scores = np.where(np.tril(np.ones((n, n), bool)), scores, np.float32(-1e30))
        mixed = np.einsum("hqk,khd->qhd", softmax(scores), v).reshape(n, width)
        return self._linear(mixed, layer, "self_attn.o_proj")

    def _rotated(self, x: Array) -> Array:
        half = x.shape[-1] // 2
        turns = self.rope_base ** (-np.arange(half) / half)
        angles = (np.arange(len(x))[:, None] * turns)[:, None, :]
        cos, sin = np.cos(angles).astype(np.float32), np.sin(angles).astype(np.float32)
        a, b = x[..., :half], x[..., half:]
        return np.concatenate([a * cos - b * sin, b * cos + a * sin], axis=-1)

    def _forward(self, x: Array, layer: int) -> Array:
        gate, up = (self._linear(x, layer, f"mlp.{name}_proj") for name in ("gate", "up"))
        return self._linear(gate / (1 + np.exp(-gate)) * up, layer, "mlp.down_proj")


@dataclass(frozen=True)
class Bert:
    """An encoder as BERT, whose sentence vector is the mean of its last states."""

    weights: Mapping[str, Array]
    n_layers: int
    n_heads: int
    epsilon: float = 1e-12

    def sentence(self, ids: list[int]) -> Array:
        """Returns the vector of length 1 of one sentence, special tokens included."""
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][ids]
        x = x + w["embeddings.position_embeddings.weight"][: len(ids)]
        x = self._norm(x + w["embeddings.token_type_embeddings.weight"][0], "embeddings.LayerNorm")
        for layer in range(self.n_layers):
            place = f"encoder.layer.{layer}"
            mixed = self._attention(x, f"{place}.attention.self")
            mixed = self._linear(mixed, f"{place}.attention.output.dense")
            x = self._norm(x + mixed, f"{place}.attention.output.LayerNorm")
            wide = _gelu(self._linear(x, f"{place}.intermediate.dense"))
            narrow = self._linear(wide, f"{place}.output.dense")
            x = self._norm(x + narrow, f"{place}.output.LayerNorm")
        mean: Array = x.mean(axis=0)
        found: Array = mean / np.linalg.norm(mean)
        return found

    def _norm(self, x: Array, name: str) -> Array:
        centred = x - x.mean(axis=-1, keepdims=True)
        spread = np.sqrt((centred * centred).mean(axis=-1, keepdims=True) + self.epsilon)
        found: Array = (
            centred / spread * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]
        )
        return found

    def _linear(self, x: Array, name: str) -> Array:
        found: Array = x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]
        return found

    def _attention(self, x: Array, place: str) -> Array:
        n, width = x.shape
        shape = (n, self.n_heads, width // self.n_heads)
        q, k, v = (
            self._linear(x, f"{place}.{name}").reshape(shape) for name in ("query", "key", "value")
        )
        scores = np.einsum("qhd,khd->hqk", q, k) / np.sqrt(np.float32(shape[2]))
        mixed: Array = np.einsum("hqk,khd->qhd", softmax(scores), v)
        return mixed.reshape(n, width)


def _gelu(x: Array) -> Array:
    # The tangent form is near enough for a comparison of a network with itself.
    inner = np.sqrt(2 / np.pi) * (x + 0.044715 * x**3)
    halves: Any = 0.5 * x * (1 + np.tanh(inner))
    found: Array = halves.astype(np.float32)
    return found
