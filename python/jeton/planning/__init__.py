"""Choices before anything runs: the tokenizer, and the vocabulary size, of a workload.

``recommend`` tries each choice on a sample; ``sweep`` trains once and tells tokens, memory, time
and money of every size; ``NestedVocabularies`` is the theorem that makes one training enough;
``cost_aware`` learns the vocabulary with the least bill and judges it against plain BPE; ``pack``
puts documents into bins of one capacity. ``Admission`` decides for a server which request starts.
``plan_admission``, ``plan_chunks`` and ``plan_fleet`` judge serving by replays of a trace.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from jeton._lazy import lazy_names
from jeton.economics.admission import Admission
from jeton.planning.cost_aware import (
    ALGORITHMS_COMPARED,
    CostAware,
    HeldOutJudgement,
    PricedVocabulary,
    cost_aware,
)
from jeton.planning.nested import NestedVocabularies
from jeton.planning.packing import Pack, PackReport, pack
from jeton.planning.recommend import recommend
from jeton.planning.routing import (
    Endpoint,
    EndpointFailures,
    EndpointGpu,
    EndpointLimits,
    LatencyProfile,
    PromptCache,
    Router,
    RoutingPolicy,
    RoutingRequest,
    RoutingWeights,
    read_endpoints,
    route_logs,
)
from jeton.planning.serving import (
    AdmissionPlan,
    ChunkPlan,
    FleetPlan,
    LatencyObjective,
    plan_admission,
    plan_chunks,
    plan_fleet,
)
from jeton.planning.sweep import DEFAULT_VOCAB_SIZES, sweep
from jeton.planning.sweep_results import (
    DEFAULT_GPU,
    Decision,
    DomainTrial,
    LawfulSize,
    ModelSweep,
    Recommendation,
    Sweep,
    SweepPoint,
    Trial,
)

if TYPE_CHECKING:
    from jeton.economics.prediction import LengthInterval, OutputLengths

__all__ = [
    "ALGORITHMS_COMPARED",
    "DEFAULT_GPU",
    "DEFAULT_VOCAB_SIZES",
    "Admission",
    "AdmissionPlan",
    "ChunkPlan",
    "CostAware",
    "Decision",
    "DomainTrial",
    "Endpoint",
    "EndpointFailures",
    "EndpointGpu",
    "EndpointLimits",
    "FleetPlan",
    "HeldOutJudgement",
    "LatencyObjective",
    "LatencyProfile",
    "LawfulSize",
    "LengthInterval",
    "ModelSweep",
    "NestedVocabularies",
    "OutputLengths",
    "Pack",
    "PackReport",
    "PricedVocabulary",
    "PromptCache",
    "Recommendation",
    "Router",
    "RoutingPolicy",
    "RoutingRequest",
    "RoutingWeights",
    "Sweep",
    "SweepPoint",
    "Trial",
    "cost_aware",
    "pack",
    "plan_admission",
    "plan_chunks",
    "plan_fleet",
    "read_endpoints",
    "recommend",
    "route_logs",
    "sweep",
]

__getattr__, __dir__ = lazy_names(
    __name__,
    {
        "LengthInterval": "jeton.economics.prediction",
        "OutputLengths": "jeton.economics.prediction",
    },
)
