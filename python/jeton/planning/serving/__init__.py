"""Plans of serving: admission, sizes of chunks and buckets, and fleets, judged by replays."""

from __future__ import annotations

from jeton.planning.serving.admission import DEFAULT_POLICIES, plan_admission
from jeton.planning.serving.admission_results import (
    AdmissionPlan,
    EngineAdvice,
    LoadFigures,
    PolicyFigures,
    SettingAdvice,
)
from jeton.planning.serving.chunks import BucketEdges, ChunkPlan, ChunkSize, plan_chunks
from jeton.planning.serving.fleet import FleetOption, FleetPlan, plan_fleet
from jeton.planning.serving.replays import AIMS, Aim, LatencyObjective, SeedFigure

__all__ = [
    "AIMS",
    "DEFAULT_POLICIES",
    "AdmissionPlan",
    "Aim",
    "BucketEdges",
    "ChunkPlan",
    "ChunkSize",
    "EngineAdvice",
    "FleetOption",
    "FleetPlan",
    "LatencyObjective",
    "LoadFigures",
    "PolicyFigures",
    "SeedFigure",
    "SettingAdvice",
    "plan_admission",
    "plan_chunks",
    "plan_fleet",
]
