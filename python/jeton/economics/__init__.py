"""What tokens cost: memory, FLOPs, time and money.

Every public function's docstring gives formula, units and source; ``docs/economics.md`` lists them
with worked numbers. Inputs are facts of `jeton.catalog`; nothing is looked up here.
"""

from __future__ import annotations

from jeton.economics.bill import BillLine, BillModel, BillReport, catalog_price, reconcile
from jeton.economics.bill_items import Bill, BillCause, BillItem
from jeton.economics.compute import (
    PrefillFlops,
    attended_pairs,
    attention_flops,
    decode_flops_per_token,
    forward_flops_per_token,
    prefill_flops,
    training_flops,
)
from jeton.economics.memory import (
    DTYPE_BYTES,
    WeightBytes,
    embedding_bytes,
    kv_bytes,
    kv_bytes_per_token,
    weight_bytes,
)
from jeton.economics.money import (
    ApiCost,
    api_cost,
    gpu_usd_per_mtok,
    usd_per_month,
    usd_per_year,
)
from jeton.economics.parameters import ParameterCount, count_parameters
from jeton.economics.serving import (
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    RESERVED_MEMORY_SHARE,
    GpuFit,
    decode_seconds,
    fit_requests,
    prefill_seconds,
)
from jeton.economics.summary import FIGURE_NAMES, summarize
from jeton.economics.tradeoff import Candidate, Limits, TradeOff, TradeOffPoint, trade_off
from jeton.economics.usage import UsageRecord, usage_records
from jeton.economics.waterfall import Factor, Remedy, Step, Waterfall, waterfall

__all__ = [
    "DECODE_BANDWIDTH_SHARE",
    "DTYPE_BYTES",
    "FIGURE_NAMES",
    "PREFILL_FLOPS_SHARE",
    "RESERVED_MEMORY_SHARE",
    "ApiCost",
    "Bill",
    "BillCause",
    "BillItem",
    "BillLine",
    "BillModel",
    "BillReport",
    "Candidate",
    "Factor",
    "GpuFit",
    "Limits",
    "ParameterCount",
    "PrefillFlops",
    "Remedy",
    "Step",
    "TradeOff",
    "TradeOffPoint",
    "UsageRecord",
    "Waterfall",
    "WeightBytes",
    "api_cost",
    "attended_pairs",
    "attention_flops",
    "catalog_price",
    "count_parameters",
    "decode_flops_per_token",
    "decode_seconds",
    "embedding_bytes",
    "fit_requests",
    "forward_flops_per_token",
    "gpu_usd_per_mtok",
    "kv_bytes",
    "kv_bytes_per_token",
    "prefill_flops",
    "prefill_seconds",
    "reconcile",
    "summarize",
    "trade_off",
    "training_flops",
    "usage_records",
    "usd_per_month",
    "usd_per_year",
    "waterfall",
    "weight_bytes",
]
