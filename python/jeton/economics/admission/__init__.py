"""Admission of requests to a server: who starts, with how much memory, and who is preempted.

The decisions of every policy are compiled (``crates/jeton-serving``). The simulator
(`jeton.economics.traffic`) asks them, and so does `Admission`, which a server calls for each
request.
"""

from __future__ import annotations

from jeton.economics.admission.admission import Admission, Start
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
    "Policy",
    "PolicyName",
    "QueueOrder",
    "Start",
]
