"""Request logs in: what was sent, what came back, and what the provider counted.

A record becomes a request with amounts by dimension; records of one answer are joined.
"""

from __future__ import annotations

from jeton.corpus.requests.stream import (
    MAX_RECORD_BYTES,
    RequestInputs,
    RequestStream,
    open_requests,
)

__all__ = ["MAX_RECORD_BYTES", "RequestInputs", "RequestStream", "open_requests"]
