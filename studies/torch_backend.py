"""A decoder-only transformer of any dense shape in PyTorch, with random weights, for measuring.

Matrices, norms, rotary positions, fused attention with grouped keys and values, a gated or plain
MLP, and the head at the last position: what a serving engine runs, without its scheduler.
"""

from __future__ import annotations

import gc
from collections.abc import Callable
from typing import Any, Literal

from jeton.catalog import ModelFacts
from jeton.catalog.layers import DenseMlp, FullAttention
from jeton.errors import UsageError

__all__ = ["TorchBackend"]


def _attention(facts: ModelFacts) -> FullAttention:
    """Return the attention of a dense model."""
    mixer = facts.layers[0].mixers[0]
    assert isinstance(mixer, FullAttention)
    return mixer


def _mlp(facts: ModelFacts) -> DenseMlp:
    """Return the MLP of a dense model."""
    mlp = facts.layers[0].mlp
    assert isinstance(mlp, DenseMlp)
    return mlp


class TorchBackend:
    """Runs shapes on a CUDA device, or on the processor (to see that it runs)."""

    def __init__(self, device: Literal["cuda", "cpu"], *, use_graphs: bool = True) -> None:
        try:
            import torch
        except ImportError as error:
            raise UsageError(
                "measuring needs PyTorch, which jeton does not depend on\nhint: pip install torch"
            ) from error
        if device == "cuda" and not torch.cuda.is_available():
            raise UsageError(
                "there is no CUDA device here\n"
                "hint: --device cpu --shapes tiny shows that the script runs"
            )
        self._torch: Any = torch
        self._device = device
        self._use_graphs = use_graphs and device == "cuda"
        self._dtype = torch.bfloat16 if device == "cuda" else torch.float32
        self._facts: ModelFacts | None = None
        self._weights: list[dict[str, Any]] = []
        self._tables: dict[str, Any] = {}

    def environment(self) -> dict[str, Any]:
        """Device, driver, versions."""
        torch = self._torch
        found: dict[str, Any] = {
            "device": "cpu",
            "torch": torch.__version__,
            "cuda": torch.version.cuda,
            "dtype": str(self._dtype),
            "cuda_graphs": self._use_graphs,
        }
        if self._device == "cuda":
            properties = torch.cuda.get_device_properties(0)
            found |= {
                "device": properties.name,
                "memory_bytes": properties.total_memory,
                "driver": _driver(),
            }
        return found

    def memory_bytes(self) -> int:
        """Memory of the device; of the processor, so much that the tiny shape fits."""
        if self._device == "cuda":
            return int(self._torch.cuda.get_device_properties(0).total_memory)
        return 1 << 30

    def load(self, facts: ModelFacts) -> None:
        """Make random weights of a shape; those before are freed."""
        torch = self._torch
        self._weights, self._tables = [], {}
        gc.collect()
        if self._device == "cuda":
            torch.cuda.empty_cache()
        d, e, f = facts.hidden_size, _attention(facts).head_size, _mlp(facts).width
        qkv = (_attention(facts).n_heads + 2 * _attention(facts).n_kv_heads) * e
        torch.manual_seed(0)

        def matrix(rows: int, columns: int) -> Any:
            return torch.empty(rows, columns, device=self._device, dtype=self._dtype).normal_(
                0, columns**-0.5
            )

        for _ in range(facts.n_layers):
            layer = {
                "qkv": matrix(qkv, d),
                "out": matrix(d, _attention(facts).n_heads * e),
                "up": matrix(f * (2 if _mlp(facts).is_gated else 1), d),
                "down": matrix(d, f),
                "norms": torch.ones(2, d, device=self._device, dtype=self._dtype),
            }
            self._weights.append(layer)
        self._tables["input"] = matrix(facts.vocab_size, d)
        head = self._tables["input"]
        self._tables["head"] = head if facts.tied_embeddings else matrix(facts.vocab_size, d)
        self._facts = facts

    def prepare(
        self, phase: Literal["prefill", "decode"], batch: int, tokens: int
    ) -> Callable[[], None]:
        """Return a call that runs one prefill, or one decoding step, and waits for its end."""
        torch, facts = self._torch, self._facts
        if facts is None:
            raise UsageError("no shape is loaded")
        gc.collect()
        if self._device == "cuda":
            torch.cuda.empty_cache()
            torch.cuda.reset_peak_memory_stats()
        is_decode = phase == "decode"
        room = tokens + is_decode
        caches = [
            torch.zeros(
                2, batch, _attention(facts).n_kv_heads, room, _attention(facts).head_size,
                device=self._device, dtype=self._dtype,
            )
            for _ in self._weights
        ]  # fmt: skip
        if is_decode:
            for cache in caches:
                cache.normal_()
        n_new = 1 if is_decode else tokens
        ids = torch.randint(0, facts.vocab_size, (batch, n_new), device=self._device)
        start = tokens if is_decode else 0
        angles = self._angles(start, n_new)

        def step() -> Any:
            return self.forward(ids, caches, start, angles)

        if is_decode and self._use_graphs:
            step = self._graph(step)

        def run() -> None:
            with torch.inference_mode():
                step()
            if self._device == "cuda":
                torch.cuda.synchronize()

        return run

    def forward(self, ids: Any, caches: list[Any], start: int, angles: Any) -> Any:
        """Scores (batch, vocabulary) after the last of the new ids (batch, new).

        Keys and values of the new tokens are written into the caches from ``start`` on; with
        ``start`` 0 attention is causal among the new tokens, else there is one new token.
        """
        functional = self._torch.nn.functional
        facts = self._facts
        assert facts is not None
        batch, n_new = ids.shape
        heads, kv, e = (
            _attention(facts).n_heads,
            _attention(facts).n_kv_heads,
            _attention(facts).head_size,
        )
        x = self._tables["input"][ids]
        for layer, cache in zip(self._weights, caches, strict=True):
            h = functional.rms_norm(x, (facts.hidden_size,), layer["norms"][0])
            mixed = functional.linear(h, layer["qkv"]).view(batch, n_new, heads + 2 * kv, e)
            q, k, v = mixed.transpose(1, 2).split([heads, kv, kv], dim=1)
            q, k = _rotated(self._torch, q, angles), _rotated(self._torch, k, angles)
            cache[0, :, :, start : start + n_new] = k
            cache[1, :, :, start : start + n_new] = v
            keys = cache[0, :, :, : start + n_new]
            values = cache[1, :, :, : start + n_new]
            h = functional.scaled_dot_product_attention(
                q, keys, values, is_causal=start == 0 and n_new > 1, enable_gqa=heads != kv
            )
            x = x + functional.linear(h.transpose(1, 2).reshape(batch, n_new, -1), layer["out"])
            h = functional.rms_norm(x, (facts.hidden_size,), layer["norms"][1])
            h = functional.linear(h, layer["up"])
            if _mlp(facts).is_gated:
                gate, up = h.chunk(2, dim=-1)
                h = functional.silu(gate) * up
            else:
                h = functional.gelu(h)
            x = x + functional.linear(h, layer["down"])
        last = functional.rms_norm(x[:, -1], (facts.hidden_size,))
        return functional.linear(last, self._tables["head"]).float()

    def peak_bytes(self) -> int:
        """Largest amount of memory in use since `prepare` began; 0 on the processor."""
        return int(self._torch.cuda.max_memory_allocated()) if self._device == "cuda" else 0

    def self_check(self, *, n_tokens: int = 12) -> float:
        """Largest difference between a decoding step and a prefill of the same tokens.

        Both must give the same scores for the next token, up to rounding.
        """
        torch, facts = self._torch, self._facts
        assert facts is not None
        ids = torch.randint(0, facts.vocab_size, (2, n_tokens + 1), device=self._device)
        shape = (2, 2, _attention(facts).n_kv_heads, n_tokens + 1, _attention(facts).head_size)

        def fresh() -> list[Any]:
            return [
                torch.zeros(shape, device=self._device, dtype=self._dtype) for _ in self._weights
            ]

        with torch.inference_mode():
            whole = self.forward(ids, fresh(), 0, self._angles(0, n_tokens + 1))
            caches = fresh()
            self.forward(ids[:, :-1], caches, 0, self._angles(0, n_tokens))
            step = self.forward(ids[:, -1:], caches, n_tokens, self._angles(n_tokens, 1))
        return float((whole - step).abs().max())

    def _angles(self, start: int, n: int) -> Any:
        torch, facts = self._torch, self._facts
        assert facts is not None
        half = _attention(facts).head_size // 2
        places = torch.arange(start, start + n, device=self._device, dtype=torch.float32)
        speeds = 10_000.0 ** (-torch.arange(half, device=self._device) / half)
        angles = torch.outer(places, speeds)
        return torch.stack((angles.cos(), angles.sin())).to(self._dtype)

    def _graph(self, step: Callable[[], Any]) -> Callable[[], Any]:
        torch = self._torch
        with torch.inference_mode():
            stream = torch.cuda.Stream()
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):
                for _ in range(2):
                    step()
            torch.cuda.current_stream().wait_stream(stream)
            graph = torch.cuda.CUDAGraph()
            with torch.cuda.graph(graph):
                step()
        replay: Callable[[], Any] = graph.replay
        return replay


def _rotated(torch: Any, x: Any, angles: Any) -> Any:
    """Rotary positions (arXiv:2104.09864), halves as pairs."""
    cos, sin = angles
    a, b = x.chunk(2, dim=-1)
    return torch.cat((a * cos - b * sin, b * cos + a * sin), dim=-1)


def _driver() -> str:
    """The driver's version, as ``nvidia-smi`` says it."""
    import subprocess

    try:
        found = subprocess.run(
            ["nvidia-smi", "--query-gpu=driver_version", "--format=csv,noheader"],
            capture_output=True,
            text=True,
            timeout=20,
            check=True,
        )
    except (OSError, subprocess.SubprocessError):
        return "unknown"
    return found.stdout.strip().splitlines()[0] if found.stdout.strip() else "unknown"
