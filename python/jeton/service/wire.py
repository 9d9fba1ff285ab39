"""A route of the service: a path, two types, and a function between them.

The function runs in a thread of the pool and sees neither HTTP nor the event loop. One table of
routes makes the OpenAPI document, the framework's handlers, and the express lane.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import msgspec

from jeton.findings import Basis
from jeton.service.failures import HttpFailure, own_shape

if TYPE_CHECKING:
    from jeton.service.arrow import ArrowForm
    from jeton.service.state import ServiceState
    from jeton.service.tokenizers import ServedTokenizer

__all__ = ["ServiceRoute", "Worked", "json_bytes"]

_ENCODER = msgspec.json.Encoder()


class Worked(NamedTuple):
    """Outcome of a route's function.

    Attributes:
        answer: The body.
        served: The tokenizer that it is by.
        basis: Exact, calibrated or estimated.
        n_tokens: Tokens that were counted or made.
        texts: Texts that were counted, for watchers.
    """

    answer: Any
    served: ServedTokenizer
    basis: Basis
    n_tokens: int
    texts: Any = ()


@dataclass(frozen=True, slots=True)
class ServiceRoute:
    """One POST route.

    Attributes:
        path: Its path.
        summary: One line for the document.
        request: Type of the body.
        answer: Type of the answer.
        work: The function.
        shape: Writes a failure as this route's server does.
        arrow: Columns of Arrow streams; None: JSON alone.
        is_heavy: True if a call may take long at any size.
        tag: Group in the document.
        invalid_status: Status of a body that does not fit the type.
    """

    path: str
    summary: str
    request: Any
    answer: Any
    work: Callable[[ServiceState, Any], Worked]
    shape: Callable[[HttpFailure], dict[str, Any]] = own_shape
    arrow: ArrowForm | None = None
    is_heavy: bool = False
    tag: str = "own"
    invalid_status: int = 400

    @property
    def name(self) -> str:
        """Name in metrics and logs."""
        return self.path


def json_bytes(value: Any) -> bytes:
    """Return JSON of structs, dataclasses and plain values."""
    return _ENCODER.encode(value)
