"""Watching a live service: drift of its tokens with the cause, memory, metrics and alerts."""

from __future__ import annotations

from jeton.watch.alerts import Alert, alert_sink
from jeton.watch.billed import RequestBilling
from jeton.watch.causes import DRIFT_CAUSES, CauseShare
from jeton.watch.history import HISTORY_SCHEMA, WatchHistory
from jeton.watch.monitor import Monitor, SignalState, WatchedRequest, WatchSettings
from jeton.watch.outlook import ServedBy
from jeton.watch.signals import SIGNALS

__all__ = [
    "DRIFT_CAUSES",
    "HISTORY_SCHEMA",
    "SIGNALS",
    "Alert",
    "CauseShare",
    "Monitor",
    "RequestBilling",
    "ServedBy",
    "SignalState",
    "WatchHistory",
    "WatchSettings",
    "WatchedRequest",
    "alert_sink",
]
