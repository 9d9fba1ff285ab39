"""Engines: what each takes, refuses, and keeps of a GPU's memory.

A new engine is a file with an `EngineRules`, and a line in `ENGINES`. Every command that asks what
fits asks here.
"""

from __future__ import annotations

from jeton._nearest import nearest
from jeton.economics.serving.engine_rules.base import DRIVER_BYTES, EngineRules, GpuMemory
from jeton.economics.serving.engine_rules.llama_cpp import LlamaCpp
from jeton.economics.serving.engine_rules.sglang import Sglang
from jeton.economics.serving.engine_rules.tensorrt_llm import TensorrtLlm
from jeton.economics.serving.engine_rules.vllm import Vllm
from jeton.errors import UsageError

__all__ = ["DRIVER_BYTES", "ENGINES", "EngineRules", "GpuMemory", "engine_rules"]

ENGINES: dict[str, EngineRules] = {
    one.name: one for one in (Vllm(), Sglang(), TensorrtLlm(), LlamaCpp())
}
"""Rules by the engine's name."""


def engine_rules(name: str) -> EngineRules:
    """Return the rules of an engine.

    Raises:
        UsageError: It is not known.
    """
    found = ENGINES.get(name.casefold())
    if found is None:
        near = nearest(name, ENGINES)
        words = f"; the nearest is {near[0]!r}" if near else ""
        raise UsageError(f"the engine {name!r} is not known{words}\nhint: {', '.join(ENGINES)}")
    return found
