"""Traces of serving traffic: when each request came, and its number of tokens."""

from __future__ import annotations

from jeton.corpus.traces.reading import MAX_TRACE_BYTES, read_trace
from jeton.corpus.traces.trace import MAX_TOKENS, MAX_TRACE_REQUESTS, Trace

__all__ = ["MAX_TOKENS", "MAX_TRACE_BYTES", "MAX_TRACE_REQUESTS", "Trace", "read_trace"]
