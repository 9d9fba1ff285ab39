"""The options of ``jeton audit``, one file a group."""

from __future__ import annotations

from jeton.cli.audit_options.cluster import CLUSTER, ClusterSettings
from jeton.cli.audit_options.gate import GATE, AuditGate
from jeton.cli.audit_options.gpu import GPU, GpuSettings
from jeton.cli.audit_options.inputs import INPUTS, InputSettings
from jeton.cli.audit_options.limits import LIMITS, LimitSettings
from jeton.cli.audit_options.logs import LOGS, LogSettings
from jeton.cli.audit_options.output import OUTPUT, OutputSettings
from jeton.cli.audit_options.pipeline import PIPELINE, PipelineSettings
from jeton.cli.audit_options.price import PRICE, PriceSettings
from jeton.cli.audit_options.trace import TRACE, TraceSettings
from jeton.cli.audit_options.training import TRAINING, TrainingSettings

__all__ = [
    "FIRST",
    "GROUPS",
    "AuditGate",
    "ClusterSettings",
    "GpuSettings",
    "InputSettings",
    "LimitSettings",
    "LogSettings",
    "OutputSettings",
    "PipelineSettings",
    "PriceSettings",
    "TraceSettings",
    "TrainingSettings",
]

FIRST = (
    "tokenizers",
    "logs",
    "bill",
    "price_models",
    "requests_per_day",
    "model",
    "gpu",
    "html",
    "json_file",
    "fail_on",
)
"""The ten options that most audits need."""

GROUPS = (
    INPUTS,
    PRICE,
    GPU,
    LOGS,
    GATE,
    TRACE,
    TRAINING,
    PIPELINE,
    LIMITS,
    CLUSTER,
    OUTPUT,
)
