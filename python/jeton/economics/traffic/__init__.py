"""Traffic replayed on a GPU: memory, queues, times and money of a trace, under policies.

`simulate_traffic` is one replay, `compare_traffic` one for each policy and tokenizer. The trace is
read by `jeton.corpus.traces`. ``docs/guides/traffic.md`` says what is modelled, what is not, and
how it was checked.
"""

from __future__ import annotations

from jeton.economics.admission import POLICIES, Policy, PolicyName
from jeton.economics.traffic.compare import DomainShare, TokenizerRatio, compare_traffic
from jeton.economics.traffic.engine import check_prefixes
from jeton.economics.traffic.result import (
    PredictionError,
    ServerCapacity,
    Spread,
    TraceSummary,
    TrafficReport,
    TrafficRun,
    TrafficSeries,
)
from jeton.economics.traffic.settings import EngineSettings
from jeton.economics.traffic.simulate import Server, simulate_traffic

__all__ = [
    "POLICIES",
    "DomainShare",
    "EngineSettings",
    "Policy",
    "PolicyName",
    "PredictionError",
    "Server",
    "ServerCapacity",
    "Spread",
    "TokenizerRatio",
    "TraceSummary",
    "TrafficReport",
    "TrafficRun",
    "TrafficSeries",
    "check_prefixes",
    "compare_traffic",
    "simulate_traffic",
]
