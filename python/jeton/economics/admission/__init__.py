"""Admission of requests to a server: who starts, with how much memory, and who is preempted.

`Decider` holds the decisions of every policy. The simulator (`jeton.economics.traffic`) asks it,
and so does `Admission`, which a server calls for each request.
"""

from __future__ import annotations

from jeton.economics.admission.admission import Admission, Start
from jeton.economics.admission.decider import Decider
from jeton.economics.admission.history import OutputPredictor
from jeton.economics.admission.policies import (
    ADMISSION_POLICIES,
    POLICIES,
    Policy,
    PolicyName,
    QueueOrder,
)

__all__ = [
    "ADMISSION_POLICIES",
    "POLICIES",
    "Admission",
    "Decider",
    "OutputPredictor",
    "Policy",
    "PolicyName",
    "QueueOrder",
    "Start",
]
