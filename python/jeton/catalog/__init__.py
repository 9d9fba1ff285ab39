"""Facts with unit, source and date: open models, GPUs, and API prices.

Models and GPUs are read from ``models.json`` and ``gpus.json`` beside this file; prices come from
the `genai-prices` package. Nothing here touches the network, and nothing is computed from the
facts: that is `jeton.economics`.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names

if TYPE_CHECKING:
    from jeton.catalog.api_price import USER_PROVIDER, ApiPrice, PriceTier
    from jeton.catalog.gpu_facts import GpuFacts, HourlyPrice, gpu, gpus
    from jeton.catalog.layers import LAYER_KINDS, Layer
    from jeton.catalog.model_config import facts_of, model_from_config, told_model
    from jeton.catalog.model_facts import AttentionKind, ModelFacts
    from jeton.catalog.model_list import model, models
    from jeton.catalog.prices import price, price_names
    from jeton.catalog.weight_formats import (
        NumberFormat,
        WeightFormat,
        number_format,
        number_formats,
        weight_format,
        weight_format_names,
    )

__all__ = [
    "LAYER_KINDS",
    "USER_PROVIDER",
    "ApiPrice",
    "AttentionKind",
    "GpuFacts",
    "HourlyPrice",
    "Layer",
    "ModelFacts",
    "NumberFormat",
    "PriceTier",
    "WeightFormat",
    "facts_of",
    "gpu",
    "gpus",
    "model",
    "model_from_config",
    "models",
    "number_format",
    "number_formats",
    "price",
    "price_names",
    "told_model",
    "weight_format",
    "weight_format_names",
]

# Loaded when first asked for.
_LAZY = {
    **dict.fromkeys(("USER_PROVIDER", "ApiPrice", "PriceTier"), "jeton.catalog.api_price"),
    **dict.fromkeys(("GpuFacts", "HourlyPrice", "gpu", "gpus"), "jeton.catalog.gpu_facts"),
    **dict.fromkeys(("LAYER_KINDS", "Layer"), "jeton.catalog.layers"),
    **dict.fromkeys(("facts_of", "model_from_config", "told_model"), "jeton.catalog.model_config"),
    **dict.fromkeys(("AttentionKind", "ModelFacts"), "jeton.catalog.model_facts"),
    **dict.fromkeys(("model", "models"), "jeton.catalog.model_list"),
    **dict.fromkeys(
        ("NumberFormat", "number_format", "number_formats"), "jeton.catalog.weight_formats"
    ),
    **dict.fromkeys(("price", "price_names"), "jeton.catalog.prices"),
    **dict.fromkeys(
        ("WeightFormat", "weight_format", "weight_format_names"), "jeton.catalog.weight_formats"
    ),
}

__getattr__, __dir__ = lazy_names(__name__, _LAZY)
