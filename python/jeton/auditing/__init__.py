"""The audit: what tokenization costs a workload, and what to change first.

One pass over the inputs (`scan`), figures from counts (`jeton.metrics`, `jeton.economics`),
findings from figures (`checks`), one frozen report (`result`). How it looks is the business of
`jeton.report`.
"""

from __future__ import annotations

from jeton.auditing.checks import CHECKS
from jeton.auditing.measures.traffic import TraceOptions
from jeton.auditing.measures.training import TrainingOptions
from jeton.auditing.options.audit_options import AuditOptions
from jeton.auditing.options.logs import LogOptions
from jeton.auditing.options.pipeline import Pipeline, read_pipeline
from jeton.auditing.result import SCHEMA_VERSION, AuditReport
from jeton.auditing.run import Audit, audit

__all__ = [
    "CHECKS",
    "SCHEMA_VERSION",
    "Audit",
    "AuditOptions",
    "AuditReport",
    "LogOptions",
    "Pipeline",
    "TraceOptions",
    "TrainingOptions",
    "audit",
    "read_pipeline",
]
