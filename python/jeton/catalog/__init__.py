"""Facts with unit, source and date: open models, GPUs, and API prices.

Models and GPUs are read from ``models.json`` and ``gpus.json`` beside this file; prices come from
the `genai-prices` package. Nothing here touches the network, and nothing is computed from the
facts: that is `jeton.economics`.
"""

from __future__ import annotations

from jeton.catalog.api_price import USER_PROVIDER, ApiPrice, PriceTier
from jeton.catalog.gpu_facts import GpuFacts, HourlyPrice, gpu, gpus
from jeton.catalog.model_facts import (
    AttentionKind,
    Experts,
    LatentAttention,
    ModelFacts,
    RecurrentLayers,
    model,
    models,
)
from jeton.catalog.prices import price, price_names

__all__ = [
    "USER_PROVIDER",
    "ApiPrice",
    "AttentionKind",
    "Experts",
    "GpuFacts",
    "HourlyPrice",
    "LatentAttention",
    "ModelFacts",
    "PriceTier",
    "RecurrentLayers",
    "gpu",
    "gpus",
    "model",
    "models",
    "price",
    "price_names",
]
