"""Cost of tokens: memory, FLOPs, time and money.

Every public function's docstring gives formula, units and source; ``docs/concepts/economics.md``
lists them with worked numbers. Inputs are facts of `jeton.catalog`; nothing is looked up here.
"""

from __future__ import annotations

from jeton.economics.billing.bill import BillReport, reconcile
from jeton.economics.billing.groups import bill_by_group
from jeton.economics.billing.provider_count import ProviderCount, provider_count
from jeton.economics.billing.quotas import Quota, QuotaReport, quota_from_log, quota_from_rate
from jeton.economics.ledger import Ledger, ledger_of_lengths
from jeton.economics.money import api_cost, usd_per_year
from jeton.economics.naive_engineered import NaiveEngineered, naive_engineered
from jeton.economics.serving.capacity import RequestLengths, workload_capacity
from jeton.economics.serving.compute import gpu_energy, prefill_flops
from jeton.economics.serving.latency import decode_seconds, fit_requests, prefill_seconds
from jeton.economics.serving.memory import (
    embedding_bytes,
    kv_bytes,
    kv_bytes_per_token,
    weight_bytes,
)
from jeton.economics.serving.memory_budget import memory_budget
from jeton.economics.serving.memory_fit import fit_on
from jeton.economics.serving.memory_plan import MemoryPlan
from jeton.economics.serving.own_gpu import own_gpu_cost
from jeton.economics.serving.parameters import count_parameters
from jeton.economics.tradeoff import TradeOff, trade_off
from jeton.economics.vocabulary.trade import vocabulary_trade
from jeton.economics.vocabulary.training_costs import (
    BreakEven,
    TrainingCost,
    break_even,
    training_cost,
)
from jeton.economics.waterfall import Remedy, Waterfall, waterfall

__all__ = [
    "BillReport",
    "BreakEven",
    "Ledger",
    "MemoryPlan",
    "NaiveEngineered",
    "ProviderCount",
    "Quota",
    "QuotaReport",
    "Remedy",
    "RequestLengths",
    "TradeOff",
    "TrainingCost",
    "Waterfall",
    "api_cost",
    "bill_by_group",
    "break_even",
    "count_parameters",
    "decode_seconds",
    "embedding_bytes",
    "fit_on",
    "fit_requests",
    "gpu_energy",
    "kv_bytes",
    "kv_bytes_per_token",
    "ledger_of_lengths",
    "memory_budget",
    "naive_engineered",
    "own_gpu_cost",
    "prefill_flops",
    "prefill_seconds",
    "provider_count",
    "quota_from_log",
    "quota_from_rate",
    "reconcile",
    "trade_off",
    "training_cost",
    "usd_per_year",
    "vocabulary_trade",
    "waterfall",
    "weight_bytes",
    "workload_capacity",
]
