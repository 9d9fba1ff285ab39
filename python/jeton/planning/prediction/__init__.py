"""Prediction from logs and traces: lengths of answers, and the memory of the next minutes.

``read_history`` reads requests once; ``predict_outputs`` and ``predict_memory`` are functions of
what it returns.
"""

from __future__ import annotations

from jeton.planning.prediction.history import RequestHistory, read_history
from jeton.planning.prediction.memory import MemoryPrediction, predict_memory
from jeton.planning.prediction.outputs import OutputPrediction, RouteCoverage, predict_outputs

__all__ = [
    "MemoryPrediction",
    "OutputPrediction",
    "RequestHistory",
    "RouteCoverage",
    "predict_memory",
    "predict_outputs",
    "read_history",
]
