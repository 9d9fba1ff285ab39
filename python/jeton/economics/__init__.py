"""Cost of tokens: memory, FLOPs, time and money.

Every public function's docstring gives formula, units and source; ``docs/economics.md`` lists them
with worked numbers. Inputs are facts of `jeton.catalog`; nothing is looked up here.
"""

from __future__ import annotations

from jeton.economics.activations import (
    attention_score_bytes,
    logit_bytes,
    prefill_activation_bytes,
    training_logit_bytes,
)
from jeton.economics.bill import BillLine, BillModel, BillReport, reconcile
from jeton.economics.bill_files import read_bill
from jeton.economics.bill_items import Bill, BillCause, BillItem
from jeton.economics.capacity import Capacity, longest_context, workload_capacity
from jeton.economics.closed import Calibration, StandIn, TokenEstimate, estimate_tokens, stand_in
from jeton.economics.compute import (
    PrefillFlops,
    attended_pairs,
    attention_flops,
    decode_flops_per_token,
    forward_flops_per_token,
    prefill_flops,
    training_flops,
)
from jeton.economics.context import ContextRoom, context_room
from jeton.economics.energy import Energy, gpu_energy
from jeton.economics.languages import GroupBill, GroupUse, bill_by_group
from jeton.economics.ledger import (
    DimensionUse,
    DomainUse,
    Ledger,
    LedgerBuilder,
    LedgerIssue,
    ModelMap,
    ModelUse,
    NotPriced,
    Period,
    TimeUse,
    UsageRows,
    ledger_of_lengths,
    parse_period,
    read_model_map,
    usage_rows,
)
from jeton.economics.live_gpu import LiveGpu, live_gpus
from jeton.economics.memory import (
    DTYPE_BYTES,
    WeightBytes,
    embedding_bytes,
    full_page_bytes,
    kv_bytes,
    kv_bytes_per_token,
    request_bytes,
    state_bytes,
    weight_bytes,
)
from jeton.economics.memory_budget import MemoryBudget, kv_copies, memory_budget
from jeton.economics.memory_fit import MemoryFit, fit_on, plan_summary
from jeton.economics.memory_plan import MemoryPlan, PlanChanges, changed_plan
from jeton.economics.money import (
    ApiCost,
    api_cost,
    gpu_usd_per_mtok,
    usd_per_month,
    usd_per_year,
)
from jeton.economics.naive_engineered import NaiveEngineered, naive_engineered
from jeton.economics.own_gpu import OwnGpuCost, own_gpu_cost
from jeton.economics.parameters import ParameterCount, count_parameters
from jeton.economics.provider_count import CountedRequests, ProviderCount, provider_count
from jeton.economics.quotas import Quota, QuotaReport, quota_from_log, quota_from_rate
from jeton.economics.serving import (
    DECODE_BANDWIDTH_SHARE,
    PREFILL_FLOPS_SHARE,
    GpuFit,
    decode_seconds,
    fit_requests,
    prefill_seconds,
)
from jeton.economics.summary import FIGURE_NAMES, summarize
from jeton.economics.tradeoff import Candidate, Limits, TradeOff, TradeOffPoint, trade_off
from jeton.economics.training_costs import (
    TRAINING_FLOPS_SHARE,
    BreakEven,
    TrainingCost,
    break_even,
    training_cost,
)
from jeton.economics.usage_files import read_usage
from jeton.economics.vocabulary_laws import optimal_vocab_size, tokens_per_char
from jeton.economics.vocabulary_trade import (
    VocabularyPoint,
    VocabularyTrade,
    adaptive_softmax,
    prune_vocabulary,
    quantized_table_bytes,
    vocabulary_trade,
)
from jeton.economics.waterfall import Factor, Remedy, Step, Waterfall, waterfall
from jeton.economics.workload import Workload

__all__ = [
    "DECODE_BANDWIDTH_SHARE",
    "DTYPE_BYTES",
    "FIGURE_NAMES",
    "PREFILL_FLOPS_SHARE",
    "TRAINING_FLOPS_SHARE",
    "ApiCost",
    "Bill",
    "BillCause",
    "BillItem",
    "BillLine",
    "BillModel",
    "BillReport",
    "BreakEven",
    "Calibration",
    "Candidate",
    "Capacity",
    "ContextRoom",
    "CountedRequests",
    "DimensionUse",
    "DomainUse",
    "Energy",
    "Factor",
    "GpuFit",
    "GroupBill",
    "GroupUse",
    "Ledger",
    "LedgerBuilder",
    "LedgerIssue",
    "Limits",
    "LiveGpu",
    "MemoryBudget",
    "MemoryFit",
    "MemoryPlan",
    "ModelMap",
    "ModelUse",
    "NaiveEngineered",
    "NotPriced",
    "OwnGpuCost",
    "ParameterCount",
    "Period",
    "PlanChanges",
    "PrefillFlops",
    "ProviderCount",
    "Quota",
    "QuotaReport",
    "Remedy",
    "StandIn",
    "Step",
    "TimeUse",
    "TokenEstimate",
    "TradeOff",
    "TradeOffPoint",
    "TrainingCost",
    "UsageRows",
    "VocabularyPoint",
    "VocabularyTrade",
    "Waterfall",
    "WeightBytes",
    "Workload",
    "adaptive_softmax",
    "api_cost",
    "attended_pairs",
    "attention_flops",
    "attention_score_bytes",
    "bill_by_group",
    "break_even",
    "changed_plan",
    "context_room",
    "count_parameters",
    "decode_flops_per_token",
    "decode_seconds",
    "embedding_bytes",
    "estimate_tokens",
    "fit_on",
    "fit_requests",
    "forward_flops_per_token",
    "full_page_bytes",
    "gpu_energy",
    "gpu_usd_per_mtok",
    "kv_bytes",
    "kv_bytes_per_token",
    "kv_copies",
    "ledger_of_lengths",
    "live_gpus",
    "logit_bytes",
    "longest_context",
    "memory_budget",
    "naive_engineered",
    "optimal_vocab_size",
    "own_gpu_cost",
    "parse_period",
    "plan_summary",
    "prefill_activation_bytes",
    "prefill_flops",
    "prefill_seconds",
    "provider_count",
    "prune_vocabulary",
    "quantized_table_bytes",
    "quota_from_log",
    "quota_from_rate",
    "read_bill",
    "read_model_map",
    "read_usage",
    "reconcile",
    "request_bytes",
    "stand_in",
    "state_bytes",
    "summarize",
    "tokens_per_char",
    "trade_off",
    "training_cost",
    "training_flops",
    "training_logit_bytes",
    "usage_rows",
    "usd_per_month",
    "usd_per_year",
    "vocabulary_trade",
    "waterfall",
    "weight_bytes",
    "workload_capacity",
]
