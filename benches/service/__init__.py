"""The service over real HTTP on loopback: throughput beside rivals, latency, lag, memory."""

from __future__ import annotations
