"""The service's own routes, one line each."""

from __future__ import annotations

from jeton.service.routes.audit import AUDIT
from jeton.service.routes.chunk import CHUNK
from jeton.service.routes.compare import COMPARE
from jeton.service.routes.encode import COUNT, DECODE, ENCODE
from jeton.service.routes.estimate import ESTIMATE
from jeton.service.routes.guard import GUARD
from jeton.service.routes.route import ROUTE
from jeton.service.routes.trace import TRACE
from jeton.service.wire import ServiceRoute

__all__ = ["OWN_ROUTES"]

OWN_ROUTES: tuple[ServiceRoute, ...] = (
    COUNT,
    ENCODE,
    DECODE,
    ESTIMATE,
    CHUNK,
    GUARD,
    COMPARE,
    ROUTE,
    AUDIT,
    TRACE,
)
"""Routes in the order of the document."""
